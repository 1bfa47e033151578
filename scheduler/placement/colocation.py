# SPDX-License-Identifier: Apache-2.0
"""Co-location: a job that is granted the GPUs of other jobs gets an allocation on exactly these GPUs."""

from __future__ import annotations

from collections.abc import Callable

from scheduler.api.proposal import Grant
from scheduler.api.snapshot import GangAllocation, JobSnapshot, Mode, NodeAllocation
from scheduler.placement.free_resources import FreeResources
from scheduler.placement.state import PlacementState, PlacementTargets, gpus_of

Find = Callable[[FreeResources, JobSnapshot, Grant], GangAllocation | None]


class Colocation:
    """Finds allocations on GPUs that other jobs hold or are to hold.

    These jobs are placed first; a job whose partners find no place gets none. Co-located jobs synchronise by
    all-reduce: a job that must have parameter servers never shares the GPUs of others.
    """

    def __init__(self, state: PlacementState, targets: PlacementTargets, find: Find) -> None:
        self.state, self.targets, self.find = state, targets, find
        self.free_later = state.free_later
        self._deciding = {job.id for job in state.candidates}
        self._present: dict[str, GangAllocation | None] | None = None

    def allocation_for(self, job: JobSnapshot, grant: Grant) -> GangAllocation | None:
        """Returns the GPUs of the jobs in grant.colocated_with; or theirs and free ones alike, if the grant allows
        that.

        A job that may use both stays on its present GPUs, if it may go on there. None if there is no such allocation.
        """
        if job.mode is Mode.PARAMETER_SERVER:
            return None
        if not grant.only_colocated:
            held = job.held
            if held is not None and self.free_later.fits(job, held, colocated_with=grant.colocated_with):
                return held
            return self.find(self.free_later.with_shareable_gpus(job, grant.colocated_with), job, grant)
        partners = [place for other in grant.colocated_with if (place := self._place_of(other)) is not None]
        gpus = {gpu for place in partners for gpu in gpus_of(place)}
        if len(partners) < len(grant.colocated_with) or len(gpus) != grant.n_workers:
            return None
        names = dict.fromkeys(share.node for place in partners for share in place.shares if share.gpus)
        shares = tuple(NodeAllocation(name, tuple(sorted(g for node, g in gpus if node == name))) for name in names)
        same = GangAllocation(Mode.ALL_REDUCE, grant.n_workers, 0, shares)
        occupants = self.free_later.occupants_of(same)
        return same if self.free_later.fits(job, same, colocated_with=occupants) else None

    def _place_of(self, job_id: str) -> GangAllocation | None:
        """Where the job will be; None if it has no place."""
        if job_id in self.targets.placed:
            return self.targets.placed[job_id][0]
        for promised in (self.targets.awaited, self.state.resuming, self.state.pending_resizes):
            if job_id in promised:
                return promised[job_id]
        if job_id in self._deciding and job_id not in self.targets.kept:
            return None
        if self._present is None:
            self._present = {job.id: job.held for job in self.state.snapshot.jobs}
        return self._present.get(job_id)
