# SPDX-License-Identifier: Apache-2.0
"""Many progress reports at once, as of short epochs after a slow answer: few are looked at, and all steps count."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from mlhub.jobs.models import Attempt, Job
from mlhub.metrics.measurements.progress import MOST, without_close_progress
from mlhub.metrics.models import MetricPoint, SpeedSample
from mlhub.wire.report import from_dict
from tests.metrics.test_ingest import attempt, cast, metric, post, progress

__all__ = ["attempt", "cast"]  # fixtures


def lines_of(first: int, n: int) -> list[dict[str, Any]]:
    """Of each step its progress and a metric."""
    return [line for step in range(first, first + n) for line in (progress(step), metric(step, loss=1 / step))]


@pytest.mark.django_db
def test_a_large_batch_takes_few_queries_more_and_loses_no_step(attempt: Attempt) -> None:
    sizes, n_queries, n_steps = (2, MOST, 12 * MOST), [], 0
    for size in sizes:
        with CaptureQueriesContext(connection) as queries:
            assert post(attempt, 2 * n_steps, *lines_of(n_steps + 1, size)).status_code == 200
        n_steps += size
        n_queries.append(len(queries))
    assert n_queries[2] < 2 * n_queries[1]
    assert Job.objects.get(pk=attempt.job_id).steps_done == MetricPoint.objects.count() == n_steps
    assert SpeedSample.objects.get(attempt=attempt).n_steps == n_steps - 1, "the first interval warms up"


def test_the_first_the_newest_and_the_last_of_each_batch_size_are_kept() -> None:
    reports = [from_dict(progress(step) | {"batch_size": 32 if step < 500 else 64}) for step in range(1, 1000)]
    kept = [getattr(report, "steps_done", 0) for report in without_close_progress(reports)]
    assert {1, 499, 999} <= set(kept)
    assert kept == sorted(kept)
    assert len(kept) <= MOST + 3
    assert without_close_progress(reports[:MOST]) == reports[:MOST]


def test_no_batch_sizes_of_a_pod_make_many_reports_count() -> None:
    reports = [from_dict(progress(step) | {"batch_size": 32 + step % 2}) for step in range(1, 1000)]
    kept = without_close_progress(reports)
    assert len(kept) <= 2 * MOST + 2
    assert kept[-1] == reports[-1]
