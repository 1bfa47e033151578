# SPDX-License-Identifier: Apache-2.0
"""JSON lines as a table: the same as the table would be as CSV, and every fault of the file at once."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mlhub.runtime.data import readers
from mlhub.runtime.errors import BadInputError
from tests.datasets.files import customers


def written(folder: Path, *lines: Any) -> Path:
    path = folder / "rows.jsonl"
    path.write_text("".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines))
    return path


def refused(path: Path) -> BadInputError:
    with pytest.raises(BadInputError) as caught:
        readers.inspect("json_lines", path, {"target": "plan"})
    return caught.value


def test_a_table_is_the_same_as_json_lines_and_as_csv(tmp_path: Path) -> None:
    table = tmp_path / "customers.csv"
    table.write_bytes(customers())
    with table.open(newline="") as file:
        rows = [{name: cell or None for name, cell in row.items()} for row in csv.DictReader(file)]
    path = written(tmp_path, *({**row, "customer_id": int(row["customer_id"] or 0)} for row in rows))
    options = {"target": "churned", "ignore": ["city"], "types": {"source": "category"}}
    expected, found = readers.inspect("csv", table, options), readers.inspect("json_lines", path, options)
    for name in ("task", "n_examples", "classes", "class_counts", "input_shape"):
        assert found.schema[name] == expected.schema[name]
    assert [c["name"] for c in found.schema["columns"]] == [c["name"] for c in expected.schema["columns"]]
    of_csv = readers.open_all("csv", table, expected.schema)
    of_json = readers.open_all("json_lines", path, found.schema)
    indices = np.arange(len(of_csv))
    for one, other in zip(of_csv.batch(indices), of_json.batch(indices), strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-6)


@pytest.mark.slow
def test_more_rows_than_a_batch_keep_their_columns_when_fields_come_late(tmp_path: Path) -> None:
    early = [{"x": i % 7, "plan": "ab"[i % 2]} for i in range(5000)]
    late = [{"plan": "a", "late": i / 2, "x": 1.5} for i in range(5000)]
    path = written(tmp_path, *early, "", *late)
    schema = readers.inspect("json_lines", path, {"target": "plan"}).schema
    assert (schema["n_examples"], schema["class_counts"]) == (10_000, [7500, 2500])
    examples = readers.open_all("json_lines", path, schema)
    assert len(examples) == 10_000


def test_every_fault_is_named_with_its_line_at_once(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        {"age": 1, "plan": "a"},
        '{"age": 2, "plan": ',
        "[1, 2]",
        {"age": "old", "plan": "a"},
        {"age": 3, "plan": ["a"]},
        '{"age": NaN}',
        '{"age": 1, "age": 2}',
        '{"age": 99999999999999999999}',
        '{"plan": "\\ud800"}',
    )
    error = refused(path)
    assert (error.field, "one object a line" in error.remedy) == ("file", True)
    lines = error.message.splitlines()
    assert [line.partition(":")[0] for line in lines] == [f"Line {n}" for n in range(2, 10)]
    for line, words in zip(
        lines,
        ["no JSON", "no object", "text here, and numbers in line 1", "a list", "NaN", "twice", "64 bits", "surrogate"],
        strict=True,
    ):
        assert words in line


def test_many_faults_are_counted_and_a_field_of_two_types_is_named_once(tmp_path: Path) -> None:
    assert refused(written(tmp_path, *["no"] * 400)).message.endswith("and 390 more.")
    mixed = written(tmp_path, {"plan": "a", "x": 1}, *[{"plan": "b", "x": "one"}] * 50)
    assert len(refused(mixed).message.splitlines()) == 1


@pytest.mark.parametrize("content", [b"", b"\n\n"])
def test_a_file_without_rows_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(content)
    assert "no rows" in refused(path).message


def test_bytes_that_are_no_text_and_nesting_without_end_are_faults_of_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'{"plan": "\xff"}\n' + b"[" * 200_000 + b"\n")
    assert [line[:8] for line in refused(path).message.splitlines()] == ["Line 1: ", "Line 2: "]
