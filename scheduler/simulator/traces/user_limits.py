# SPDX-License-Identifier: Apache-2.0
"""Limits of users in a cluster file's tenants: [{user: ann, max_gpus: 4, gpus_by_type: {A100: 2}, budgets: [...]}]."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scheduler.api.user_limits import UserLimit
from scheduler.simulator.traces.budgets import budgets_from_list
from scheduler.simulator.traces.trace import BadInput

_FIELDS = ("user", "max_gpus", "gpus_by_type", "max_running_jobs", "max_cpus", "max_memory_bytes", "budgets")


def user_limits_from_list(tenant: str, value: Any, name: str) -> tuple[UserLimit, ...]:
    """Returns the limits of single users in a tenant; users are those of the trace's column user.

    name: of the file. Raises BadInput that names the tenant, the user and what is wrong.
    """
    if not isinstance(value, list) or not all(isinstance(one, Mapping) and one.get("user") for one in value):
        raise BadInput(name, None, f"tenant {tenant!r} has user_limits {value!r}; give a list, each with a user")
    found: dict[str, UserLimit] = {}
    for one in value:
        limit = _limit(tenant, one, name)
        if limit.user in found:
            raise BadInput(name, None, f"tenant {tenant!r} limits the user {limit.user!r} twice; give each user once")
        found[limit.user] = limit
    return tuple(found.values())


def _limit(tenant: str, value: Mapping[str, Any], name: str) -> UserLimit:
    user = str(value["user"])
    whose = f"the limit of user {user!r} in {tenant!r}"
    unknown = [key for key in value if key not in _FIELDS]
    if unknown:
        known = ", ".join(_FIELDS)
        raise BadInput(name, None, f"{whose} has the field {unknown[0]!r}; known: {known}")
    return UserLimit(
        user=user,
        name=user,
        max_gpus=_count(whose, "max_gpus", value.get("max_gpus"), name),
        gpus_by_type=gpus_by_type_of(whose, value.get("gpus_by_type"), name),
        max_running_jobs=_count(whose, "max_running_jobs", value.get("max_running_jobs"), name),
        max_cpus=_count(whose, "max_cpus", value.get("max_cpus"), name),
        max_memory_bytes=_count(whose, "max_memory_bytes", value.get("max_memory_bytes"), name),
        budgets=budgets_from_list(tenant, value.get("budgets", []), name),
    )


def gpus_by_type_of(whose: str, value: Any, name: str, *, key: str = "gpus_by_type") -> tuple[tuple[str, int], ...]:
    """Returns (type, GPUs) pairs of {A100: 2}. whose: limits, in a message; key: their name. Raises BadInput."""
    by_type = value or {}
    if not isinstance(by_type, Mapping):
        raise BadInput(name, None, f"{whose} has {key} {by_type!r}; give a number by GPU type")
    return tuple((str(gpu_type), _count(whose, key, most, name) or 0) for gpu_type, most in by_type.items())


def _count(whose: str, field: str, value: Any, name: str) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise BadInput(name, None, f"{whose} has {field} {value!r}; it must be a whole number of at least 0")
    return value
