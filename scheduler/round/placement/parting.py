# SPDX-License-Identifier: Apache-2.0
"""Step 8 of placement: jobs that slow each other on one node, as was measured, are parted if that repays a restart."""

from __future__ import annotations

from dataclasses import dataclass, replace

from scheduler.api.plan import Explanation, Reason
from scheduler.api.snapshot import GangAllocation, JobSnapshot, Phase
from scheduler.models.cost import restart_cost_s
from scheduler.models.progress import steps_left
from scheduler.placement.neighbours import NodeNeighbours
from scheduler.round.placement.progress import PlacementProgress

MOST_MOVES = 4  # in one round
MUST_GAIN = 2.0  # it must gain so many times the mover's restart


@dataclass(frozen=True)
class _Move:
    """gain_s: GPU-seconds that all of them save, per worker of the mover."""

    gain_s: float
    job: JobSnapshot
    held: GangAllocation


def part(progress: PlacementProgress, neighbours: NodeNeighbours) -> None:
    """Moves the jobs whose move gains most, one after the other, to nodes where they slow no job and none slows them.

    Only running jobs that would have stayed as they are, without partners on their GPUs, are moved.
    """
    for _ in range(MOST_MOVES):
        moves = [move for job in progress.state.running if (move := _move(progress, neighbours, job)) is not None]
        moves.sort(key=lambda move: (-move.gain_s, move.job.id))
        if not any(_carry_out(progress, neighbours, move) for move in moves[:MOST_MOVES]):
            return


def _move(progress: PlacementProgress, neighbours: NodeNeighbours, job: JobSnapshot) -> _Move | None:
    grant, held = progress.grants.get(job.id), job.held
    if grant is None or held is None or job.phase is not Phase.RUNNING or job.id not in progress.targets.kept:
        return None
    if grant.colocated_with or grant.n_workers != held.n_workers or job.id in progress.targets.awaited:
        return None
    if progress.free_later.occupants_of(held) - {job.id}:
        return None
    others = neighbours.others(job, held)
    own_s = _left_s(progress, job, held)
    gain_s = own_s * (1 / neighbours.norm(job, others) - 1)
    for other in others:
        there = [one for one in neighbours.others(other, held) if one.id != job.id]
        before, after = neighbours.norm(other, [*there, job]), neighbours.norm(other, there)
        their_s = min(_left_s(progress, other, other.held or held), own_s)
        gain_s += their_s * (1 / before - 1 / after) * (other.held or held).n_workers / held.n_workers
    return _Move(gain_s, job, held) if gain_s > MUST_GAIN * restart_cost_s(job) else None


def _left_s(progress: PlacementProgress, job: JobSnapshot, held: GangAllocation) -> float:
    return steps_left(job) * progress.speeds.step_s_on(job, held)


def _carry_out(progress: PlacementProgress, neighbours: NodeNeighbours, move: _Move) -> bool:
    """Whether there is a place for it, and the move pays though it may have to fetch its inputs there."""
    job, held, grant = move.job, move.held, progress.grants[move.job.id]
    progress.free_later.release(job, held)
    found = progress.finder.find_apart(progress.with_own(progress.free_now, job, held), job, grant)
    is_apart = found is not None and neighbours.norm(job, neighbours.others(job, found)) == 1.0
    cost_s = 0.0 if found is None else progress.state.startup.restart_s(job, found)
    pays = move.gain_s > MUST_GAIN * cost_s
    if found is None or not is_apart or not pays or not progress.free_later.fits(job, found):
        progress.free_later.reserve(job, held)
        return False
    facts = {"gain_s": move.gain_s, "cost_s": cost_s}
    del progress.targets.kept[job.id]
    neighbours.remove(job, held)
    neighbours.add(job, found)
    progress.place(job, found, replace(grant, explanations=(Explanation(Reason.MIGRATES, facts),)))
    return True
