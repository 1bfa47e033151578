# SPDX-License-Identifier: Apache-2.0
"""A cell of a row, from JSON or from a CSV, as the value that encoding takes; it is read as in a file for training.

A column's specification names in `from` what the training's file stored in it: number, word or date. A number among
words may be missing in the spellings of that file ("?"), so that there every word that is no number is missing. Numbers
that are not written as JSON writes them have a `number_format`; one of another format is refused, since its value would
be lost without a word.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from .encoding import NUMERIC_WORD
from .number_formats import EXAMPLES, is_number_otherwise, number_of

# the texts that training reads as missing numbers and dates, and as truth values, in a CSV
MISSING = {
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "N/A", "NA", "NULL",
    "NaN", "n/a", "nan", "null",
}  # fmt: skip
TRUTH = {"true": 1.0, "false": 0.0}
NUMERIC = re.compile(NUMERIC_WORD, re.ASCII)
REMEDIES = {
    "number": "Give a number, or nothing where it is missing.",
    "category": "Give a word or a number, or nothing where it is missing.",
    "text": "Give a text, or nothing where it is missing.",
    "date": "Give a date such as 2021-03-31, or nothing where it is missing.",
}
OF_FORMAT = "Give a number as the training's file has it, such as {}, a JSON number, or nothing where it is missing."
ColumnSpec = Mapping[str, Any]


def remedy_of(column: ColumnSpec) -> str:
    """What to give in a column that holds something else."""
    if "number_format" not in column:
        return REMEDIES[column["kind"]]
    return OF_FORMAT.format(EXAMPLES[column["number_format"]])


def cell_value(column: ColumnSpec, cell: Any) -> float | str:
    """Returns a number, NaN where it is missing; the seconds of a date since 1970; of a category the word, or ""; of a
    text the text, or "".

    Raises ValueError, whose message is what the cell is not, such as "number".
    """
    if cell is not None and not isinstance(cell, str | int | float):
        raise ValueError("single value")
    return KINDS[column["kind"]](column, cell)


def _number(column: ColumnSpec, cell: Any) -> float:
    text = "" if cell is None else str(cell).strip()
    if "number_format" in column and isinstance(cell, str):
        found = _formatted(text, column["number_format"])
    elif column.get("from") == "word" and isinstance(cell, str):
        found = float(text) if NUMERIC.match(text) else math.nan
    elif text in MISSING:
        return math.nan
    else:
        found = TRUTH[text.lower()] if text.lower() in TRUTH else _parsed(text)
    return found if math.isfinite(found) else math.nan


def _formatted(text: str, number_format: str) -> float:
    found = number_of(text, number_format)
    if found is None and is_number_otherwise(text, number_format):
        raise ValueError(f"number with a decimal {number_format}")
    return math.nan if found is None else found


def _parsed(text: str) -> float:
    try:
        if "_" not in text:  # Python's own spelling of large numbers
            return float(text)
    except ValueError:
        pass
    raise ValueError("number")


def _word(column: ColumnSpec, cell: Any) -> str:
    """The category's own spelling, where the cell spells the same value differently."""
    text = "" if cell is None else str(cell)
    origin = column.get("from", "word")
    if text in column["categories"] or not text.strip() or (origin != "word" and text.strip() in MISSING):
        return text if text in column["categories"] else ""
    if origin == "date":
        return _spelled_date(column, text)
    return text if origin == "word" and isinstance(cell, str) else _spelled_number(text)


def _text(_column: ColumnSpec, cell: Any) -> str:
    text = "" if cell is None else str(cell)
    return text if text.strip() else ""


def _spelled_number(text: str) -> str:
    plain = text.strip()
    if plain.lower() in TRUTH:
        return plain.capitalize()
    if plain.lstrip("+-").isdecimal():
        return str(int(plain))
    number = _parsed(plain)
    if not math.isfinite(number):
        return ""
    return str(int(number)) if number.is_integer() else str(number)


def _spelled_date(column: ColumnSpec, text: str) -> str:
    moment = _moment(column, text)
    spellings = [str(moment.date())] if not (moment.hour or moment.minute or moment.second) else []
    spellings += [str(moment.replace(tzinfo=None)), str(moment.astimezone(UTC))]
    return next((spelling for spelling in spellings if spelling in column["categories"]), text)


def _seconds(column: ColumnSpec, cell: Any) -> float:
    text = "" if cell is None else str(cell).strip()
    if text in MISSING:
        return math.nan
    return float(math.trunc(_moment(column, text).timestamp()))


def _moment(column: ColumnSpec, text: str) -> datetime:
    """By the formats of the training's words, or by ISO 8601, which files of dates are read by as well."""
    for name in column.get("formats") or [column[key] for key in ("format",) if key in column]:
        with suppress(ValueError):
            return datetime.strptime(text, name).replace(tzinfo=UTC)
    try:
        found = datetime.fromisoformat(text)
    except ValueError as error:
        raise ValueError("date") from error
    return found if found.tzinfo else found.replace(tzinfo=UTC)


KINDS: Mapping[str, Callable[[ColumnSpec, Any], float | str]] = {
    "number": _number,
    "category": _word,
    "text": _text,
    "date": _seconds,
}
