# SPDX-License-Identifier: Apache-2.0
"""Notebooks in which nothing is done: a warning, then they are paused, so that others get their GPU.

Their working folder stays for when they are resumed. What a pod reports counts, not what it fails to report: while the
ingest API is away, no notebook is reclaimed.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial

from django.db import transaction

from mlhub.backends.protocol import ItemKind
from mlhub.control.isolation import FaultIsolation
from mlhub.events.actions import append
from mlhub.jobs.actions import pause_job
from mlhub.jobs.models import Job, NotebookActivity
from mlhub.jobs.notebooks import idle_limit_s, stops_at, warns_at
from mlhub.jobs.states import Intent, JobState

FRESH = timedelta(seconds=60)  # pods report every few seconds


def watch_notebooks(*, now: datetime, isolation: FaultIsolation) -> None:
    """Looks at every notebook that runs. isolation: gets the jobs that cannot be handled."""
    rows = NotebookActivity.objects.filter(
        attempt__ended_at=None,
        attempt__stop_asked_at=None,
        attempt__job__state=JobState.RUNNING,
        attempt__job__intent=Intent.RUN,
        reported_at__gte=now - FRESH,
    )
    for row in rows.select_related("attempt__job__project__organisation"):
        job: Job = row.attempt.job
        isolation.attempt(partial(_look, row, job, now=now), kind=ItemKind.JOB, name=str(job.pk), default=None)


def _look(row: NotebookActivity, job: Job, *, now: datetime) -> None:
    if now >= stops_at(row, job):
        _reclaim(row, job, now=now)
    elif now < warns_at(row, job):
        return
    elif row.warned_at is None or row.warned_at < row.active_at:
        row.warned_at = now
        row.save(update_fields=["warned_at"])
        _publish("notebook.idle", row, job, now=now)


def _reclaim(row: NotebookActivity, job: Job, *, now: datetime) -> None:
    """Unless something was done in it meanwhile. Raises ConflictError when it was stopped meanwhile."""
    with transaction.atomic():
        present = NotebookActivity.objects.select_for_update().get(pk=row.pk)
        if now < stops_at(present, job):
            return
        present.reclaimed_at = now
        present.save(update_fields=["reclaimed_at"])
        _publish("notebook.reclaimed", present, job, now=now)
        pause_job(job, actor=None)


def _publish(kind: str, row: NotebookActivity, job: Job, *, now: datetime) -> None:
    append(
        kind,
        organisation=job.project.organisation,
        subject_kind="job",
        subject_id=job.pk,
        at=now,
        name=job.name,
        attempt_id=row.attempt_id,
        idle_s=round((now - row.active_at).total_seconds()),
        limit_s=round(idle_limit_s(job)),
        stops_at=stops_at(row, job),
    )
