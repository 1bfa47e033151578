# SPDX-License-Identifier: Apache-2.0
"""The tenants of a cluster file, with their quota: what TenantSnapshot has, by the same names (name is its id)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields
from enum import Enum
from typing import Any

from scheduler.api.snapshot import RULES_BY_TYPE, TenantSnapshot
from scheduler.quota.ledger import Ledger
from scheduler.simulator.traces.budgets import budgets_from_list
from scheduler.simulator.traces.trace import BadInput, Trace
from scheduler.simulator.traces.user_limits import gpus_by_type_of, user_limits_from_list

_KNOWN = tuple(f.name for f in fields(TenantSnapshot) if f.name not in ("id", "name"))
_DEFAULTS = {f.name: f.default for f in fields(TenantSnapshot)}


def tenants_from_list(value: Any, *, name: str, n_gpus: int) -> tuple[TenantSnapshot, ...]:
    """Returns the tenants of [{name, parent, weight, max_gpus, ...}].

    Raises BadInput that names the tenant and what is wrong with it.
    """
    if not isinstance(value, list) or not all(isinstance(one, Mapping) and one.get("name") for one in value):
        raise BadInput(name, None, "expected a list under tenants:, each with a name")
    found: dict[str, TenantSnapshot] = {}
    for one in value:
        tenant = str(one["name"])
        if tenant in found:
            raise BadInput(name, None, f"tenant {tenant!r} is there twice; give each its own name")
        unknown = [key for key in one if key not in (*_KNOWN, "name")]
        if unknown:
            known = ", ".join(("name", *_KNOWN))
            raise BadInput(name, None, f"tenant {tenant!r} has the unknown field {unknown[0]!r}; known: {known}")
        values = {key: _checked(tenant, key, one[key], name) for key in one if key != "name"}
        found[tenant] = TenantSnapshot(id=tenant, name=tenant, **values)
    for tenant, snapshot in found.items():
        if snapshot.parent is not None and snapshot.parent not in found:
            raise BadInput(name, None, f"tenant {tenant!r} has the unknown parent {snapshot.parent!r}; add it")
    try:
        Ledger(found.values(), n_gpus=n_gpus)
    except ValueError as error:
        raise BadInput(name, None, str(error)) from error
    return tuple(found.values())


def tenants_of(trace: Trace, known: Sequence[TenantSnapshot], *, cluster: str) -> tuple[TenantSnapshot, ...]:
    """Returns the cluster's tenants; where it names none, one without limits for every tenant of the trace.

    Raises BadInput for a job of a tenant that is not there, or of one that may never use so many GPUs.
    """
    if not known:
        return tuple(TenantSnapshot(tenant) for tenant in sorted({job.tenant for job in trace.jobs}))
    by_id = {tenant.id: tenant for tenant in known}
    for job in trace.jobs:
        if job.tenant not in by_id:
            problem = f"job {job.id!r} belongs to {job.tenant!r}, whom {cluster} does not name under tenants:; add it"
            raise BadInput(trace.name, job.row, problem)
        line: list[str] = []
        next_id: str | None = job.tenant
        while next_id is not None and next_id not in line:
            line.append(next_id)
            most = by_id[next_id].max_gpus
            if most is not None and job.n_gpus > most:
                problem = f"job {job.id!r} needs {job.n_gpus} GPUs, but {next_id!r} may never use more than {most}"
                raise BadInput(trace.name, job.row, f"{problem}; raise max_gpus in {cluster} or take the job out")
            next_id = by_id[next_id].parent
    return tuple(known)


def _checked(tenant: str, key: str, value: Any, name: str) -> Any:
    default = _DEFAULTS[key]
    if key == "budgets":
        return budgets_from_list(tenant, value, name)
    if key in RULES_BY_TYPE:
        return gpus_by_type_of(f"tenant {tenant!r}", value, name, key=key)
    if key == "user_limits":
        return user_limits_from_list(tenant, value, name)
    if value is None and default is None:
        return None
    if key == "parent":
        return str(value)
    if isinstance(default, bool) or isinstance(value, bool):
        if isinstance(default, bool) and isinstance(value, bool):
            return value
        raise BadInput(name, None, f"tenant {tenant!r} has {key} {value!r}; it must be true or false")
    if isinstance(default, Enum):
        kinds = [str(one.value) for one in type(default)]
        if value not in kinds:
            raise BadInput(name, None, f"tenant {tenant!r} has {key} {value!r}; it must be {' or '.join(kinds)}")
        return type(default)(value)
    is_whole = not isinstance(default, float)
    if (
        not isinstance(value, int | float)
        or not math.isfinite(value)
        or value < 0
        or (is_whole and value != int(value))
    ):
        kind = "a whole number" if is_whole else "a number"
        raise BadInput(name, None, f"tenant {tenant!r} has {key} {value!r}; it must be {kind} of at least 0")
    return int(value) if is_whole else float(value)
