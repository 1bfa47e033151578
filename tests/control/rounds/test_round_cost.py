# SPDX-License-Identifier: Apache-2.0
"""What a round asks of the database: as much with many jobs as with one, but for what each launch writes."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from mlhub.backends.fake import FakeBackend
from mlhub.jobs.models import Job
from mlhub.jobs.states import JobState
from tests.cast import make_cast
from tests.control.worlds import World, node

pytestmark = pytest.mark.django_db
MOST_OF_A_ROUND = 45
MOST_OF_A_LAUNCH = 14  # the transaction that opens an attempt: the job's row, its event, the attempt and what it holds


def n_queries(world: World) -> int:
    with CaptureQueriesContext(connection) as asked:
        world.round()
    return sum(not query["sql"].startswith(("SAVEPOINT", "RELEASE SAVEPOINT")) for query in asked)


def test_a_round_that_changes_nothing_asks_as_much_for_four_running_jobs_as_for_one() -> None:
    world = World(make_cast(), backend=FakeBackend([node("n0", n_slots=4)]))
    world.job(max_workers=1)
    world.rounds(2)
    for_one = n_queries(world)
    for number in range(3):
        world.job(name=f"job {number}", max_workers=1)
    world.rounds(2)
    assert Job.objects.filter(state=JobState.RUNNING).count() == 4
    assert n_queries(world) == for_one
    assert for_one <= MOST_OF_A_ROUND


def test_a_launch_more_costs_the_round_only_what_it_writes() -> None:
    world = World(make_cast(), backend=FakeBackend([node("n0", n_slots=6)]))
    world.rounds(2)
    asked = []
    for n_jobs in (1, 4):
        for number in range(n_jobs):
            world.job(name=f"job {n_jobs}.{number}", min_workers=1, max_workers=1)
        asked.append(n_queries(world))
    assert Job.objects.filter(state=JobState.STARTING).count() >= 4
    assert (asked[1] - asked[0]) / 3 <= MOST_OF_A_LAUNCH, asked
