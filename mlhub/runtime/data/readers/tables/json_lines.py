# SPDX-License-Identifier: Apache-2.0
"""JSON lines: one object a line, whose fields are the columns of a table. A first pass finds faults and types."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, NoReturn

import pyarrow as pa

from mlhub.runtime.errors import BadInputError

N_ROWS = 4096  # of a batch
MAX_LINE_BYTES = 16 * 2**20
MAX_COLUMNS = 10_000
MAX_SHOWN = 10  # faults in a message; the rest is counted
MAX_INTEGER = 2**63 - 1
KINDS = {bool: "true or false", int: "numbers", float: "numbers", str: "text"}
REMEDY = 'Write one object a line, such as {"age": 31, "plan": "free"}, in UTF-8, with one type of value in each field.'


def types_of(path: Path) -> pa.Schema:
    """The columns in the order in which they first appear, with their types. Raises BadInputError with all faults."""
    columns, faults = _Columns(), LineFaults()
    n_rows = 0
    for number, line in lines_of(path):
        try:
            row = row_of(line)
        except ValueError as error:
            faults.add(number, str(error))
            continue
        n_rows += 1
        for name, value in row.items():
            fault = columns.add(name, value, number)
            if fault:
                faults.add(number, fault)
    faults.check()
    require_few_columns(len(columns.kinds))
    if not n_rows:
        raise BadInputError("There are no rows in the file.", field="file", remedy=REMEDY)
    return columns.schema()


def require_few_columns(n_columns: int) -> None:
    """Raises BadInputError: a table of more would be looked at for minutes, and take gigabytes."""
    if n_columns > MAX_COLUMNS:
        raise BadInputError(
            f"The table has {n_columns:,} columns; {MAX_COLUMNS:,} are allowed.",
            field="file",
            remedy="Leave out columns that the model does not need, or pack the numbers as one array a row, as an NPZ.",
        )


def batches(path: Path, types: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The rows by the types that types_of() found; a field that a row has not is missing."""
    rows = (row_of(line) for _, line in lines_of(path))
    while some := list(islice(rows, N_ROWS)):
        yield pa.RecordBatch.from_pylist(some, schema=types)


def table(path: Path, types: pa.Schema) -> pa.Table:
    """All rows at once, as batches() gives them."""
    return pa.Table.from_batches(batches(path, types), schema=types)


class _Columns:
    """kinds: of each field the types of its values, with the line in which each first came."""

    def __init__(self) -> None:
        self.kinds: dict[str, dict[type, int]] = {}

    def add(self, name: str, value: Any, number: int) -> str:
        """The fault of the value; "" when there is none, or when its like was found in that field before."""
        kinds = self.kinds.setdefault(name, {})
        kind = type(value)
        if value is None:
            return ""
        if kind not in KINDS:
            return f"{name!r} holds {'a list' if kind is list else 'an object'}; a column takes single values"
        fault = _fault_of_value(name, value)
        if kind in kinds or fault:
            return fault
        others = {KINDS[other]: line for other, line in kinds.items() if KINDS[other] != KINDS[kind]}
        kinds[kind] = number
        if not others:
            return ""
        earlier, line = next(iter(others.items()))
        return f"{name!r} holds {KINDS[kind]} here, and {earlier} in line {line:,}"

    def schema(self) -> pa.Schema:
        return pa.schema([(name, _type(kinds)) for name, kinds in self.kinds.items()])


class LineFaults:
    """All faults of a file, of which the first ones are shown. remedy: what to do about them."""

    def __init__(self, remedy: str = REMEDY) -> None:
        self._remedy = remedy
        self._shown: list[str] = []
        self._n = 0

    def add(self, number: int, what: str) -> None:
        self._n += 1
        if len(self._shown) < MAX_SHOWN:
            self._shown.append(f"Line {number:,}: {what[:150]}.")

    def check(self) -> None:
        """Raises BadInputError when there is a fault."""
        if not self._n:
            return
        rest = f"\nand {self._n - MAX_SHOWN:,} more." if self._n > MAX_SHOWN else ""
        raise BadInputError("\n".join(self._shown) + rest, field="file", remedy=self._remedy)


def lines_of(path: Path) -> Iterator[tuple[int, bytes]]:
    """The lines that are not blank, with their numbers from 1 on. Raises BadInputError for one that is too long."""
    with path.open("rb") as file:
        number = 0
        while line := file.readline(MAX_LINE_BYTES + 1):
            number += 1
            if len(line) > MAX_LINE_BYTES:
                raise BadInputError(
                    f"Line {number:,} has more than {MAX_LINE_BYTES:,} bytes.", field="file", remedy=REMEDY
                )
            if line.strip():
                yield number, line


def row_of(line: bytes) -> dict[str, Any]:
    """Raises ValueError that says what is wrong with the line."""
    try:
        text = line.decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"it is not UTF-8 at byte {error.start + 1:,}") from error
    try:
        found = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        raise ValueError(f"it is no JSON: {error.msg} at character {error.pos + 1:,}") from error
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    if not isinstance(found, dict):
        raise ValueError("it is no object")
    return found


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"it has the field {twice!r} twice")
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number; leave the field out, or write null")


def _fault_of_value(name: str, value: Any) -> str:
    if (isinstance(value, float) and not math.isfinite(value)) or (isinstance(value, int) and abs(value) > MAX_INTEGER):
        return f"{name!r} holds a number of more than 64 bits"
    if isinstance(value, str) and not value.isascii() and any("\ud800" <= c <= "\udfff" for c in value):
        return f"{name!r} holds half of a surrogate pair, which is no character"
    return ""


def _type(kinds: Mapping[type, int]) -> pa.DataType:
    if str in kinds:
        return pa.string()
    if float in kinds:
        return pa.float64()
    if int in kinds:
        return pa.int64()
    return pa.bool_() if bool in kinds else pa.null()
