# SPDX-License-Identifier: Apache-2.0
"""Reads of curves: what counts of each metric, down-sampled by the database, so that no long curve reaches Python.

A curve is made of parts, one an attempt: what a later attempt trained again replaces what an earlier one had.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection

from mlhub.core.paging.answer_size import json_bytes
from mlhub.jobs.models import Attempt
from mlhub.metrics.models import Series

MAX_ANSWER_POINTS = 1600  # of one answer
POINT_BYTES, SERIES_BYTES = 110, 40  # about what one takes there, and a curve beyond its name and its points
MAX_STEP = 2**53

# Each statement begins with the parts of a curve: a series, its attempt's number, and the steps that count of it.
PARTS = """
WITH part AS (SELECT * FROM unnest(%s::int[], %s::int[], %s::bigint[], %s::bigint[], %s::bigint[])
              AS part(series_id, attempt, first, last, seq))
"""
COUNTED = "p.series_id = part.series_id AND p.step BETWEEN part.first AND part.last AND p.seq > part.seq"
COLUMNS = "step, epoch, value, at, attempt"
CARRIED = "p.epoch, date_part('epoch', p.at)"  # a double, which is exact to the microsecond
POINT = "p.value, p.step, p.epoch, date_part('epoch', p.at) AS at_s"
EXACT = f"""
{PARTS}
SELECT {COLUMNS} FROM part CROSS JOIN LATERAL (
    SELECT * FROM metrics_metricpoint p WHERE {COUNTED} ORDER BY p.step LIMIT %s) AS p
ORDER BY step, attempt LIMIT %s OFFSET %s
"""  # noqa: S608 - made of the literals above
# An array compares element by element: its minimum is the lowest value with the point where it is. The whole point is
# carried along: looked up, it takes minutes where statistics of an emptied table make any index seem as good as its key
THINNED = f"""
{PARTS},
edge AS MATERIALIZED (
    SELECT e.*, part.attempt FROM part CROSS JOIN LATERAL (
        (SELECT {POINT} FROM metrics_metricpoint p WHERE {COUNTED} ORDER BY p.step LIMIT 1)
        UNION ALL (SELECT {POINT} FROM metrics_metricpoint p WHERE {COUNTED} ORDER BY p.step DESC LIMIT 1)) AS e),
ends AS MATERIALIZED (SELECT min(step) AS lo, max(step) AS hi FROM edge),
extremes AS MATERIALIZED (
    SELECT min(ARRAY[p.value, p.step, part.attempt, {CARRIED}]) AS low,
           max(ARRAY[p.value, -p.step, -part.attempt, {CARRIED}]) AS high
    FROM ends, part JOIN metrics_metricpoint p ON {COUNTED} GROUP BY (p.step - lo) * %s / (hi - lo + 1)),
chosen(value, step, attempt, epoch, at_s) AS (
    SELECT low[1], low[2]::bigint, low[3]::int, low[4], low[5] FROM extremes
    UNION ALL SELECT high[1], -high[2]::bigint, -high[3]::int, high[4], high[5] FROM extremes
    UNION ALL (SELECT value, step, attempt, epoch, at_s FROM edge ORDER BY step, attempt LIMIT 1)
    UNION ALL (SELECT value, step, attempt, epoch, at_s FROM edge ORDER BY step DESC, attempt DESC LIMIT 1))
SELECT DISTINCT ON (step, attempt) step, epoch, value, to_timestamp(at_s), attempt FROM chosen ORDER BY step, attempt
"""  # noqa: S608 - made of the literals above


@dataclass(frozen=True)
class SeriesPoint:
    step: int
    epoch: float
    value: float
    at: datetime
    attempt_number: int


@dataclass(frozen=True)
class StepRange:
    """The steps asked for, both ends included, and the seq that the points must be above."""

    first: int = 0
    last: int = MAX_STEP
    after_seq: int = -1


WHOLE = StepRange()


@dataclass
class CurveParts:
    """One metric of a job: for each attempt that reported it the series, and the last of its steps that counts."""

    key: str
    n_points: int = 0
    series: list[int] = field(default_factory=list)
    attempts: list[int] = field(default_factory=list)
    until: list[int] = field(default_factory=list)

    def arguments(self, asked: StepRange) -> list[Any]:
        """The parameters of PARTS."""
        first = [asked.first] * len(self.series)
        last = [min(end, asked.last) for end in self.until]
        return [self.series, self.attempts, first, last, [asked.after_seq] * len(self.series)]


@dataclass(frozen=True)
class Curve:
    key: str
    points: list[SeriesPoint]
    is_thinned: bool


def curve_parts(job_id: UUID, *, key: str | None = None, after: str | None = None) -> list[CurveParts]:
    """The job's metrics by name, without their points. after: only names behind this one."""
    until = last_steps(dict(Attempt.objects.filter(job_id=job_id).values_list("number", "first_step")))
    rows = Series.objects.filter(job_id=job_id)
    rows = rows.filter(key=key) if key else rows
    rows = rows.filter(key__gt=after) if after else rows
    found: dict[str, CurveParts] = {}
    for name, pk, number, n in rows.order_by("key", "attempt__number").values_list(
        "key", "id", "attempt__number", "n_points"
    ):
        parts = found.setdefault(name, CurveParts(name))
        parts.series.append(pk)
        parts.attempts.append(number)
        parts.until.append(until[number])
        parts.n_points += n
    return list(found.values())


def last_steps(starts: dict[int, int]) -> dict[int, int]:
    """The last step that counts of each attempt: where the first of the later ones resumed.

    starts: the step that each attempt (by number) resumed at.
    """
    found, end = {}, MAX_STEP
    for number in sorted(starts, reverse=True):
        found[number] = end
        end = min(end, starts[number])
    return found


def read_curve(parts: CurveParts, *, max_points: int, asked: StepRange = WHOLE) -> Curve:
    """At most max_points points by step. Of a longer curve: its ends, and the lowest and highest of each stretch."""
    points = exact_points(parts, limit=max_points + 1, asked=asked)
    if len(points) <= max_points:
        return Curve(parts.key, points, is_thinned=False)
    n_stretches = max(1, (max_points - 2) // 2)
    return Curve(parts.key, _rows(THINNED, [*parts.arguments(asked), n_stretches]), is_thinned=True)


def exact_points(parts: CurveParts, *, limit: int, asked: StepRange = WHOLE, offset: int = 0) -> list[SeriesPoint]:
    """The first points of the range behind `offset` of them, none left out."""
    return _rows(EXACT, [*parts.arguments(asked), offset + limit, limit, offset])


def curves(job_id: UUID, *, key: str | None, max_points: int) -> list[tuple[str, list[SeriesPoint]]]:
    """Each metric's curve as (key, points), with at most max_points points each."""
    return [(parts.key, read_curve(parts, max_points=max_points).points) for parts in curve_parts(job_id, key=key)]


def within_answer(parts: Sequence[CurveParts], *, max_points: int) -> Sequence[CurveParts]:
    """The first of these curves, as many as fit into one answer; at least one. A name counts as points that take as
    much."""
    n_points = 0.0
    for place, one in enumerate(parts):
        n_points += max(1, min(max_points, one.n_points)) + (SERIES_BYTES + json_bytes(one.key)) / POINT_BYTES
        if n_points > MAX_ANSWER_POINTS and place:
            return parts[:place]
    return parts


@dataclass(frozen=True)
class MetricName:
    """A metric of a job with its newest point, which is of the last attempt that reported it."""

    key: str
    n_points: int
    last_step: int
    last_value: float
    attempt_number: int


NAMES = """
SELECT DISTINCT ON (s.key) s.key, sum(s.n_points) OVER (PARTITION BY s.key)::bigint, p.step, p.value, a.number
FROM metrics_series s JOIN jobs_attempt a ON a.id = s.attempt_id CROSS JOIN LATERAL (
    SELECT step, value FROM metrics_metricpoint WHERE series_id = s.id ORDER BY step DESC LIMIT 1) AS p
WHERE s.job_id = %s AND s.key > %s AND position(lower(%s) IN lower(s.key)) > 0
ORDER BY s.key, a.number DESC LIMIT %s
"""


NEWEST = """
SELECT DISTINCT ON (s.job_id) s.job_id, p.value
FROM metrics_series s JOIN jobs_attempt a ON a.id = s.attempt_id CROSS JOIN LATERAL (
    SELECT step, value FROM metrics_metricpoint WHERE series_id = s.id ORDER BY step DESC LIMIT 1) AS p
WHERE s.job_id = ANY(%s::uuid[]) AND s.key = ANY(%s) ORDER BY s.job_id, a.number DESC, s.key
"""
NEWEST_OF_ALL = """
SELECT DISTINCT ON (s.job_id, s.key) s.job_id, s.key, p.step, p.value
FROM metrics_series s JOIN jobs_attempt a ON a.id = s.attempt_id CROSS JOIN LATERAL (
    SELECT step, value FROM metrics_metricpoint WHERE series_id = s.id ORDER BY step DESC LIMIT 1) AS p
WHERE s.job_id = ANY(%s::uuid[]) ORDER BY s.job_id, s.key, a.number DESC
"""


def newest_values(job_ids: Sequence[UUID], keys: Sequence[str]) -> dict[UUID, float]:
    """The newest value, by job, of the metric that has one of these names; jobs without it are left out."""
    with connection.cursor() as cursor:
        cursor.execute(NEWEST, [[str(pk) for pk in job_ids], list(keys)])
        return dict(cursor.fetchall())


def newest_points(job_ids: Sequence[UUID]) -> list[tuple[UUID, str, int, float]]:
    """(job, metric, step, value) of the newest point of every metric of these jobs, by job and name."""
    with connection.cursor() as cursor:
        cursor.execute(NEWEST_OF_ALL, [[str(pk) for pk in job_ids]])
        found: list[tuple[UUID, str, int, float]] = cursor.fetchall()
        return found


def metric_names(job_id: UUID, *, search: str = "", after: str = "", limit: int) -> list[MetricName]:
    """The job's metrics by name. search: text that the name contains, in any case; after: only names behind this."""
    with connection.cursor() as cursor:
        cursor.execute(NAMES, [job_id, after, search, limit])
        return [MetricName(*row) for row in cursor.fetchall()]


def _rows(statement: str, arguments: list[Any]) -> list[SeriesPoint]:
    with connection.cursor() as cursor:
        cursor.execute(statement, arguments)
        return [SeriesPoint(*row) for row in cursor.fetchall()]
