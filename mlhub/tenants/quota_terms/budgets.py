# SPDX-License-Identifier: Apache-2.0
"""Budgets of GPU-hours as a quota stores them: [{gpu_hours, period, on_exhausted, gpu_type}], and what they may be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mlhub.core.errors import InvalidInputError
from mlhub.wire.words import hours_text

PERIODS = [(word, word) for word in ("day", "week", "month", "once")]
ON_EXHAUSTED = [(word, word) for word in ("alert", "stop_new", "stop_all")]
MOST_BUDGETS = 8  # of one owner
MOST_GPU_HOURS = 1e9
_CHOICES = {"period": (dict(PERIODS), "month"), "on_exhausted": (dict(ON_EXHAUSTED), "alert")}


def checked_budgets(value: Any) -> list[dict[str, Any]]:
    """Returns the budgets with every field. Raises InvalidInputError for ones that make no sense."""
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) > MOST_BUDGETS:
        raise InvalidInputError(
            "budgets is no list of budgets.", field="budgets", remedy=f"Give a list of at most {MOST_BUDGETS}."
        )
    found = [_checked(one, number) for number, one in enumerate(value)]
    seen: set[tuple[str, str]] = set()
    for number, one in enumerate(found):
        key = (one["period"], one["gpu_type"])
        if key in seen:
            raise InvalidInputError(
                f"There are two budgets of the period {key[0]} for {key[1] or 'all GPUs'}.",
                field=f"budgets.{number}.period",
                remedy="Give one for each period and GPU type.",
            )
        seen.add(key)
    return found


def _checked(value: Any, number: int) -> dict[str, Any]:
    field = f"budgets.{number}"
    if not isinstance(value, Mapping):
        raise InvalidInputError(f"{field} is {value!r}.", field=field, remedy="Give an object with gpu_hours.")
    hours = value.get("gpu_hours")
    if isinstance(hours, bool) or not isinstance(hours, int | float) or not 0 <= hours <= MOST_GPU_HOURS:
        remedy = f"Give GPU-hours from 0 to {hours_text(MOST_GPU_HOURS)}."
        raise InvalidInputError(f"gpu_hours is {hours!r}.", field=f"{field}.gpu_hours", remedy=remedy)
    found: dict[str, Any] = {"gpu_hours": float(hours), "gpu_type": str(value.get("gpu_type", ""))}
    for name, (words, usual) in _CHOICES.items():
        found[name] = value.get(name, usual)
        if found[name] not in words:
            remedy = f"Give one of {', '.join(words)}."
            raise InvalidInputError(f"{name} is {found[name]!r}.", field=f"{field}.{name}", remedy=remedy)
    return found
