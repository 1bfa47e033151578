# SPDX-License-Identifier: Apache-2.0
"""Reads of many jobs next to each other: one metric's curves, down-sampled by the database, over a chosen axis."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection, models
from django.db.models import Count

from mlhub.jobs.models import Attempt, Job
from mlhub.metrics.models import Series
from mlhub.metrics.points.curves import CARRIED, POINT, last_steps

MAX_JOBS = 200  # of one answer
MAX_POINTS = 8000  # of one answer, about 20 bytes of JSON each
MAX_METRICS = 400
DIGITS = 6  # significant ones of what is drawn

# A part is what counts of one attempt's series: curve numbers the jobs, last is the last step that counts.
PARTS = """
WITH part AS (
    SELECT * FROM unnest(%s::int[], %s::int[], %s::int[], %s::bigint[]) AS part(curve, series, attempt, last))
"""
# The lowest and the highest point of each stretch of a curve, and its ends: an array compares element by element, and
# carries the whole point along, as in curves.py.
THINNED = f"""
{PARTS},
edge AS MATERIALIZED (
    SELECT curve, attempt, e.* FROM part CROSS JOIN LATERAL (
        (SELECT {POINT} FROM metrics_metricpoint p WHERE series_id = series AND step <= last ORDER BY step LIMIT 1)
        UNION ALL
        (SELECT {POINT} FROM metrics_metricpoint p WHERE series_id = series AND step <= last ORDER BY step DESC LIMIT 1)
    ) AS e),
ends AS MATERIALIZED (SELECT curve, min(step) AS lo, max(step) AS hi FROM edge GROUP BY curve),
extremes AS MATERIALIZED (
    SELECT curve, min(ARRAY[p.value, p.step, attempt, {CARRIED}]) AS low,
           max(ARRAY[p.value, p.step, attempt, {CARRIED}]) AS high
    FROM part JOIN ends USING (curve) JOIN metrics_metricpoint p ON p.series_id = series AND p.step <= last
    GROUP BY curve, (p.step - lo) * %s / (hi - lo + 1)),
chosen(curve, attempt, step, epoch, value, at_s) AS (
    SELECT curve, low[3]::int, low[2]::bigint, low[4], low[1], low[5] FROM extremes
    UNION ALL SELECT curve, high[3]::int, high[2]::bigint, high[4], high[1], high[5] FROM extremes
    UNION ALL SELECT edge.curve, attempt, step, epoch, value, at_s
    FROM edge JOIN ends ON ends.curve = edge.curve AND step IN (lo, hi))
SELECT DISTINCT ON (curve, step, attempt) curve, attempt, step, epoch, value, to_timestamp(at_s) FROM chosen
ORDER BY curve, step, attempt
"""  # noqa: S608 - made of the literals above


class Axis(models.TextChoices):
    """What a curve is drawn over."""

    STEP = "step"
    WALL = "wall"  # seconds since the job's first step
    GPU_HOURS = "gpu_hours"  # that the job's attempts had held by then
    EPOCH = "epoch"


@dataclass
class ComparedCurve:
    """One job's curve of the metric: rising positions on the axis, and the metric's values there."""

    job: UUID
    x: list[float] = field(default_factory=list)
    y: list[float] = field(default_factory=list)


class HeldBefore(NamedTuple):
    """What a job's earlier attempts held when this one began, and how much it holds itself."""

    gpu_s: float
    n_gpus: int
    began_at: datetime


def compared_curves(jobs: Sequence[Job], *, metric: str, axis: str, max_points: int) -> list[ComparedCurve]:
    """The curves of the jobs that have the metric, in the order of `jobs`, with at most max_points points each."""
    attempts = _attempts_by_job(jobs)
    parts = _parts([job.pk for job in jobs], attempts, metric)
    found = [ComparedCurve(job.pk) for job in jobs]
    held = {number: _held(attempts[job.pk]) for number, job in enumerate(jobs)} if axis == Axis.GPU_HOURS else {}
    with connection.cursor() as cursor:
        cursor.execute(THINNED, [*parts, max(1, (max_points - 2) // 2)])
        for curve, attempt, step, epoch, value, at in cursor.fetchall():
            job = jobs[curve]
            if axis == Axis.WALL:
                x = (at - (job.started_at or job.submitted_at)).total_seconds()
            elif axis == Axis.GPU_HOURS:
                x = _gpu_hours(held[curve][attempt], at)
            else:
                x = epoch if axis == Axis.EPOCH else step
            found[curve].x.append(x if axis == Axis.STEP else _rounded(x))
            found[curve].y.append(_rounded(value))
    return [curve for curve in found if curve.x]


def metrics_in_common(ids: Iterable[UUID], *, search: str = "") -> tuple[int, list[dict[str, Any]]]:
    """How many metrics the jobs have whose names contain `search`, and the first MAX_METRICS of them, those of the most
    jobs first, with how many jobs have each.
    """
    rows = Series.objects.filter(job__in=list(ids), key__icontains=search).order_by().values("key")
    counted = rows.annotate(n_jobs=Count("job", distinct=True)).order_by("-n_jobs", "key")
    found = [{"key": row["key"], "n_jobs": row["n_jobs"]} for row in counted[:MAX_METRICS]]
    return len(found) if len(found) < MAX_METRICS else rows.distinct().count(), found


def _attempts_by_job(jobs: Sequence[Job]) -> dict[UUID, list[Attempt]]:
    found: dict[UUID, list[Attempt]] = defaultdict(list)
    rows = Attempt.objects.filter(job__in=[job.pk for job in jobs]).prefetch_related("allocations")
    for attempt in rows.order_by("job", "number"):
        found[attempt.job_id].append(attempt)
    return found


def _parts(ids: list[UUID], attempts: dict[UUID, list[Attempt]], metric: str) -> list[list[int]]:
    """The parameters of PARTS."""
    places = {job_id: place for place, job_id in enumerate(ids)}
    until = {job_id: last_steps({a.number: a.first_step for a in attempts[job_id]}) for job_id in ids}
    curve, series, number, last = [], [], [], []
    rows = Series.objects.filter(job__in=ids, key=metric).order_by("job", "attempt__number")
    for pk, job_id, n in rows.values_list("id", "job_id", "attempt__number"):
        curve.append(places[job_id])
        series.append(pk)
        number.append(n)
        last.append(until[job_id][n])
    return [curve, series, number, last]


def _held(attempts: list[Attempt]) -> dict[int, HeldBefore]:
    """By the attempt's number. A GPU that was shared counts whole."""
    found, gpu_s = {}, 0.0
    for attempt in attempts:
        n_gpus = sum(len(allocation.slots) for allocation in attempt.allocations.all())
        found[attempt.number] = HeldBefore(gpu_s, n_gpus, attempt.created_at)
        if attempt.ended_at is not None:
            gpu_s += n_gpus * max(0.0, (attempt.ended_at - attempt.created_at).total_seconds())
    return found


def _gpu_hours(held: HeldBefore, at: datetime) -> float:
    return (held.gpu_s + held.n_gpus * max(0.0, (at - held.began_at).total_seconds())) / 3600


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")
