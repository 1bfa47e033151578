# SPDX-License-Identifier: Apache-2.0
"""The values of a table's column in the three forms in which they are used: numbers, words, and seconds of a date."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mlhub.runtime.data.readers.examples import Array
from mlhub.runtime.data.readers.tables.encoding import NUMERIC_WORD
from mlhub.wire.number_formats import GROUP_MARKS, MARKS, MINUS, PATTERNS

Values: TypeAlias = pa.Array | pa.ChunkedArray
ZEROS_IN_FRONT = r"^\s*[+-]?0[0-9]+\s*$"


def raw_type(kind: pa.DataType) -> str:
    """What a file stores in a column: number, date, word, empty, or other for what no model can take (lists, bytes)."""
    types = pa.types
    if types.is_null(kind):
        return "empty"
    if types.is_dictionary(kind):
        return raw_type(kind.value_type)
    if types.is_floating(kind) or types.is_integer(kind) or types.is_boolean(kind) or types.is_decimal(kind):
        return "number"
    if types.is_date(kind) or types.is_timestamp(kind):
        return "date"
    return "word" if types.is_string(kind) or types.is_large_string(kind) or types.is_time(kind) else "other"


def with_zeros_in_front(words: Values) -> str:
    """The first word that is a whole number with zeros in front, as postcodes have; "" for none."""
    found = words.filter(pc.fill_null(pc.match_substring_regex(_strings(words), ZEROS_IN_FRONT), False))
    return str(found[0].as_py()).strip() if len(found) else ""


def numbers(column: Values, number_format: str | None = None) -> Array:
    """The values as float64. NaN: missing, or a word that is no number. number_format: of words; None: without groups,
    with a decimal point."""
    if raw_type(column.type) == "word":
        stripped = pc.utf8_trim_whitespace(_strings(column))
        pattern = NUMERIC_WORD if number_format is None else PATTERNS[number_format]
        is_number = pc.fill_null(pc.match_substring_regex(stripped, pattern), False)
        column = pc.if_else(is_number, stripped, pa.scalar(None, stripped.type))
        if number_format is not None:
            column = _without_format(column, number_format)
    found = np.asarray(column.cast(pa.float64()).to_numpy(zero_copy_only=False), dtype=np.float64)
    return np.where(np.isfinite(found), found, np.nan)


def _without_format(column: Values, number_format: str) -> Values:
    plain = pc.replace_substring_regex(column, GROUP_MARKS[number_format], "")
    if MARKS[number_format] != ".":
        plain = pc.replace_substring(plain, MARKS[number_format], ".")
    return pc.replace_substring(plain, MINUS, "-")


def words(column: Values) -> list[str]:
    """The values as text; missing ones, and blanks, are empty. Whole numbers have no decimals."""
    return [_word(value) for value in column.to_pylist()]


def seconds(column: Values, formats: Sequence[str]) -> Array:
    """The dates as seconds since 1970 in UTC, float64. formats: of words, each read by the first one that reads it.
    NaN: missing, or a word that none reads."""
    if raw_type(column.type) == "word":
        return _seconds_of_words(pc.utf8_trim_whitespace(_strings(column)), formats)
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("s", tz=column.type.tz), safe=False)
    elif pa.types.is_date(column.type):
        column = column.cast(pa.timestamp("s"), safe=False)
    return _since_1970(column)


def _seconds_of_words(words: Values, formats: Sequence[str]) -> Array:
    found = np.full(len(words), np.nan)
    for name in formats:
        read = _since_1970(pc.strptime(words, format=name, unit="s", error_is_null=True))
        found = np.where(np.isnan(found), read, found)
    return found


def _since_1970(moments: Values) -> Array:
    found = moments.cast(pa.int64()).cast(pa.float64(), safe=False)
    return np.asarray(found.to_numpy(zero_copy_only=False), dtype=np.float64)


def values_of(spec: Mapping[str, Any], column: Values) -> Array:
    """The column in the form that its specification needs: float64, of categories an array of str."""
    if spec["kind"] == "number":
        return numbers(column, spec.get("number_format"))
    if spec["kind"] == "date":
        return seconds(column, formats_of(spec))
    return np.array(words(column), dtype=object)


def formats_of(spec: Mapping[str, Any]) -> Sequence[str]:
    """Of a column of dates that are words: one is its `format`, several are its `formats`."""
    return spec.get("formats") or [spec[name] for name in ("format",) if name in spec]


def with_format(spec: dict[str, Any], number_format: str | None) -> dict[str, Any]:
    """The specification with a number format, or without one; of other kinds than numbers always without."""
    if spec["kind"] == "number" and number_format is not None:
        return spec | {"number_format": number_format}
    return {name: value for name, value in spec.items() if name != "number_format"}


def missing(values: Array) -> Array:
    """Whether each value is missing, bool, shape (rows,)."""
    found: Array = values == "" if values.dtype == object else np.isnan(values)
    return np.asarray(found, dtype=bool)


def _strings(column: Values) -> Values:
    return column.cast(pa.string())


def _word(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        if not np.isfinite(value):
            return ""
        return str(int(value)) if value.is_integer() else str(value)
    found = str(value)
    return found if found.strip() else ""
