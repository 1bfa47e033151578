# SPDX-License-Identifier: Apache-2.0
"""MLflow's filter and order of runs, such as metrics.loss < 0.5 AND params.model = 'mlp': read, and applied to rows.

Source: mlflow/utils/search_utils.py of MLflow 3.17 (the grammar that its documentation gives; written anew).
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mlhub.core.errors import InvalidInputError
from mlhub.tracking.patterns import like_pattern

TOKEN = re.compile(
    r"""\s*(?:(?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)(?![\w.])
    |(?P<text>'[^']*'|"[^"]*")
    |(?P<name>[A-Za-z_][\w]*(?:\.(?:`[^`]*`|"[^"]*"|[\w./-]+))?)
    |(?P<sign><=|>=|!=|=|<|>|\(|\)|,))""",
    re.VERBOSE,
)
KINDS = {
    "metric": "metrics", "metrics": "metrics", "param": "params", "params": "params", "parameter": "params",
    "parameters": "params", "tag": "tags", "tags": "tags", "attribute": "attributes", "attributes": "attributes",
    "attr": "attributes", "run": "attributes",
}  # fmt: skip
ATTRIBUTES = {
    "status": "status", "artifact_uri": "artifact_uri", "user_id": "user_id", "run_id": "run_id",
    "run_name": "run_name", "run name": "run_name", "name": "run_name", "start_time": "start_time",
    "created": "start_time", "end_time": "end_time",
}  # fmt: skip
MAX_COMPARISONS = MAX_ORDERS = 20  # of one search
NUMERIC = ("start_time", "end_time", "updated_time", "number")
SIGNS: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


@dataclass(frozen=True)
class Column:
    """kind: metrics | params | tags | attributes."""

    kind: str
    key: str

    @property
    def is_number(self) -> bool:
        return self.kind == "metrics" or (self.kind == "attributes" and self.key in NUMERIC)


@dataclass(frozen=True)
class RunComparison:
    column: Column
    sign: str
    value: Any

    def holds(self, found: Any) -> bool:
        """Whether a value that a run has fulfils it; a run without one fulfils only IS NULL."""
        if self.sign in ("IS NULL", "IS NOT NULL"):
            return (found is None) == (self.sign == "IS NULL")
        if found is None:
            return False
        if self.sign in ("IN", "NOT IN"):
            return (found in self.value) == (self.sign == "IN")
        if self.sign in ("LIKE", "ILIKE"):
            return like_pattern(self.value, ignores_case=self.sign == "ILIKE").matches(found)
        return SIGNS[self.sign](found, self.value)


@dataclass
class SearchRow:
    """What of a run a search needs: its id, attributes, and the values of the columns that it names."""

    run_id: str
    attributes: Mapping[str, Any]
    values: dict[Column, Any] = field(default_factory=dict)

    def get(self, column: Column) -> Any:
        return self.attributes.get(column.key) if column.kind == "attributes" else self.values.get(column)


@dataclass(frozen=True)
class RunOrder:
    column: Column
    is_ascending: bool


def read_filter(text: str, *, attributes: Mapping[str, str] = ATTRIBUTES) -> list[RunComparison]:
    """All of them must hold. attributes: what a filter may name without a kind, in MLflow's word and in ours.

    Raises InvalidInputError naming the place that cannot be read.
    """
    reader = _Reader(text, attributes)
    found: list[RunComparison] = []
    while not reader.is_done:
        if found:
            reader.word("AND")
        found.append(reader.comparison())
        if len(found) > MAX_COMPARISONS:
            raise InvalidInputError(f"A filter may have {MAX_COMPARISONS} comparisons.", field="filter")
    return found


def read_orders(texts: Sequence[str], *, attributes: Mapping[str, str] = ATTRIBUTES) -> list[RunOrder]:
    """Raises InvalidInputError."""
    if len(texts) > MAX_ORDERS:
        raise InvalidInputError(f"Runs may be ordered by {MAX_ORDERS} columns.", field="order_by")
    found = []
    for text in texts:
        words = text.strip().rsplit(None, 1)
        direction = words[1].upper() if len(words) == 2 else ""
        name = words[0] if direction in ("ASC", "DESC") else text.strip()
        found.append(RunOrder(column_of(name, attributes=attributes), direction != "DESC"))
    return found


def column_of(text: str, *, attributes: Mapping[str, str] = ATTRIBUTES) -> Column:
    """Raises InvalidInputError for what names no metric, parameter, tag or attribute."""
    kind, _, key = text.partition(".")
    if not key:
        kind, key = "attributes", kind
    kind, key = KINDS.get(kind.lower(), ""), key.strip('`"')
    if kind == "attributes":
        key = attributes.get(key.lower(), "")
    if not kind or not key:
        raise _bad(text)
    return Column(kind, key)


def in_order(rows: Sequence[SearchRow], orders: Sequence[RunOrder]) -> list[SearchRow]:
    """Sorted; runs without the value last, then newest first, then by id."""
    found = sorted(rows, key=lambda row: row.run_id)
    found.sort(key=lambda row: -int(row.attributes["start_time"] or 0))
    for order in reversed(orders):
        had = [row for row in found if row.get(order.column) is not None]
        column = order.column
        had.sort(key=lambda row: row.get(column), reverse=not order.is_ascending)
        found = had + [row for row in found if row.get(column) is None]
    return found


class _Reader:
    """Tokens of a filter, one after the other."""

    def __init__(self, text: str, attributes: Mapping[str, str]) -> None:
        self._text, self._tokens, self._attributes = text, list[tuple[str, str]](), attributes
        place = 0
        while place < len(text.rstrip()):
            match = TOKEN.match(text, place)
            if match is None:
                raise _bad(text[place : place + 50])
            self._tokens.append((match.lastgroup or "", match.group(match.lastgroup or 0)))
            place = match.end()
        self._next = 0

    @property
    def is_done(self) -> bool:
        return self._next >= len(self._tokens)

    def take(self) -> tuple[str, str]:
        if self.is_done:
            raise _bad(self._text[-50:])
        self._next += 1
        return self._tokens[self._next - 1]

    def word(self, wanted: str) -> None:
        _, found = self.take()
        if found.upper() != wanted:
            raise _bad(found)

    def comparison(self) -> RunComparison:
        kind, name = self.take()
        if kind != "name":
            raise _bad(name)
        column = column_of(name, attributes=self._attributes)
        _, sign = self.take()
        sign = sign.upper()
        if sign == "IS":
            _, following = self.take()
            is_not = following.upper() == "NOT"
            if is_not:
                self.word("NULL")
            elif following.upper() != "NULL":
                raise _bad(following)
            return RunComparison(column, "IS NOT NULL" if is_not else "IS NULL", None)
        if sign == "NOT":
            self.word("IN")
            sign = "NOT IN"
        if sign in ("IN", "NOT IN"):
            return RunComparison(column, sign, self._values(column))
        if sign not in SIGNS and (sign not in ("LIKE", "ILIKE") or column.is_number):
            raise _bad(sign)
        value = self._value(column)
        if sign in ("LIKE", "ILIKE"):
            like_pattern(value, ignores_case=sign == "ILIKE")  # refused here, also where no run is compared
        return RunComparison(column, sign, value)

    def _values(self, column: Column) -> list[Any]:
        self.word("(")
        found = [self._value(column)]
        while (token := self.take()[1]) == ",":
            found.append(self._value(column))
        if token != ")":
            raise _bad(token)
        return found

    def _value(self, column: Column) -> Any:
        kind, text = self.take()
        if column.is_number:
            if kind != "number":
                raise _bad(text)
            return float(text)
        if kind != "text":
            raise _bad(text)
        return text[1:-1]


def _bad(text: str) -> InvalidInputError:
    return InvalidInputError(
        f"The filter or order cannot be read at {text[:50]!r}.",
        field="filter",
        remedy="Write metrics.NAME < 1, params.NAME = 'text', tags.NAME LIKE '%text%' or "
        "attributes.status = 'FINISHED', joined by AND.",
    )
