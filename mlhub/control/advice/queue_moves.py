# SPDX-License-Identifier: Apache-2.0
"""Another place in the queue: which priority brings a waiting job there, and what that costs the others.

The place is what the live policy makes of priorities, quotas and sizes, so priorities are tried by decisions on the
changed snapshot, the smallest change first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from mlhub.control.advice.whatif import (
    LIMIT_S,
    WhatIfEffect,
    WhatIfQuestion,
    decided,
    effects_on,
    nodes_as_recorded,
    present_choice,
    with_job,
)
from mlhub.control.deciding.deciders import DecisionError
from mlhub.control.deciding.decision_process import DecisionRequest
from mlhub.control.rounds.snapshots import take_snapshot
from mlhub.core.errors import InvalidInputError
from mlhub.jobs.limits.priorities import MOST_PRIORITY, check_priority
from mlhub.jobs.models import Job
from mlhub.tenants.models import User
from scheduler import ClusterSnapshot, Plan
from scheduler.api.snapshot import Phase

BUDGET_S = 10.0  # of all decisions together: what was found until then is the answer


@dataclass(frozen=True)
class QueueMove:
    """neighbour: the waiting job before which, or behind which, the job shall be served."""

    job: Job
    neighbour: Job
    is_before: bool


@dataclass(frozen=True)
class SimulatedMove:
    """priority: the one that brings the job there, or as near as any does. Places count all that wait, from 1.

    effects: on the jobs that may be shown and are affected, the later ones first.
    """

    policy: str
    as_of: datetime
    decide_ms: float
    n_jobs: int
    present_priority: int
    priority: int
    present_place: int
    place: int
    is_reached: bool
    effects: list[WhatIfEffect]


@dataclass(frozen=True)
class _Trial:
    priority: int
    snapshot: ClusterSnapshot
    plan: Plan
    order: list[str]


def simulate(
    move: QueueMove, *, actor: User, visible: Callable[[Sequence[str]], set[str]], now: datetime
) -> SimulatedMove:
    """Decides as things are, and with each priority in turn until the job is where it shall be.

    visible: which of these jobs the actor may see; the others take part, and are not shown. Raises InvalidInputError
    for a job that is there already, for a priority that the actor may not give, and when the policy cannot answer.
    """
    chosen = present_choice(now=now)
    real = take_snapshot(nodes_as_recorded(), now=now, round_number=0)
    took_s = 0.0

    def tried(priority: int) -> _Trial:
        nonlocal took_s
        snapshot = with_job(str(move.job.id), priority=priority)(real)
        try:
            [(plan, more_s)] = decided([DecisionRequest(snapshot, chosen.policy(), chosen.memory, LIMIT_S)])
        except (DecisionError, ValueError, TypeError) as error:
            raise InvalidInputError(f"The scheduler has no answer: {error}", code="no_answer") from error
        took_s += more_s
        return _Trial(priority, snapshot, plan, _order(snapshot, plan))

    present = tried(move.job.priority)
    _check_order(move, present.order)
    best = present
    for number, priority in enumerate(_priorities(move)):
        if took_s > BUDGET_S or not _may_give(move.job, priority, actor=actor, is_first=number == 0):
            break
        trial = tried(priority)
        if _is_better(move, trial, best):
            best = trial
        if _is_reached(move, best.order):
            break
    question = WhatIfQuestion(changed=(str(move.job.id),))
    shown = visible([job.id for job in real.jobs])
    return SimulatedMove(
        policy=best.plan.policy,
        as_of=now,
        decide_ms=1000 * took_s,
        n_jobs=len(real.jobs),
        present_priority=move.job.priority,
        priority=best.priority,
        present_place=present.order.index(str(move.job.id)) + 1,
        place=best.order.index(str(move.job.id)) + 1,
        is_reached=_is_reached(move, best.order),
        effects=effects_on(shown, question, real, (present.snapshot, present.plan), (best.snapshot, best.plan)),
    )


def _order(snapshot: ClusterSnapshot, plan: Plan) -> list[str]:
    """Jobs that wait in the snapshot, the one that gets the next GPUs first; those of no rank last."""
    waiting = {job.id for job in snapshot.jobs if job.phase is Phase.WAITING}
    return [job for job in dict.fromkeys((*plan.order, *sorted(waiting))) if job in waiting]


def _check_order(move: QueueMove, order: Sequence[str]) -> None:
    """Raises InvalidInputError for a job that is not in the queue, or is where it shall be."""
    field = "before" if move.is_before else "after"
    for job, name in ((move.job, "job"), (move.neighbour, field)):
        if str(job.id) not in order:
            raise InvalidInputError(
                f"{job.name} is not in the queue.", field=name, remedy="Look at the queue again: it may have started."
            )
    if _is_reached(move, order):
        where = "before" if move.is_before else "behind"
        raise InvalidInputError(
            f"{move.job.name} is served {where} {move.neighbour.name} already.",
            field=field,
            remedy="Look at the queue again: its order has changed.",
        )


def _is_reached(move: QueueMove, order: Sequence[str]) -> bool:
    place, other = order.index(str(move.job.id)), order.index(str(move.neighbour.id))
    return place < other if move.is_before else place > other


def _is_better(move: QueueMove, trial: _Trial, best: _Trial) -> bool:
    place, former = (one.order.index(str(move.job.id)) for one in (trial, best))
    return place < former if move.is_before else place > former


def _priorities(move: QueueMove) -> Iterator[int]:
    """From the smallest change on, in growing steps: the neighbour's priority, then beyond it."""
    sign = 1 if move.is_before else -1
    first = max(sign * move.job.priority + 1, sign * move.neighbour.priority)
    step = 0
    while first + step < MOST_PRIORITY:
        yield sign * (first + step)
        step = 2 * step or 1
    if first <= MOST_PRIORITY:
        yield sign * MOST_PRIORITY


def _may_give(job: Job, priority: int, *, actor: User, is_first: bool) -> bool:
    """Raises InvalidInputError where not even the smallest change may be made."""
    try:
        check_priority(job.project, priority, actor=actor)
    except InvalidInputError:
        if is_first:
            raise
        return False
    return True
