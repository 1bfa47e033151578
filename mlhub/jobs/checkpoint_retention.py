# SPDX-License-Identifier: Apache-2.0
"""How long the checkpoints of ended jobs are kept."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Q, QuerySet

from mlhub.jobs.models import Job
from mlhub.jobs.states import ENDED, JobState


def checkpoints_kept_for(state: JobState = JobState.SUCCEEDED) -> timedelta | None:
    """For so long after a job's end in that state; None = for good. A failed job may be resumed from them."""
    days = settings.KEPT_DAYS["failed_checkpoints" if state is JobState.FAILED else "checkpoints"]
    return timedelta(days=days) if days else None


def jobs_without_checkpoints(now: datetime, *, within: timedelta | None = None) -> QuerySet[Job]:
    """Jobs that ended longer ago than their checkpoints are kept. within: only those of which that time came since."""
    found = Q(pk__in=[])
    for state in ENDED:
        kept_for = checkpoints_kept_for(state)
        if kept_for is not None:
            recent = Q(finished_at__gt=now - kept_for - within) if within else Q()
            found |= Q(state=state, finished_at__lt=now - kept_for) & recent
    return Job.objects.filter(found)
