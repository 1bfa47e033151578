# SPDX-License-Identifier: Apache-2.0
"""What placement reads and changes in a round, and what comes of it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from scheduler.api.plan import Explanation
from scheduler.api.proposal import Grant
from scheduler.api.snapshot import ClusterSnapshot, GangAllocation, JobSnapshot
from scheduler.placement.free_resources import FreeResources, GpuSlot
from scheduler.placement.input_fetching import InputFetching


@dataclass(kw_only=True)
class PlacementState:
    """Holds the jobs of a round, what nodes hold of their inputs, and three views of the free resources.

    physically_free: what no job holds at this moment. free_now: the same, without what is promised to other jobs.
    free_later: what is free as soon as the jobs that leave have left; only what is certain to stay held is not free.
    candidates: jobs that may start, change or stop. running: those of them that hold GPUs. resuming: jobs that stopped
    in order to be resized and wait for the allocation promised to them. pending_resizes: the same for jobs that have
    not left their old GPUs yet.
    """

    snapshot: ClusterSnapshot
    fetching: InputFetching
    physically_free: FreeResources
    free_now: FreeResources
    free_later: FreeResources
    candidates: list[JobSnapshot] = field(default_factory=list)
    running: list[JobSnapshot] = field(default_factory=list)
    resuming: dict[str, GangAllocation] = field(default_factory=dict)
    pending_resizes: dict[str, GangAllocation] = field(default_factory=dict)

    def settled_jobs(self) -> Collection[str]:
        """Returns the ids of jobs on which nothing is to be decided, in the snapshot's order."""
        deciding = {job.id for job in self.candidates} | self.resuming.keys()
        return [job.id for job in self.snapshot.jobs if job.id not in deciding]


@dataclass
class PlacementTargets:
    """Holds what placement decided, by job.

    kept: stays as it is. placed: is launched or resized now. awaited: gets its place once other jobs have left.
    leaving: running jobs that release their GPUs. refused: granted, but no node has room for it even then.
    partners: the jobs with which it is to share GPUs. harmful: jobs that would cost other jobs on the links more than
    they would gain, wherever they were placed.
    """

    kept: dict[str, tuple[Explanation, ...]] = field(default_factory=dict)
    placed: dict[str, tuple[GangAllocation, tuple[Explanation, ...]]] = field(default_factory=dict)
    awaited: dict[str, GangAllocation] = field(default_factory=dict)
    leaving: dict[str, GangAllocation] = field(default_factory=dict)
    refused: dict[str, Grant] = field(default_factory=dict)
    partners: dict[str, set[str]] = field(default_factory=dict)
    harmful: set[str] = field(default_factory=set)


def gpus_of(allocation: GangAllocation) -> set[GpuSlot]:
    """Returns the GPUs of an allocation, each as (node, index)."""
    return {(share.node, gpu) for share in allocation.shares for gpu in share.gpus}
