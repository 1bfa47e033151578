# SPDX-License-Identifier: Apache-2.0
"""A script reports no phases: its first step begins the training, and steps of its metrics say how far it is."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from mlhub.jobs import attempts
from mlhub.jobs.models import Attempt, Job
from mlhub.metrics.models import SpeedSample
from mlhub.metrics.points.tracked_points import TrackedPoint, store_tracked_points
from tests.cast import make_cast
from tests.jobs.builders import job
from tests.metrics.test_ingest import post, progress

pytestmark = pytest.mark.django_db
UNKNOWN_LENGTH = {"profile": {"is_script": True}, "steps_total": 0}


@pytest.fixture
def attempt() -> Attempt:
    cast = make_cast()
    of = job(cast.project_a, cast.bob, **UNKNOWN_LENGTH)
    of.refresh_from_db()
    found = attempts.open_attempt(
        of, mode="all_reduce", n_workers=1, n_servers=0, held=[attempts.Held("n0", (0,), 0)],
        predicted_step_s=0.1, reason="fits", now=timezone.now() - timedelta(minutes=5),
    )  # fmt: skip
    assert found is not None
    Attempt.objects.filter(pk=found.pk).update(created_at=timezone.now() - timedelta(minutes=5))
    found.refresh_from_db()
    return found


def metric(step: int, at: datetime, **values: float) -> dict[str, Any]:
    return {
        "type": "metrics",
        "step": step,
        "epoch": 0.0,
        "at": at.timestamp(),
        "values": values or {"train/loss": 1.0},
    }


def reported(attempt: Attempt) -> tuple[Attempt, Job]:
    attempt.refresh_from_db()
    return attempt, Job.objects.get(pk=attempt.job_id)


def test_its_first_metric_ends_the_start_when_it_was_made(attempt: Attempt) -> None:
    made = datetime.now(UTC) - timedelta(minutes=2)
    assert post(attempt, 0, metric(20, made), metric(40, made + timedelta(seconds=9))).status_code == 200
    of, its_job = reported(attempt)
    assert of.training_at is not None
    assert abs((of.training_at - made).total_seconds()) < 1
    assert (its_job.started_at, its_job.steps_done, of.last_step) == (of.training_at, 40, 40)
    assert "first_step" in of.startup
    post(attempt, 2, metric(60, made + timedelta(seconds=20)), metric(50, made + timedelta(seconds=21)))
    again, its_job = reported(attempt)
    assert (again.training_at, its_job.steps_done) == (of.training_at, 60)


def test_how_far_it_is_in_all_is_not_known_while_nothing_says_how_many_steps_it_makes(attempt: Attempt) -> None:
    client = APIClient()
    client.force_login(attempt.job.created_by)
    address = f"/api/v1/jobs/{attempt.job_id}"
    assert client.get(address).json()["progress"] == 0.0
    post(attempt, 0, metric(20, timezone.now()))
    assert client.get(address).json()["progress"] is None
    post(attempt, 1, progress(100))
    assert client.get(address).json()["progress"] == 0.1


def test_a_clock_that_is_wrong_moves_nothing_before_the_launch(attempt: Attempt) -> None:
    post(attempt, 0, metric(1, datetime(2001, 1, 1, tzinfo=UTC)))
    of, _ = reported(attempt)
    assert of.training_at == of.created_at


def test_what_it_logs_by_a_client_counts_as_well(attempt: Attempt) -> None:
    store_tracked_points(attempt, [TrackedPoint("train/loss", 7, timezone.now().timestamp(), 0.5)])
    of, its_job = reported(attempt)
    assert (of.training_at is not None, its_job.steps_done) == (True, 7)


def test_its_own_progress_goes_before_steps_of_metrics(attempt: Attempt) -> None:
    assert post(attempt, 0, progress(10), metric(5_000, timezone.now())).status_code == 200
    of, its_job = reported(attempt)
    assert (of.training_at is not None, its_job.steps_done, its_job.steps_total) == (True, 10, 1000)


def test_steps_of_metrics_between_its_reports_of_progress_spoil_no_speed(attempt: Attempt) -> None:
    for n, step in enumerate((10, 30, 50)):
        post(attempt, 2 * n, progress(step), metric(step + 20, timezone.now()))
    assert SpeedSample.objects.get().n_steps == 40


def test_mlhub_s_own_loop_says_itself_when_it_trains(attempt: Attempt) -> None:
    Attempt.objects.filter(pk=attempt.pk).update(startup={"gang_ready": 1.0})
    post(attempt, 0, metric(20, timezone.now()))
    of, its_job = reported(attempt)
    assert (of.training_at, its_job.steps_done) == (None, 0)
