# SPDX-License-Identifier: Apache-2.0
"""Fair shares: the tenant with the fewest GPUs for its weight is served next; over-served tenants give back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from scheduler.api.plan import Explanation, Reason
from scheduler.api.snapshot import JobSnapshot, TenantSnapshot
from scheduler.policies.toolkit.policy import Grant, Proposal, View, by_submission, n_held
from scheduler.quota.budget import Budget


@dataclass(frozen=True)
class Fair:
    """Fills tenants progressively, job by job (max-min fairness of GPUs by weight).

    Inside a tenant running jobs come first, then priority and submission. A tenant's turn is the smallest
    (GPUs granted + those of its next job) / weight, so that one large job does not overshoot a share by much.
    """

    name: str = "fair"

    def propose(self, view: View, *, budget: Budget, memory: Mapping[str, Any]) -> Proposal:  # noqa: ARG002
        tenants = {tenant.id: tenant for tenant in view.tenants}
        queues: dict[str, list[JobSnapshot]] = {}
        for job in sorted(view.jobs, key=lambda job: (not n_held(job), *by_submission(job))):
            queues.setdefault(job.tenant, []).append(job)
        granted = {tenant_id: float(budget.gpus_of_tenant(tenant_id)) for tenant_id in queues}
        grants: list[Grant] = []
        refused: list[JobSnapshot] = []
        order: list[str] = []
        while queues:
            tenant_id = min(queues, key=lambda t: (_share(granted[t], queues[t][0], tenants[t]), t))
            job = queues[tenant_id].pop(0)
            if not queues[tenant_id]:
                del queues[tenant_id]
            order.append(job.id)
            n_workers = _size(job)
            if budget.reserve(job, n_workers):
                granted[tenant_id] += n_workers
                fits = Explanation(Reason.FITS, {"n_workers": n_workers})
                grants.append(Grant(job.id, n_workers, budget.gpu_type(job), (fits,)))
            elif n_held(job):
                refused.append(job)
        notes = {job.id: (_share_note(tenants[job.tenant], granted[job.tenant]),) for job in refused}
        return Proposal(tuple(grants), tuple(order), notes)


def _size(job: JobSnapshot) -> int:
    return n_held(job) or job.fixed_workers


def _share(granted: float, job: JobSnapshot, tenant: TenantSnapshot) -> float:
    return (granted + _size(job)) / max(tenant.weight, 1e-9)


def _share_note(tenant: TenantSnapshot, granted: float) -> Explanation:
    facts = {"tenant": tenant.name or tenant.id, "granted": int(granted), "weight": tenant.weight}
    return Explanation(Reason.FAIR_SHARE, facts)
