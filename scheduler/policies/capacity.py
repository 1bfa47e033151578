# SPDX-License-Identifier: Apache-2.0
"""Queues with guarantees that lend what they do not use and take it back when they need it; after YARN's scheduler."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from scheduler.api.plan import Explanation, Reason
from scheduler.api.snapshot import JobSnapshot, TenantSnapshot
from scheduler.policies.toolkit.policy import Grant, Proposal, View, by_submission, longest_run_first, n_held
from scheduler.quota.budget import Budget
from scheduler.quota.ledger import name_of

INSIDE = ("fifo", "fair")


@dataclass(frozen=True)
class Capacity:
    """Gives each tenant a queue, with jobs at their fixed size (Vavilapalli et al., SoCC '13; YARN's capacity
    scheduler).

    A queue is guaranteed its weight's part of its parent's GPUs; the parents' parts are shared among those queues that
    have jobs. It may have more while others leave it idle, up to its quota (elasticity).
    inside: "fifo" = by priority and submission, a job that does not fit holds up those behind; "fair" = least
    GPU-time first, and no job is held up. reclaims: jobs above their queue's guarantee leave for those below theirs.

    1. those that run within their queue's guarantee are confirmed, the longest running first;
    2. those that wait, where their queue stays within its guarantee with all that runs in it, the least served queue
       (used / guaranteed) first;
    3. those that run above a guarantee, where there is room still;
    4. what is left is lent, job by job to the least served queue.
    Without reclaims, 3 comes before 2.
    """

    inside: str = "fifo"
    reclaims: bool = True
    name: str = "capacity"

    def __post_init__(self) -> None:
        if self.inside not in INSIDE:
            raise ValueError(f"parameter 'inside' of policy 'capacity' must be one of {', '.join(INSIDE)}")

    def propose(self, view: View, *, budget: Budget, memory: Mapping[str, Any]) -> Proposal:  # noqa: ARG002
        queues = _Queues(self, view, budget)
        queues.confirm(within=True)
        if self.reclaims:
            queues.admit(within=True)
        queues.confirm(within=False)
        queues.admit(within=True)
        queues.admit(within=False)
        left = [job for jobs in queues.running.values() for job in jobs]
        notes = {job.id: (queues.why_reclaimed(job),) for job in left if not queues.is_within(job)}
        waiting = [job.id for job in sorted(view.jobs, key=by_submission) if job.id not in set(queues.order)]
        return Proposal(tuple(queues.grants), (*queues.order, *waiting), notes)


class _Queues:
    """The GPUs of each queue, and the order. used: GPUs granted by queue, with those of settled jobs."""

    def __init__(self, policy: Capacity, view: View, budget: Budget) -> None:
        self.budget = budget
        self.policy = policy
        self.tenants = {tenant.id: tenant for tenant in view.tenants}
        present = {job.tenant for job in (*view.jobs, *view.settled)}
        n_gpus = sum(node.n_gpus for node in view.nodes if node.is_schedulable)
        self.guarantee = guarantees(view.tenants, present, n_gpus)
        self.used = {t: budget.gpus_of_tenant(t) for t in present}
        self.running: dict[str, list[JobSnapshot]] = {}
        self.waiting: dict[str, list[JobSnapshot]] = {}
        for job in sorted((job for job in view.jobs if n_held(job)), key=longest_run_first):
            self.running.setdefault(job.tenant, []).append(job)
        for job in sorted((job for job in view.jobs if not n_held(job)), key=self._rank):
            self.waiting.setdefault(job.tenant, []).append(job)
        self.grants: list[Grant] = []
        self.order: list[str] = []

    def _rank(self, job: JobSnapshot) -> tuple[int, float, float, str]:
        attained = job.executed_gpu_s if self.policy.inside == "fair" else 0.0
        return -job.priority, attained, job.submitted_at_s, job.id

    def confirm(self, *, within: bool) -> None:
        """Running jobs that are not confirmed yet; within their guarantee only, or all that fit."""
        for tenant, jobs in sorted(self.running.items()):
            for job in jobs:
                if not self.budget.granted(job) and (not within or self.is_within(job)):
                    self._take(job, n_held(job), Explanation(Reason.UNCHANGED))
            self.running[tenant] = [job for job in jobs if not self.budget.granted(job)]

    def admit(self, *, within: bool) -> None:
        """Waiting jobs, the least served queue first, until no queue has one that may and fits."""
        open_queues = {t: list(jobs) for t, jobs in self.waiting.items() if jobs}
        while open_queues:
            tenant = min(open_queues, key=lambda t: (self.load(t), t))
            job = open_queues[tenant].pop(0)
            took = (not within or self.is_within(job)) and self._take(job, job.fixed_workers, self._why(job))
            is_blocked = not took and self.policy.inside == "fifo" and not self._is_over_quota(job)
            if is_blocked or not open_queues[tenant]:
                del open_queues[tenant]
        self.waiting = {t: [j for j in jobs if not self.budget.granted(j)] for t, jobs in self.waiting.items()}

    def load(self, tenant: str) -> float:
        """GPUs used of those guaranteed."""
        return self.used[tenant] / max(self.guarantee[tenant], 1e-9)

    def why_reclaimed(self, job: JobSnapshot) -> Explanation:
        facts = {
            "tenant": name_of(self.tenants[job.tenant]),
            "used": self.used[job.tenant] + n_held(job),
            "guarantee": round(self.guarantee[job.tenant], 1),
        }
        return Explanation(Reason.RECLAIMED, facts)

    def is_within(self, job: JobSnapshot) -> bool:
        """Whether its queue is within its guarantee with the job; a waiting job counts after the queue's running
        ones.
        """
        used = self.used[job.tenant] + (n_held(job) or job.fixed_workers)
        if not n_held(job):
            used += sum(n_held(other) for other in self.running.get(job.tenant, ()))
        return used <= self.guarantee[job.tenant] + 1e-9

    def _is_over_quota(self, job: JobSnapshot) -> bool:
        refused = self.budget.refusal(job, job.fixed_workers)
        return refused is not None and refused.reason is not Reason.TOO_FEW_FREE_GPUS

    def _why(self, job: JobSnapshot) -> Explanation:
        if self.is_within(job):
            return Explanation(Reason.FITS, {"n_workers": job.fixed_workers})
        facts = {"tenant": name_of(self.tenants[job.tenant]), "guarantee": round(self.guarantee[job.tenant], 1)}
        return Explanation(Reason.BORROWED, facts)

    def _take(self, job: JobSnapshot, n_workers: int, why: Explanation) -> bool:
        if not self.budget.reserve(job, n_workers):
            return False
        self.used[job.tenant] += n_workers
        self.order.append(job.id)
        self.grants.append(Grant(job.id, n_workers, self.budget.gpu_type(job), (why,)))
        return True


def guarantees(tenants: Iterable[TenantSnapshot], present: Iterable[str], n_gpus: int) -> dict[str, float]:
    """Returns the GPUs guaranteed to each tenant with jobs: its weight's part of its parent's part, never above its
    max_gpus.

    What children with a small quota cannot use goes to their siblings. Tenants without jobs in or below them count for
    nothing: their part is lent anyway.
    """
    by_id = {tenant.id: tenant for tenant in tenants}
    queues = set(present)
    active: set[str] = set()
    for tenant_id in queues:
        step: str | None = tenant_id
        while step is not None and step not in active:
            active.add(step)
            step = by_id[step].parent
    children: dict[str | None, list[TenantSnapshot]] = {}
    for tenant in by_id.values():
        if tenant.id in active:
            children.setdefault(tenant.parent, []).append(tenant)
    found: dict[str, float] = {}

    def share_out(parent: str | None, gpus: float) -> None:
        claims = children.get(parent, [])
        own = parent is not None and parent in queues  # its own jobs compete with its children's
        parts = _by_weight(claims, gpus, extra_weight=by_id[parent].weight if own and parent is not None else 0.0)
        if parent is not None and own:
            found[parent] = gpus - sum(parts.values())
        for tenant in claims:
            share_out(tenant.id, parts[tenant.id])

    share_out(None, float(n_gpus))
    return found


def _by_weight(claims: list[TenantSnapshot], gpus: float, *, extra_weight: float) -> dict[str, float]:
    """Parts by weight; a queue takes at most its quota, and the others share the rest."""
    parts: dict[str, float] = {}
    left, open_claims = gpus, sorted(claims, key=lambda tenant: tenant.id)
    while open_claims:
        total = sum(tenant.weight for tenant in open_claims) + extra_weight
        part = {t.id: left * t.weight / max(total, 1e-9) for t in open_claims}
        capped = [t for t in open_claims if t.max_gpus is not None and t.max_gpus < part[t.id]]
        if not capped:
            return parts | part
        for tenant in capped:
            parts[tenant.id] = float(tenant.max_gpus or 0)
            left -= parts[tenant.id]
        open_claims = [tenant for tenant in open_claims if tenant not in capped]
    return parts
