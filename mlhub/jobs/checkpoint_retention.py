# SPDX-License-Identifier: Apache-2.0
"""How long the checkpoints of ended jobs are kept."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Q, QuerySet

from mlhub.jobs.models import Job, JobKind
from mlhub.jobs.states import ENDED, JobState


def checkpoints_kept_for(state: JobState = JobState.SUCCEEDED) -> timedelta | None:
    """For so long after a job's end in that state; None = for good. A failed job may be resumed from them."""
    days = settings.KEPT_DAYS["failed_checkpoints" if state is JobState.FAILED else "checkpoints"]
    return timedelta(days=days) if days else None


def jobs_without_checkpoints(now: datetime, *, within: timedelta | None = None) -> QuerySet[Job]:
    """Jobs that ended longer ago than their checkpoints are kept. within: only those of which that time came since."""
    found = Q(pk__in=[])
    for state in ENDED:
        found |= _over(~Q(kind=JobKind.NOTEBOOK) & Q(state=state), checkpoints_kept_for(state), now, within)
    # a notebook's folder is what somebody wrote by hand, however it ended
    found |= _over(Q(kind=JobKind.NOTEBOOK, state__in=ENDED), checkpoints_kept_for(JobState.FAILED), now, within)
    return Job.objects.filter(found)


def _over(which: Q, kept_for: timedelta | None, now: datetime, within: timedelta | None) -> Q:
    if kept_for is None:
        return Q(pk__in=[])
    recent = Q(finished_at__gt=now - kept_for - within) if within else Q()
    return which & Q(finished_at__lt=now - kept_for) & recent
