# SPDX-License-Identifier: Apache-2.0
"""From a measured noise scale to the trainer's batch, and back: round, ingest, history, the next launch."""

from __future__ import annotations

from typing import Any

import pytest

from mlhub.control.models import JobDecision
from mlhub.control.rounds.snapshots import take_snapshot
from mlhub.jobs.actions import pause_job, resume_job
from mlhub.jobs.models import Attempt, Job
from mlhub.wire.launch import BatchDecision
from scheduler.api.snapshot import JobSnapshot
from tests.cast import make_cast
from tests.control.worlds import World
from tests.jobs.builders import PROFILE, live_attempt
from tests.metrics.test_ingest import post, progress

pytestmark = pytest.mark.django_db
COSTLY_STEPS = {**PROFILE, "example_s": 1e-5, "step_overhead_s": 0.1}  # so that larger batches are nearly free


@pytest.fixture
def world() -> World:
    return World(make_cast())


def ranged(world: World, **fields: Any) -> Job:
    """A job that trains in batches of 32 and may grow to 128."""
    of = world.job(**{"max_workers": 1, "profile": COSTLY_STEPS, "hyperparameters": {"max_batch_size": 128}, **fields})
    world.rounds(2)
    return of


def measure(of: Job, noise_scale: float, *, at: int = 0, batch_size: int = 32) -> dict[str, Any]:
    """Two reports of steps of 0.1 s, of which the first warms up. Returns what the API answers."""
    lines = [
        progress(20 * (at + i)) | {"batch_size": batch_size, "measured": {"noise_scale": noise_scale}} for i in (1, 2)
    ]
    answer = post(live_attempt(of), at, *lines)
    assert answer.status_code == 200, answer.content
    return dict(answer.json())


def follow(of: Job, step: int, *, was: int, batch_size: int, at: int) -> None:
    """The trainer changes its batch."""
    detail = {"step": step, "was": was, "batch_size": batch_size, "learning_rate_factor": 1.5, "reason": ""}
    line = {"type": "phase", "at": 1.7e9, "phase": "batch_changed", "since_start_s": 9.0, "detail": detail}
    assert post(live_attempt(of), at, line).status_code == 200


def seen(world: World) -> JobSnapshot:
    (found,) = take_snapshot(world.backend.inventory(), now=world.now, round_number=9).jobs
    return found


@pytest.mark.slow
def test_a_measured_noise_scale_becomes_a_decision_that_worker_0_receives(world: World) -> None:
    of = ranged(world)
    assert world.backend.launches[-1].training.batch == BatchDecision(32)
    assert measure(of, 900.0)["batch"]["batch_size"] == 32, "nothing is decided yet"
    world.round()
    answer = measure(of, 900.0, at=2)
    assert answer["batch"]["batch_size"] == 64
    assert answer["batch"]["noise_scale"] == 900.0
    assert answer["batch"]["reason"].startswith("Batch size 32 -> 64: with a gradient noise scale of 900 examples")
    of.refresh_from_db()
    assert of.explanations[-1]["sentence"] == answer["batch"]["reason"]
    world.rounds(3)
    kept = JobDecision.objects.filter(job=of, decision="keep").order_by("id")
    assert [row.explanations[-1]["reason"] for row in kept] == ["batch_size_changes"], "one row for one change"


@pytest.mark.slow
def test_what_a_changed_batch_measures_is_learnt_apart_and_lets_it_grow_on(world: World) -> None:
    of = ranged(world)
    measure(of, 900.0)
    world.round()
    follow(of, 40, was=32, batch_size=64, at=2)
    measure(of, 950.0, at=3, batch_size=64)
    found = seen(world)
    assert (found.batch_size, found.used_batch_size, found.max_batch_size) == (32, 64, 128)
    assert {o.batch_size: o.n_steps for o in found.observations} == {32: 20, 64: 20}
    assert found.noise_scale == 950.0
    shown = world.cast.client(world.cast.bob).get(f"/api/v1/jobs/{of.id}").json()
    assert (shown["batch_size"], shown["current_attempt"]["batch_size"]) == (32, 64)
    world.round()
    assert Attempt.objects.get(job=of).batch_decision["batch_size"] == 128


@pytest.mark.slow
def test_a_resumed_job_is_launched_with_the_batch_that_it_had(world: World) -> None:
    of = ranged(world, hyperparameters={"max_batch_size": 64})
    measure(of, 900.0)
    world.round()
    follow(of, 40, was=32, batch_size=64, at=2)
    pause_job(of, actor=world.cast.bob)
    world.rounds(2)
    resume_job(of, actor=world.cast.bob)
    world.rounds(2)
    assert len(world.backend.launches) == 2
    again = world.backend.launches[-1].training.batch
    assert again is not None
    assert (again.batch_size, again.noise_scale) == (64, 900.0)
    assert again.reason == "With a gradient noise scale of 900 examples, no other batch is worth a change."
    Job.objects.filter(pk=of.pk).update(hyperparameters={})
    assert seen(world).max_batch_size is None


@pytest.mark.parametrize("nonsense", [0.0, -5.0, 1e300])
def test_an_impossible_noise_scale_decides_nothing_and_is_named(nonsense: float, world: World) -> None:
    of = ranged(world)
    line = progress(20) | {"batch_size": 32, "measured": {"noise_scale": nonsense}}
    post(live_attempt(of), 0, line, line | {"steps_done": 40})
    world.round()
    assert Attempt.objects.get(job=of).batch_decision["batch_size"] == 32
    shown = world.cast.client(world.cast.bob).get(f"/api/v1/jobs/{of.id}/speed").json()
    assert {row["field"] for row in shown["refused"]} <= {"noise_scale"}


def test_a_batch_outside_the_range_is_not_believed(world: World) -> None:
    of = ranged(world)
    follow(of, 40, was=32, batch_size=4096, at=0)
    measure(of, 900.0, at=1, batch_size=4096)
    assert seen(world).used_batch_size == 32
    assert seen(world).observations == ()


def test_a_fixed_batch_is_never_changed(world: World) -> None:
    of = ranged(world, hyperparameters={})
    assert "batch" not in measure(of, 900.0)
    world.round()
    assert "batch" not in measure(of, 900.0, at=2)
    assert world.backend.launches[-1].training.batch is None
