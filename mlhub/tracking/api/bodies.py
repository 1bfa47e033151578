# SPDX-License-Identifier: Apache-2.0
"""Fields of MLflow's requests. What a newer client sends besides is passed over, as MLflow's own server does."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

from mlhub.core.errors import InvalidInputError
from mlhub.tracking.limits import MAX_INTEGER, Entry, LogBatch, LoggedPoint

MAX_TEXT = 10_000
NOT_FINITE = {"nan": math.nan, "infinity": math.inf, "-infinity": -math.inf}
Fields = Mapping[str, Any]
COLUMNS = itemgetter("key", "value", "timestamp", "step")


def text(fields: Fields, name: str, *, default: str | None = None, most: int = MAX_TEXT) -> str:
    """Raises InvalidInputError when it is missing without a default, no text, or too long."""
    found = fields.get(name)
    if found is None or found == "":
        if default is not None:
            return default
        raise InvalidInputError(f"Missing value for required parameter '{name}'.", field=name, remedy="Send it.")
    if not isinstance(found, str) or len(found) > most or "\x00" in found:
        raise InvalidInputError(f"{name} is no text of at most {most:,} characters.", field=name)
    return found


def integer(fields: Fields, name: str, *, default: int | None = None) -> int:
    """A whole number of 64 bits; protobuf's JSON may write it as text."""
    found = fields.get(name)
    if found is None and default is not None:
        return default
    try:
        number = int(found) if isinstance(found, int | str) and not isinstance(found, bool) else None
    except ValueError:
        number = None
    if number is None and isinstance(found, float) and found.is_integer():
        number = int(found)
    if number is None or abs(number) > MAX_INTEGER:
        raise InvalidInputError(f"{name} is no whole number of 64 bits.", field=name, remedy="Send a whole number.")
    return number


def number(fields: Fields, name: str) -> float:
    """A number; NaN and infinities as text, as protobuf's JSON writes them."""
    found = fields.get(name)
    if isinstance(found, str) and found.lower() in NOT_FINITE:
        return NOT_FINITE[found.lower()]
    if isinstance(found, bool) or not isinstance(found, int | float):
        raise InvalidInputError(f"{name} is no number.", field=name, remedy="Send a number.")
    return float(found)


def objects(fields: Fields, name: str) -> list[dict[str, Any]]:
    """A list of objects; absent: none."""
    found = fields.get(name) or []
    if not isinstance(found, list) or not set(map(type, found)) <= {dict}:
        raise InvalidInputError(f"{name} is no list of objects.", field=name)
    return found


def texts(fields: Fields, name: str) -> list[str]:
    """A list of texts; absent: none."""
    found = fields.get(name) or []
    if not isinstance(found, list) or not all(isinstance(one, str) and len(one) <= MAX_TEXT for one in found):
        raise InvalidInputError(f"{name} is no list of texts.", field=name)
    return found


def point(fields: Fields) -> LoggedPoint:
    return LoggedPoint(
        key=text(fields, "key"),
        value=number(fields, "value"),
        at_ms=integer(fields, "timestamp"),
        step=integer(fields, "step", default=0),
    )


def points(metrics: Sequence[Fields]) -> list[LoggedPoint]:
    """As point() reads each. What clients write as a rule is looked at by column; anything else is read with care."""
    try:
        rows = list(map(COLUMNS, metrics))
    except KeyError:
        rows = []
    if not rows or not _are_usual(*zip(*rows, strict=True)):
        return [point(one) for one in metrics]
    return list(map(LoggedPoint._make, rows))


def _are_usual(keys: Sequence[Any], values: Sequence[Any], times: Sequence[Any], steps: Sequence[Any]) -> bool:
    """Whether each point has what point() would take as it is."""
    for column, kind in ((keys, str), (values, float), (times, int), (steps, int)):
        if set(map(type, column)) != {kind}:
            return False
    in_range = all(min(column) >= -MAX_INTEGER and max(column) <= MAX_INTEGER for column in (times, steps))
    return in_range and all(key and len(key) <= MAX_TEXT and "\x00" not in key for key in set(keys))


def points_of_models(metrics: Sequence[Fields]) -> dict[str, list[LoggedPoint]]:
    """Of metrics those that name a logged model, by its id."""
    found: dict[str, list[LoggedPoint]] = {}
    for one in [one for one in metrics if "model_id" in one]:
        if one["model_id"]:
            found.setdefault(text(one, "model_id"), []).append(point(one))
    return found


def entry(fields: Fields) -> Entry:
    """A parameter or a tag; its value may be empty."""
    return Entry(text(fields, "key"), text(fields, "value", default=""))


def batch(fields: Fields) -> LogBatch:
    """Of runs/log-batch."""
    return LogBatch(
        points=points(objects(fields, "metrics")),
        params=[entry(one) for one in objects(fields, "params")],
        tags=[entry(one) for one in objects(fields, "tags")],
    )


def run_id(fields: Fields) -> str:
    """Older clients write run_uuid."""
    return text(fields, "run_uuid" if fields.get("run_uuid") and not fields.get("run_id") else "run_id")
