# SPDX-License-Identifier: Apache-2.0
"""Many runs next to each other: their parameters and newest values by column, and one metric's curves.

An answer has a bounded size, whatever runs have logged, and takes as many queries for two runs as for two hundred.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import models
from django.db.models import Case, Count, F, Value, When
from django.db.models.functions import MD5, Cast, Concat, Left, Length

from mlhub.core.paging.answer_size import json_bytes
from mlhub.metrics.points.comparison import DIGITS
from mlhub.tenants.models import User
from mlhub.tracking.curves import StepPoint, read_points
from mlhub.tracking.models import Run, RunParam, RunSeries
from mlhub.tracking.querysets import RunPartQuerySet

MAX_RUNS = 200  # of one answer
MAX_READ = 2_000_000  # points that one answer reads of long curves, some seconds of PostgreSQL's
MAX_NAMES = 400  # of parameters, and of metrics
MAX_CELLS = 8000  # values of parameters, and of metrics
MAX_TEXT = 250  # of a parameter's value
ANSWER_BYTES = 190_000  # of JSON; of these at most
RUN_BYTES, PARAM_BYTES, NAME_BYTES = 70_000, 50_000, 10_000


class RunAxis(models.TextChoices):
    """What a run's curve is drawn over: a client of MLflow says neither how many GPUs a run holds nor its epochs."""

    STEP = "step"
    WALL = "wall"  # seconds since the first point of the curve


@dataclass(frozen=True)
class ComparedColumn:
    """What runs have of one parameter or metric. values: by run, None where one has none; None without room."""

    key: str
    n_runs: int
    values: list[Any] | None


@dataclass(frozen=True)
class ComparedRuns:
    """runs: those that are described. missing: ids of no run that one may see. left: ids for another answer.

    n_params, n_metrics: how many names there are, of which params and metrics have those of the most runs.
    """

    runs: list[dict[str, Any]]
    params: list[ComparedColumn]
    metrics: list[ComparedColumn]
    n_params: int
    n_metrics: int
    missing: list[UUID]
    left: list[UUID]


@dataclass(frozen=True)
class ComparedRunCurve:
    """x: positions on the axis. y: the metric's values there; None for one that is not finite."""

    run: UUID
    x: list[float]
    y: list[float | None]


def compare_runs(user: User, ids: Sequence[UUID]) -> ComparedRuns:
    """Of the runs that the user may see, in the order of `ids`, as many as fit into an answer."""
    asked = list(dict.fromkeys(ids))
    by_id = {
        run.pk: run for run in _visible(user, asked).select_related("project").only("name", "status", "project__name")
    }
    described = [
        {"id": str(pk), "name": run.name, "status": run.status, "project": run.project.name}
        for pk in asked
        if (run := by_id.get(pk)) is not None
    ]
    room = _Room(ANSWER_BYTES - 2 * NAME_BYTES)
    runs = room.fitting(described, n_bytes=RUN_BYTES)
    shown = [UUID(run["id"]) for run in runs]
    given = RunParam.objects.annotate(n_letters=Length("value"))
    n_params, params = _columns(given, shown, value=_SHORTENED, room=room, n_bytes=PARAM_BYTES)
    logged = RunSeries.objects.filter(n_points__gt=0)
    n_metrics, metrics = _columns(logged, shown, value=F("last_value"), room=room, n_bytes=ANSWER_BYTES)
    return ComparedRuns(
        runs,
        params,
        metrics,
        n_params,
        n_metrics,
        missing=[pk for pk in asked if pk not in by_id],
        left=[UUID(run["id"]) for run in described[len(runs) :]],
    )


def compare_run_curves(
    user: User, ids: Sequence[UUID], *, metric: str, axis: str, max_points: int
) -> tuple[list[ComparedRunCurve], list[UUID]]:
    """The curves of those that the user may see and that have the metric, in the order of `ids`, and which of the ids
    are left for another answer, since so many points are read for one."""
    asked = list(dict.fromkeys(ids))
    rows = RunSeries.objects.filter(run__in=_visible(user, asked), key=metric, n_points__gt=0)
    by_run = {series.run_id: series for series in rows}
    having = [by_run[pk] for pk in asked if pk in by_run]
    read = _within_reading(having, max_points=max_points)
    points = read_points(read, max_points=max_points)
    curves = [_curve(series.run_id, points[series.pk], axis) for series in read if series.pk in points]
    return curves, [series.run_id for series in having[len(read) :]]


_SHORTENED = Case(
    When(
        n_letters__gt=MAX_TEXT,
        then=Concat(
            Left("value", MAX_TEXT),
            Value("… ("),
            Cast("n_letters", models.TextField()),
            Value(" characters, "),
            Left(MD5("value"), 8),
            Value(")"),
            output_field=models.TextField(),
        ),
    ),
    default=F("value"),
    output_field=models.TextField(),
)


def _visible(user: User, ids: Sequence[UUID]) -> Any:
    return Run.objects.external().active().visible_to(user).filter(pk__in=ids)


class _Room:
    """How much an answer can still take."""

    def __init__(self, n_bytes: int) -> None:
        self.n_bytes = n_bytes

    def fitting(self, parts: Iterable[dict[str, Any]], *, n_bytes: int) -> list[dict[str, Any]]:
        """The first of these, as many as there is room for, and as so many bytes of JSON hold."""
        found = []
        for part in parts:
            size = json_bytes(part) + 1
            n_bytes -= size
            if n_bytes < 0 or size > self.n_bytes:
                break
            self.n_bytes -= size
            found.append(part)
        return found


def _columns(
    rows: RunPartQuerySet, ids: Sequence[UUID], *, value: Any, room: _Room, n_bytes: int
) -> tuple[int, list[ComparedColumn]]:
    """How many names the runs have, and those of the most runs with the values, as long as there is room for these."""
    rows = rows.filter(run__in=ids)
    named = rows.order_by().values("key")
    counts = named.annotate(n_runs=Count("run")).order_by("-n_runs", "key").values_list("key", "n_runs")
    found = list(counts[: MAX_NAMES + 1])
    n_names = named.distinct().count() if len(found) > MAX_NAMES else len(found)
    n_read = MAX_CELLS // max(1, len(ids))
    values: dict[str, dict[UUID, Any]] = {key: {} for key, _ in found[: min(n_read, MAX_NAMES)]}
    read = rows.filter(key__in=list(values)).annotate(shown=value)
    for key, pk, shown in read.values_list("key", "run_id", "shown"):
        values[key][pk] = shown if isinstance(shown, str) or math.isfinite(shown) else None
    n_runs = dict(found)
    whole = ({"key": key, "n_runs": n_runs[key], "values": [by.get(pk) for pk in ids]} for key, by in values.items())
    fitting = room.fitting(whole, n_bytes=n_bytes)
    bare = ({"key": key, "n_runs": n, "values": None} for key, n in found[len(fitting) : MAX_NAMES])
    names = _Room(NAME_BYTES).fitting(bare, n_bytes=NAME_BYTES)
    return n_names, [ComparedColumn(**column) for column in [*fitting, *names]]


def _within_reading(series: Sequence[RunSeries], *, max_points: int) -> Sequence[RunSeries]:
    """The first of these, as many as one answer reads; at least one."""
    n_points = 0
    for place, one in enumerate(series):
        n_points += one.n_points if one.n_points > max_points else 0
        if n_points > MAX_READ and place:
            return series[:place]
    return series


def _curve(run_id: UUID, points: Sequence[StepPoint], axis: str) -> ComparedRunCurve:
    began_ms = min(at_ms for _, at_ms, _ in points)
    x = [(at_ms - began_ms) / 1000 if axis == RunAxis.WALL else step for step, at_ms, _ in points]
    y = [float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None for _, _, value in points]
    return ComparedRunCurve(run_id, x, y)
