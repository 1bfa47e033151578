# SPDX-License-Identifier: Apache-2.0
"""Numbers of a CSV as countries write them: found out by column, read alike in training, predictions and exports."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mlhub.runtime.data import readers
from mlhub.runtime.data.readers.examples import InspectionResult
from mlhub.runtime.data.readers.tables import reader as tables
from mlhub.runtime.exported_model.errors import UnusableRowError
from mlhub.runtime.exported_model.inputs import read_rows
from mlhub.runtime.exported_model.tables import encoded_rows
from mlhub.runtime.prediction.schema_compatibility import TrainedSchema, schema_for_model

Cells = Callable[[int], str]
N = 40
SIGNS = ("+", "-", "\u2212")


def written(folder: Path, columns: Mapping[str, Cells], *, delimiter: str = ";", n: int = N) -> Path:
    """A CSV with the columns and a target `y`, whose cells are quoted where they hold the delimiter."""
    path = folder / f"{len(list(folder.iterdir()))}.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file, delimiter=delimiter)
        out.writerow([*columns, "y"])
        out.writerows([*(cell(i) for cell in columns.values()), i % 2] for i in range(n))
    return path


def inspected(path: Path, **options: Any) -> InspectionResult:
    return readers.inspect("csv", path, {"target": "y", **options})


def column(found: InspectionResult, name: str = "it") -> dict[str, Any]:
    return next(each for each in found.statistics["columns"] if each["name"] == name)


def values(path: Path, found: InspectionResult, n: int = N) -> np.ndarray:
    """The first column of numbers as training reads it, in its own unit."""
    spec = found.schema["columns"][0]
    inputs = readers.open_all("csv", path, found.schema).batch(np.arange(n))[0].numpy()[:, 0]
    return np.asarray(inputs * spec["std"] + spec["mean"])


WAYS: dict[str, tuple[Cells, str, Callable[[int], float]]] = {
    "comma": (lambda i: f"{600 + i},7{i % 10}", "comma", lambda i: 600.7 + i + i % 10 / 100),
    "comma, groups by points": (lambda i: f"{1 + i}.2{i:02}.345,5", "comma",
                                lambda i: (1 + i) * 1e6 + 200345.5 + i * 1e3),
    "comma, groups by spaces": (lambda i: f"{i + 1} 234,5", "comma", lambda i: (i + 1) * 1000 + 234.5),
    "comma, groups by narrow spaces": (lambda i: f"{i + 1}\u202f234", "comma", lambda i: (i + 1) * 1000 + 234.0),
    "groups by apostrophes": (lambda i: f"{i + 1}'234.5", "point", lambda i: (i + 1) * 1000 + 234.5),
    "groups by commas": (lambda i: f"{i + 1},234.5", "point", lambda i: (i + 1) * 1000 + 234.5),
    "groups of whole numbers": (lambda i: f"{i + 1}.234.567" if i % 2 else f"{i + 1}", "comma",
                                lambda i: (i + 1) * 1e6 + 234567.0 if i % 2 else i + 1.0),
    "signs": (lambda i: f"{SIGNS[i % 3]}{i},25", "comma", lambda i: (i + 0.25) * (1 if i % 3 == 0 else -1)),
    "exponents": (lambda i: f"1,{i}e-3", "comma", lambda i: float(f"1.{i}e-3")),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("is_streamed", [True, False])
def test_a_format_that_the_values_show_is_found_and_read_alike_everywhere(tmp_path, monkeypatch, way, is_streamed):
    write, number_format, number = WAYS[way]
    if is_streamed:
        monkeypatch.setattr(tables, "BLOCK_BYTES", 256)
    path = written(tmp_path, {"it": lambda i: "k.A." if i == 5 else write(i)})
    found = inspected(path, missing={"it": "fill"})
    assert found.problems == []
    spec = found.schema["columns"][0]
    assert (spec["kind"], spec["from"], spec["number_format"]) == ("number", "word", number_format)
    expected = np.array([number(i) for i in range(N)])
    expected[5] = spec["mean"]
    shown = column(found)
    given = [number(i) for i in range(N) if i != 5]
    assert (shown["min"], shown["max"]) == pytest.approx((min(given), max(given)))
    assert shown["readings"]["text"] in {write(i) for i in range(N)}
    assert f"Read with a decimal {number_format}" in shown["treatment"]
    inputs = readers.open_all("csv", path, found.schema).batch(np.arange(N))[0].numpy()
    np.testing.assert_allclose(inputs[:, 0], (expected - spec["mean"]) / spec["std"], atol=1e-6)
    np.testing.assert_allclose(encoded_rows(read_rows(path), [spec]).numpy(), inputs, atol=1e-6)
    json_rows = [{"it": None if i == 5 else number(i)} for i in range(N)]
    np.testing.assert_allclose(encoded_rows(json_rows, [spec]).numpy(), inputs, atol=1e-5)


NO_NUMBERS: dict[str, tuple[Cells, str]] = {
    "versions": (lambda i: f"1.2.{i}", "identifier"),
    "versions of three digits": (lambda i: f"100.200.{300 + i}", "identifier"),
    "IP addresses": (lambda i: f"192.168.100.{100 + i}", "identifier"),
    "mostly long IP addresses": (lambda i: f"192.168.100.{100 + i}" if i else "10.0.0.1", "identifier"),
    "postcodes among words": (lambda i: f"0{1234 + i}" if i % 4 else f"B 0{1234 + i}", "identifier"),
    "telephone numbers": (lambda i: f"+49 301 234 {100 + i}", "text"),
    "numbers of companies": (lambda i: f"732 829 {100 + i}", "text"),
    "amounts": (lambda i: f"€ 625,{10 + i}", "identifier"),
    "losses in brackets": (lambda i: f"(625,{10 + i})", "identifier"),
    "shares": (lambda i: f"12,{i} %", "identifier"),
    "lists": (lambda i: "1,2,3" if i == 3 else f"1,{i}", "identifier"),
    "mixed": (lambda i: f"{i},5" if i % 2 else f"{i}.5", "identifier"),
    "one of another format": (lambda i: "0.5" if i == 7 else f"{i},5", "identifier"),
    "groups of another length": (lambda i: f"{i + 1}.23,5", "identifier"),
    "dates": (lambda i: f"{1 + i % 28:02}.02.2024", "date"),
}


@pytest.mark.parametrize("what", NO_NUMBERS)
def test_what_only_looks_like_numbers_does_not_become_numbers(tmp_path, what):
    write, type = NO_NUMBERS[what]
    found = inspected(written(tmp_path, {"it": write, "price": lambda i: f"{i},5"}))
    assert column(found)["type"] == type
    assert found.schema["number_formats"] == {"price": "comma"}


def test_why_numbers_are_words_is_said_with_the_values_that_show_it(tmp_path):
    found = inspected(written(tmp_path, {"it": NO_NUMBERS["mixed"][0], "pay": NO_NUMBERS["amounts"][0]}), ignore=[])
    assert "such as 0.5 and 1,5" in column(found)["treatment"]
    assert "€ 625,10 is a number with a sign or a unit" in column(found, "pay")["treatment"]
    chosen = inspected(written(tmp_path, {"it": NO_NUMBERS["mixed"][0]}), numbers={"it": "comma"})
    assert (column(chosen)["type"], column(chosen)["used_as"]) == ("number", "number")
    assert "those of the other are missing" in column(chosen)["treatment"]
    assert f"Missing in {N // 2} rows" in column(chosen)["treatment"]


@pytest.mark.parametrize("write", ["ORD-{}", "ORD/{}", "ORD.{}", "{}-ORD"])
def test_an_identifier_of_letters_and_a_number_is_no_number_with_a_unit(tmp_path, write):
    cells = {"it": lambda i: write.format(100000 + i), "size": lambda i: str(i % 7)}
    found = column(inspected(written(tmp_path, cells)))
    assert found["used_as"] is None
    assert found["treatment"] == "Left out: nearly every value is different, as in an identifier."
    few = column(inspected(written(tmp_path, cells, n=12)))  # too few rows to leave it out unasked
    assert few["used_as"] == "category"
    assert few["treatment"].endswith("Every value is different: ignore the column if it is an identifier.")


@pytest.mark.parametrize("text", ["EUR {}", "{} EUR", "EUR -{}", "(EUR {})"])
def test_an_amount_with_a_currency_is_a_number_with_a_unit(tmp_path, text):
    found = column(inspected(written(tmp_path, {"it": lambda i: text.format(i), "size": lambda i: str(i % 7)})))
    assert f"{text.format(0)} is a number with a sign or a unit" in found["treatment"]


@pytest.mark.parametrize(
    ("delimiter", "other", "number_format", "first"),
    [
        (";", None, "comma", 1.1),
        (",", None, "point", 1100.0),
        ("\t", lambda i: f"{i},5", "comma", 1.1),
        ("\t", lambda i: f"{i}.5", "point", 1100.0),
        (",", lambda i: f"{i},5", "comma", 1.1),
    ],
)
def test_what_both_formats_read_is_decided_by_other_columns_then_by_the_delimiter(
    tmp_path, delimiter, other, number_format, first
):
    columns = {"it": lambda i: f"{i + 1},{100 + i}", **({} if other is None else {"other": other})}
    path = written(tmp_path, columns, delimiter=delimiter)
    found = inspected(path)
    assert found.schema["number_formats"]["it"] == number_format
    assert values(path, found)[0] == pytest.approx(first, rel=1e-4)
    assert "It could be a decimal" in column(found)["treatment"]
    assert column(found)["readings"] == {"text": "1,100", "point": 1100.0, "comma": 1.1}


def test_what_nothing_decides_is_asked_and_the_answer_counts(tmp_path):
    path = written(tmp_path, {"it": lambda i: f"{i + 1},{100 + i}", "age": str}, delimiter="\t")
    found = inspected(path)
    assert [problem["column"] for problem in found.problems] == ["it"]
    assert "1,100 is 1100 with a decimal point, 1.1 with a decimal comma" in found.problems[0]["message"]
    assert "has to be chosen" in column(found)["treatment"]
    assert inspected(path, ignore=["it"]).problems == inspected(path, types={"it": "category"}).problems == []
    for number_format, first in (("comma", 1.1), ("point", 1100.0)):
        chosen = inspected(path, numbers={"it": number_format})
        assert chosen.problems == []
        assert values(path, chosen)[0] == pytest.approx(first, rel=1e-4)


def test_points_are_groups_where_other_columns_have_a_decimal_comma(tmp_path):
    km, share = lambda i: f"{i + 1}.{100 + i}", lambda i: f"{i}.25"
    alone, other = written(tmp_path, {"it": km}), {"price": lambda i: f"{i},5"}
    assert "number_formats" not in inspected(alone).schema  # as programs write it
    path = written(tmp_path, {"it": km, **other})
    found = inspected(path)
    assert found.schema["number_formats"] == {"it": "comma", "price": "comma"}
    assert values(path, found)[0] == pytest.approx(1100, rel=1e-4)
    assert "1.100 is 1100. It could be a decimal point." in column(found)["treatment"]
    back = inspected(path, numbers={"it": "point"})
    assert values(path, back)[0] == pytest.approx(1.1, rel=1e-4)
    assert inspected(written(tmp_path, {"it": share, **other})).schema["number_formats"] == {"price": "comma"}


def test_a_column_of_gaps_and_whole_numbers_at_first_gets_its_format_from_later_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "BLOCK_BYTES", 512)
    path = written(tmp_path, {"it": lambda i: "" if i % 3 == 0 else str(i) if i < 300 else f"{i},5"}, n=400)
    found = inspected(path)
    assert found.schema["number_formats"] == {"it": "comma"}
    spec = found.schema["columns"][0]
    inputs = np.concatenate([x for x, _ in tables.CSV.parts(path, found.schema)])
    assert inputs[399, 0] * spec["std"] + spec["mean"] == pytest.approx(spec["mean"])
    assert inputs[398, 0] * spec["std"] + spec["mean"] == pytest.approx(398.5)


def test_a_target_with_a_decimal_comma_is_learned_as_numbers(tmp_path):
    path = tmp_path / "houses.csv"
    path.write_text("rooms;y\n" + "".join(f"{i % 5};{1000 + i},5\n" for i in range(N)))
    found = inspected(path)
    assert (found.schema["task"], found.problems) == ("regression", [])
    targets = readers.open_all("csv", path, found.schema).batch(np.arange(N))[1].numpy()
    np.testing.assert_allclose(targets, np.arange(N) + 1000.5)


def test_a_format_that_reads_nothing_is_a_problem_of_its_column(tmp_path):
    path = written(tmp_path, {"it": lambda i: f"word{i % 3}", "age": str})
    assert [p["column"] for p in inspected(path, numbers={"it": "comma"}).problems] == ["it"]
    assert [p["column"] for p in inspected(path, numbers={"nothing": "comma"}).problems] == ["nothing"]
    assert inspected(path, numbers={"age": "comma"}).problems == []  # whole numbers are the same in both


@pytest.mark.parametrize(
    ("trained", "given"),
    [
        ("{:.2f}", "comma"),
        ("comma", "{:.2f}"),
        ("comma", "comma"),
        ("grouped", "comma"),
    ],
)
def test_another_file_is_read_as_it_writes_its_numbers(tmp_path, trained, given):
    ways: dict[str, Cells] = {
        "comma": lambda i: f"{1000 + i / 8:.2f}".replace(".", ","),
        "grouped": lambda i: f"{1000 + i / 8:,.2f}",
        "{:.2f}": lambda i: f"{1000 + i / 8:.2f}",
    }
    first, second = (written(tmp_path, {"it": ways[way]}) for way in (trained, given))
    learned = TrainedSchema("csv", inspected(first).schema)
    expected = values(first, inspected(first))
    for options in ({"target": "y"}, {"targets": "none"}):
        other = TrainedSchema("csv", readers.inspect("csv", second, options).schema)
        schema = schema_for_model(learned, other, needs_targets="target" in options)
        spec = schema["columns"][0]
        inputs = readers.open_all("csv", second, schema).batch(np.arange(N))[0].numpy()[:, 0]
        np.testing.assert_allclose(inputs * spec["std"] + spec["mean"], expected, rtol=1e-5)


def test_a_few_rows_that_show_no_format_are_read_by_that_of_the_training(tmp_path):
    learned = inspected(written(tmp_path, {"it": lambda i: f"{i + 1}.234,5"}))
    few = written(tmp_path, {"it": lambda i: f"{i + 1}.234"}, n=3)
    other = TrainedSchema("csv", readers.inspect("csv", few, {"targets": "none"}).schema)
    schema = schema_for_model(TrainedSchema("csv", learned.schema), other, needs_targets=False)
    inputs = readers.open_all("csv", few, schema).batch(np.arange(3))[0].numpy()[:, 0]
    spec = learned.schema["columns"][0]
    np.testing.assert_allclose(inputs * spec["std"] + spec["mean"], [1234, 2234, 3234], rtol=1e-5)


def test_a_cell_of_another_format_is_refused_and_signs_of_missing_values_are_not(tmp_path):
    spec = inspected(written(tmp_path, {"it": lambda i: "?" if i == 3 else f"{i + 1}.234,5"})).schema["columns"][0]
    for cell in ("625.72", "1,234.56"):
        with pytest.raises(UnusableRowError, match="which is no number with a decimal comma") as refused:
            encoded_rows([{"it": cell}], [spec])
        assert "1.234,56" in refused.value.remedy
    missing = encoded_rows([{"it": None}], [spec]).numpy()
    for cell in ("", "?", "9" * 5000, "9," * 100_000, "x" * 1_000_000):
        np.testing.assert_array_equal(encoded_rows([{"it": cell}], [spec]).numpy(), missing)


def test_hostile_cells_are_words(tmp_path):
    huge = {3: "1," * 200_000, 5: "1" * 300_000, 7: "1." + "000." * 100_000, 9: "\u0661,\u0662"}
    found = inspected(written(tmp_path, {"it": lambda i: huge.get(i, f"{i},5"), "age": str}))
    assert found.problems == []
    assert "number_formats" not in found.schema
    chosen = inspected(written(tmp_path, {"it": lambda i: huge.get(i, f"{i},5")}), numbers={"it": "comma"})
    assert column(chosen)["max"] == pytest.approx(39.5)
    assert len(column(chosen)["readings"]["text"]) <= 80
