# SPDX-License-Identifier: Apache-2.0
"""What was decided on each job over the rounds, and what was predicted, compared with what came."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from mlhub.control.deciding.memory import MemoryOwner, load_memory
from mlhub.control.models import Forecast, JobDecision, SchedulerState
from mlhub.control.monitoring.calibration import (
    calibration,
    calibration_by_cause,
    calibration_by_organisation,
    newest_ends,
)
from mlhub.control.monitoring.status import why
from mlhub.control.rounds.forecasts import close_forecasts
from mlhub.control.rounds.history import KEPT_A_JOB, forget_old_decisions
from mlhub.control.rounds.loop import Loop
from mlhub.jobs import actions
from mlhub.jobs.models import Job
from mlhub.tenants.actions import set_quota
from mlhub.tenants.models import Quota
from scheduler.models.forecast.prediction_intervals import ForecastGroup
from tests.cast import make_cast
from tests.control.worlds import World, state
from tests.jobs.builders import job, live_attempt

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    return World(make_cast())


def decisions(of: Job) -> list[tuple[str, str]]:
    found = JobDecision.objects.filter(job=of).order_by("id")
    return [(d.decision, d.explanations[0]["reason"] if d.explanations else "") for d in found]


@pytest.mark.slow
def test_a_job_s_history_shows_each_decision_once(world: World) -> None:
    world.settle(policy="fifo")
    first = world.job(name="first", min_workers=4)
    second = world.job(name="second", min_workers=4)
    world.rounds(5)
    assert decisions(first) == [("launch", "fits")]
    assert decisions(second) == [("wait", "no_free_gpus")]
    world.backend.finish(str(live_attempt(first).id))
    world.rounds(3)
    assert decisions(second) == [("wait", "no_free_gpus"), ("launch", "fits")]
    launch = JobDecision.objects.filter(job=second).latest("id")
    assert (launch.n_workers, sorted(launch.nodes), launch.policy) == (4, ["n0", "n1"], "fifo")
    assert launch.round_id is not None
    assert launch.predicted_finish_at is not None


def test_a_loop_that_was_restarted_does_not_report_the_same_again(world: World) -> None:
    waiting = world.job(is_tried=False)
    world.rounds(2)
    world.loop = Loop(world.backend, now=lambda: world.now)
    world.rounds(2)
    assert decisions(waiting) == [("wait", "preflight")]


def test_a_history_is_bounded(world: World) -> None:
    one = world.job()
    other = world.job()
    JobDecision.objects.bulk_create(
        JobDecision(job=one, at=world.now, policy="fifo", decision="wait", round_id=i) for i in range(KEPT_A_JOB + 7)
    )
    JobDecision.objects.create(job=other, at=world.now, policy="fifo", decision="wait")
    forget_old_decisions()
    kept = JobDecision.objects.filter(job=one).order_by("id")
    assert (kept.count(), kept[0].round_id) == (KEPT_A_JOB, 7)
    assert JobDecision.objects.filter(job=other).count() == 1


@pytest.mark.slow
def test_forecasts_are_kept_once_and_closed_when_the_job_has_ended(world: World) -> None:
    alone = world.job()
    world.rounds(3)
    at_first = {f.moment: f.finish_at for f in Forecast.objects.filter(job=alone)}
    assert set(at_first) == {"submission", "launch"}
    assert calibration()[0].n == 0
    world.backend.finish(str(live_attempt(alone).id))
    world.rounds(2)
    close_forecasts()
    for forecast in Forecast.objects.filter(job=alone):
        assert forecast.finish_at == at_first[forecast.moment]
        assert (forecast.outcome, forecast.finished_at) == ("succeeded", Job.objects.get(pk=alone.pk).finished_at)
    for judged in calibration():
        assert (judged.n, judged.within_p90) == (1, 1.0)
        assert judged.median_error is not None
        assert judged.median_bias is not None
        assert judged.median_bias < 0 < judged.median_error  # it ended before it was expected to
    assert newest_ends(10)[0]["job"]["id"] == alone.pk


def test_a_preempted_job_that_waits_again_has_a_predicted_start(world: World) -> None:
    set_quota(world.cast.b, guarantee=4, actor=world.cast.root)
    borrower = world.job(min_workers=4, max_workers=4, steps_total=1_000_000)
    world.rounds(3)
    Job.objects.filter(pk=borrower.pk, state="running").update(started_at=world.now)  # it made its first step
    owner = job(world.cast.project_b, world.cast.charlie, min_workers=4, max_workers=4, steps_total=1000)
    world.rounds(4)
    assert (state(borrower), state(owner)) == ("queued", "running")
    assert borrower.started_at is not None
    assert borrower.predicted_start_at is not None
    (shown,) = world.cast.client(world.cast.bob).get("/api/v1/queue").json()["results"]
    assert (shown["id"], shown["predicted_start_at"] is not None) == (str(borrower.pk), True)


@pytest.mark.slow
def test_forecasts_are_judged_by_organisation_and_by_what_the_jobs_waited_for(world: World) -> None:
    """Both GPUs of bob's quota are in use; the second job waits for them, and says so, until the first has ended."""
    Quota.objects.filter(organisation=world.cast.a).update(max_gpus=2)
    first = world.job(min_workers=2, max_workers=2)
    world.rounds(3)
    second = world.job(min_workers=2, max_workers=2)
    world.rounds(2)
    waiting = Job.objects.get(pk=second.pk)
    assert waiting.reason == "quota_gpus"
    assert waiting.predicted_start_at is not None
    assert waiting.predicted_start_p90_at is not None
    assert world.now < waiting.predicted_start_at < waiting.predicted_start_p90_at
    world.backend.finish(str(live_attempt(first).id))
    world.rounds(4)
    world.backend.finish(str(live_attempt(second).id))
    world.rounds(2)
    close_forecasts()
    forecast = Forecast.objects.get(job=second, moment="submission")
    assert forecast.started_at == second.attempts.get(number=1).created_at
    by_cause = {one.of: one for one in calibration_by_cause()}
    assert {cause: one.n for cause, one in by_cause.items()} == {"": 1, "quota_gpus": 1}
    held = forecast.started_at <= forecast.start_p90_at
    assert (by_cause["quota_gpus"].n_waited, by_cause["quota_gpus"].started_within_p90) == (1, float(held))
    assert by_cause[""].started_within_p90 is None
    assert [(one.of, one.n) for one in calibration_by_organisation()] == [(world.cast.a.name, 2)]


@pytest.mark.slow
def test_what_is_learned_of_ends_knows_who_was_cancelled(world: World) -> None:
    """One job ends, one is cancelled, and one paused: predictions are scored by the first; the others took longer."""
    ended, cancelled, paused = (world.job(max_workers=1) for _ in range(3))
    world.rounds(3)
    actions.cancel_job(cancelled, actor=world.cast.bob)
    actions.pause_job(paused, actor=world.cast.bob)
    world.backend.finish(str(live_attempt(ended).id))
    world.rounds(4)
    assert [state(one) for one in (ended, cancelled, paused)] == ["succeeded", "cancelled", "paused"]
    intervals = load_memory(MemoryOwner.POLICY).prediction_intervals
    scores = [did_end for group in ForecastGroup for _, _, did_end, *_ in intervals[group]["ended"]]
    assert set(scores) == {0.0, 1.0}
    assert sum(intervals[group]["n_jobs"] for group in ForecastGroup) <= 2
    assert not intervals["open"]


def test_jobs_that_were_cancelled_judge_no_forecast(world: World) -> None:
    alone = world.job()
    world.rounds(2)
    Job.objects.filter(pk=alone.pk).update(finished_at=world.now, state="cancelled")
    close_forecasts()
    assert Forecast.objects.filter(job=alone, outcome="cancelled").count() == 2
    assert [judged.n for judged in calibration()] == [0, 0]


def test_a_job_that_no_round_has_seen_is_not_promised_one_in_seconds(world: World) -> None:
    one = world.job()
    Job.objects.filter(pk=one.pk).update(submitted_at=timezone.now() - timedelta(minutes=5))
    one.refresh_from_db()
    assert why(one)["headline"] == "No scheduling round has considered it for 5 min; there was no round yet."
    SchedulerState.objects.update(round_at=datetime(2026, 1, 1, 8, 30, tzinfo=UTC))
    assert why(one)["headline"].endswith("the last round was at 2026-01-01 08:30:00 UTC.")
    Job.objects.filter(pk=one.pk).update(submitted_at=timezone.now())
    one.refresh_from_db()
    assert why(one)["headline"] == "It was submitted a moment ago; the next scheduling round considers it."
