# SPDX-License-Identifier: Apache-2.0
"""Preemption, cancellation and what they may cost, with the control loop's clock and backend in the test's hands."""

from __future__ import annotations

from typing import Any

import pytest
from django.conf import settings as django_settings
from django.utils import timezone

from mlhub.control.observation.reconcile import ask_to_stop
from mlhub.jobs.actions import cancel_job
from mlhub.jobs.models import Allocation, Attempt, Job
from mlhub.wire.exits import Cause
from tests.cast import make_cast
from tests.chaos.invariants import check_everything
from tests.control.worlds import World, state
from tests.jobs.builders import live_attempt

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    return World(make_cast(), now=timezone.now())


@pytest.mark.slow
def test_preemptions_use_up_no_retries_however_many_there_are(world: World) -> None:
    job = world.job()
    for _ in range(django_settings.MAX_PLATFORM_RETRIES + 3):
        world.rounds(2)
        assert state(job) == "running"
        assert ask_to_stop(world.backend, live_attempt(job), reason="preempted", now=world.now)
        world.round()
    world.rounds(2)
    assert (state(job), job.n_platform_failures, job.failure) == ("running", 0, None)
    check_everything()


@pytest.mark.slow
def test_failures_of_the_platform_and_preemptions_are_counted_apart(world: World) -> None:
    job = world.job()
    for _ in range(2):
        world.rounds(2)
        world.backend.fail(str(live_attempt(job).pk), Cause.NODE_LOST)
        world.round()
        world.round(after_s=600)  # the back-off is over
        world.round()
        ask_to_stop(world.backend, live_attempt(job), reason="preempted", now=world.now)
        world.round()
    job.refresh_from_db()
    assert job.n_platform_failures == 2
    check_everything()


def test_steps_that_every_attempt_makes_again_are_no_progress_and_the_job_fails_in_the_end(world: World) -> None:
    """What ends each attempt at the same place would otherwise be tried for ever."""
    job = world.job()
    for n in range(1, django_settings.MAX_PLATFORM_RETRIES + 3):
        world.round(after_s=600)
        world.round()
        live = live_attempt(job)
        Attempt.objects.filter(pk=live.pk).update(first_step=0, last_step=18 if n > 1 else 9)
        world.backend.fail(str(live.pk), Cause.REPORT_REFUSED)
        world.round()
        job.refresh_from_db()
        assert job.n_platform_failures == max(1, n - 1) or job.state == "failed"
    assert (state(job), (job.failure or {}).get("cause")) == ("failed", Cause.REPORT_REFUSED)
    check_everything()


def test_an_attempt_that_begins_at_a_newer_checkpoint_has_made_progress_though_it_ends_earlier(world: World) -> None:
    job = world.job()
    for first, last, n_failures in ((0, 100, 1), (0, 90, 2), (80, 90, 1), (80, 85, 2), (80, 101, 1), (101, 101, 2)):
        world.round(after_s=600)
        world.round()
        live = live_attempt(job)
        Attempt.objects.filter(pk=live.pk).update(first_step=first, last_step=last)
        world.backend.fail(str(live.pk), Cause.NODE_LOST)
        world.round()
        job.refresh_from_db()
        assert job.n_platform_failures == n_failures, (first, last)


@pytest.mark.slow
def test_a_cancelled_job_whose_backend_is_away_holds_its_gpus_until_its_gang_is_known_to_be_gone(world: World) -> None:
    first = world.job(min_workers=4, max_workers=4)
    world.rounds(2)
    waiting = world.job(min_workers=4, max_workers=4)
    world.round()
    assert (state(first), state(waiting)) == ("running", "queued")
    gang = str(live_attempt(first).pk)
    world.backend.is_away = True
    cancel_job(first, actor=world.cast.bob)
    for _ in range(5):
        assert world.round(after_s=60) is None
    assert Allocation.objects.filter(attempt=gang, released_at=None).exists()
    assert state(waiting) == "queued"
    world.backend.is_away = False
    world.rounds(4)
    assert (state(first), state(waiting)) == ("cancelled", "running")
    assert len([s for s in world.backend.observe() if not s.phase.is_ended]) == 1
    check_everything()


@pytest.mark.slow
def test_a_cancellation_is_final_though_the_gang_ends_well_or_badly_at_that_moment(world: World) -> None:
    ends: list[Any] = [world.backend.finish, lambda gang: world.backend.fail(gang, Cause.NODE_LOST)]
    for i, end in enumerate(ends):
        job = world.job(name=str(i))
        world.rounds(2)
        gang = str(live_attempt(job).pk)
        cancel_job(job, actor=world.cast.bob)
        end(gang)
        world.rounds(3)
        assert state(job) in ("cancelled", "succeeded")
        assert Job.objects.get(pk=job.pk).finished_at is not None
        assert job.attempts.count() == 1
    check_everything()


@pytest.mark.parametrize("after_s", [0.0, 20.0, 60.0, 600.0])
def test_a_control_loop_that_was_down_for_any_time_takes_over_running_gangs_without_touching_them(
    world: World, after_s: float
) -> None:
    job = world.job()
    world.rounds(2)
    gang, n_launches = live_attempt(job), len(world.backend.launches)
    successor = World(world.cast, backend=world.backend, now=world.now)
    successor.round(after_s=max(after_s, 0.1))
    successor.rounds(2)
    assert (state(job), live_attempt(job)) == ("running", gang)
    assert len(world.backend.launches) == n_launches
    check_everything()


@pytest.mark.parametrize(
    ("of_the_gang", "reported", "shown"),
    [
        (Cause.KILLED, "peer_lost", Cause.KILLED),  # its neighbours noticed no more than that it had gone
        (Cause.UNKNOWN, "peer_lost", Cause.PEER_LOST),
        (Cause.KILLED, "user_code", Cause.USER_CODE),
        (Cause.SANDBOX_FAILED, "peer_lost", Cause.SANDBOX_FAILED),
        (Cause.PEER_LOST, "not_a_number", Cause.NOT_A_NUMBER),
    ],
)
def test_what_a_pod_reported_explains_the_end_unless_it_is_a_mere_consequence(
    of_the_gang: Cause, reported: str, shown: Cause, world: World
) -> None:
    job = world.job()
    world.rounds(2)
    attempt = live_attempt(job)
    Attempt.objects.filter(pk=attempt.pk).update(cause=reported, message=reported)
    world.backend.fail(str(attempt.pk), of_the_gang)
    world.round()
    attempt.refresh_from_db()
    assert (attempt.outcome, attempt.cause) == ("failed", shown)
