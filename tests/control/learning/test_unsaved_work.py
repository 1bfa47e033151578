# SPDX-License-Identifier: Apache-2.0
"""What a stop would take from a script: the scheduler and the job's page reckon with the same."""

from __future__ import annotations

from datetime import timedelta

import pytest

from mlhub.control.learning.learned_models import learned_models_of
from mlhub.control.learning.restart_costs import costs_of
from mlhub.control.rounds.snapshots import take_snapshot
from mlhub.jobs.execution.families import family_of
from mlhub.jobs.models import Attempt, Checkpoint, Job
from mlhub.jobs.states import JobState
from mlhub.registry.models import ModelVersion
from mlhub.tenants.actions import set_quota
from tests.cast import make_cast
from tests.control.worlds import World, state
from tests.jobs.builders import job, live_attempt

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    return World(make_cast())


def script(world: World, name: str) -> Job:
    found = world.job(name=name, min_workers=1, max_workers=1)
    package = ModelVersion.objects.create(
        model=found.model_version.model, number=Job.objects.count() + 1, kind="script", state="ready"
    )
    Job.objects.filter(pk=found.pk).update(model_version=package)
    found.refresh_from_db()
    return found


def train(of: Job, world: World, *, since_s: float) -> Attempt:
    """Its live attempt has trained for so long."""
    attempt = live_attempt(of)
    Attempt.objects.filter(pk=attempt.pk).update(training_at=world.now - timedelta(seconds=since_s))
    return attempt


def save(attempt: Attempt, world: World, *, ago_s: float) -> None:
    Checkpoint.objects.create(
        attempt=attempt, step=3, name=f"output/{ago_s:.0f}-s-ago", size_bytes=1000, write_s=0.0, stall_s=0.0,
        at=world.now - timedelta(seconds=ago_s),
    )  # fmt: skip


def losses(world: World) -> dict[str, float]:
    found = take_snapshot(world.backend.inventory(), now=world.now, round_number=5)
    return {one.name: one.lost_s for one in found.jobs}


def test_a_script_loses_what_it_trained_since_its_newest_checkpoint(world: World) -> None:
    _, lately = script(world, "never saved"), script(world, "saved lately")
    world.job(name="of MLHub's loop", max_workers=1)
    world.rounds(2)
    assert max(losses(world).values()) <= 2.0, "they run since the round before"
    for of in Job.objects.all():
        attempt = train(of, world, since_s=3600)
        if of == lately:
            save(attempt, world, ago_s=1800)
            save_again = Checkpoint(
                attempt=attempt, step=5, name="output/checkpoint-5", size_bytes=9, write_s=0, stall_s=0
            )
            save_again.at = world.now - timedelta(seconds=40)
            save_again.save()
    found = losses(world)
    assert found["never saved"] == pytest.approx(3600)
    assert found["saved lately"] == pytest.approx(40)
    assert found["of MLHub's loop"] == pytest.approx(0, abs=0.1)


def test_a_checkpoint_of_an_earlier_attempt_saves_nothing_of_this_one_and_one_of_the_future_is_of_now(
    world: World,
) -> None:
    resumed, ahead = script(world, "resumed"), script(world, "clock ahead")
    world.rounds(2)
    save(train(resumed, world, since_s=60), world, ago_s=900)
    save(train(ahead, world, since_s=60), world, ago_s=-500)
    assert losses(world) == {"resumed": pytest.approx(60), "clock ahead": 0.0}


def test_a_script_that_reports_no_step_trains_since_its_pods_run(world: World) -> None:
    silent = script(world, "silent")
    world.rounds(2)
    Attempt.objects.filter(pk=live_attempt(silent).pk).update(started_at=world.now - timedelta(seconds=70))
    assert losses(world) == {"silent": pytest.approx(70)}


def test_the_page_says_what_the_round_reckons_with(world: World) -> None:
    of = script(world, "never saved")
    world.rounds(2)
    attempt = train(of, world, since_s=3600)
    Attempt.objects.filter(pk=attempt.pk).update(training_at=attempt.created_at)
    loss = costs_of(of)["loss"]
    assert loss["basis"] == "unsaved"
    assert loss["seconds"] > 0
    assert "in no checkpoint yet" in loss["sentence"]
    assert "±" not in loss["sentence"]  # it is known


def test_nothing_is_learnt_of_what_stopped_scripts_lost(world: World) -> None:
    """An attempt of a script begins in the books at the step of the one before, wherever it really went on."""
    of = script(world, "one")
    world.rounds(2)
    first = train(of, world, since_s=60)
    left = {"stop_asked_at": world.now, "ended_at": world.now + timedelta(seconds=1), "outcome": "stopped"}
    Attempt.objects.filter(pk=first.pk).update(last_step=10, **left)
    Attempt.objects.create(job=of, number=9, first_step=10, mode="all_reduce", n_workers=1, training_at=world.now)
    costs = learned_models_of({family_of(of)}).costs.of(family_of(of))
    assert (costs.leave.basis, costs.loss.basis) == ("others", "prior")


def test_of_two_scripts_that_borrow_the_one_that_saved_lately_makes_room(world: World) -> None:
    """Both were admitted together: the work that a stop would lose decides."""
    cast = world.cast
    world.backend.nodes = world.backend.nodes[:1]
    world.settle(policy="mlhub")
    set_quota(cast.b, guarantee=1, actor=cast.root)
    first, second = script(world, "first"), script(world, "second")
    world.rounds(3)
    assert {state(first), state(second)} <= {JobState.RUNNING, JobState.STARTING}
    for of in (first, second):
        attempt = train(of, world, since_s=3000)
        Attempt.objects.filter(pk=attempt.pk).update(created_at=world.now - timedelta(seconds=3100))
    save(live_attempt(second), world, ago_s=5)
    owner = job(cast.project_b, cast.charlie, name="owner", max_workers=1)
    Job.objects.filter(pk=owner.pk).update(submitted_at=world.now)
    world.rounds(4)
    assert state(first) == JobState.RUNNING
    assert second.attempts.filter(outcome="stopped").exists() or state(second) == JobState.STOPPING
