# SPDX-License-Identifier: Apache-2.0
"""Postcodes and other codes with zeros in front: they are words, in training, predictions and exports alike."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mlhub.runtime.data import readers
from mlhub.runtime.exported_model.inputs import read_rows
from mlhub.runtime.exported_model.tables import encoded_rows
from mlhub.runtime.prediction.schema_compatibility import TrainedSchema, schema_for_model

CODES = ("01234", "12345", "99999")
N = 3000


def csv(path: Path, codes: Any = CODES, n: int = N, *, last: str = "") -> Path:
    rows = [f"{codes[i % len(codes)]},{i % 7},{'ab'[i % 2]}" for i in range(n)] + [last] * bool(last)
    path.write_text("postcode,size,y\n" + "\n".join(rows) + "\n")
    return path


def column(found: readers.InspectionResult, name: str = "postcode") -> dict[str, Any]:
    return next(each for each in found.statistics["columns"] if each["name"] == name)


def test_a_column_with_a_zero_in_front_is_a_category_and_says_why(tmp_path: Path) -> None:
    path = csv(tmp_path / "t.csv")
    found = readers.inspect("csv", path, {})
    assert (column(found)["type"], column(found)["used_as"]) == ("category", "category")
    assert "Its values are codes, not numbers: 01234 has zeros in front." in column(found)["treatment"]
    assert column(found, "size")["used_as"] == "number"
    assert found.schema["columns"][0]["categories"] == sorted(CODES)
    inputs, _ = readers.open_all("csv", path, found.schema).batch(np.arange(3))
    assert inputs[:, :3].tolist() == np.eye(3).tolist()
    np.testing.assert_array_equal(encoded_rows(read_rows(path)[:3], found.schema["columns"]), inputs)


def test_one_value_anywhere_in_the_file_is_enough(tmp_path: Path) -> None:
    """Also when all others are plain numbers, and it comes long after the types were guessed."""
    path = csv(tmp_path / "t.csv", ("12345", "99999"), 400_000, last="00007,1,a")
    found = readers.inspect("csv", path, {})
    assert found.schema["columns"][0]["categories"] == ["00007", "12345", "99999"]
    assert len(readers.open_all("csv", path, found.schema)) == 400_001


@pytest.mark.parametrize("form", ["parquet", "json_lines"])
def test_words_of_other_tables_are_codes_as_well(tmp_path: Path, form: str) -> None:
    rows = [{"postcode": CODES[i % 3], "y": "ab"[i % 2]} for i in range(60)]
    path = tmp_path / "t"
    if form == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    else:
        path.write_text("\n".join(json.dumps(row) for row in rows))
    assert readers.inspect(form, path, {}).schema["columns"][0]["categories"] == sorted(CODES)


def test_a_person_may_take_them_as_numbers_and_sees_what_is_lost(tmp_path: Path) -> None:
    path = csv(tmp_path / "t.csv")
    found = readers.inspect("csv", path, {"types": {"postcode": "number"}})
    assert found.schema["columns"][0]["kind"] == "number"
    assert "As numbers 01234 and 1234 are the same." in column(found)["treatment"]
    inputs, _ = readers.open_all("csv", path, found.schema).batch(np.arange(3))
    assert len(set(inputs[:, 0].tolist())) == 3


def test_a_target_of_codes_is_classified_by_its_words(tmp_path: Path) -> None:
    found = readers.inspect("csv", csv(tmp_path / "t.csv"), {"target": "postcode"})
    assert (found.schema["task"], found.schema["classes"]) == ("classification", sorted(CODES))


@pytest.mark.parametrize("plain", ["0", "0.5", "-0.25", "10", "1e05"])
def test_numbers_with_a_single_zero_stay_numbers(tmp_path: Path, plain: str) -> None:
    found = readers.inspect("csv", csv(tmp_path / "t.csv", (plain, "3")), {})
    assert column(found)["used_as"] == "number"
    assert "codes" not in found.schema


@pytest.mark.parametrize("codes", [("12345", "99999"), CODES])
def test_a_file_to_predict_is_read_as_the_training_was(tmp_path: Path, codes: tuple[str, ...]) -> None:
    """Whether or not a code of that file has a zero in front."""
    trained = readers.inspect("csv", csv(tmp_path / "t.csv"), {}).schema
    other = csv(tmp_path / "other.csv", codes, 6)
    given = readers.inspect("csv", other, {}).schema
    schema = schema_for_model(TrainedSchema("csv", trained), TrainedSchema("csv", given), needs_targets=True)
    inputs, _ = readers.open_all("csv", other, schema).batch(np.arange(6))
    assert inputs[:, :3].argmax(1).tolist() == [sorted(CODES).index(codes[i % len(codes)]) for i in range(6)]


def test_a_model_that_was_trained_on_plain_numbers_still_predicts_a_file_with_zeros_in_front(tmp_path: Path) -> None:
    trained = readers.inspect("csv", csv(tmp_path / "t.csv", ("1234", "9999")), {}).schema
    other = csv(tmp_path / "other.csv", ("01234", "9999"), 6)
    given = readers.inspect("csv", other, {}).schema
    schema = schema_for_model(TrainedSchema("csv", trained), TrainedSchema("csv", given), needs_targets=True)
    inputs, _ = readers.open_all("csv", other, schema).batch(np.arange(2))
    expected, _ = readers.open_all("csv", tmp_path / "t.csv", trained).batch(np.arange(2))
    np.testing.assert_array_equal(inputs[:, 0], expected[:, 0])
