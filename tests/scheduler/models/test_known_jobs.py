# SPDX-License-Identifier: Apache-2.0
"""Jobs that are known are found whatever the order in which they come, and no others are taken for them."""

from __future__ import annotations

import random

import pytest

from scheduler import JobSnapshot
from scheduler.models.known_jobs import KnownJobs


def job(number: int) -> JobSnapshot:
    return JobSnapshot(f"j{number}", "alice", 0.0, 1000, 256)


@pytest.mark.parametrize("seed", range(4))
def test_the_jobs_that_are_not_known_are_those_that_are_not_the_same_objects(seed: int) -> None:
    draw, known, jobs, held = random.Random(seed), KnownJobs(), [job(i) for i in range(20)], dict[str, JobSnapshot]()
    for number in range(200):
        match draw.randrange(6):
            case 0:
                jobs.append(job(100 + number))
            case 1:
                del jobs[draw.randrange(len(jobs))]
            case 2:
                place = draw.randrange(len(jobs))
                jobs[place] = jobs[place].moved_on(steps_done=jobs[place].steps_done + 1)
            case 3:
                draw.shuffle(jobs)
            case 4:
                known.clear()
                held.clear()
            case _:
                jobs.insert(0, job(100 + number))
        unknown = known.unknown(jobs)
        assert unknown == [one for one in jobs if held.get(one.id) is not one]
        added = [one for one in unknown if draw.random() < 0.7]
        known.add(added)
        held = {**held, **{one.id: one for one in added}}
        assert known.by_id.items() <= held.items()
        held = dict(known.by_id)


def test_a_job_that_was_forgotten_and_comes_back_is_not_known() -> None:
    known, jobs = KnownJobs(), (job(0), job(1))
    known.add(known.unknown(jobs))
    assert known.unknown(jobs[:1]) == []
    known.forget(["j1"])
    assert known.unknown(jobs) == [jobs[1]]


def test_jobs_that_are_gone_are_not_kept() -> None:
    known = KnownJobs()
    for number in range(50):
        known.add(known.unknown([job(10 * number + i) for i in range(4)]))
    assert len(known.by_id) <= 2 * 4
