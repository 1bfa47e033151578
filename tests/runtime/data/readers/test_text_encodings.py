# SPDX-License-Identifier: Apache-2.0
"""CSV files that are not UTF-8, as spreadsheets save them, are read as their authors wrote them, everywhere alike."""

from __future__ import annotations

import codecs
from pathlib import Path

import numpy as np
import pytest

from mlhub.cli.exports import rows_of
from mlhub.runtime.data import readers
from mlhub.runtime.data.readers.examples import InspectionResult
from mlhub.runtime.exported_model.inputs import read_rows
from mlhub.wire import text_encodings
from mlhub.wire.text_encodings import CHINESE, NAMES, UTF_8, UTF_16, WESTERN, encoding_of

N = 40
CITIES = {
    WESTERN: ("München", "Köln", "Großröhrsdorf", "Orléans"),
    CHINESE: ("北京", "上海", "广州", "重庆"),
    UTF_16: ("München", "北京", "Łódź", "Zürich"),
    UTF_8: ("München", "北京", "Łódź", "Zürich"),
}


def written(folder: Path, encoding: str, *, delimiter: str = ";") -> Path:
    cities = CITIES[encoding]
    lines = [delimiter.join(("Größe" if encoding != CHINESE else "尺寸", "Stadt", "y"))]
    lines += [delimiter.join((f"{i},5", cities[i % len(cities)], "ab"[i % 2])) for i in range(N)]
    path = folder / "table.csv"
    path.write_bytes("\r\n".join(lines).encode(encoding))
    return path


def inspected(path: Path) -> InspectionResult:
    return readers.inspect("csv", path, {"target": "y"})


@pytest.mark.parametrize("encoding", CITIES)
@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_a_file_is_inspected_and_trained_on_in_the_encoding_that_its_bytes_show(
    tmp_path: Path, encoding: str, delimiter: str
) -> None:
    path = written(tmp_path, encoding, delimiter=delimiter)
    assert encoding_of(path) == encoding
    found = inspected(path)
    assert found.statistics.get("encoding") == NAMES.get(encoding)
    by_name = {column["name"]: column for column in found.statistics["columns"]}
    city = by_name["Stadt"]
    assert (city["type"], {top["value"] for top in city["top"]}) == ("category", set(CITIES[encoding]))
    assert by_name.keys() == {"尺寸" if encoding == CHINESE else "Größe", "Stadt", "y"}
    inputs, targets = readers.open_all("csv", path, found.schema).batch(np.arange(N))
    assert inputs.shape == (N, 1 + len(CITIES[encoding]))
    assert targets.tolist() == [0, 1] * (N // 2)


@pytest.mark.parametrize("encoding", CITIES)
def test_an_export_and_the_command_line_read_the_rows_of_the_file_alike(tmp_path: Path, encoding: str) -> None:
    path = written(tmp_path, encoding)
    rows = read_rows(path)
    assert rows == rows_of(path)
    assert [row["Stadt"] for row in rows[:4]] == list(CITIES[encoding])


@pytest.mark.parametrize("encoding", CITIES)
def test_a_character_between_two_pieces_of_a_file_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, encoding: str
) -> None:
    path = written(tmp_path, encoding)
    monkeypatch.setattr(text_encodings, "PIECE_BYTES", 7)
    assert encoding_of(path) == encoding


@pytest.mark.parametrize(
    ("content", "encoding"),
    [
        (b"", UTF_8),
        (b"a;b\n1;2\n", UTF_8),
        (codecs.BOM_UTF8 + b"a;b\n1;2\n", UTF_8),
        ("a;b\nß;ä\n".encode("cp1252"), WESTERN),
        (b"a;b\n\x81\x8d;\x9d\n", UTF_8),  # no character of that code page
        ("é".encode()[:1], WESTERN),  # a file that was cut
        (b"\xff\xfe\x00", UTF_16),
    ],
    ids=["empty", "ascii", "marked", "letters", "neither", "cut", "half"],
)
def test_what_bytes_are_taken_for(tmp_path: Path, content: bytes, encoding: str) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    assert encoding_of(path) == encoding
