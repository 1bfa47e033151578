# SPDX-License-Identifier: Apache-2.0
"""What pods use of their machines over time: stored as they report it, read with as many points as a chart shows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import F

from mlhub.core.errors import InvalidInputError
from mlhub.jobs.models import Attempt
from mlhub.metrics.models import GpuBusyTime, UsageSample
from mlhub.metrics.reports import at
from mlhub.wire.resource_usage import MAX_SAMPLES, RESOURCES, accepted

MAX_INTERVAL_S = 1e7
PODS_PER_ANSWER = 16
GPU_UTILISATION = "gpu_utilisation"  # of RESOURCES
# a mean over a stretch of time, each sample weighed by its interval; one resource a column
_COLUMNS = ", ".join(
    f"sum((values->>'{name}')::float8 * interval_s) / sum(interval_s) FILTER (WHERE values ? '{name}')"
    for name in RESOURCES
)
POINTS = f"""
WITH sample AS (
    SELECT *, extract(epoch FROM at)::float8 AS t FROM metrics_usagesample
    WHERE attempt_id = %s AND (role, index) IN (SELECT * FROM unnest(%s::text[], %s::int[]))),
ends AS (SELECT min(t) AS lo, max(t) AS hi FROM sample)
SELECT role, index, max(t), {_COLUMNS}
FROM sample, ends GROUP BY role, index, floor((t - lo) * (%s - 1) / greatest(hi - lo, 1)) ORDER BY role, index, max(t)
"""  # noqa: S608 - made of the names of RESOURCES
PODS = """
SELECT DISTINCT role, index FROM metrics_usagesample WHERE attempt_id = %s ORDER BY role DESC, index
"""


@dataclass(frozen=True)
class UsagePoint:
    """values: by the names of RESOURCES, without what was not measured."""

    at: datetime
    values: dict[str, float]


@dataclass(frozen=True)
class PodUsage:
    role: str
    index: int
    points: list[UsagePoint]


def store_usage(attempt: Attempt, *, role: str, index: int, number: int, lines: Sequence[Any]) -> None:
    """Stores samples numbered number, number + 1 ... of a pod, up to the most that an honest one sends.

    What is unknown here or cannot be true is left out of a sample. Raises InvalidInputError for a line that is none.
    """
    rows = []
    for i, line in enumerate(lines, start=number):
        if not isinstance(line, dict) or not isinstance(line.get("values"), dict):
            raise _bad(i, "values", "A sample is an object with `at`, `interval_s` and `values`.")
        interval_s = _finite(line.get("interval_s"), number=i, field="interval_s")
        if not 0 < interval_s <= MAX_INTERVAL_S:
            raise _bad(i, "interval_s", f"It must be above 0 and at most {MAX_INTERVAL_S:,.0f}.")
        values = accepted(line["values"])
        if values and i < MAX_SAMPLES:
            moment = at(_finite(line.get("at"), number=i, field="at"))
            rows.append(
                UsageSample(
                    attempt=attempt, role=role, index=index, number=i, at=moment, interval_s=interval_s, values=values
                )
            )
    UsageSample.objects.bulk_create(rows, ignore_conflicts=True)
    if role == "worker":  # servers hold no GPUs
        _add_busy_time(attempt, index, rows)


def _add_busy_time(attempt: Attempt, worker: int, samples: Sequence[UsageSample]) -> None:
    """A request that stores a job's samples holds its cursor's lock, and stores each once."""
    measured = [(one.interval_s, one.values[GPU_UTILISATION]) for one in samples if GPU_UTILISATION in one.values]
    if not measured:
        return
    measured_s = sum(interval_s for interval_s, _ in measured)
    busy_s = sum(interval_s * utilisation for interval_s, utilisation in measured)
    added = {"measured_s": F("measured_s") + measured_s, "busy_s": F("busy_s") + busy_s}
    if not GpuBusyTime.objects.filter(attempt=attempt, worker=worker).update(**added):
        GpuBusyTime.objects.create(attempt=attempt, worker=worker, measured_s=measured_s, busy_s=busy_s)


def newest_sampled_attempt(job_id: UUID) -> Attempt | None:
    """The newest attempt whose pods sent samples."""
    of_job = Attempt.objects.filter(job_id=job_id)
    return of_job.filter(usage_samples__isnull=False).order_by("-number").first()


def pods_with_samples(attempt: Attempt) -> list[tuple[str, int]]:
    """(role, index) of each pod: workers before servers."""
    with connection.cursor() as cursor:
        cursor.execute(PODS, [attempt.pk])
        found: list[tuple[str, int]] = cursor.fetchall()
        return found


def read_usage(attempt: Attempt, pods: Sequence[tuple[str, int]], *, max_points: int) -> list[PodUsage]:
    """What these pods used, in their order, with at most max_points points each: means over equal stretches of time."""
    roles, indexes = [role for role, _ in pods], [index for _, index in pods]
    with connection.cursor() as cursor:
        cursor.execute(POINTS, [attempt.pk, roles, indexes, max_points])
        rows = cursor.fetchall()
    found = {
        pod: [UsagePoint(datetime.fromtimestamp(t, UTC), _measured(values)) for _, _, t, *values in group]
        for pod, group in groupby(rows, key=lambda row: (row[0], row[1]))
    }
    return [PodUsage(role, index, found.get((role, index), [])) for role, index in pods]


def _measured(values: Sequence[float | None]) -> dict[str, float]:
    """To six digits: a chart shows no more."""
    named = zip(RESOURCES, values, strict=True)
    return {name: float(f"{value:.6g}") for name, value in named if value is not None}


def _finite(value: Any, *, number: int, field: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise _bad(number, field, "It must be a finite number.")
    return float(value)


def _bad(number: int, field: str, message: str) -> InvalidInputError:
    return InvalidInputError(
        f"Line {number}, {field}: {message}", code="bad_usage", field=f"lines.{number}.{field}", remedy="See the wire."
    )
