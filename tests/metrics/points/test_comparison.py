# SPDX-License-Identifier: Apache-2.0
"""Curves of many jobs next to each other: what counts of each, over each axis, in answers of bounded size."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from mlhub.jobs.models import Allocation, Attempt, Job
from mlhub.metrics.models import MetricPoint, Series
from tests.cast import Cast, make_cast
from tests.jobs.builders import job
from tests.metrics.points.test_curves import AT, MAX_ANSWER_BYTES, fill, fill_emptied_table, resumed, rows_read
from tests.metrics.test_ingest import opened

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def compare(cast: Cast, *jobs: Any, part: str = "curves", **fields: Any) -> Any:
    body = {"jobs": [str(one) for one in jobs], **fields}
    return cast.client(cast.bob).post(f"/api/v1/jobs/compare/{part}", body)


def started(at: datetime, attempt: Attempt) -> None:
    Job.objects.filter(pk=attempt.job_id).update(started_at=at)
    Attempt.objects.filter(pk=attempt.pk).update(created_at=at)


def test_each_curve_keeps_its_ends_and_extremes_and_what_was_trained_again_counts_once(cast: Cast) -> None:
    one, other = opened(job(cast.project_a, cast.bob)), opened(job(cast.project_a, cast.alice))
    fill(one, "loss", range(1000), lambda step: 50.0 if step == 333 else step % 3)
    fill(other, "loss", range(600))
    fill(resumed(other, first_step=299), "loss", range(300, 900), lambda step: -float(step))
    first, second = compare(cast, one.job_id, other.job_id, metric="loss", max_points=100).json()["curves"]
    assert (first["job"], second["job"]) == (str(one.job_id), str(other.job_id))
    assert (first["x"][0], first["x"][-1]) == (0, 999)
    assert dict(zip(first["x"], first["y"], strict=True))[333] == 50
    assert len(first["x"]) <= 100
    assert second["x"] == sorted(set(second["x"]))
    assert all(y == (x if x < 300 else -x) for x, y in zip(second["x"], second["y"], strict=True))


@pytest.mark.slow
def test_statistics_of_an_emptied_table_do_not_make_a_point_cost_a_look_at_all(cast: Cast) -> None:
    n_points, attempt = 100_000, opened(job(cast.project_a, cast.bob))
    fill_emptied_table(attempt, n_points=n_points)
    before = rows_read()
    [curve] = compare(cast, attempt.job_id, metric="loss", max_points=400).json()["curves"]
    assert len(curve["x"]) > 200
    assert rows_read() - before < 10 * n_points


def test_a_curve_is_drawn_over_the_axis_asked_for(cast: Cast) -> None:
    attempt = opened(job(cast.project_a, cast.bob))
    Allocation.objects.filter(attempt=attempt).delete()
    Allocation.objects.create(attempt=attempt, node="n1", slots=[0, 1])
    started(AT, attempt)
    series = fill(attempt, "loss", range(0, 2000, 1000))
    MetricPoint.objects.filter(series=series, step=1000).update(at=AT + timedelta(hours=3))
    axes = {axis: compare(cast, attempt.job_id, metric="loss", axis=axis).json()["curves"][0]["x"] for axis in
            ("step", "epoch", "wall", "gpu_hours")}  # fmt: skip
    assert axes == {"step": [0, 1000], "epoch": [0, 1], "wall": [0, 10800], "gpu_hours": [0, 6]}


@pytest.mark.slow
def test_an_answer_is_bounded_and_asking_for_more_is_refused(cast: Cast) -> None:
    attempts = [opened(job(cast.project_a, cast.bob, name=f"job {n}")) for n in range(8)]
    for attempt in attempts:
        fill(attempt, "loss", range(0, 400_000, 250), lambda step: step / 7)
    ids = [attempt.job_id for attempt in attempts]
    answer = compare(cast, *ids, metric="loss", max_points=1000)
    assert len(answer.content) <= MAX_ANSWER_BYTES
    assert sum(len(curve["x"]) for curve in answer.json()["curves"]) > 4000
    refused = compare(cast, *ids, attempts[0].pk, metric="loss", max_points=1000)
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "max_points")


def test_jobs_of_others_are_left_out_and_metrics_are_counted(cast: Cast) -> None:
    one, other = opened(job(cast.project_a, cast.bob)), opened(job(cast.project_a, cast.alice))
    foreign = opened(job(cast.project_b, cast.charlie))
    for attempt in (one, other, foreign):
        fill(attempt, "loss", range(3))
    fill(one, "accuracy", range(3))
    ids = [one.job_id, foreign.job_id, other.job_id]
    assert [curve["job"] for curve in compare(cast, *ids, metric="loss").json()["curves"]] == [str(ids[0]), str(ids[2])]
    found = compare(cast, *ids, part="metrics").json()["metrics"]
    assert found == [{"key": "loss", "n_jobs": 2}, {"key": "accuracy", "n_jobs": 1}]
    assert compare(cast, one.job_id, metric="nothing").json() == {"curves": []}


def test_names_of_common_metrics_are_left_out_when_they_are_too_long_for_one_answer(cast: Cast) -> None:
    attempt = opened(job(cast.project_a, cast.bob))
    keys = [f"{n:04}" + "\N{GRINNING FACE}" * 246 for n in range(390)]
    Series.objects.bulk_create(Series(job_id=attempt.job_id, attempt=attempt, key=key, n_points=1) for key in keys)
    answer = compare(cast, attempt.job_id, part="metrics")
    assert len(answer.content) <= MAX_ANSWER_BYTES
    found = [row["key"] for row in answer.json()["metrics"]]
    assert len(found) > 100
    assert found == keys[: len(found)]


def test_a_metric_that_is_not_listed_among_so_many_is_found_by_a_part_of_its_name(cast: Cast) -> None:
    attempt = opened(job(cast.project_a, cast.bob))
    Series.objects.bulk_create(Series(attempt=attempt, job_id=attempt.job_id, key=f"unit/{n:04}") for n in range(1000))
    answer = compare(cast, attempt.job_id, part="metrics").json()
    assert answer["n_metrics"] == 1000
    assert "unit/0999" not in [row["key"] for row in answer["metrics"]]
    found = compare(cast, attempt.job_id, part="metrics", search="T/0999").json()
    assert found == {"metrics": [{"key": "unit/0999", "n_jobs": 1}], "n_metrics": 1}
