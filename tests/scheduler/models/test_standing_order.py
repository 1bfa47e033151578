# SPDX-License-Identifier: Apache-2.0
"""A queue that is kept from round to round has the order that sorting would give it."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from scheduler import JobSnapshot
from scheduler.api.snapshot import GangAllocation, Mode, NodeAllocation, Phase
from scheduler.models.standing_order import StandingOrder

HELD = GangAllocation(Mode.ALL_REDUCE, 1, 0, (NodeAllocation("n0", (0,)),))


def waiting(number: int) -> JobSnapshot:
    return JobSnapshot(f"j{number}", "alice", float(number * 7 % 5), 1000, 256)


def by_submission(job: JobSnapshot) -> tuple[Any, ...]:
    return job.submitted_at_s, job.steps_done, job.id


def started(job: JobSnapshot) -> JobSnapshot:
    return job.moved_on(phase=Phase.RUNNING, allocation=HELD)


def left(job: JobSnapshot) -> JobSnapshot:
    return job.moved_on(phase=Phase.WAITING, allocation=None, steps_done=job.steps_done + 10)


@pytest.mark.parametrize("n_changes", [1, 12])  # a few are moved one by one; many have the queue sorted anew
def test_the_order_is_that_of_sorting_whatever_changes(n_changes: int) -> None:
    draw, order, jobs = random.Random(n_changes), StandingOrder(), [waiting(i) for i in range(40)]
    changes: list[Callable[[JobSnapshot], JobSnapshot]] = [started, left]
    for number in range(30):
        found = order.ordered(jobs, by_submission)
        assert found.jobs == sorted(jobs, key=by_submission)
        assert found.ids == [job.id for job in found.jobs]
        assert {job.id for job in found.running} == {job.id for job in jobs if job.phase is Phase.RUNNING}
        for _ in range(n_changes):
            place = draw.randrange(len(jobs))
            jobs[place] = draw.choice(changes)(jobs[place])
        del jobs[draw.randrange(len(jobs))]
        jobs.append(waiting(100 + number))


def test_a_job_that_waits_unchanged_keeps_its_key() -> None:
    asked: list[str] = []

    def key(job: JobSnapshot) -> tuple[Any, ...]:
        asked.append(job.id)
        return by_submission(job)

    order, jobs = StandingOrder(), [waiting(0), waiting(1), started(waiting(2))]
    order.ordered(jobs, key)
    asked.clear()
    order.ordered([*jobs, waiting(3)], key)
    assert sorted(asked) == ["j2", "j3"]


def test_a_policy_that_fails_leaves_the_order_as_it_was() -> None:
    order, jobs = StandingOrder(), [waiting(0), waiting(1)]
    order.ordered(jobs, by_submission)
    with pytest.raises(ZeroDivisionError):
        order.ordered([*jobs, waiting(2)], lambda _: (1 / 0,))
    assert order.ordered([waiting(2), *jobs], by_submission).jobs == sorted([waiting(2), *jobs], key=by_submission)


def test_a_job_that_was_away_for_a_round_is_in_its_place_again() -> None:
    order, jobs = StandingOrder(), [waiting(i) for i in range(12)]
    order.ordered(jobs, by_submission)
    order.ordered(jobs[1:], by_submission)
    assert order.ordered(jobs, by_submission).jobs == sorted(jobs, key=by_submission)
