# SPDX-License-Identifier: Apache-2.0
"""What a trial's job has reported and used."""

from __future__ import annotations

import math
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Max, Sum

from mlhub.experiments.models import Unit
from mlhub.jobs.models import BEST, Checkpoint, Job
from mlhub.jobs.states import JobState
from mlhub.metrics.models import MetricPoint, Series
from mlhub.usage.ledger import running_entries
from mlhub.usage.models import UsageEntry

TOLERANCE = 0.01  # of an epoch: scripts round
MOST_NAMED = 8  # metrics in a message


def result_at(job: Job, metric: str, *, rung: int, unit: Unit = Unit.EPOCHS) -> dict[str, Any] | None:
    """{epochs, step, value, at} of the first point of the metric at so many epochs, or steps, or later; None before
    there is one. Of steps, epochs are the steps.

    Of a job that succeeded earlier, having reached its target, it is the last point. Infinite values are no result.
    """
    points = MetricPoint.objects.filter(series__job=job, series__key=metric)
    if unit == Unit.STEPS:
        column, reached = "step", points.filter(step__gte=rung)
    else:
        column, reached = "epoch", points.filter(epoch__gte=rung - TOLERANCE)
    found = reached.order_by(column, "seq").values("epoch", "step", "value", "at").first()
    if found is None and job.state == JobState.SUCCEEDED:
        found = points.order_by(f"-{column}", "-seq").values("epoch", "step", "value", "at").first()
    if found is None or not math.isfinite(found["value"]):
        return None
    at = found["step"] if unit == Unit.STEPS else found["epoch"]
    return {"epochs": at, "step": found["step"], "value": found["value"], "at": found["at"].isoformat()}


def trained(job: Job, unit: Unit) -> float:
    """How far the job has come: epochs, or the highest step that any of its metrics has."""
    if unit == Unit.EPOCHS:
        return job.epoch
    newest = MetricPoint.objects.filter(series__job=job).aggregate(step=Max("step"))["step"]
    return float(newest or 0)


def has_checkpoint(job: Job) -> bool:
    """Whether it can go on from where it is paused: a script only does from what it saved itself."""
    return Checkpoint.objects.filter(attempt__job=job).exclude(name__startswith=BEST).exists()


def metrics_named(job: Job, metric: str) -> str:
    """A sentence about what the job reported instead of the metric."""
    names = Series.objects.filter(job=job).exclude(key=metric).order_by("key").values_list("key", flat=True).distinct()
    listed = ", ".join(names[:MOST_NAMED])
    return f"Reported instead: {listed}." if listed else "No metrics were reported."


def gpu_seconds_of(job_id: UUID, *, now: datetime) -> float:
    """What the ledger has of the job, and what it holds now."""
    entered = UsageEntry.objects.filter(job_id=job_id).aggregate(gpu_s=Sum("gpu_s"))["gpu_s"] or 0.0
    return float(entered + sum(entry.gpu_s for entry in running_entries(now=now, job=job_id)))
