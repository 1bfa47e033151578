# SPDX-License-Identifier: Apache-2.0
"""Rows of tables in an exported model: each kind of column is encoded as the platform encodes the same file."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mlhub.cli.exports import rows_of
from mlhub.cli.failures import CommandError
from mlhub.runtime.data import readers
from mlhub.runtime.exported_model.errors import UnusableRowError
from mlhub.runtime.exported_model.inputs import read_rows
from mlhub.runtime.exported_model.tables import encoded_rows, unseen_words

HEADER = "row_id;price;age;joined;seen;city;plan;rating;is_new;day;label"
RATINGS = ("3.50", "4", "")


def ordinary(path: Path) -> Path:
    """An identifier, numbers and dates of several spellings with gaps, words, and numbers that are categories."""
    lines = [HEADER]
    for i in range(60):
        cells = [
            i, "" if i % 7 == 0 else i / 3, "?" if i % 15 == 1 else f" {i}", f"{1 + i % 28:02}/{1 + i % 12:02}/2021",
            "" if i % 8 == 3 else f"2021-0{1 + i % 9}-1{i % 9} 10:{10 + i % 50}", ("Oslo", "Rome", "", "NA")[i % 4],
            f"plan {i % 120}", RATINGS[i % 3], "true" if i % 2 else "false", f"2022-03-0{1 + i % 5}", "ab"[i % 2],
        ]  # fmt: skip
        lines.append(";".join(map(str, cells)))
    path.write_text("\n".join(lines) + "\n")
    return path


OPTIONS = {
    "target": "label",
    "ignore": ["price"],
    "types": {"rating": "category", "day": "category", "is_new": "category", "row_id": "number"},
    "missing": {"age": "fill", "rating": "fill", "seen": "indicator"},
}


def described(path: Path, format: str = "csv", **options: Any) -> tuple[list[dict[str, Any]], np.ndarray]:
    """The specifications of the columns, and all inputs as the platform encodes them."""
    found = readers.inspect(format, path, options)
    assert not found.problems
    examples = readers.open_all(format, path, found.schema | {"is_learnt": True, "drops_rows": False})
    return found.schema["columns"], examples.batch(np.arange(len(examples)))[0].numpy()


def test_each_kind_of_column_is_encoded_as_in_a_file_for_training(tmp_path):
    columns, expected = described(ordinary(tmp_path / "ordinary.csv"), **OPTIONS)
    assert {(column["kind"], column["from"]) for column in columns} == {
        ("number", "number"), ("number", "word"), ("date", "word"), ("date", "date"), ("category", "word"),
        ("category", "number"), ("category", "date"),
    }  # fmt: skip
    assert any(column["indicator"] for column in columns)
    assert any("fill" in column for column in columns)
    rows = read_rows(tmp_path / "ordinary.csv")
    np.testing.assert_allclose(encoded_rows(rows, columns).numpy(), expected, atol=1e-6)
    used = {column["name"] for column in columns}
    bare = [{name: cell or None for name, cell in row.items() if name in used} for row in rows]
    np.testing.assert_allclose(encoded_rows(bare, columns).numpy(), expected, atol=1e-6)


def test_rows_of_a_table_with_types_are_given_as_json(tmp_path):
    moments = [datetime(2021, 1 + i % 12, 3, i % 24, 5, tzinfo=UTC) for i in range(40)]
    table = pa.table({
        "moment": pa.array([None, *moments[1:]], pa.timestamp("ms", tz="UTC")),
        "kind": [i % 3 for i in range(40)], "size": pa.array([None if i % 5 == 0 else i for i in range(40)]),
        "y": [float(i) / 3 for i in range(40)],
    })  # fmt: skip
    pq.write_table(table, tmp_path / "typed.parquet")
    columns, expected = described(tmp_path / "typed.parquet", "parquet", target="y", types={"kind": "category"})
    rows = [row | {"moment": row["moment"] and row["moment"].isoformat()} for row in table.to_pylist()]
    in_file = read_rows(tmp_path / "typed.parquet")
    json.dumps(in_file, allow_nan=False)
    assert in_file == rows_of(tmp_path / "typed.parquet")
    np.testing.assert_allclose(encoded_rows(in_file, columns).numpy(), expected, atol=1e-6)
    np.testing.assert_allclose(encoded_rows(rows, columns).numpy(), expected, atol=1e-6)


def test_many_categories_share_an_input_with_words_that_training_did_not_see(tmp_path):
    words = [f"w{i % 150}" for i in range(600)]
    (tmp_path / "words.csv").write_text("word,y\n" + "".join(f"{w},{i / 7}\n" for i, w in enumerate(words)))
    columns, _ = described(tmp_path / "words.csv", target="y")
    known, other = columns[0]["categories"][0], len(columns[0]["categories"])
    found = encoded_rows([{"word": known}, {"word": "never seen"}, {"word": None}], columns).numpy()
    assert [row.nonzero()[0].tolist() for row in found] == [[0], [other], found[2].nonzero()[0].tolist()]
    assert found[2].sum() == ("fill" in columns[0])


@pytest.mark.parametrize(
    ("given", "field", "message"),
    [
        ({"seen": "tomorrow"}, "seen", "holds 'tomorrow' in row 0, which is no date"),
        ({"row_id": "many"}, "row_id", "holds 'many' in row 0, which is no number"),
        ({"row_id": "1_000"}, "row_id", "which is no number"),
        ({"city": ["Oslo"]}, "city", "which is no single value"),
        ({"rating": "high"}, "rating", "which is no number"),
    ],
)
def test_a_cell_that_the_column_cannot_hold_is_refused_by_its_name(tmp_path, given, field, message):
    columns, _ = described(ordinary(tmp_path / "ordinary.csv"), **OPTIONS)
    row = read_rows(tmp_path / "ordinary.csv")[1]
    with pytest.raises(UnusableRowError, match=message) as refused:
        encoded_rows([row | given], columns)
    assert refused.value.field == field
    assert refused.value.remedy


def test_a_date_may_be_given_in_the_form_of_training_or_of_iso_8601(tmp_path):
    columns, _ = described(ordinary(tmp_path / "ordinary.csv"), **OPTIONS)
    row = read_rows(tmp_path / "ordinary.csv")[1]
    given = [row | {"joined": joined} for joined in ("14/03/2021", "2021-03-14", "2021-03-14T00:00", 20210314)]
    found = encoded_rows(given, columns).numpy()
    assert (found == found[0]).all()
    assert not (found[0] == encoded_rows([row | {"joined": "15/03/2021"}], columns).numpy()[0]).all()


def test_json_lines_are_rows_and_a_broken_line_is_named(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('\ufeff{"a": 1}\n\n{"a": "\u2028"}\r\n', encoding="utf-8")
    assert read_rows(path) == [{"a": 1}, {"a": "\u2028"}] == rows_of(path)
    path.write_text('{"a": 1}\n{"b": 2}\n')
    assert read_rows(path) == [{"a": 1, "b": None}, {"a": None, "b": 2}] == rows_of(path)
    path.write_text('{"a": 1}\n{"a": 1,}\n')
    with pytest.raises(UnusableRowError, match="line 2 is no JSON"):
        read_rows(path)
    with pytest.raises(CommandError, match="line 2 is no JSON"):
        rows_of(path)


def test_a_file_that_holds_no_rows_is_refused_with_what_is_wrong_with_it(tmp_path):
    """By an export and by the command line alike."""
    written = {
        "short.csv": (b"a,b\n1,2\n3\n", "row 1 has another number of columns than the header"),
        "long.csv": (b"a,b\n1,2\n3,4,5\n", "row 1 has another number of columns than the header"),
        "cut.parquet": (b"PAR1 and nothing else", "cannot be read: .*Parquet"),
        "cut.json": (b'{"a": 1', "cannot be read: "),
    }
    for name, (content, words) in written.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(UnusableRowError, match=words):
            read_rows(tmp_path / name)
        with pytest.raises(CommandError, match=words):
            rows_of(tmp_path / name)


def test_parquet_without_pyarrow_says_what_to_install(tmp_path, monkeypatch):
    pq.write_table(pa.table({"a": [1]}), tmp_path / "rows.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UnusableRowError, match="the package pyarrow, which is not installed"):
        read_rows(tmp_path / "rows.parquet")


def test_a_word_is_unseen_only_where_the_model_has_no_input_for_it(tmp_path):
    lines = ["city,plan,label", *(f"{('Oslo', 'Rome')[i % 2]},plan {i},{'ab'[i % 2]}" for i in range(120))]
    path = tmp_path / "plans.csv"
    path.write_text("\n".join(lines) + "\n")
    columns, _ = described(path, target="label", types={"plan": "category"})
    assert [(column["name"], column["other"]) for column in columns] == [("city", False), ("plan", True)]
    rows = [{"city": "Oslo", "plan": f"plan {i}"} for i in range(120)] + [{"city": "Bergen", "plan": "another"}]
    assert unseen_words(rows, columns) == [{}] * 120 + [{"city": "Bergen"}]
