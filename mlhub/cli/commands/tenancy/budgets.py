# SPDX-License-Identifier: Apache-2.0
"""Budgets of GPU-hours on the command line: how a change of one is written, and how a table shows them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Any

import typer

from mlhub.cli.failures import CommandError
from mlhub.cli.given_values import finite
from mlhub.wire.words import hours_text

PERIODS = ("day", "week", "month", "once")
ON_EXHAUSTED = ("alert", "stop_new", "stop_all")
WRITTEN = "PERIOD[:TYPE]=GPU_HOURS[,WHEN_USED_UP]"
REMEDY = f"Give one as {WRITTEN}, such as month=500,stop_new or week:A100=40, or month=none."
BudgetRow = dict[str, Any]
BudgetChanges = Annotated[
    list[str] | None,
    typer.Option(
        metavar=f"{WRITTEN}|none",
        help=f"GPU-hours of a {', '.join(PERIODS[:-1])} or {PERIODS[-1]}, of all types or of one, and what happens "
        f"when they are used up: {', '.join(ON_EXHAUSTED)}; once for each budget.",
    ),
]


def changed_budgets(present: Iterable[BudgetRow], changes: Sequence[str]) -> list[BudgetRow]:
    """All budgets, with the changes as WRITTEN: the API takes the whole list. Raises CommandError.

    What happens when one is used up stays as it was where a change does not say it.
    """
    names = ("gpu_hours", "period", "on_exhausted", "gpu_type")
    found = {(one["period"], one["gpu_type"]): {name: one[name] for name in names} for one in present}
    for change in changes:
        key, amount = _read(change)
        if amount == "none":
            found.pop(key, None)
            continue
        hours, _, on_exhausted = amount.partition(",")
        on_exhausted = on_exhausted or found.get(key, {}).get("on_exhausted", ON_EXHAUSTED[0])
        if on_exhausted not in ON_EXHAUSTED:
            raise CommandError(f"{on_exhausted!r} in {change} is none of {', '.join(ON_EXHAUSTED)}.", remedy=REMEDY)
        values = (_hours(hours, change), key[0], on_exhausted, key[1])
        found[key] = dict(zip(names, values, strict=True))
    return list(found.values())


def budgets_in_words(budgets: Sequence[BudgetRow], used: Sequence[float] | None) -> str:
    """used: GPU-hours of each; None where they are not known."""
    return ", ".join(
        _in_words(one, None if used is None or number >= len(used) else used[number])
        for number, one in enumerate(budgets)
    )


def _in_words(one: BudgetRow, used: float | None) -> str:
    is_small = one["gpu_hours"] < 10
    now = "" if used is None else f"{hours_text(used) if is_small else f'{used:,.1f}'} of "
    period = "once" if one["period"] == "once" else f"a {one['period']}"
    return f"{now}{hours_text(one['gpu_hours'])} {period} {one['gpu_type']}".strip()


def _read(change: str) -> tuple[tuple[str, str], str]:
    """Period and type, and what follows."""
    key, sign, amount = change.rpartition("=")
    period, _, gpu_type = key.partition(":")
    if not sign or period not in PERIODS:
        raise CommandError(f"{change} names no period: one of {', '.join(PERIODS)}.", remedy=REMEDY)
    return (period, gpu_type), amount


def _hours(text: str, change: str) -> float:
    try:
        return finite(text)
    except ValueError:
        raise CommandError(f"{change} names no GPU-hours.", remedy=REMEDY) from None
