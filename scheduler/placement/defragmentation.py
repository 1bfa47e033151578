# SPDX-License-Identifier: Apache-2.0
"""Defragmentation: a gang that is spread over several nodes moves to one node; smaller jobs there make place for it.

Gangs leave holes of one GPU, and a gang that takes them is slow for as long as it runs. To move a few small jobs costs
a restart of each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scheduler.api.plan import Explanation, Reason
from scheduler.api.proposal import Grant
from scheduler.api.snapshot import GangAllocation, JobSnapshot, Mode, Phase
from scheduler.models.cost import restart_cost_s
from scheduler.models.progress import steps_left
from scheduler.models.speed.job_speeds import JobSpeeds
from scheduler.placement.free_resources import FreeResources, GpuSlot
from scheduler.placement.gangs import build_allocation
from scheduler.placement.state import PlacementState, PlacementTargets, gpus_of

MOST_GANGS = 4  # gangs in one round
SCATTERED = 1.1  # a gang is, if it is so many times slower than on one node
MUST_GAIN = 2.0  # it must gain so many times the GPU time of all the restarts


@dataclass(frozen=True)
class _Group:
    """Jobs that hold the very same GPUs of one node, and stay."""

    jobs: tuple[JobSnapshot, ...]
    held: GangAllocation

    @property
    def n(self) -> int:
        return self.held.n_workers

    @property
    def restart_gpu_s(self) -> float:
        return self.n * max(restart_cost_s(job) for job in self.jobs)


@dataclass(frozen=True)
class _Relocation:
    """Where the gang would lie, who goes where for it, and the room as it is then. cost_gpu_s: of all the restarts."""

    place: GangAllocation
    displaced: tuple[tuple[_Group, GangAllocation], ...]
    free: FreeResources
    cost_gpu_s: float


class Defragmentation:
    """Moves scattered gangs onto one node: gangs that run on GPUs of their own, or that are to start.

    Of all nodes that could take the whole gang, the one where the restarts cost least; groups of jobs that go aside
    are smaller than the gang, stay together, and get GPUs of one node that are free or were the gang's.
    """

    def __init__(
        self, state: PlacementState, targets: PlacementTargets, grants: Mapping[str, Grant], speeds: JobSpeeds
    ) -> None:
        self.state, self.targets, self.grants, self.speeds = state, targets, grants, speeds
        self.free_later = state.free_later
        self.staying = {job.id: job for job in state.running if job.id in targets.kept and job.phase is Phase.RUNNING}

    def run(self) -> None:
        """Moves the gangs, and records the targets of all jobs that move."""
        scattered = []
        for job in self.state.candidates:
            grant, present = self.grants.get(job.id), self._place_of(job)
            if grant is None or present is None or not grant.defragments or grant.colocated_with:
                continue
            gain_s = self._gain_s(job, grant, present)
            if gain_s > MUST_GAIN * self._own_cost_s(job):
                scattered.append((-gain_s * grant.n_workers, job.id, job, present))
        for worth, _, job, present in sorted(scattered, key=lambda each: each[:2])[:MOST_GANGS]:
            options = [
                option
                for name in self.free_later.nodes
                if (option := self._relocation_to(name, job, present)) is not None
            ]
            best = min(options, key=lambda option: (option.cost_gpu_s, option.place.shares[0].node), default=None)
            if best is not None and -worth > MUST_GAIN * best.cost_gpu_s:
                self._apply(job, present, best, gain_s=-worth / present.n_workers)

    def _place_of(self, job: JobSnapshot) -> GangAllocation | None:
        """Where it is or will be; None for those that change in this round, or have just started."""
        if job.held is not None:
            return job.held if job.id in self.staying else None
        if job.id in self.targets.placed:
            return self.targets.placed[job.id][0]
        return self.targets.awaited.get(job.id)

    def _own_cost_s(self, job: JobSnapshot) -> float:
        return restart_cost_s(job) if job.held is not None else 0.0

    def _gain_s(self, job: JobSnapshot, grant: Grant, present: GangAllocation) -> float:
        """What it would gain on one node; 0 where it lies well, or with others."""
        if len([share for share in present.shares if share.gpus]) < 2 or grant.n_workers != present.n_workers:
            return 0.0
        if self.free_later.occupants_of(present) - {job.id}:
            return 0.0
        packed_s = self.speeds.plain_step_s(job, present.n_workers, gpu_type=grant.gpu_type)
        there_s = self.speeds.step_s_on(job, present)
        return (there_s - packed_s) * steps_left(job) if there_s > SCATTERED * packed_s else 0.0

    def _relocation_to(self, name: str, job: JobSnapshot, held: GangAllocation) -> _Relocation | None:
        """The cheapest groups there go aside, until there is room for all of the gang."""
        node, present = self.free_later.nodes[name], self.free_later.nodes[held.shares[0].node]
        if node.gpu_type != present.gpu_type or node.n_gpus < held.n_workers or not node.is_schedulable:
            return None
        free = self.free_later.copy()
        free.release(job, held)
        going: list[_Group] = []
        for group in self._groups_on(name, but=job.id, smaller_than=held.n_workers):
            if free.workers_on(job, node) >= held.n_workers:
                break
            for one in group.jobs:
                free.release(one, group.held)
            going.append(group)
        if free.workers_on(job, node) < held.n_workers:
            return None
        place = build_allocation(
            free, job, node_workers=((node, held.n_workers),), mode=held.mode, n_servers=held.n_servers, keep=held
        )
        if place is None:
            return None
        free.reserve(job, place)
        displaced = []
        for group in sorted(going, key=lambda group: (-group.n, group.jobs[0].id)):
            elsewhere = self._place_for(free, group)
            if elsewhere is None:
                return None
            displaced.append((group, elsewhere))
        cost_gpu_s = held.n_workers * self._own_cost_s(job) + sum(group.restart_gpu_s for group in going)
        cost_gpu_s += self._fetch_gpu_s(job, held, place, displaced)
        return _Relocation(place, tuple(displaced), free, cost_gpu_s)

    def _fetch_gpu_s(
        self,
        job: JobSnapshot,
        present: GangAllocation,
        place: GangAllocation,
        displaced: Sequence[tuple[_Group, GangAllocation]],
    ) -> float:
        """What fetching inputs adds to the restarts; for a gang that is to start, more than where it would start."""
        fetching = self.state.fetching
        there_s = fetching.fetch_s(job, present) if job.held is None else 0.0
        own_s = max(0.0, fetching.fetch_s(job, place) - there_s)
        others = sum(group.n * max(fetching.fetch_s(one, to) for one in group.jobs) for group, to in displaced)
        return present.n_workers * own_s + others

    def _groups_on(self, name: str, *, but: str, smaller_than: int) -> list[_Group]:
        """Those that may go aside: smaller ones of one node, the cheapest per GPU first."""
        there: dict[frozenset[GpuSlot], list[JobSnapshot]] = {}
        for job in self.staying.values():
            held = job.held
            if held is not None and job.id != but and held.n_workers < smaller_than and job.id in self.targets.kept:
                slots = frozenset(gpus_of(held))
                if {node for node, _ in slots} == {name} and held.mode is not Mode.PARAMETER_SERVER:
                    there.setdefault(slots, []).append(job)
        groups = []
        for jobs in there.values():
            held = jobs[0].held
            if held is not None and self.free_later.occupants_of(held) <= {job.id for job in jobs}:
                groups.append(_Group(tuple(jobs), held))
        return sorted(groups, key=lambda group: (group.restart_gpu_s / group.n, group.n, group.jobs[0].id))

    def _place_for(self, free: FreeResources, group: _Group) -> GangAllocation | None:
        """As many GPUs of the tightest node that has them; None where no node has."""
        first, *others = group.jobs
        gpu_type = free.nodes[group.held.shares[0].node].gpu_type
        fitting = [
            (free.workers_on(first, node), name, node)
            for name, node in free.nodes.items()
            if node.gpu_type == gpu_type and free.workers_on(first, node) >= group.n
        ]
        for _, _, node in sorted(fitting, key=lambda each: each[:2]):
            place = build_allocation(free, first, node_workers=((node, group.n),), mode=group.held.mode, n_servers=0)
            if place is None:
                continue
            free.reserve(first, place)
            if all(free.fits(other, place, colocated_with=free.occupants_of(place)) for other in others):
                for other in others:
                    free.reserve(other, place)
                return place
            free.release(first, place)
        return None

    def _apply(self, job: JobSnapshot, present: GangAllocation, option: _Relocation, *, gain_s: float) -> None:
        """Everybody leaves first, and then everybody comes; who waits comes when they have left."""
        self.free_later.release(job, present)
        moves: list[tuple[JobSnapshot, GangAllocation, Explanation]] = []
        if job.held is None:
            self.targets.placed.pop(job.id, None)
            self.targets.awaited[job.id] = option.place
        else:
            facts = {"gain_s": gain_s, "cost_s": option.cost_gpu_s / option.place.n_workers}
            moves.append((job, option.place, Explanation(Reason.MIGRATES, facts)))
        for group, place in option.displaced:
            why = Explanation(Reason.DEFRAGMENTATION, {"other": job.id, "gain_s": gain_s})
            moves += [(one, place, why) for one in group.jobs]
            for one in group.jobs:
                mates = {other.id for other in group.jobs} - {one.id}
                self.targets.partners.setdefault(one.id, set()).update(mates)
        for mover, _, _ in moves:
            if mover is not job and mover.held is not None:
                self.free_later.release(mover, mover.held)
        self.free_later.reserve(job, option.place)
        self.state.free_now.restrict_to(self.free_later, option.place)
        for mover, place, why in moves:
            if mover is not job:
                self.free_later.reserve(mover, place)
            self.state.free_now.restrict_to(self.free_later, place)
            del self.targets.kept[mover.id]
            self.targets.placed[mover.id] = (place, (why,))
