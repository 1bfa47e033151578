# SPDX-License-Identifier: Apache-2.0
"""A job is changed while a round decides: what was decided on the former request is not carried out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mlhub.control.deciding.deciders import InProcessDecider
from mlhub.control.deciding.decision_process import DecisionResult
from mlhub.jobs.actions import cancel_job, pause_job
from mlhub.jobs.models import Attempt, Job
from mlhub.jobs.states import JobState
from mlhub.jobs.submission.changes import change_job
from tests.cast import make_cast
from tests.control.worlds import World, state

pytestmark = pytest.mark.django_db


class InterruptedDecider(InProcessDecider):
    """Calls `meanwhile`, once, after it has decided and before its plan is applied."""

    meanwhile: Callable[[], Any] | None = None

    def result(self, *, waits: bool) -> DecisionResult | None:
        found = super().result(waits=waits)
        if found is not None and self.meanwhile is not None:
            meanwhile, self.meanwhile = self.meanwhile, None
            meanwhile()
        return found


@pytest.fixture
def decider() -> InterruptedDecider:
    return InterruptedDecider()


@pytest.fixture
def world(decider: InterruptedDecider) -> World:
    return World(make_cast(), loop_with={"decider": decider})


def changed(one: Job, **changes: Any) -> Callable[[], Any]:
    return lambda: change_job(Job.objects.get(pk=one.pk), actor=one.created_by, **changes)


def test_a_launch_with_fewer_workers_than_are_wanted_by_now_is_left_to_the_next_round(
    world: World, decider: InterruptedDecider
) -> None:
    one = world.job(min_workers=1, max_workers=2)
    decider.meanwhile = changed(one, min_workers=4, max_workers=4)
    world.round()
    assert state(one) == JobState.QUEUED
    world.round()
    assert Attempt.objects.get(job=one).n_workers == 4


def test_a_launch_on_a_type_of_gpu_that_is_no_longer_wanted_is_left_out(
    world: World, decider: InterruptedDecider
) -> None:
    one = world.job(min_workers=1, max_workers=2)

    def meanwhile() -> None:
        Job.objects.filter(pk=one.pk).update(resources={"gpu_types": ["v100"]})

    decider.meanwhile = meanwhile
    world.rounds(2)
    assert (state(one), Attempt.objects.filter(job=one).exists()) == (JobState.QUEUED, False)


def test_a_change_moves_the_version_that_a_launch_must_have_seen(world: World) -> None:
    one = world.job(min_workers=1, max_workers=2)
    before = one.version
    changed(one, max_workers=4)()
    one.refresh_from_db()
    assert one.version == before + 1


@pytest.mark.parametrize(("act", "after"), [(pause_job, JobState.PAUSED), (cancel_job, JobState.CANCELLED)])
def test_a_job_that_left_the_queue_meanwhile_keeps_no_reason_to_wait(
    world: World, decider: InterruptedDecider, act: Callable[..., Any], after: JobState
) -> None:
    one = world.job(min_workers=32, max_workers=32)
    world.round()
    one.refresh_from_db()
    assert one.explanations
    decider.meanwhile = lambda: act(Job.objects.get(pk=one.pk), actor=one.created_by)
    world.rounds(2)
    one.refresh_from_db()
    assert (one.state, one.explanations, one.predicted_finish_at) == (after, [], None)
