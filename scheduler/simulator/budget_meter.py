# SPDX-License-Identifier: Apache-2.0
"""GPU-hours that a simulation's tenants and users in them use of budgets: the integral of what their jobs hold."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from scheduler.api.gpu_budgets import BudgetPeriod, GpuHourBudget, period_of
from scheduler.api.snapshot import JobSnapshot, TenantSnapshot
from scheduler.api.topology import NodeSnapshot

HOUR_S = 3600.0
_Owner = tuple[str, str]  # tenant, and the user whose limit it is; "" = the tenant's own


class BudgetMeter:
    """Measures use from event to event. It is False where no tenant has a budget, and nothing needs to be measured."""

    def __init__(self, tenants: Sequence[TenantSnapshot]) -> None:
        self._budgets: dict[_Owner, tuple[GpuHourBudget, ...]] = {}
        for tenant in tenants:
            if tenant.budgets:
                self._budgets[tenant.id, ""] = tenant.budgets
            self._budgets |= {(tenant.id, one.user): one.budgets for one in tenant.user_limits if one.budgets}
        self._lines = {tenant.id: _line(tenant, {t.id: t for t in tenants}) for tenant in tenants}
        self._used: defaultdict[tuple[_Owner, int], float] = defaultdict(float)  # GPU-hours, by owner and budget
        self._until_s: float | None = None

    def __bool__(self) -> bool:
        return bool(self._budgets)

    @property
    def may_renew(self) -> bool:
        """Returns whether a hard budget is used up that is full again in the next period."""
        return any(
            budget.is_hard and budget.period is not BudgetPeriod.ONCE and 0 < budget.gpu_hours <= self._used[owner, n]
            for owner, budgets in self._budgets.items()
            for n, budget in enumerate(budgets)
        )

    def advance(self, now_s: float, jobs: Iterable[JobSnapshot], nodes: Sequence[NodeSnapshot]) -> None:
        """Counts what these jobs have held since the last call; of a shared GPU, each job has an equal part."""
        since_s, self._until_s = self._until_s, now_s
        if not self._budgets or since_s is None or now_s <= since_s:
            return
        rates = self._rates(jobs, {node.name: node.gpu_type for node in nodes})
        for owner, budgets in self._budgets.items():
            for number, budget in enumerate(budgets):
                gpus = sum(n for gpu_type, n in rates[owner].items() if budget.counts(gpu_type))
                began_s, _ = period_of(budget.period, now_s)
                if began_s is not None and began_s > since_s:  # what was used before is of an earlier period
                    self._used[owner, number] = 0.0
                self._used[owner, number] += gpus * (now_s - max(since_s, began_s or since_s)) / HOUR_S

    def tenants(self, tenants: Sequence[TenantSnapshot], now_s: float) -> tuple[TenantSnapshot, ...]:
        """Returns the tenants with what they, and users in them, have used of their budgets."""
        return tuple(self._measured(tenant, now_s) for tenant in tenants)

    def _measured(self, tenant: TenantSnapshot, now_s: float) -> TenantSnapshot:
        if not tenant.budgets and not any(one.budgets for one in tenant.user_limits):
            return tenant
        limits = tuple(
            replace(one, budgets=self._of((tenant.id, one.user), one.budgets, now_s)) for one in tenant.user_limits
        )
        return replace(tenant, budgets=self._of((tenant.id, ""), tenant.budgets, now_s), user_limits=limits)

    def _of(self, owner: _Owner, budgets: Sequence[GpuHourBudget], now_s: float) -> tuple[GpuHourBudget, ...]:
        found = []
        for number, budget in enumerate(budgets):
            began_s, ends_at_s = period_of(budget.period, now_s)
            is_new = began_s is not None and began_s == now_s
            used = 0.0 if is_new else self._used[owner, number]
            found.append(replace(budget, used_gpu_hours=used, ends_at_s=ends_at_s))
        return tuple(found)

    def _rates(self, jobs: Iterable[JobSnapshot], types: Mapping[str, str]) -> Mapping[_Owner, Mapping[str, float]]:
        """GPUs held by tenant, with all below it, and by its users; each by type."""
        holders: defaultdict[tuple[str, int], list[_Owner]] = defaultdict(list)
        for job in jobs:
            for share in job.held.shares if job.held is not None else ():
                for gpu in share.gpus:
                    holders[share.node, gpu].append((job.tenant, job.user))
        found: defaultdict[_Owner, defaultdict[str, float]] = defaultdict(lambda: defaultdict(float))
        for (node, _), owners in holders.items():
            for tenant, user in owners:
                for above in self._lines[tenant]:
                    for owner in {(above, ""), (above, user)}:
                        found[owner][types.get(node, "")] += 1 / len(owners)
        return found


def _line(tenant: TenantSnapshot, tenants: Mapping[str, TenantSnapshot]) -> tuple[str, ...]:
    found = [tenant.id]
    while (parent := tenants[found[-1]].parent) is not None and parent in tenants and parent not in found:
        found.append(parent)
    return tuple(found)
