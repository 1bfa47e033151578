# SPDX-License-Identifier: Apache-2.0
"""What a policy is: it sees the jobs it may decide, asks the budget, and answers how many workers each gets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from scheduler.api.proposal import Grant, Proposal
from scheduler.api.sharing_measurements import PairObservation
from scheduler.api.snapshot import JobSnapshot, TenantSnapshot, by_submission
from scheduler.api.topology import NodeSnapshot
from scheduler.models.interference.interference_cache import InterferenceCache
from scheduler.models.speed.job_speeds import JobSpeeds
from scheduler.placement.input_fetching import FetchingBySize
from scheduler.quota.budget import Budget

__all__ = ["Grant", "Policy", "Proposal", "View", "by_submission", "longest_run_first", "n_held"]


@dataclass(frozen=True)
class View:
    """Holds what a policy decides over: waiting and running jobs that may start, change or stop in this round.

    settled: the other jobs of the snapshot, on their way in or out or on hold; nothing is to be decided on them.
    pairs: what sharing a GPU gave so far, by families. max_jobs_per_gpu: of the nodes that allow the most.
    nodes: all of the cluster. free(): by node that takes jobs, its GPUs that no job is certain to keep: what candidates
    hold counts as free. For policies that search over places; the others leave nodes to placement. explains: False =
    explanations are not read, so that expensive ones are left out. interference: what models of
    pairs predicted, kept from round to round. fetching: how much longer starts take where nodes lack inputs; None where
    that is known of no job.
    """

    now_s: float
    jobs: tuple[JobSnapshot, ...]
    tenants: tuple[TenantSnapshot, ...]
    speeds: JobSpeeds
    seed: int = 0
    settled: tuple[JobSnapshot, ...] = ()
    nodes: tuple[NodeSnapshot, ...] = ()
    pairs: tuple[PairObservation, ...] = ()
    max_jobs_per_gpu: int = 1
    free: Callable[[], Mapping[str, int]] = dict
    explains: bool = True
    interference: InterferenceCache = field(default_factory=InterferenceCache)
    fetching: FetchingBySize | None = None


class Policy(Protocol):
    """Decides on sizes and order, and nothing else: quota is the budget's, nodes are placement's.

    What it can do it declares by class attributes (abilities.py), such as is_elastic: ClassVar[bool] = True.
    """

    @property
    def name(self) -> str:
        """Returns the name of the policy, by which its memory is kept."""

    def propose(self, view: View, *, budget: Budget, memory: Mapping[str, Any]) -> Proposal:
        """Returns the grants for this round. memory: what the proposal of the round before left there, or {}."""


def n_held(job: JobSnapshot) -> int:
    """Returns the number of GPUs that the job holds now."""
    held = job.held
    return 0 if held is None else held.n_workers


def longest_run_first(job: JobSnapshot) -> tuple[float, int, float, str]:
    """Returns the sort key that puts the jobs that hold GPUs longest first: the order in which running jobs are
    confirmed where not all may stay.
    """
    return (-float(job.priority), 0, job.allocated_at_s or 0.0, job.id)
