# SPDX-License-Identifier: Apache-2.0
"""Rows of small files that are to be predicted, and what separates the columns of a CSV file.

Standard library only, but for Parquet, which is read where pyarrow is installed. Exports of models carry a copy of this
module, which therefore names its neighbour relatively.
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .text_encodings import encoding_of

DELIMITERS = (",", ";", "\t", "|")
ROW = re.compile(r"^Row (\d+)|(?<= in )row (\d+)(?=, which (?:is no|training did not see))")  # as messages name a row


def delimiter_of(header: str) -> str:
    """Returns a comma, or what is more frequent in the header line outside of quotes."""
    plain = re.sub(r'"[^"]*"', "", header)
    return max(DELIMITERS, key=plain.count)


def rows_in(path: Path) -> list[Any] | None:
    """The rows of a file by its suffix: CSV, JSON (a row or a list of rows), JSON lines, Parquet, a text. None: of
    another suffix. Values are those of JSON; dates are words.

    Raises ValueError with what is wrong, without a full stop, UnicodeDecodeError for what is not UTF-8, OSError.
    """
    read = READERS.get(path.suffix.lower())
    return None if read is None else read(path)


def with_row_renamed(message: str, place: Callable[[str, int], str | None]) -> str:
    """The message of a refusal with another name of the row that it is about.

    place: is given the word "Row" or "row" and the number, and returns the new name, or None to leave it.
    """
    found = next(iter(reversed([*ROW.finditer(message)])), None)  # a cell that is quoted before may read like one
    renamed = None if found is None else place(found[0][:3], int(found[1] or found[2]))
    return (
        message if found is None or renamed is None else f"{message[: found.start()]}{renamed}{message[found.end() :]}"
    )


def unseen_categories(predictions: Sequence[Mapping[str, Any]]) -> list[str]:
    """A sentence for each category that training did not see, with its column and the first row that holds it."""
    first: dict[tuple[str, str], int] = {}
    for number, prediction in enumerate(predictions):
        for place in prediction.get("unseen", {}).items():
            first.setdefault(place, number)
    return [
        f"The column {column} holds {word[:100]!r} in row {number}, which training did not see: it counts as none of "
        "the categories that the model knows."
        for (column, word), number in first.items()
    ]


def _csv(path: Path) -> list[Any]:
    """Raises ValueError for a row with more or fewer cells than the header."""
    with path.open(newline="", encoding=encoding_of(path)) as file:
        delimiter = delimiter_of(file.readline())
        file.seek(0)
        try:
            rows: list[Any] = list(csv.DictReader(file, delimiter=delimiter))
        except csv.Error as error:
            raise ValueError(str(error)) from error
    for number, row in enumerate(rows):
        if None in row or None in row.values():
            raise ValueError(f"row {number} has another number of columns than the header")
    return rows


def _json(path: Path) -> list[Any]:
    text = _text(path)
    if not text.strip():
        return []
    found = json.loads(text)
    return found if isinstance(found, list) else [found]


def _json_lines(path: Path) -> list[Any]:
    """In JSON lines a row may leave out what others have: it is missing there, as it was in training."""
    lines = enumerate(_text(path).split("\n"), 1)
    rows = [_row(line, number) for number, line in lines if line.strip()]
    names = dict.fromkeys(name for row in rows if isinstance(row, dict) for name in row)
    return [{name: row.get(name) for name in names} if isinstance(row, dict) else row for row in rows]


def _row(line: str, number: int) -> Any:
    try:
        return json.loads(line)
    except ValueError as error:
        raise ValueError(f"line {number} is no JSON: {error}") from error


def _parquet(path: Path) -> list[Any]:
    try:
        from pyarrow import ArrowException, parquet  # only files of this kind need it
    except ImportError as error:
        raise ValueError("Parquet needs the package pyarrow, which is not installed") from error
    try:
        rows = parquet.read_table(path).to_pylist()
    except ArrowException as error:
        raise ValueError(str(error).splitlines()[0].rstrip(".")) from error
    return [{name: _of_json(value) for name, value in row.items()} for row in rows]


def _of_json(value: Any) -> Any:
    """The value, or its words where JSON has no such value, as of dates and decimals. What is no number is missing."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, int | str | list | dict) else str(value)


def _text_row(path: Path) -> list[Any]:
    return [{"text": _text(path)}]


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8-sig")


READERS: Mapping[str, Callable[[Path], list[Any]]] = {
    ".csv": _csv,
    ".json": _json,
    ".jsonl": _json_lines,
    ".ndjson": _json_lines,
    ".parquet": _parquet,
    ".pq": _parquet,
    ".txt": _text_row,
    ".text": _text_row,
}
