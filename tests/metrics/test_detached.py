# SPDX-License-Identifier: Apache-2.0
"""Deleting a job leaves its points, lines and samples out of reach at once; they are removed in pieces afterwards."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from mlhub.jobs.models import Attempt, Job
from mlhub.metrics import detached
from mlhub.metrics.models import DetachedRows, LogLine, MetricPoint, Series, UsageSample
from mlhub.retention.tasks import remove_detached
from tests.cast import Cast, make_cast
from tests.jobs.builders import job

pytestmark = pytest.mark.django_db
KINDS = (MetricPoint, LogLine, UsageSample)
N = 25


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def reported(cast: Cast, *, n: int = N) -> Job:
    """An ended job with two attempts, each with n points of two metrics, lines, and samples of two pods."""
    found, now = job(cast.project_a, cast.bob, state="succeeded", finished_at=timezone.now()), timezone.now()
    for number in (1, 2):
        attempt = Attempt.objects.create(
            job=found, number=number, n_workers=2, ended_at=now, token_hash=uuid4().hex, outcome="failed"
        )
        for key in ("train/loss", "eval/loss"):
            series = Series.objects.create(job=found, attempt=attempt, key=key, n_points=n)
            MetricPoint.objects.bulk_create(
                MetricPoint(series=series, step=i, epoch=0, value=i, at=now, seq=i) for i in range(n)
            )
        pod: dict[str, Any] = {"attempt": attempt, "role": "worker"}
        LogLine.objects.bulk_create(LogLine(**pod, index=0, number=i, text="a line", seq=i) for i in range(n))
        UsageSample.objects.bulk_create(
            UsageSample(**pod, index=index, number=i, at=now, interval_s=2, values={})
            for i in range(n) for index in (0, 1)
        )  # fmt: skip
    return found


def left() -> tuple[int, ...]:
    return tuple(kind.objects.count() for kind in KINDS)


def test_the_request_deletes_no_row_of_which_there_may_be_millions(cast: Cast) -> None:
    found, other = reported(cast), reported(cast)
    before = left()
    with CaptureQueriesContext(connection) as queries:
        assert cast.client(cast.bob).delete(f"/api/v1/jobs/{found.id}").status_code == 204
    tables = [kind._meta.db_table for kind in KINDS]
    assert not [q["sql"] for q in queries if q["sql"].startswith("DELETE") and any(t in q["sql"] for t in tables)]
    assert left() == before
    for path in ("", "/curves", "/logs", "/usage"):
        assert cast.client(cast.bob).get(f"/api/v1/jobs/{found.id}{path}").status_code == 404
    assert remove_detached() == sum(before) // 2
    assert left() == tuple(n // 2 for n in before)
    assert not DetachedRows.objects.exists()
    assert Series.objects.get(job=other, key="eval/loss", attempt__number=2).points.count() == N


def test_pieces_are_bounded_and_a_run_that_is_killed_goes_on_where_it_was(cast: Cast, monkeypatch: Any) -> None:
    cast.client(cast.bob).delete(f"/api/v1/jobs/{reported(cast).id}")
    sizes = [detached.remove_piece(10) for _ in range(3)]
    assert sizes == [10, 10, 5]
    removed = sum(map(int, sizes))

    def killed(limit: int) -> int | None:
        raise KeyboardInterrupt

    monkeypatch.setattr("mlhub.retention.tasks.remove_piece", killed)
    with pytest.raises(KeyboardInterrupt):
        remove_detached()
    monkeypatch.undo()
    assert removed + remove_detached(batch=7) == 2 * (2 * N + N + 2 * N)
    assert (left(), remove_detached()) == ((0, 0, 0), 0)


def test_rows_go_whichever_code_deletes_the_job(cast: Cast) -> None:
    Job.objects.filter(pk=reported(cast).pk).delete()
    reported(cast)
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL DEFERRED")
        cursor.execute("DELETE FROM metrics_series")
    remove_detached()
    assert MetricPoint.objects.count() == 0
    assert LogLine.objects.count() == 2 * N
