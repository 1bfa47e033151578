# SPDX-License-Identifier: Apache-2.0
"""Points that a client logs at an address, one by one and without numbers, into a job's curves.

A repeat is known by metric, step, time and value. A job's curve has one value a step: the newest by the client's clock.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection, transaction
from django.utils import timezone

from mlhub.core.database.arrays import moment_array, number_array
from mlhub.core.errors import GoneError
from mlhub.events.changes import ChangeKind, report_change
from mlhub.events.wakeups import job_topic, wake_on_commit
from mlhub.jobs.models import Attempt, Job
from mlhub.metrics.measurements.script_steps import record_steps
from mlhub.metrics.models import StallRecord, StreamCursor
from mlhub.metrics.points.point_store import PointBatch
from mlhub.metrics.reports import at
from mlhub.wire.report import MAX_STEP, MAX_VALUES, MetricReport

EPOCH_METRIC = "train/epoch"  # Hugging Face's Trainer and Lightning log it with the other values of a step
CLOCK_ERROR_S = 1.0  # a time that was moved by more is not the client's
STORED = """
SELECT p.series_id, p.step, p.at, p.value FROM unnest(%s::int[], %s::bigint[]) AS g(series_id, step)
JOIN metrics_metricpoint p ON p.series_id = g.series_id AND p.step = g.step
"""
REPLACE = """
UPDATE metrics_metricpoint p SET value = g.value, at = g.at, seq = g.seq
FROM unnest(%s::int[], %s::bigint[], %s::float8[], %s::timestamptz[], %s::bigint[])
    AS g(series_id, step, value, at, seq)
WHERE p.series_id = g.series_id AND p.step = g.step
"""


@dataclass(frozen=True)
class TrackedPoint:
    """key: a metric's name as jobs have them. at: seconds since the epoch."""

    key: str
    step: int
    at: float
    value: float


def store_tracked_points(attempt: Attempt, points: Iterable[TrackedPoint]) -> None:
    """Stores what is new, and makes the newest values the job's result so far. Raises GoneError for an ended attempt.

    Of a step below 0, or beyond those that reports may have, nothing is stored.
    """
    chosen = _newest_of_step(points)
    if not chosen:
        return
    with transaction.atomic():
        StreamCursor.objects.get_or_create(job_id=attempt.job_id)
        cursor = StreamCursor.objects.select_for_update().get(job_id=attempt.job_id)
        is_fenced, epoch = Attempt.objects.values_list("is_fenced", "job__epoch").get(pk=attempt.pk)
        if is_fenced:
            raise GoneError("This attempt has ended; nothing it reports counts any more.", code="fenced")
        batch = PointBatch(attempt, cursor)
        batch.load_series(point.key for point in chosen)
        _store(batch, chosen, epoch=epoch)
        cursor.save()
        _set_result(attempt.job_id, chosen)
        record_steps(attempt, [point.step for point in chosen], at=at(chosen[0].at))
        StallRecord.objects.filter(attempt=attempt).delete()  # a script that logs is moving
        wake_on_commit(job_topic(attempt.job_id))
        report_change(ChangeKind.PROGRESS, organisation_id=attempt.job.project.organisation_id)


def _newest_of_step(points: Iterable[TrackedPoint]) -> list[TrackedPoint]:
    """By step; of one metric's values at one step the newest."""
    chosen: dict[tuple[str, int], TrackedPoint] = {}
    for point in points:
        former = chosen.get((point.key, point.step))
        if 0 <= point.step <= MAX_STEP and (former is None or point.at >= former.at):
            chosen[point.key, point.step] = point
    return sorted(chosen.values(), key=lambda point: point.step)


def _store(batch: PointBatch, points: Sequence[TrackedPoint], *, epoch: float) -> None:
    """epoch: how far the job has reported to be; a value that the batch itself has for a step goes first."""
    ids = batch.series_ids()
    stored = _stored_at(ids, points)
    epochs = {point.step: point.value for point in points if point.key == EPOCH_METRIC and point.value >= 0}
    newer = []
    for point in points:
        seen = stored.get((ids.get(point.key, 0), point.step))
        if seen is None:
            here = epochs.get(point.step, epoch)
            batch.add(MetricReport(step=point.step, epoch=here, at=point.at, values={point.key: point.value}))
        elif _is_newer(point, *seen):
            newer.append(point)
    batch.save()
    _replace(batch.cursor, ids, newer)


def _stored_at(ids: dict[str, int], points: Sequence[TrackedPoint]) -> dict[tuple[int, int], tuple[datetime, float]]:
    """Time and value of the points that are stored at these steps, by series and step."""
    known = [(ids[point.key], point.step) for point in points if point.key in ids]
    with connection.cursor() as cursor:
        series, steps = ([pair[place] for pair in known] for place in (0, 1))
        cursor.execute(STORED, [number_array(series), number_array(steps)])
        return {(series_id, step): (moment, value) for series_id, step, moment, value in cursor.fetchall()}


def _is_newer(point: TrackedPoint, seen: datetime, value: float) -> bool:
    """A time that cannot be is stored as now: there the same value again is a repeat, and another one is newer."""
    moment = at(point.at)
    if abs(moment.timestamp() - point.at) > CLOCK_ERROR_S:
        return point.value != value
    return moment > seen


def _replace(stream: StreamCursor, ids: dict[str, int], points: Sequence[TrackedPoint]) -> None:
    if not points:
        return
    first = stream.last_seq + 1
    stream.last_seq += len(points)
    columns = [
        number_array(ids[point.key] for point in points),
        number_array(point.step for point in points),
        number_array(point.value for point in points),
        moment_array(at(point.at) for point in points),
        number_array(range(first, stream.last_seq + 1)),
    ]
    with connection.cursor() as cursor:
        cursor.execute(REPLACE, columns)


def _set_result(job_id: Any, points: Iterable[TrackedPoint]) -> None:
    """A script that reports this way alone has a result, too; one that it reports at its end has the last word."""
    job = Job.objects.select_for_update().only("id", "result_metrics", "steps_done").get(pk=job_id)
    newest = {point.key: point.value for point in sorted(points, key=lambda point: (point.step, point.at))}
    merged = dict(list({**job.result_metrics, **newest}.items())[:MAX_VALUES])
    Job.objects.filter(pk=job_id).update(result_metrics=merged, progress_at=timezone.now())
