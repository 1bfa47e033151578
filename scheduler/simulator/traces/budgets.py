# SPDX-License-Identifier: Apache-2.0
"""The budgets of a cluster file's tenants: [{gpu_hours: 100, period: day, on_exhausted: stop_new, gpu_type: A100}]."""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, TypeVar

from scheduler.api.gpu_budgets import BudgetPeriod, GpuHourBudget, OnExhausted
from scheduler.simulator.traces.trace import BadInput

Choice = TypeVar("Choice", bound=StrEnum)
_FIELDS = ("gpu_hours", "period", "on_exhausted", "gpu_type")


def budgets_from_list(tenant: str, value: Any, name: str) -> tuple[GpuHourBudget, ...]:
    """Returns the budgets of a tenant, of which nothing is used yet.

    name: of the file. Raises BadInput that names the tenant and what is wrong with it.
    """
    if not isinstance(value, list) or not all(isinstance(one, Mapping) for one in value):
        raise BadInput(name, None, f"tenant {tenant!r} has budgets {value!r}; give a list, each with gpu_hours")
    return tuple(_budget(tenant, one, name) for one in value)


def _budget(tenant: str, value: Mapping[str, Any], name: str) -> GpuHourBudget:
    unknown = [key for key in value if key not in _FIELDS]
    if unknown:
        known = ", ".join(_FIELDS)
        raise BadInput(name, None, f"a budget of tenant {tenant!r} has the field {unknown[0]!r}; known: {known}")
    hours = value.get("gpu_hours")
    if isinstance(hours, bool) or not isinstance(hours, int | float) or not 0 <= hours < math.inf:
        problem = f"a budget of tenant {tenant!r} has gpu_hours {hours!r}; it must be a number of at least 0"
        raise BadInput(name, None, problem)
    return GpuHourBudget(
        float(hours),
        _one_of(BudgetPeriod, tenant, "period", value.get("period", BudgetPeriod.MONTH), name),
        _one_of(OnExhausted, tenant, "on_exhausted", value.get("on_exhausted", OnExhausted.ALERT), name),
        str(value.get("gpu_type", "")),
    )


def _one_of(kind: type[Choice], tenant: str, field: str, value: Any, name: str) -> Choice:
    try:
        return kind(value)
    except ValueError:
        words = " or ".join(one.value for one in kind)
        raise BadInput(name, None, f"a budget of tenant {tenant!r} has {field} {value!r}; give {words}") from None
