# SPDX-License-Identifier: Apache-2.0
"""What the steps of a round share: the jobs, the free resources, the quota, and what is decided so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from scheduler.api.plan import Keep, Preempt, Wait
from scheduler.api.snapshot import JobSnapshot
from scheduler.placement.startup import StartupForecast
from scheduler.placement.state import PlacementState
from scheduler.quota.budget import Budget
from scheduler.quota.gpu_hours import GpuHourLimits
from scheduler.quota.ledger import Ledger


@dataclass(kw_only=True)
class RoundState(PlacementState):
    """Holds the state of a round; placement sees only what PlacementState declares.

    ledger_before: quota as used at this moment. ledger_now: the same with what this round launches. empty_ledger: the
    same books with nothing booked, to copy. budget: what the policy may grant. settled: decisions that need no policy.
    colocated_with: by job that was promised GPUs, the jobs with which it is to share them. resizing: jobs that ran when
    they were promised GPUs. limits: budgets of GPU-hours. notable: jobs that do more than wait (NotableJobs).
    startup: how long starts take.
    """

    ledger_now: Ledger
    ledger_before: Ledger
    empty_ledger: Ledger
    budget: Budget
    limits: GpuHourLimits
    notable: Sequence[JobSnapshot]
    startup: StartupForecast
    settled: dict[str, Keep | Preempt | Wait] = field(default_factory=dict)
    colocated_with: dict[str, tuple[str, ...]] = field(default_factory=dict)
    resizing: frozenset[str] = frozenset()

    def candidate(self, job_id: str) -> JobSnapshot | None:
        """Returns the candidate with this id; None if there is none."""
        is_settled = job_id in self.settled or job_id in self.resuming
        return None if is_settled else self.snapshot.by_id.get(job_id)

    def free_now_by_node(self) -> dict[str, int]:
        """Returns, for each node that accepts jobs, the number of its GPUs that no job holds."""
        return {node.name: len(self.free_now.gpus[node.name]) for node in self.snapshot.nodes if node.is_schedulable}

    def free_by_node(self) -> dict[str, int]:
        """Returns, for each node that accepts jobs, the number of its GPUs that no job is certain to keep."""
        return {node.name: len(self.free_later.gpus[node.name]) for node in self.snapshot.nodes if node.is_schedulable}
