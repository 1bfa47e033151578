# SPDX-License-Identifier: Apache-2.0
"""Reads of points and lines: the curve that counts, thinned for the screen, and what is new after a cursor."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from mlhub.jobs.models import Attempt
from mlhub.metrics.models import LogLine, MetricPoint


@dataclass(frozen=True)
class SeriesPoint:
    step: int
    epoch: float
    value: float
    at: datetime
    attempt_number: int


def curves(job_id: UUID, *, key: str | None, max_points: int) -> list[tuple[str, list[SeriesPoint]]]:
    """Each metric's curve as (key, points). What a later attempt trained again replaces what an earlier one had."""
    starts = dict(Attempt.objects.filter(job_id=job_id).values_list("number", "first_step"))
    rows = MetricPoint.objects.filter(series__job_id=job_id)
    if key:
        rows = rows.filter(series__key=key)
    columns = ("series__key", "step", "epoch", "value", "at", "series__attempt__number")
    by_key: dict[str, list[SeriesPoint]] = {}
    for name, *values in rows.order_by("series__key", "step", "series__attempt__number").values_list(*columns):
        by_key.setdefault(name, []).append(SeriesPoint(*values))
    return [(name, thin(effective(points, starts), max_points)) for name, points in sorted(by_key.items())]


def effective(points: Sequence[SeriesPoint], starts: dict[int, int]) -> list[SeriesPoint]:
    """Points that no later attempt has trained again. starts: the step that each attempt (by number) resumed at."""
    numbers = sorted(starts)
    # an attempt's points count up to where any later one began anew
    until = {n: min((starts[m] for m in numbers if m > n), default=None) for n in numbers}
    kept = []
    for point in points:
        end = until.get(point.attempt_number)
        if end is None or point.step <= end:
            kept.append(point)
    return sorted(kept, key=lambda p: (p.step, p.attempt_number))


def thin(points: Sequence[SeriesPoint], max_points: int) -> list[SeriesPoint]:
    """At most max_points of them: the first, the last, and of every stretch between its lowest and highest."""
    if len(points) <= max(4, max_points):
        return list(points)
    n_buckets = max(1, (max_points - 2) // 2)
    inner = points[1:-1]
    kept = [points[0]]
    for i in range(n_buckets):
        bucket = inner[i * len(inner) // n_buckets : (i + 1) * len(inner) // n_buckets]
        if bucket:
            low, high = min(bucket, key=lambda p: p.value), max(bucket, key=lambda p: p.value)
            kept += [low] if low is high else sorted((low, high), key=lambda p: p.step)
    return [*kept, points[-1]]


def points_after(job_id: UUID, seq: int, *, until: int) -> list[dict[str, Any]]:
    """Points numbered seq + 1 to until, in that order."""
    rows = MetricPoint.objects.filter(series__job_id=job_id, seq__gt=seq, seq__lte=until).order_by("seq")
    names = ("key", "step", "epoch", "value", "at", "attempt_number", "seq")
    columns = ("series__key", "step", "epoch", "value", "at", "series__attempt__number", "seq")
    return [dict(zip(names, row, strict=True)) for row in rows.values_list(*columns)]


def lines_after(
    job_id: UUID,
    seq: int,
    *,
    until: int | None = None,
    limit: int | None = None,
    role: str | None = None,
    index: int | None = None,
) -> list[dict[str, Any]]:
    """Log lines numbered above seq, oldest first."""
    rows = LogLine.objects.filter(attempt__job_id=job_id, seq__gt=seq)
    if until is not None:
        rows = rows.filter(seq__lte=until)
    if role:
        rows = rows.filter(role=role)
    if index is not None:
        rows = rows.filter(index=index)
    names = ("seq", "attempt_number", "role", "index", "number", "text", "n_dropped")
    columns = ("seq", "attempt__number", "role", "index", "number", "text", "n_dropped")
    found: Iterable[tuple[Any, ...]] = rows.order_by("seq").values_list(*columns)[:limit]
    return [dict(zip(names, row, strict=True)) for row in found]
