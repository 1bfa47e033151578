# SPDX-License-Identifier: Apache-2.0
"""Curves of runs from elsewhere. A point that comes twice is stored once: clients repeat requests after a failure.

Each function that writes is called with the run's row locked, so that the counters follow the points.
"""

from __future__ import annotations

import math
import struct
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from io import BytesIO
from itertools import repeat
from operator import gt
from typing import Any, NamedTuple
from uuid import UUID

from django.conf import settings
from django.db import connection

from mlhub.core.database.arrays import number_array
from mlhub.core.errors import QuotaExceededError
from mlhub.tracking.limits import MAX_INTEGER, LoggedPoint
from mlhub.tracking.models import Run, RunPoint, RunSeries

# The newest point of each series is the greatest by step, time and value; an array of rows compares like that.
STORE = """
WITH given AS (
    SELECT * FROM unnest(%s::int[], %s::bigint[], %s::bigint[], %s::float8[])
        AS g(series_id, step, at_ms, value)),
stored AS (
    INSERT INTO tracking_runpoint (series_id, step, at_ms, value) SELECT * FROM given
    ON CONFLICT DO NOTHING RETURNING series_id, step, at_ms, value),
newest AS (
    SELECT DISTINCT ON (series_id) series_id, step, at_ms, value, count(*) OVER (PARTITION BY series_id) AS n
    FROM stored ORDER BY series_id, step DESC, at_ms DESC, value DESC)
UPDATE tracking_runseries s SET
    n_points = s.n_points + newest.n,
    last_step = CASE WHEN is_newer THEN newest.step ELSE s.last_step END,
    last_ms = CASE WHEN is_newer THEN newest.at_ms ELSE s.last_ms END,
    last_value = CASE WHEN is_newer THEN newest.value ELSE s.last_value END
FROM newest CROSS JOIN LATERAL (
    SELECT o.n_points = 0
        OR (newest.step, newest.at_ms, newest.value) > (o.last_step, o.last_ms, o.last_value) AS is_newer
    FROM tracking_runseries o WHERE o.id = newest.series_id) AS compared
WHERE s.id = newest.series_id
"""
# The same where nothing of it can be there already: what is newest is known, and no row is looked for
COPY = "COPY tracking_runpoint (series_id, step, at_ms, value) FROM STDIN (FORMAT binary)"
# COPY's binary form: of each row the number of its columns, of each column its length before it. As text, writing and
# reading the numbers took as long as storing them.
COPY_HEAD, COPY_END = b"PGCOPY\n\xff\r\n\0" + bytes(8), b"\xff\xff"
COPY_ROW = struct.Struct("!hiiiqiqid").pack
APPENDED = """
UPDATE tracking_runseries s SET
    n_points = s.n_points + newest.n, last_step = newest.step, last_ms = newest.at_ms, last_value = newest.value
FROM unnest(%s::int[], %s::int[], %s::bigint[], %s::bigint[], %s::float8[]) AS newest(id, n, step, at_ms, value)
WHERE s.id = newest.id
"""
REMOVE = """
DELETE FROM tracking_runpoint WHERE ctid = ANY(ARRAY(
    SELECT p.ctid FROM tracking_runseries s JOIN tracking_runpoint p ON p.series_id = s.id
    WHERE s.run_id = %s LIMIT %s))
"""
# Two statements in one exchange: the second has a snapshot of its own, and sees what was stored before the lock was had
LOCKED_SERIES = """
SELECT FROM tracking_run WHERE id = %(run)s FOR UPDATE;
SELECT r.deleted_at, s.key, s.id, s.n_points, s.last_step
FROM tracking_run r LEFT JOIN tracking_runseries s ON s.run_id = r.id WHERE r.id = %(run)s
"""


class SeriesEnd(NamedTuple):
    """What a metric has so far."""

    id: int
    n_points: int
    last_step: int


@dataclass(frozen=True)
class LockedSeries:
    """ends: by metric. deleted_at: of the run."""

    deleted_at: datetime | None
    ends: dict[str, SeriesEnd]


def store_points(run: Run, points: Sequence[LoggedPoint], *, known: dict[str, SeriesEnd]) -> None:
    """Stores what is new of these, at least one. known: the run's metrics, as lock_series() has them.

    Raises QuotaExceededError when the run has too many metrics or points.
    """
    named, values, times, steps = zip(*points, strict=True)
    keys = set(named)
    _require_room(run, known, keys, n_points=len(points))
    if missing := sorted(keys - known.keys()):
        made = RunSeries.objects.bulk_create([RunSeries(run=run, key=key) for key in missing])
        known = known | {series.key: SeriesEnd(series.pk, 0, 0) for series in made}
    ids = {key: known[key].id for key in keys}
    columns = (list(map(ids.__getitem__, named)), steps, times, values)
    with connection.cursor() as cursor:
        if _is_new(points, known):
            cursor.copy_expert(COPY, _rows(*columns))
            cursor.execute(APPENDED, [number_array(column) for column in _newest(points, ids)])
        else:
            cursor.execute(STORE, [number_array(column) for column in columns])


def lock_series(run_id: UUID) -> LockedSeries | None:
    """What the run's metrics have, its row locked as by actions.lock_run(); None where there is no such run any more.

    Called within a transaction.
    """
    with connection.cursor() as cursor:
        cursor.execute(LOCKED_SERIES, {"run": run_id})
        rows = cursor.fetchall()
    ends = {key: SeriesEnd(*columns) for _, key, *columns in rows if key is not None}
    return LockedSeries(rows[0][0], ends) if rows else None


def _is_new(points: Sequence[LoggedPoint], known: dict[str, SeriesEnd]) -> bool:
    """Whether all of them lie behind what their metrics have, and none comes twice: as a rule, unless a request is
    repeated. Not so of values that are not finite, which compare as nothing else does."""
    starts = {key: series.last_step if series.n_points else -MAX_INTEGER - 1 for key, series in known.items()}
    named, values, _, steps = zip(*points, strict=True)
    is_behind = all(map(gt, steps, map(starts.__getitem__, named)))
    return is_behind and all(map(math.isfinite, values)) and len(set(points)) == len(points)


def _newest(points: Sequence[LoggedPoint], ids: dict[str, int]) -> list[Sequence[Any]]:
    """Columns of APPENDED: of each metric its id, how many points came, and step, time and value of the newest."""
    named, values, times, steps = zip(*points, strict=True)
    newest: dict[str, tuple[int, int, float]] = {}
    for key, end in zip(named, zip(steps, times, values, strict=True), strict=True):
        if key not in newest or end > newest[key]:
            newest[key] = end
    n_points = Counter(named)
    return list(zip(*((ids[key], n_points[key], *end) for key, end in newest.items()), strict=True))


def _rows(ids: Iterable[int], steps: Iterable[int], times: Iterable[int], values: Iterable[float]) -> BytesIO:
    """As COPY reads them."""
    rows = map(COPY_ROW, repeat(4), repeat(4), ids, repeat(8), steps, repeat(8), times, repeat(8), values)
    return BytesIO(b"".join([COPY_HEAD, *rows, COPY_END]))


def history(run_id: UUID, key: str, *, offset: int, limit: int) -> list[tuple[int, int, float]]:
    """(step, milliseconds, value) of a metric's points, by time and step as MLflow orders them."""
    rows = RunPoint.objects.filter(series__run_id=run_id, series__key=key).order_by("at_ms", "step", "value")
    return list(rows.values_list("step", "at_ms", "value")[offset : offset + limit])


def remove_points(run: Run, *, limit: int) -> int:
    """Removes at most so many points of a run that is about to be removed; returns how many."""
    with connection.cursor() as cursor:
        cursor.execute(REMOVE, [run.pk, limit])
        return int(cursor.rowcount)


def _require_room(run: Run, known: dict[str, SeriesEnd], keys: set[str], *, n_points: int) -> None:
    """The limits of a job hold for a run, too. Raises QuotaExceededError."""
    n_stored = sum(series.n_points for series in known.values())
    longest = max((known[key].n_points for key in keys if key in known), default=0)
    for what, n, most in (
        ("metrics", len(known.keys() | keys), settings.MAX_METRICS_PER_JOB),
        ("points", n_stored + n_points, settings.MAX_POINTS_PER_JOB),
        ("points of one metric", longest + 1, settings.MAX_POINTS_PER_METRIC),
    ):
        if n > most:
            raise QuotaExceededError(
                f"The run {run.name} may have {most:,} {what}.",
                field="metrics",
                remedy="Log less often, or start another run.",
                limit=what,
            )
