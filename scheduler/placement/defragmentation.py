"""Step 3 of a round: a gang that lies scattered is gathered on one node; who is in its way there changes places.

Gangs leave holes of one GPU, and a gang that takes them is slow for as long as it runs. To move a few small jobs costs
a restart of each.
"""

from __future__ import annotations

from collections.abc import Mapping
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

MOST_GATHERED = 4  # gangs in one round
SCATTERED = 1.1  # a gang is, if it is so many times slower than on one node
GATHERING_PAYS = 2.0  # it must gain so many times the GPU time of all the restarts


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
class _Way:
    """Where the gang would lie, who goes where for it, and the room as it is then. cost_gpu_s: of all the restarts."""

    place: GangAllocation
    asides: tuple[tuple[_Group, GangAllocation], ...]
    room: FreeResources
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

    def gather(self) -> None:
        scattered = []
        for job in self.state.candidates:
            grant, lies = self.grants.get(job.id), self._lies(job)
            if grant is None or lies is None or not grant.defragments or grant.colocated_with:
                continue
            gain_s = self._gain_s(job, grant, lies)
            if gain_s > GATHERING_PAYS * self._own_cost_s(job):
                scattered.append((-gain_s * grant.n_workers, job.id, job, lies))
        for worth, _, job, lies in sorted(scattered, key=lambda each: each[:2])[:MOST_GATHERED]:
            ways = [way for name in self.free_later.nodes if (way := self._way_onto(name, job, lies)) is not None]
            best = min(ways, key=lambda way: (way.cost_gpu_s, way.place.shares[0].node), default=None)
            if best is not None and -worth > GATHERING_PAYS * best.cost_gpu_s:
                self._go(job, lies, best, gain_s=-worth / lies.n_workers)

    def _lies(self, job: JobSnapshot) -> GangAllocation | None:
        """Where it is or will be; None for those that change in this round, or have just started."""
        if job.held is not None:
            return job.held if job.id in self.staying else None
        if job.id in self.targets.placed:
            return self.targets.placed[job.id][0]
        return self.targets.awaited.get(job.id)

    def _own_cost_s(self, job: JobSnapshot) -> float:
        return restart_cost_s(job) if job.held is not None else 0.0

    def _gain_s(self, job: JobSnapshot, grant: Grant, lies: GangAllocation) -> float:
        """What it would gain on one node; 0 where it lies well, or with others."""
        if len([share for share in lies.shares if share.gpus]) < 2 or grant.n_workers != lies.n_workers:
            return 0.0
        if self.free_later.occupants_of(lies) - {job.id}:
            return 0.0
        gathered_s = self.speeds.plain_step_s(job, lies.n_workers, gpu_type=grant.gpu_type)
        there_s = self.speeds.step_s_on(job, lies)
        return (there_s - gathered_s) * steps_left(job) if there_s > SCATTERED * gathered_s else 0.0

    def _way_onto(self, name: str, job: JobSnapshot, held: GangAllocation) -> _Way | None:
        """The cheapest groups there go aside, until there is room for all of the gang."""
        node, present = self.free_later.nodes[name], self.free_later.nodes[held.shares[0].node]
        if node.gpu_type != present.gpu_type or node.n_gpus < held.n_workers or not node.is_schedulable:
            return None
        room = self.free_later.copy()
        room.release(job, held)
        going: list[_Group] = []
        for group in self._groups_on(name, but=job.id, smaller_than=held.n_workers):
            if room.workers_on(job, node) >= held.n_workers:
                break
            for one in group.jobs:
                room.release(one, group.held)
            going.append(group)
        if room.workers_on(job, node) < held.n_workers:
            return None
        place = build_allocation(
            room, job, spots=((node, held.n_workers),), mode=held.mode, n_servers=held.n_servers, keep=held
        )
        if place is None:
            return None
        room.reserve(job, place)
        asides = []
        for group in sorted(going, key=lambda group: (-group.n, group.jobs[0].id)):
            aside = self._aside(room, group)
            if aside is None:
                return None
            asides.append((group, aside))
        cost_gpu_s = held.n_workers * self._own_cost_s(job) + sum(group.restart_gpu_s for group in going)
        return _Way(place, tuple(asides), room, cost_gpu_s)

    def _groups_on(self, name: str, *, but: str, smaller_than: int) -> list[_Group]:
        """Those that may go aside: smaller ones of one node, the cheapest per GPU first."""
        there: dict[frozenset[GpuSlot], list[JobSnapshot]] = {}
        for job in self.staying.values():
            held = job.held
            if held is not None and job.id != but and held.n_workers < smaller_than and job.id in self.targets.kept:
                spots = frozenset(gpus_of(held))
                if {node for node, _ in spots} == {name} and held.mode is not Mode.PARAMETER_SERVER:
                    there.setdefault(spots, []).append(job)
        groups = []
        for jobs in there.values():
            held = jobs[0].held
            if held is not None and self.free_later.occupants_of(held) <= {job.id for job in jobs}:
                groups.append(_Group(tuple(jobs), held))
        return sorted(groups, key=lambda group: (group.restart_gpu_s / group.n, group.n, group.jobs[0].id))

    def _aside(self, room: FreeResources, group: _Group) -> GangAllocation | None:
        """As many GPUs of the tightest node that has them; None where no node has."""
        first, *others = group.jobs
        gpu_type = room.nodes[group.held.shares[0].node].gpu_type
        fitting = [
            (room.workers_on(first, node), name, node)
            for name, node in room.nodes.items()
            if node.gpu_type == gpu_type and room.workers_on(first, node) >= group.n
        ]
        for _, _, node in sorted(fitting, key=lambda each: each[:2]):
            place = build_allocation(room, first, spots=((node, group.n),), mode=group.held.mode, n_servers=0)
            if place is None:
                continue
            room.reserve(first, place)
            if all(room.fits(other, place, colocated_with=room.occupants_of(place)) for other in others):
                for other in others:
                    room.reserve(other, place)
                return place
            room.release(first, place)
        return None

    def _go(self, job: JobSnapshot, lies: GangAllocation, way: _Way, *, gain_s: float) -> None:
        """Everybody leaves first, and then everybody comes; who waits comes when they have left."""
        self.free_later.release(job, lies)
        moves: list[tuple[JobSnapshot, GangAllocation, Explanation]] = []
        if job.held is None:
            self.targets.placed.pop(job.id, None)
            self.targets.awaited[job.id] = way.place
        else:
            facts = {"gain_s": gain_s, "cost_s": way.cost_gpu_s / way.place.n_workers}
            moves.append((job, way.place, Explanation(Reason.MOVES, facts)))
        for group, place in way.asides:
            why = Explanation(Reason.GOES_ASIDE, {"other": job.id, "gain_s": gain_s})
            moves += [(one, place, why) for one in group.jobs]
            for one in group.jobs:
                mates = {other.id for other in group.jobs} - {one.id}
                self.targets.partners.setdefault(one.id, set()).update(mates)
        for mover, _, _ in moves:
            if mover is not job and mover.held is not None:
                self.free_later.release(mover, mover.held)
        self.free_later.reserve(job, way.place)
        self.state.free_now.restrict_to(self.free_later, way.place)
        for mover, place, why in moves:
            if mover is not job:
                self.free_later.reserve(mover, place)
            self.state.free_now.restrict_to(self.free_later, place)
            del self.targets.kept[mover.id]
            self.targets.placed[mover.id] = (place, (why,))
