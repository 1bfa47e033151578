# SPDX-License-Identifier: Apache-2.0
"""Two jobs that turn out to slow each other on one node are on two nodes within two minutes."""

from __future__ import annotations

import pytest

from mlhub.jobs.models import Job
from tests.cast import make_cast
from tests.control.worlds import World
from tests.jobs.builders import live_attempt
from tests.metrics.measurements.test_pairs import Pod
from tests.metrics.test_ingest import post

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
PERIOD_S = 2.0


@pytest.fixture
def world() -> World:
    return World(make_cast())


def training(of: Job) -> Pod:
    pod = Pod(live_attempt(of))
    begins = {"type": "phase", "at": 0, "phase": "training", "since_start_s": 3, "detail": {"step": 0}}
    assert post(pod.attempt, 0, begins).status_code == 200
    pod.line = 1
    return pod


def node_of(of: Job) -> str:
    return live_attempt(of).allocations.get().node


@pytest.mark.parametrize(("step_s", "is_parted"), [(0.25, True), (0.1, False)])
def test_a_pair_that_loses_is_parted_within_two_minutes(world: World, step_s: float, is_parted: bool) -> None:
    first = world.job(name="first", max_workers=1, steps_total=100_000)
    world.rounds(3)
    pod = training(first)
    pod.trains(5, step_s=0.1)
    second = world.job(name="second", max_workers=1, steps_total=100_000, hyperparameters={"width": 5})
    world.rounds(3)
    assert node_of(first) == node_of(second)
    other = training(second)
    passed_s = 0.0
    while node_of(first) == node_of(second) and passed_s < 120:
        pod.trains(1, step_s=step_s)
        other.trains(1, step_s=step_s)
        world.round(after_s=PERIOD_S)
        passed_s += PERIOD_S
        if Job.objects.filter(state__in=["queued", "stopping"]).exists():
            break
    world.rounds(5)
    assert (node_of(first) != node_of(second)) is is_parted
    assert (passed_s < 120) is is_parted
