# SPDX-License-Identifier: Apache-2.0
"""Columns of texts in tables: which they are, the vocabulary of training rows, and the inputs that texts become."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from mlhub.runtime.data import readers
from mlhub.runtime.data.node_cache import NodeCache
from mlhub.runtime.data.readers import prepared
from mlhub.runtime.data.readers.tables import reader as tables
from mlhub.runtime.data.readers.tables import vocabulary
from mlhub.runtime.data.readers.tables.encoding import TEXT_NORM, words_of
from mlhub.runtime.data.validation_split import ValidationSplit
from mlhub.runtime.exported_model.tables import encoded_rows

WORDS = ("good", "bad", "slow", "it's", "Über", "film")


def text(i: int) -> str:
    """Different in each row; held-out rows have a word of their own."""
    if i % 9 == 4:
        return ""
    return f"{WORDS[i % 6]} {WORDS[i // 6 % 6]} film, number{i} {'unseen' if i % 5 == 1 else 'seen'}!"


ROWS = [
    {"text": text(i), "price": i / 7, "split": "test" if i % 5 == 1 else "train", "stars": i % 3 + 1} for i in range(60)
]


def write(path: Path, format: str) -> Path:
    if format == "json_lines":
        path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    elif format == "parquet":
        pyarrow.parquet.write_table(pa.Table.from_pylist(ROWS), path)
    else:
        with path.open("w", newline="") as file:
            out = csv.DictWriter(file, list(ROWS[0]))
            out.writeheader()
            out.writerows(ROWS)
    return path


def expected_of(spec: dict[str, Any], given: str) -> np.ndarray:
    """The definition of tf-idf, word by word."""
    weights = np.zeros(len(spec["words"]))
    for i, word in enumerate(spec["words"]):
        n = words_of(given).count(word)
        weights[i] = (1 + np.log(n)) * spec["idf"][i] if n else 0.0
    norm = np.linalg.norm(weights)
    return np.append(weights * TEXT_NORM / norm if norm else weights, float(given == ""))


@pytest.mark.parametrize("is_mapped", [False, True])
@pytest.mark.parametrize("format", ["csv", "parquet", "json_lines"])
def test_texts_become_weights_of_the_words_of_training_rows(tmp_path, monkeypatch, format, is_mapped):
    path = write(tmp_path / "reviews", format)
    monkeypatch.setattr(tables, "N_ROWS", 16)
    found = readers.inspect(format, path, {"target": "stars"})
    assert found.problems == []
    spec = found.schema["columns"][0]
    assert (spec["kind"], spec["indicator"], spec["length"]) == ("text", True, 5)
    assert spec["words"] == sorted(word.lower() for word in (*WORDS, "seen"))  # of two training rows and more
    shown = found.statistics["columns"][0]
    assert (shown["type"], shown["used_as"], "tf-idf" in shown["treatment"]) == ("text", "text", True)
    cache = None
    if is_mapped:
        monkeypatch.setattr(prepared, "is_large", lambda schema: True)
        cache = NodeCache(tmp_path / "cache")
    data = readers.open_split(format, path, found.schema, validation=ValidationSplit(), cache=cache, sha256="0" * 64)
    inputs = data.batch(np.arange(60))[0].numpy()
    assert inputs.shape == (60, *found.schema["input_shape"])
    expected = np.stack([expected_of(spec, row["text"]) for row in ROWS])
    np.testing.assert_allclose(inputs[:, :-1], expected, atol=1e-5)
    np.testing.assert_array_equal(data.batch(np.array([7]))[0].numpy()[0], inputs[7])
    later = found.schema | {"is_learnt": True, "drops_rows": False}  # as a prediction job reads it
    again = readers.open_all(format, path, later, cache=cache, sha256="0" * 64)
    np.testing.assert_array_equal(again.batch(np.arange(60))[0].numpy(), inputs)
    given = [{"text": row["text"] or None, "price": row["price"]} for row in ROWS]
    np.testing.assert_allclose(encoded_rows(given, found.schema["columns"]).numpy(), inputs, atol=1e-6)
    if cache is not None:
        cache.close()


@pytest.mark.parametrize(
    ("values", "type"),
    [
        ([f"Customer {i} wrote that it broke" for i in range(30)], "text"),
        ([f"我觉得这部电影很好看{i}" for i in range(30)], "text"),
        ([f"{i:064x}" for i in range(30)], "identifier"),
        ([f"https://example.com/a-long-name-of-a-page/of/{i}" for i in range(30)], "identifier"),
        ([f"Jane Doe{i}" for i in range(30)], "identifier"),
        (["Some words of a plan", "Other words of a plan"] * 15, "category"),
    ],
)
def test_texts_are_told_from_identifiers_and_categories(tmp_path, values, type):
    path = tmp_path / "file"
    path.write_text("it,y\n" + "".join(f"{value},{i % 2}\n" for i, value in enumerate(values)))
    assert readers.inspect("csv", path, {"target": "y"}).statistics["columns"][0]["type"] == type


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": "stars", "types": {"price": "text"}}, "price holds numbers, not text"),
        ({"target": "text", "types": {"text": "text"}}, "cannot be a text"),
    ],
)
def test_what_is_no_text_is_refused_by_name(tmp_path, options, message):
    found = readers.inspect("csv", write(tmp_path / "file", "csv"), options)
    assert message in found.problems[0]["message"]


def test_texts_without_words_are_a_problem_of_their_column(tmp_path):
    path = tmp_path / "file"
    path.write_text("it,y\n" + "".join(f"{'!' * (i + 1)},{i % 2}\n" for i in range(30)))
    found = readers.inspect("csv", path, {"target": "y", "types": {"it": "text"}})
    assert [problem["column"] for problem in found.problems] == ["it"]
    assert "no words" in found.problems[0]["message"]


def test_a_vocabulary_keeps_the_most_frequent_words_in_bounded_memory(monkeypatch):
    monkeypatch.setattr(vocabulary, "MAX_COUNTED", 50)
    counted = vocabulary.TextVocabulary(3)
    counted.add(f"common often{i % 2} word{i}" for i in range(400))
    assert len(counted._rows) <= 51
    assert counted.described()["words"] == ["common", "often0", "often1"]
