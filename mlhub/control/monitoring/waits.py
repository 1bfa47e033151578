# SPDX-License-Identifier: Apache-2.0
"""How long jobs waited for their first step lately: of those that a person sees, else of the whole cluster."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from django.db.models import Aggregate, Count, DurationField, ExpressionWrapper, F, QuerySet

from mlhub.jobs.models import Job
from mlhub.tenants.models import User

LATELY = timedelta(hours=24)
# before a figure of others is shown: of fewer it would say how long jobs of one organisation waited
LEAST_JOBS, LEAST_ORGANISATIONS = 10, 3


class WaitScope(StrEnum):
    VISIBLE = "visible"
    CLUSTER = "cluster"


@dataclass(frozen=True)
class Waits:
    """median_s: from submission to the first step; None: no job started, or too few of others did."""

    median_s: float | None
    n_jobs: int
    scope: WaitScope
    since: datetime


class Median(Aggregate):
    function = "PERCENTILE_CONT"
    template = "%(function)s(0.5) WITHIN GROUP (ORDER BY %(expressions)s)"
    output_field = DurationField()


def waits_as_seen_by(user: User, *, now: datetime) -> Waits:
    since = now - LATELY
    started = Job.objects.filter(started_at__gte=since)
    seen = _measured(started.filter(pk__in=Job.objects.visible_to(user).filter(started_at__gte=since).values("pk")))
    if seen["n"]:
        return Waits(seen["median"].total_seconds(), seen["n"], WaitScope.VISIBLE, since)
    found = _measured(started)
    if found["n"] < LEAST_JOBS or found["n_organisations"] < LEAST_ORGANISATIONS:
        return Waits(None, 0, WaitScope.VISIBLE, since)
    return Waits(found["median"].total_seconds(), found["n"], WaitScope.CLUSTER, since)


def _measured(started: QuerySet[Job]) -> dict[str, Any]:
    waited = ExpressionWrapper(F("started_at") - F("submitted_at"), output_field=DurationField())
    return started.aggregate(
        median=Median(waited), n=Count("pk"), n_organisations=Count("project__organisation", distinct=True)
    )
