# SPDX-License-Identifier: Apache-2.0
"""Dominant-resource fairness over GPUs, CPUs and memory; after Ghodsi et al. (NSDI '11), as Mesos shares a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from scheduler.api.arrays import Floats
from scheduler.api.plan import Explanation, Reason
from scheduler.api.snapshot import JobSnapshot, TenantSnapshot
from scheduler.api.topology import NodeSnapshot
from scheduler.policies.toolkit.policy import Grant, Proposal, View, by_submission, n_held
from scheduler.quota.budget import Budget

RESOURCES = ("GPUs", "CPUs", "memory")


@dataclass(frozen=True)
class Drf:
    """Serves the tenant with the smallest dominant share next, job by job, at fixed sizes.

    A tenant's dominant share is its largest share of any resource, divided by its weight. Inside a tenant running jobs
    come first, then priority and submission.
    preempts: jobs of a tenant above its share make room for one below; otherwise shares move only as jobs end, as
    with Mesos' offers.
    Deviation: the share counted is the one that the next job would bring about, so that a large gang does not
    overshoot by much; with the paper's (the share before it) gangs would push each other out in turns.
    """

    preempts: bool = True
    name: str = "drf"

    def propose(self, view: View, *, budget: Budget, memory: Mapping[str, Any]) -> Proposal:  # noqa: ARG002
        shares = _Shares(view)
        grants: list[Grant] = []
        refused: list[JobSnapshot] = []
        order: list[str] = []
        queues: dict[str, list[JobSnapshot]] = {}
        for job in sorted(view.jobs, key=lambda job: (not n_held(job), *by_submission(job))):
            queues.setdefault(job.tenant, []).append(job)
        while queues:
            tenant = min(queues, key=lambda t: (self._defers(queues[t][0]), shares.after(queues[t][0]), t))
            job = queues[tenant].pop(0)
            if not queues[tenant]:
                del queues[tenant]
            order.append(job.id)
            n_workers = _size(job)
            if budget.reserve(job, n_workers):
                why = shares.explain(job, Reason.DOMINANT_SHARE)
                shares.add(job)
                grants.append(Grant(job.id, n_workers, budget.gpu_type(job), (why,)))
            elif n_held(job):
                refused.append(job)
        notes = {job.id: (shares.explain(job, Reason.DOMINANT_SHARE),) for job in refused}
        return Proposal(tuple(grants), tuple(order), notes)

    def _defers(self, job: JobSnapshot) -> bool:
        """Without preemption all that runs is confirmed before anybody comes."""
        return not self.preempts and not n_held(job)


class _Shares:
    """What every tenant has of every resource, and of how much there is on nodes that take jobs."""

    def __init__(self, view: View) -> None:
        self.tenants: dict[str, TenantSnapshot] = {tenant.id: tenant for tenant in view.tenants}
        self._total_R = np.maximum(_total_R(view.nodes), 1e-9)
        self._used: dict[str, Floats] = {tenant_id: np.zeros(len(RESOURCES)) for tenant_id in self.tenants}
        for job in view.settled:
            if n_held(job):
                self._used[job.tenant] += demand_R(job, n_held(job))

    def after(self, job: JobSnapshot) -> float:
        """The tenant's dominant share, by weight, if it gets the job."""
        used_R = self._used[job.tenant] + demand_R(job, _size(job))
        return float((used_R / self._total_R).max()) / max(self.tenants[job.tenant].weight, 1e-9)

    def add(self, job: JobSnapshot) -> None:
        self._used[job.tenant] += demand_R(job, _size(job))

    def explain(self, job: JobSnapshot, reason: Reason) -> Explanation:
        """The share that the tenant would have with the job, and of what."""
        tenant = self.tenants[job.tenant]
        share_R = (self._used[job.tenant] + demand_R(job, _size(job))) / self._total_R
        dominant = int(np.argmax(share_R))
        facts = {
            "tenant": tenant.name or tenant.id,
            "percent": round(100 * float(share_R[dominant]), 1),
            "resource": RESOURCES[dominant],
            "weight": tenant.weight,
        }
        return Explanation(reason, facts)


def demand_R(job: JobSnapshot, n_workers: int) -> Floats:  # noqa: N802 (arrays wear their axes)
    """Returns what so many workers of the job take, shape (R,): GPUs, CPUs, bytes of memory.

    Servers are left out, since placement chooses them.
    """
    return np.array([1.0, job.cpus_per_worker, float(job.memory_per_worker_bytes)]) * n_workers


def _total_R(nodes: tuple[NodeSnapshot, ...]) -> Floats:  # noqa: N802
    open_nodes = [node for node in nodes if node.is_schedulable]
    rows = [[float(node.n_gpus), node.cpus, float(node.memory_bytes)] for node in open_nodes]
    return np.array(rows).sum(axis=0) if rows else np.zeros(len(RESOURCES))


def _size(job: JobSnapshot) -> int:
    return n_held(job) or job.fixed_workers
