# SPDX-License-Identifier: Apache-2.0
"""Points that are logged to a job's curves: repeats, clocks that are wrong, epochs, and what a batch costs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from mlhub.experiments.measurements import result_at
from mlhub.jobs.models import Attempt, Job
from mlhub.metrics.models import MetricPoint, Series, StreamCursor
from mlhub.metrics.points.tracked_points import TrackedPoint, store_tracked_points
from tests.cast import Cast, make_cast
from tests.jobs.builders import job
from tests.tracking.test_jobs import opened

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast(db: Any) -> Cast:
    return make_cast()


@pytest.fixture
def attempt(cast: Cast) -> Attempt:
    return opened(job(cast.project_a, cast.bob, name="training"))


def many(n_keys: int, *, at: float = 1000.0, value: float = 1.0) -> Sequence[TrackedPoint]:
    return [TrackedPoint(f"train/m{key}", step, at, value) for key in range(n_keys) for step in range(3)]


def n_queries(attempt: Attempt, points: Sequence[TrackedPoint]) -> int:
    with CaptureQueriesContext(connection) as captured:
        store_tracked_points(attempt, points)
    return len(captured)


def test_a_large_batch_costs_as_many_statements_as_a_small_one(attempt: Attempt) -> None:
    store_tracked_points(attempt, many(1))  # the cursor is made once for the job
    small, large = n_queries(attempt, many(2, at=2000.0)), n_queries(attempt, many(200, at=3000.0))
    assert large == small
    assert n_queries(attempt, many(200, at=4000.0, value=2.0)) <= small  # all of it replaced
    assert MetricPoint.objects.count() == 600
    assert set(Series.objects.values_list("n_points", flat=True)) == {3}
    assert set(MetricPoint.objects.values_list("value", flat=True)) == {2.0}


def test_metrics_beyond_the_limit_are_dropped_and_counted(attempt: Attempt, settings: Any) -> None:
    settings.MAX_METRICS_PER_JOB = 2
    store_tracked_points(attempt, many(4))
    assert Series.objects.count() == 2
    assert StreamCursor.objects.get().dropped == {"metrics_per_job": 6}


@pytest.mark.parametrize("at", [2.0**62, 1e11, -(2.0**62)])
def test_a_time_that_cannot_be_is_no_error_and_its_repeat_is_one(attempt: Attempt, at: float) -> None:
    for _ in range(2):
        store_tracked_points(attempt, [TrackedPoint("train/loss", 1, at, 0.5)])
    assert (MetricPoint.objects.get().value, StreamCursor.objects.get().last_seq) == (0.5, 1)
    store_tracked_points(attempt, [TrackedPoint("train/loss", 1, at, 0.25)])
    assert (MetricPoint.objects.get().value, StreamCursor.objects.get().last_seq) == (0.25, 2)


def test_points_have_the_epoch_that_the_job_has_reported_or_the_batch_names(attempt: Attempt) -> None:
    Job.objects.update(epoch=2.0)
    store_tracked_points(attempt, [TrackedPoint("eval/loss", 10, 1000.0, 0.5)])
    both = [TrackedPoint("eval/loss", 20, 2000.0, 0.25), TrackedPoint("train/epoch", 20, 2000.0, 4.0)]
    store_tracked_points(attempt, both)
    of = Job.objects.get()
    assert result_at(of, "eval/loss", rung=2) == {
        "epochs": 2.0,
        "step": 10,
        "value": 0.5,
        "at": "1970-01-01T00:16:40+00:00",
    }
    assert result_at(of, "eval/loss", rung=4) == {
        "epochs": 4.0,
        "step": 20,
        "value": 0.25,
        "at": "1970-01-01T00:33:20+00:00",
    }
