# SPDX-License-Identifier: Apache-2.0
"""What a trial's job has reported and used."""

from __future__ import annotations

import math
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Sum

from mlhub.jobs.models import Job
from mlhub.jobs.states import JobState
from mlhub.metrics.models import MetricPoint, Series
from mlhub.usage.ledger import running_entries
from mlhub.usage.models import UsageEntry

TOLERANCE = 0.01  # of an epoch: scripts round
MOST_NAMED = 8  # metrics in a message


def result_at(job: Job, metric: str, *, epochs: int) -> dict[str, Any] | None:
    """{epochs, step, value} of the first point of the metric at so many epochs or later; None before there is one.

    Of a job that succeeded earlier, having reached its target, it is the last point. Infinite values are no result.
    """
    points = MetricPoint.objects.filter(series__job=job, series__key=metric)
    reached = points.filter(epoch__gte=epochs - TOLERANCE).order_by("epoch", "seq")
    found = reached.values("epoch", "step", "value").first()
    if found is None and job.state == JobState.SUCCEEDED:
        found = points.order_by("-epoch", "-seq").values("epoch", "step", "value").first()
    if found is None or not math.isfinite(found["value"]):
        return None
    return {"epochs": found["epoch"], "step": found["step"], "value": found["value"]}


def metrics_named(job: Job, metric: str) -> str:
    """A sentence about what the job reported instead of the metric."""
    names = Series.objects.filter(job=job).exclude(key=metric).order_by("key").values_list("key", flat=True).distinct()
    listed = ", ".join(names[:MOST_NAMED])
    return f"It reported {listed}." if listed else "It reported no metrics."


def gpu_seconds_of(job_id: UUID, *, now: datetime) -> float:
    """What the ledger has of the job, and what it holds now."""
    entered = UsageEntry.objects.filter(job_id=job_id).aggregate(gpu_s=Sum("gpu_s"))["gpu_s"] or 0.0
    return float(entered + sum(entry.gpu_s for entry in running_entries(now=now, job=job_id)))
