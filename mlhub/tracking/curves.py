# SPDX-License-Identifier: Apache-2.0
"""Reads of curves of runs, of any number of them by as many statements: long ones are thinned by the database."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection

from mlhub.tracking.models import RunPoint, RunSeries

# Which series are thinned, and the steps of each that are read, both ends included
PARTS = """
part AS (SELECT * FROM unnest(%(series)s::int[], %(first)s::bigint[], %(last)s::bigint[])
         AS part(series_id, first, last))
"""
# Of a long curve the ends, and the lowest and highest of each stretch of as many steps. An array compares element by
# element: its minimum is the lowest value with the step where it is.
THINNED = f"""
WITH {PARTS},
extremes AS MATERIALIZED (
    SELECT series_id, min(ARRAY[value, step]) AS low, max(ARRAY[value, -step]) AS high
    FROM part JOIN tracking_runpoint USING (series_id) WHERE step BETWEEN first AND last
    GROUP BY series_id, floor((step - first) / (last - first + 1.0::float8) * %(stretches)s)),
chosen(series_id, step, value) AS MATERIALIZED (
    SELECT series_id, low[2]::bigint, low[1] FROM extremes
    UNION SELECT series_id, -high[2]::bigint, high[1] FROM extremes)
SELECT chosen.series_id, p.step, p.at_ms, p.value FROM chosen CROSS JOIN LATERAL (
    SELECT step, at_ms, value FROM tracking_runpoint r
    WHERE r.series_id = chosen.series_id AND r.step = chosen.step AND r.value = chosen.value
    ORDER BY at_ms LIMIT 1) AS p
UNION SELECT part.series_id, p.step, p.at_ms, p.value FROM part CROSS JOIN LATERAL (
    (SELECT step, at_ms, value FROM tracking_runpoint r
    WHERE r.series_id = part.series_id AND r.step BETWEEN part.first AND part.last ORDER BY step, at_ms, value LIMIT 1)
    UNION (SELECT step, at_ms, value FROM tracking_runpoint r
    WHERE r.series_id = part.series_id AND r.step BETWEEN part.first AND part.last
    ORDER BY step DESC, at_ms DESC, value DESC LIMIT 1)) AS p
ORDER BY series_id, step, at_ms
"""  # noqa: S608 - made of the literals above
# The same by stretches of as many points, three times as long: where a client logs without steps, all have step 0
THINNED_BY_PLACE = f"""
WITH {PARTS},
placed AS MATERIALIZED (
    SELECT series_id, step, at_ms, value,
        row_number() OVER (PARTITION BY series_id ORDER BY step, at_ms, value) AS place
    FROM part JOIN tracking_runpoint USING (series_id) WHERE step BETWEEN first AND last),
size AS MATERIALIZED (SELECT series_id, count(*) AS n FROM placed GROUP BY series_id),
extremes AS MATERIALIZED (
    SELECT series_id, min(ARRAY[value, place]) AS low, max(ARRAY[value, -place]) AS high
    FROM placed JOIN size USING (series_id) GROUP BY series_id, (place - 1) * %(stretches)s / n),
chosen(series_id, place) AS MATERIALIZED (
    SELECT series_id, low[2]::bigint FROM extremes UNION SELECT series_id, -high[2]::bigint FROM extremes
    UNION SELECT series_id, 1 FROM size UNION SELECT series_id, n FROM size)
SELECT series_id, step, at_ms, value FROM placed JOIN chosen USING (series_id, place) ORDER BY series_id, place
"""  # noqa: S608 - made of the literals above
FIRST_STEPS = """
SELECT s.id, p.step FROM unnest(%s::int[]) AS s(id) CROSS JOIN LATERAL (
    SELECT step FROM tracking_runpoint WHERE series_id = s.id ORDER BY step LIMIT 1) AS p
"""
EXACT_STEP = 2**53  # a larger one is no float

StepPoint = tuple[int, int, float]  # step, milliseconds, value


@dataclass(frozen=True)
class RunCurve:
    """points: by step and time."""

    key: str
    n_points: int
    points: list[StepPoint]
    is_thinned: bool


def read_curve(
    series: RunSeries, *, max_points: int, first_step: int | None = None, last_step: int | None = None
) -> RunCurve:
    """At most max_points points of a metric; of those from first_step to last_step, both included, where given."""
    if first_step is None and last_step is None:
        found = read_points([series], max_points=max_points).get(series.pk, [])
        return RunCurve(series.key, series.n_points, found, is_thinned=series.n_points > max_points)
    rows = RunPoint.objects.filter(series=series)
    rows = rows if first_step is None else rows.filter(step__gte=first_step)
    rows = rows if last_step is None else rows.filter(step__lte=last_step)
    ordered = rows.order_by("step", "at_ms", "value").values_list("step", "at_ms", "value")
    points = list(ordered[: max_points + 1])
    is_thinned = len(points) > max_points
    if is_thinned:
        ends = (points[0][0], ordered.values_list("step", flat=True).last() or 0)
        points = _thinned([series], {series.pk: ends}, n_stretches=_n_stretches(max_points)).get(series.pk, [])
    return RunCurve(series.key, series.n_points, points, is_thinned=is_thinned)


def read_points(series: Iterable[RunSeries], *, max_points: int) -> dict[int, list[StepPoint]]:
    """At most max_points points of each of the series, by their ids; in four statements at most."""
    whole: list[RunSeries] = []
    long: list[RunSeries] = []
    for one in series:
        (whole if one.n_points <= max_points else long).append(one)
    found: dict[int, list[StepPoint]] = {}
    if whole:
        rows = RunPoint.objects.filter(series__in=[one.pk for one in whole])
        rows = rows.order_by("series_id", "step", "at_ms", "value")
        _gather(found, rows.values_list("series_id", "step", "at_ms", "value"))
    if long:
        with connection.cursor() as cursor:
            cursor.execute(FIRST_STEPS, [[one.pk for one in long]])
            firsts: dict[int, int] = dict(cursor.fetchall())
        ends = {one.pk: (firsts.get(one.pk, 0), one.last_step) for one in long}
        found.update(_thinned(long, ends, n_stretches=_n_stretches(max_points)))
    return found


def _n_stretches(max_points: int) -> int:
    """Of so many the ends, and two points of each stretch."""
    return max(1, (max_points - 2) // 2)


def _thinned(
    series: Sequence[RunSeries], ends: Mapping[int, tuple[int, int]], *, n_stretches: int
) -> dict[int, list[StepPoint]]:
    """ends: the first and the last step that are read of each series, by its id; both have points."""
    found: dict[int, list[StepPoint]] = {}
    spread = [one for one in series if _is_spread(*ends[one.pk], n_stretches)]
    placed = [one for one in series if one not in spread]
    for statement, chosen in ((THINNED, spread), (THINNED_BY_PLACE, placed)):
        if chosen:
            about: dict[str, Any] = {
                "series": [one.pk for one in chosen],
                "first": [ends[one.pk][0] for one in chosen],
                "last": [ends[one.pk][1] for one in chosen],
                "stretches": n_stretches,
            }
            with connection.cursor() as cursor:
                cursor.execute(statement, about)
                _gather(found, cursor.fetchall())
    return found


def _is_spread(first: int, last: int, n_stretches: int) -> bool:
    """Whether stretches of as many steps have points, at steps that floats tell apart."""
    return last - first >= n_stretches and max(abs(first), abs(last)) <= EXACT_STEP


def _gather(found: dict[int, list[StepPoint]], rows: Iterable[tuple[int, int, int, float]]) -> None:
    for series_id, step, at_ms, value in rows:
        found.setdefault(series_id, []).append((step, at_ms, value))
