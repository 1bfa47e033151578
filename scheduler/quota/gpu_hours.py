# SPDX-License-Identifier: Apache-2.0
"""Hard budgets of GPU-hours in a round: who may start, who has to leave, and when that is predicted to change."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from scheduler.api.administrators import admins_above, admins_within
from scheduler.api.gpu_budgets import GpuHourBudget, OnExhausted
from scheduler.api.plan import Explanation, Reason
from scheduler.api.reasons import date_of
from scheduler.api.snapshot import ClusterSnapshot, GangAllocation, JobSnapshot, TenantSnapshot
from scheduler.api.user_limits import UserLimit

HOUR_S = 3600.0


@dataclass(frozen=True)
class OwnedBudget:
    """Holds a hard budget and whose it is: a tenant's, or a user's within that tenant. line: the tenant and all above
    it.
    """

    line: tuple[TenantSnapshot, ...]
    budget: GpuHourBudget
    user: UserLimit | None = None

    @property
    def tenant(self) -> TenantSnapshot:
        """Returns the tenant whose budget it is, or whose user's."""
        return self.line[0]

    @property
    def explanation(self) -> Explanation:
        """Returns why a job of the tenant does not run: whose budget is used up, and when it is full again."""
        budget = self.budget
        facts = {
            "tenant": self.tenant.name or self.tenant.id,
            "used": budget.used_gpu_hours,
            "budget": budget.gpu_hours,
            "scope": f" on {budget.gpu_type}" if budget.gpu_type else "",
            "renewal": _renewal(budget.ends_at_s),
        }
        if self.user is not None:
            whose = {"user": self.user.name or self.user.user, "admins": admins_within(self.line)}
            return Explanation(Reason.USER_BUDGET_EXHAUSTED, {**facts, **whose})
        return Explanation(Reason.BUDGET_EXHAUSTED, {**facts, "above": admins_above(self.line)})


class GpuHourLimits:
    """Knows the hard budgets of a snapshot. Without any, nothing is ever refused, and jobs stay as they are.

    narrowed: by waiting job of which some allowed GPU types are used up, why; it may start on the other types.
    """

    def __init__(self, snapshot: ClusterSnapshot) -> None:
        tenants = {tenant.id: tenant for tenant in snapshot.tenants}
        has_any = any(budget.is_hard for tenant in snapshot.tenants for budget in tenant.budgets)
        self._of = {tenant_id: _hard_budgets(tenant_id, tenants) for tenant_id in tenants} if has_any else {}
        self._of_user = _hard_budgets_of_users(tenants, self._of)
        self._gpu_type = {node.name: node.gpu_type for node in snapshot.nodes}
        self._types = tuple(sorted(set(self._gpu_type.values())))
        self._now_s = snapshot.now_s
        self.narrowed: dict[str, Explanation] = {}

    def __bool__(self) -> bool:
        return bool(self._of or self._of_user)

    def narrow(self, snapshot: ClusterSnapshot) -> ClusterSnapshot:
        """Returns the snapshot with jobs kept from growing beyond budgets that are used up.

        A waiting job may use the types of GPU of which something is left; one without any keeps its types, and
        refusal() names the budget. A running job may not become larger on a type that is used up, nor move to one.
        """
        if not any(owned.budget.is_exhausted for owned in self._all()):
            return snapshot
        return replace(snapshot, jobs=tuple([self._narrow(job) for job in snapshot.jobs]))

    def refusal(self, job: JobSnapshot) -> Explanation | None:
        """Returns why the job may not start now: a budget that is used up on every type that it may use; else None."""
        used_up = self._used_up(job, job.gpu_types or self._types)
        if used_up and len(used_up) == len(job.gpu_types or self._types):
            return _last_to_end(used_up.values()).explanation
        return None

    def must_leave(self, job: JobSnapshot, held: GangAllocation) -> Explanation | None:
        """Returns why the job has to release these GPUs, or may not resume on them: a budget that stops all is used up;
        else None.
        """
        if not self:
            return None
        owned = {owned for gpu_type in self._types_of(held) for owned in self.binding(job, gpu_type)}
        stopping = [o for o in owned if o.budget.is_exhausted and o.budget.on_exhausted is OnExhausted.STOP_ALL]
        return _last_to_end(stopping).explanation if stopping else None

    def binding(self, job: JobSnapshot, gpu_type: str) -> tuple[OwnedBudget, ...]:
        """Returns the hard budgets that the job counts against on this type."""
        return tuple(owned for owned in self._owned(job) if owned.budget.counts(gpu_type))

    def binding_everywhere(self, job: JobSnapshot) -> tuple[OwnedBudget, ...]:
        """Returns the hard budgets that the job counts against on every type that it may use."""
        types = job.gpu_types or self._types
        return tuple(o for o in self._owned(job) if all(o.budget.counts(t) for t in types))

    def binding_anywhere(self, job: JobSnapshot) -> tuple[OwnedBudget, ...]:
        """Returns the hard budgets that the job counts against on at least one type that it may use."""
        types = job.gpu_types or self._types
        return tuple(o for o in self._owned(job) if any(o.budget.counts(t) for t in types))

    def gpu_type_of(self, node: str) -> str:
        """Returns the node's type of GPU; "" for a node that is not there."""
        return self._gpu_type.get(node, "")

    def full_again_at_s(self, job: JobSnapshot) -> float | None:
        """Returns when the job may start although budgets are used up now: on the type where that is soonest; None if
        that is in no period.
        """
        types = job.gpu_types or self._types
        used_up = self._used_up(job, types)
        if len(used_up) < len(types):
            return self._now_s
        return min((o.budget.ends_at_s for o in used_up.values() if o.budget.ends_at_s is not None), default=None)

    def wake_at_s(self, gpus: Mapping[OwnedBudget, float]) -> float | None:
        """Returns when a budget is used up, or full again, if these GPUs are held; None if never."""
        times = [self.exhausted_at_s(owned, n) for owned, n in gpus.items() if not owned.budget.is_exhausted]
        times += [o.budget.ends_at_s for o in self._all() if o.budget.is_exhausted]
        return min((max(at_s, self._now_s + 1.0) for at_s in times if at_s is not None), default=None)

    def exhausted_at_s(self, owned: OwnedBudget, n_gpus: float) -> float | None:
        """Returns when it is used up while n_gpus are held; None if not in this period."""
        budget = owned.budget
        if budget.is_exhausted:
            return self._now_s
        if n_gpus <= 0:
            return None
        at_s = self._now_s + HOUR_S * (budget.gpu_hours - budget.used_gpu_hours) / n_gpus
        return at_s if budget.ends_at_s is None or at_s < budget.ends_at_s else None

    def _owned(self, job: JobSnapshot) -> tuple[OwnedBudget, ...]:
        """Those that the job counts against: of its user within the tenant, or else of the tenant alone."""
        found = self._of_user.get((job.tenant, job.user)) if job.user and self._of_user else None
        return self._of.get(job.tenant, ()) if found is None else found

    def _all(self) -> set[OwnedBudget]:
        return {owned for books in (self._of, self._of_user) for each in books.values() for owned in each}

    def _narrow(self, job: JobSnapshot) -> JobSnapshot:
        held = job.held
        used_up = self._used_up(job, job.gpu_types or self._types) if self._owned(job) else {}
        if not used_up:
            return job
        types = tuple(t for t in job.gpu_types or self._types if t not in used_up)
        if held is None:
            if not types:
                return job
            self.narrowed[job.id] = _last_to_end(used_up.values()).explanation
            return replace(job, gpu_types=types)
        own = self._types_of(held)
        most = max(job.min_workers, held.n_workers) if used_up.keys() & own else job.max_workers
        return replace(job, gpu_types=tuple(sorted({*types, *own})), max_workers=min(job.max_workers, most))

    def _used_up(self, job: JobSnapshot, gpu_types: Collection[str]) -> dict[str, OwnedBudget]:
        """By type of GPU of which the job may use no more: the budget that is full again last."""
        found = {}
        for gpu_type in gpu_types:
            used_up = [owned for owned in self.binding(job, gpu_type) if owned.budget.is_exhausted]
            if used_up:
                found[gpu_type] = _last_to_end(used_up)
        return found

    def _types_of(self, held: GangAllocation) -> set[str]:
        return {self._gpu_type[share.node] for share in held.shares if share.gpus and share.node in self._gpu_type}


def _hard_budgets(tenant_id: str, tenants: Mapping[str, TenantSnapshot]) -> tuple[OwnedBudget, ...]:
    """Those of the tenant and of all above it."""
    line = _line_of(tenant_id, tenants)
    return tuple(OwnedBudget(line[n:], budget) for n, at in enumerate(line) for budget in at.budgets if budget.is_hard)


def _line_of(tenant_id: str, tenants: Mapping[str, TenantSnapshot]) -> tuple[TenantSnapshot, ...]:
    """The tenant and all above it."""
    found: list[TenantSnapshot] = []
    seen: set[str] = set()
    at = tenants.get(tenant_id)
    while at is not None and at.id not in seen:
        seen.add(at.id)
        found.append(at)
        at = tenants.get(at.parent or "")
    return tuple(found)


def _hard_budgets_of_users(
    tenants: Mapping[str, TenantSnapshot], of_tenants: Mapping[str, tuple[OwnedBudget, ...]]
) -> dict[tuple[str, str], tuple[OwnedBudget, ...]]:
    """By tenant and user, where the user has a budget in the tenant or above it: the tenant's own and the user's."""
    of_user: dict[tuple[str, str], list[OwnedBudget]] = {}
    for tenant in tenants.values():
        line = _line_of(tenant.id, tenants)
        for limit in tenant.user_limits:
            hard = [OwnedBudget(line, budget, limit) for budget in limit.budgets if budget.is_hard]
            if hard:
                of_user[tenant.id, limit.user] = hard
    users = {user for _, user in of_user}
    found = {}
    for tenant_id in tenants if users else ():
        line = _line_of(tenant_id, tenants)
        for user in users:
            own = [owned for at in line for owned in of_user.get((at.id, user), ())]
            if own:
                found[tenant_id, user] = (*of_tenants.get(tenant_id, ()), *own)
    return found


def _last_to_end(owned: Iterable[OwnedBudget]) -> OwnedBudget:
    """The one that is full again last, as that is when the job may run."""

    def key(one: OwnedBudget) -> tuple[float, str, str, str]:
        ends_at_s, user = one.budget.ends_at_s, one.user.user if one.user is not None else ""
        return (math.inf if ends_at_s is None else ends_at_s), one.tenant.id, one.budget.gpu_type, user

    return max(owned, key=key)


def _renewal(ends_at_s: float | None) -> str:
    if ends_at_s is None:
        return "it starts when the budget is raised"
    if not (date := date_of(ends_at_s)):
        return "it starts in the next period, or when the budget is raised"
    return f"it may start on {date}, or when the budget is raised"
