# SPDX-License-Identifier: Apache-2.0
"""Fields of MLflow's requests. What a newer client sends besides is passed over, as MLflow's own server does."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from mlhub.core.errors import InvalidInputError
from mlhub.tracking.limits import MAX_INTEGER, Entry, LogBatch, LoggedPoint

MAX_TEXT = 10_000
NOT_FINITE = {"nan": math.nan, "infinity": math.inf, "-infinity": -math.inf}
Fields = Mapping[str, Any]


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
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
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
    """As point() reads each. What clients write as a rule is taken as it is; anything else is read with care."""
    found = []
    keys: set[str] = set()  # that were read with care once
    for one in metrics:
        key: Any = one.get("key")
        value: Any = one.get("value")
        at_ms: Any = one.get("timestamp")
        step: Any = one.get("step")
        is_usual = type(value) is float and type(at_ms) is int and type(step) is int and type(key) is str
        if is_usual and key in keys and -MAX_INTEGER <= at_ms <= MAX_INTEGER and -MAX_INTEGER <= step <= MAX_INTEGER:
            found.append(LoggedPoint(key, value, at_ms, step))
        else:
            read = point(one)
            keys.add(read.key)
            found.append(read)
    return found


def points_of_models(metrics: Sequence[Fields]) -> dict[str, list[LoggedPoint]]:
    """Of metrics those that name a logged model, by its id."""
    found: dict[str, list[LoggedPoint]] = {}
    for one in metrics:
        if one.get("model_id"):
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
