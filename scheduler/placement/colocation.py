"""Step 3 of a round, sharing: who is granted a place beside others goes onto their very GPUs, now or when they do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from scheduler.api.plan import Explanation
from scheduler.api.snapshot import GangAllocation, JobSnapshot, Mode, NodeAllocation
from scheduler.placement.free_resources import FreeResources, GpuSlot
from scheduler.policies.toolkit.policy import Grant, Proposal
from scheduler.round.admission import RoundState, held_by

Find = Callable[[FreeResources, JobSnapshot, Grant], GangAllocation | None]


@dataclass
class Targets:
    """By job. kept: as it is. placed: launch or resize now. awaited: has its place once others have left.

    leaving: running jobs that give their GPUs back. refused: granted, but no node has room for it even then.
    partners: with whom a job is to share GPUs. harmful: jobs that would take more from others than they would do.
    """

    kept: dict[str, tuple[Explanation, ...]] = field(default_factory=dict)
    placed: dict[str, tuple[GangAllocation, tuple[Explanation, ...]]] = field(default_factory=dict)
    awaited: dict[str, GangAllocation] = field(default_factory=dict)
    leaving: dict[str, GangAllocation] = field(default_factory=dict)
    refused: dict[str, Grant] = field(default_factory=dict)
    partners: dict[str, set[str]] = field(default_factory=dict)
    harmful: set[str] = field(default_factory=set)


class Colocation:
    """Places jobs beside others. Their hosts are placed before them; a job whose hosts find no place gets none.

    Guests synchronise by all-reduce: a job that must have parameter servers is nobody's guest.
    """

    def __init__(self, scene: RoundState, proposal: Proposal, targets: Targets, find: Find) -> None:
        self.scene, self.proposal, self.targets, self.find = scene, proposal, targets, find
        self.now, self.then = scene.room_now, scene.room_then
        self._deciding = {job.id for job in scene.candidates}
        self._settled: dict[str, GangAllocation | None] | None = None

    def join(self, job: JobSnapshot, grant: Grant) -> None:
        """Onto the GPUs of the others: at once where they are and nobody else is, else as soon as that is so."""
        held, allocation = held_by(job), self._shared(job, grant)
        if allocation is None:
            self._refuse(job, grant)
            return
        mates = self.then.mates(allocation)
        for mate in mates:
            self.targets.partners.setdefault(mate, set()).add(job.id)
        self.targets.partners.setdefault(job.id, set()).update(mates)
        self.then.hold(job, allocation)
        self.now.limit_to(self.then, allocation)
        if held is not None and spots_of(held) == spots_of(allocation):
            self.targets.kept[job.id] = self.proposal.notes.get(job.id, grant.explanations)
        elif held is not None:
            self.targets.placed[job.id] = (allocation, grant.explanations)
        elif self._may_join_now(job, allocation, mates):
            self.scene.ledger_now.take(job.tenant, gpus=grant.n_workers, n_beside=grant.n_workers)
            self.scene.room_held.hold(job, allocation)
            self.targets.placed[job.id] = (allocation, grant.explanations)
        else:
            self.targets.awaited[job.id] = allocation

    def _refuse(self, job: JobSnapshot, grant: Grant) -> None:
        """It stays alone where it is, if that is free; else it has no place."""
        held = held_by(job)
        if held is not None and self.then.fits(job, held):
            self.then.hold(job, held)
            self.targets.kept[job.id] = self.proposal.notes.get(job.id, ())
            return
        self.scene.budget.give_back(job)
        if held is not None:
            self.targets.leaving[job.id] = held
        else:
            self.targets.refused[job.id] = grant

    def _shared(self, job: JobSnapshot, grant: Grant) -> GangAllocation | None:
        """The very GPUs of the others; or theirs and free ones alike, the present ones if it may stay on them."""
        if job.mode is Mode.PARAMETER_SERVER:
            return None
        if not grant.only_beside:
            held = held_by(job)
            if held is not None and self.then.fits(job, held, beside=grant.beside):
                return held
            return self.find(self.then.opened_to(job, grant.beside), job, grant)
        theirs = [place for other in grant.beside if (place := self._place_of(other)) is not None]
        spots = {spot for place in theirs for spot in spots_of(place)}
        if len(theirs) < len(grant.beside) or len(spots) != grant.n_workers:
            return None
        names = dict.fromkeys(share.node for place in theirs for share in place.shares if share.gpus)
        shares = tuple(NodeAllocation(name, tuple(sorted(g for node, g in spots if node == name))) for name in names)
        same = GangAllocation(Mode.ALL_REDUCE, grant.n_workers, 0, shares)
        return same if self.then.fits(job, same, beside=self.then.mates(same)) else None

    def _place_of(self, job_id: str) -> GangAllocation | None:
        """Where the job will be; None if it has no place."""
        if job_id in self.targets.placed:
            return self.targets.placed[job_id][0]
        for promised in (self.targets.awaited, self.scene.returning, self.scene.pending):
            if job_id in promised:
                return promised[job_id]
        if job_id in self._deciding and job_id not in self.targets.kept:
            return None
        if self._settled is None:
            self._settled = {job.id: held_by(job) for job in self.scene.snapshot.jobs}
        return self._settled.get(job_id)

    def _may_join_now(self, job: JobSnapshot, allocation: GangAllocation, mates: set[str]) -> bool:
        if self.scene.ledger_now.limit(job.tenant, gpus=allocation.n_workers) is not None:
            return False
        return self.scene.room_held.fits(job, allocation, beside=mates)


def spots_of(allocation: GangAllocation) -> set[GpuSlot]:
    """Its GPUs."""
    return {(share.node, gpu) for share in allocation.shares for gpu in share.gpus}
