# SPDX-License-Identifier: Apache-2.0
"""Stalled gangs: reported with the names of those waited for, ended after a while, and only by their own reports."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from mlhub.events.models import Event
from mlhub.jobs.models import Attempt, Job
from mlhub.metrics.models import StallRecord
from mlhub.registry.models import Kind
from tests.cast import make_cast
from tests.control.worlds import World, state
from tests.jobs.builders import LONG, live_attempt

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    return World(make_cast())


def running(world: World, **fields: Any) -> tuple[Job, Attempt]:
    job = world.job(**{**LONG, **fields})
    world.rounds(2)
    assert state(job) == "running"
    attempt = live_attempt(job)
    assert attempt.n_workers >= 2
    return job, attempt


def still(world: World, attempt: Attempt, *, worker: int, doing: str, since_s: float) -> None:
    found = {"step": 12, "doing": doing, "since": world.now - timedelta(seconds=since_s), "reported_at": world.now}
    StallRecord.objects.update_or_create(attempt=attempt, worker=worker, defaults=found)


def reported_stalls(job: Job) -> list[str]:
    found = Event.objects.filter(kind="attempt.stalled", subject_id=job.id).order_by("id")
    return [event.facts["waited_for"] for event in found]


def test_a_stalled_gang_is_reported_once_with_whom_it_waits_for(world: World) -> None:
    job, attempt = running(world)
    for worker in range(attempt.n_workers):
        still(world, attempt, worker=worker, doing="compute" if worker == 1 else "sync", since_s=61)
    world.rounds(3)
    assert reported_stalls(job) == ["worker 1 in its own code"]
    assert state(job) == "running"


def test_a_worker_that_says_nothing_is_the_one_waited_for(world: World) -> None:
    job, attempt = running(world)
    for worker in range(attempt.n_workers - 1):
        still(world, attempt, worker=worker, doing="sync", since_s=61)
    world.round()
    assert reported_stalls(job) == [f"worker {attempt.n_workers - 1}, which reports nothing"]


def test_code_that_hangs_ends_the_job_with_cause_and_remedy_and_keeps_its_checkpoint(world: World) -> None:
    job, attempt = running(world)
    Attempt.objects.filter(pk=attempt.pk).update(last_step=400)
    still(world, attempt, worker=0, doing="compute", since_s=700)
    world.round()
    assert state(job) == "failed"
    assert job.failure is not None
    assert (job.failure["cause"], job.failure["fault"]) == ("stalled", "user")
    assert "worker 0 in its own code" in job.failure["message"]
    assert "limits.stall_s" in job.failure["remedy"]
    world.round()
    assert world.backend.observe() == []


def test_a_gang_that_waits_for_one_that_vanished_starts_anew(world: World) -> None:
    job, attempt = running(world)
    for worker in range(attempt.n_workers - 1):
        still(world, attempt, worker=worker, doing="sync", since_s=700)
    world.round()
    assert state(job) == "queued"
    attempt.refresh_from_db()
    assert attempt.cause == "timeout"


def test_the_job_itself_says_how_long_it_may_stall(world: World) -> None:
    job, attempt = running(world, limits={"stall_s": 4000})
    still(world, attempt, worker=0, doing="compute", since_s=3900)
    world.round()
    assert state(job) == "running"
    still(world, attempt, worker=0, doing="compute", since_s=4001)
    world.round()
    assert state(job) == "failed"


def test_a_script_may_be_silent_for_longer_and_is_then_asked_to_report(world: World) -> None:
    job, attempt = running(world)
    job.model_version.kind = Kind.SCRIPT
    job.model_version.save()
    still(world, attempt, worker=0, doing="compute", since_s=700)
    world.round()
    assert state(job) == "running"
    assert reported_stalls(job) == []
    still(world, attempt, worker=0, doing="compute", since_s=3700)
    world.round()
    assert state(job) == "failed"
    assert job.failure is not None
    assert "mlhub.runtime.report" in job.failure["remedy"]


def test_old_news_end_no_gang(world: World) -> None:
    job, attempt = running(world)
    still(world, attempt, worker=0, doing="compute", since_s=60)
    world.round(after_s=5000)  # the ingest API was away meanwhile
    assert state(job) == "running"
