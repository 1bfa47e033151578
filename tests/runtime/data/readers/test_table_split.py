# SPDX-License-Identifier: Apache-2.0
"""A column of a table that says which rows are held out: exactly those are, wherever they stand in the file."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from mlhub.runtime.data import readers
from mlhub.runtime.data.node_cache import NodeCache
from mlhub.runtime.data.readers import prepared
from mlhub.runtime.data.readers.tables import reader as tables
from mlhub.runtime.data.validation_split import ValidationSplit

PARTS = ("train", "Test", "training", " validation", "train")


def write(path: Path, format: str, n: int = 40) -> None:
    """Every value of a held-out row is 1000 and more; every seventh row has no target."""
    parts = [PARTS[i % len(PARTS)] for i in range(n)]
    x = [1000.0 + i if i % 5 in (1, 3) else float(i) for i in range(n)]
    y = [None if i % 7 == 0 else f"c{i % 2}" for i in range(n)]
    table = pa.table({"x": x, "split": parts, "target": y})
    if format == "csv":
        pyarrow.csv.write_csv(table, path)
    elif format == "parquet":
        pyarrow.parquet.write_table(table, path)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))


@pytest.mark.parametrize("format", ["csv", "parquet", "json_lines"])
@pytest.mark.parametrize("is_cached", [False, True])
def test_exactly_the_rows_of_the_test_part_are_held_out(tmp_path, monkeypatch, format, is_cached):
    path = tmp_path / "file"
    write(path, format)
    monkeypatch.setattr(tables, "N_ROWS", 8)
    found = readers.inspect(format, path, {})
    assert found.problems == []
    spec = found.schema["columns"]
    assert [each["name"] for each in spec] == ["x"]
    trained = [float(i) for i in range(40) if i % 5 not in (1, 3) and i % 7]
    assert spec[0]["mean"] == pytest.approx(np.mean(trained))
    assert found.schema["n_held_out"] == 34 - len(trained)
    cache = None
    if is_cached:
        monkeypatch.setattr(prepared, "is_large", lambda schema: True)
        cache = NodeCache(tmp_path / "cache")
    data = readers.open_split(format, path, found.schema, validation=ValidationSplit(), cache=cache, sha256="0" * 64)
    values = data.examples.batch(np.arange(len(data.examples)))[0][:, 0].numpy() * spec[0]["std"] + spec[0]["mean"]
    assert values[data.train] == pytest.approx(trained, abs=1e-2)
    assert (values[data.held_out] > 999).all()
    assert len(data.train) + len(data.held_out) == 34
    if cache is not None:
        cache.close()


def inspected(tmp_path: Path, parts: list[Any], **options: Any) -> readers.InspectionResult:
    out = io.BytesIO()
    n = len(parts)
    table = pa.table({"x": np.arange(float(n)), "split": parts, "target": [f"c{i % 2}" for i in range(n)]})
    pyarrow.csv.write_csv(table, out)
    (tmp_path / "file").write_bytes(out.getvalue())
    return readers.inspect("csv", tmp_path / "file", options)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (["train", "test", "tset", "train"], "'tset', which names no part"),
        (["train", "test", None, "train"], "is empty in 1 of 4 rows"),
        (["train", "train", "train", "training"], "holds train, training only"),
        ([1, 2, 1, 2], "holds no words"),
    ],
)
def test_a_column_that_gives_no_split_is_refused_by_name_where_it_is_chosen(tmp_path, parts, message):
    found = inspected(tmp_path, parts, types={"split": "split"})
    assert [(problem["column"], message in problem["message"]) for problem in found.problems] == [("split", True)]
    assert "n_held_out" not in inspected(tmp_path, parts).schema  # what is not chosen is no fault


def test_a_split_may_be_learned_from_or_left_out_instead(tmp_path):
    parts = ["train", "test"] * 4
    assert inspected(tmp_path, parts).schema["n_held_out"] == 4
    for options in ({"ignore": ["split"]}, {"types": {"split": "category"}}):
        assert "n_held_out" not in inspected(tmp_path, parts, **options).schema


def test_the_target_cannot_be_the_split_and_one_column_is_the_split(tmp_path):
    parts = ["train", "test"] * 4
    both = inspected(tmp_path, parts, types={"target": "split"})
    assert "cannot be the split" in both.problems[0]["message"]
    two = inspected(tmp_path, parts, types={"x": "split", "split": "split"})
    assert "both chosen" in two.problems[0]["message"]
