# SPDX-License-Identifier: Apache-2.0
"""Which limits of a changed quota would be below what is used now: known at once, also while jobs are still starting.

A plan compares decisions, and a job that is starting or stopping is decided on later; its GPUs are in use all the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mlhub.control.quotas.quota_tree import quota_tree
from mlhub.storage.actions import used_bytes_within
from mlhub.tenants.actions.limits.quotas import Owner
from mlhub.tenants.models import Organisation

# limits, and what the quota tree calls the use of each
USE_OF = {
    "max_gpus": "used",
    "max_running_jobs": "running_jobs",
    "max_waiting_jobs": "waiting_jobs",
    "max_cpus": "used_cpus",
    "max_memory_bytes": "used_memory_bytes",
}
STORAGE, BY_TYPE = "max_storage_bytes", "gpus_by_type"
ENDS_NOTHING = (STORAGE, "max_waiting_jobs")  # they refuse what is new


@dataclass(frozen=True)
class BelowUse:
    """A limit below its use. gpu_type: "" where the limit is of no single type. drains: jobs above it save and leave;
    else nothing is stopped or deleted, and what is new is refused.
    """

    owner: str
    limit: str
    gpu_type: str
    used: float
    amount: float

    @property
    def drains(self) -> bool:
        return self.limit not in ENDS_NOTHING


def limits_below_use(owner: Owner, rules: Mapping[str, Any]) -> list[BelowUse]:
    """Of limits that would change. rules: as the scheduler would see them, with boosts."""
    if not any(rules.get(name) is not None for name in (*USE_OF, BY_TYPE, STORAGE)):
        return []
    organisation = owner if isinstance(owner, Organisation) else owner.organisation
    present = next(row for row in quota_tree(organisation) if row["id"] == owner.pk)
    return [
        BelowUse(owner.name, limit, gpu_type, used, amount)
        for limit, gpu_type, used, amount in _used(owner, rules, present)
        if used > amount
    ]


def _used(
    owner: Owner, rules: Mapping[str, Any], present: Mapping[str, Any]
) -> Iterator[tuple[str, str, float, float]]:
    """Each limit with its type, what is used of it and what it would be."""
    for limit, name in USE_OF.items():
        if (amount := rules.get(limit)) is not None:
            yield limit, "", present[name], amount
    for gpu_type, amount in dict(rules.get(BY_TYPE) or ()).items():
        yield BY_TYPE, gpu_type, present["used_by_type"].get(gpu_type, 0), amount
    if (amount := rules.get(STORAGE)) is not None:
        yield STORAGE, "", used_bytes_within(owner), amount
