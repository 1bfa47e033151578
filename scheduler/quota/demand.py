# SPDX-License-Identifier: Apache-2.0
"""What a round asks of quota: who waits, who runs, and how many GPUs can be given out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scheduler.api.snapshot import GangAllocation, JobSnapshot, TenantSnapshot
from scheduler.models.cost import restart_cost_s


@dataclass(frozen=True)
class Borrower:
    """Describes a running job that may have to give GPUs back.

    n_gpus: GPUs that come free if it leaves; those that other jobs hold as well do not count.
    """

    job: JobSnapshot
    n_gpus: int
    gpu_type: str

    @property
    def lost_s(self) -> float:
        """Returns the seconds that each of its GPUs loses by a stop and a later start."""
        return restart_cost_s(self.job)


@dataclass(frozen=True)
class QuotaDemand:
    """Holds the part of a round that quota decides on.

    candidates: jobs that may start, change or stop, in the snapshot's order. running: those of them that hold GPUs, by
    id. free: GPUs by type that candidates may get; those that running candidates hold are included. settled: GPUs by
    tenant of jobs on which nothing is decided.
    """

    tenants: tuple[TenantSnapshot, ...]
    candidates: Sequence[JobSnapshot]
    running: Mapping[str, Borrower]
    free: Mapping[str, int]
    settled: Mapping[str, int]


class SharedGpuCounter:
    """Counts a GPU that several jobs hold once: for the first of them."""

    def __init__(self) -> None:
        self._seen: set[tuple[str, int]] = set()

    def n_shared(self, held: GangAllocation) -> int:
        """Returns how many of the GPUs were counted for other jobs before; from now on all of them are counted."""
        n_before = len(self._seen)
        self._seen.update((share.node, gpu) for share in held.shares for gpu in share.gpus)
        return held.n_workers - (len(self._seen) - n_before)
