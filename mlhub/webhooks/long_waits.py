# SPDX-License-Identifier: Apache-2.0
"""Jobs that wait for long: an event, once for each time that a job waits."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import DateTimeField, Exists, OuterRef, Subquery
from django.db.models.functions import Coalesce, Greatest

from mlhub.events.models import Event
from mlhub.jobs.events import append_of_job
from mlhub.jobs.models import Job
from mlhub.jobs.states import Intent, JobState
from mlhub.webhooks.topics import LONG_WAIT

BATCH = 200


def report_long_waits(now: datetime) -> int:
    """Appends the event for jobs that have waited for MLHUB_LONG_WAIT_S since they were submitted or queued again.

    Returns how many; 0 when the setting is 0.
    """
    if not settings.LONG_WAIT_S:
        return 0
    limit = now - timedelta(seconds=settings.LONG_WAIT_S)
    of_job = Event.objects.filter(subject_id=OuterRef("pk"))
    queued = of_job.filter(kind="job.state", facts__after=JobState.QUEUED).order_by("-id").values("at")[:1]
    since = Greatest("submitted_at", Coalesce(Subquery(queued, output_field=DateTimeField()), "submitted_at"))
    waiting = Job.objects.filter(state=JobState.QUEUED, intent=Intent.RUN, submitted_at__lte=limit)
    reported = of_job.filter(kind=LONG_WAIT, at__gte=OuterRef("waits_since"))
    due = waiting.annotate(waits_since=since).filter(~Exists(reported), waits_since__lte=limit)
    jobs = list(due.select_related("project__organisation").order_by("submitted_at")[:BATCH])
    for job in jobs:
        append_of_job(
            LONG_WAIT,
            job,
            at=now,
            waited_s=round((now - job.waits_since).total_seconds()),
            reason=job.reason,
        )
    return len(jobs)
