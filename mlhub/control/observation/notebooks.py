# SPDX-License-Identifier: Apache-2.0
"""Notebooks in which nothing is done, or whose JupyterLab hangs: they are paused, so that others get their GPU.

Their working folder stays for when they are resumed. What a pod reports counts, not what it fails to report: while the
ingest API is away, no notebook is reclaimed. That JupyterLab hangs is reported by the launcher next to it.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial

from django.conf import settings
from django.db import transaction

from mlhub.backends.protocol import ItemKind
from mlhub.control.fault_isolation.isolation import FaultIsolation
from mlhub.control.observation.stalls import FRESH as LAUNCHER_FRESH
from mlhub.jobs.actions import pause_job
from mlhub.jobs.events import append_of_job
from mlhub.jobs.models import Job, JobKind, NotebookActivity
from mlhub.jobs.states import Intent, JobState
from mlhub.jobs.submission.notebooks import idle_limit_s, stops_at, warns_at
from mlhub.metrics.models import StallRecord

FRESH = timedelta(seconds=60)  # pods report every few seconds
RUNNING = {
    "attempt__ended_at": None,
    "attempt__stop_asked_at": None,
    "attempt__job__state": JobState.RUNNING,
    "attempt__job__intent": Intent.RUN,
}


def watch_notebooks(*, now: datetime, isolation: FaultIsolation) -> None:
    """Looks at every notebook that runs. isolation: gets the jobs that cannot be handled."""
    rows = NotebookActivity.objects.filter(**RUNNING, reported_at__gte=now - FRESH)
    for row in rows.select_related("attempt__job__project__organisation"):
        job: Job = row.attempt.job
        isolation.attempt(partial(_look, row, job, now=now), kind=ItemKind.JOB, name=str(job.pk), default=None)
    silent = StallRecord.objects.filter(
        **RUNNING,
        attempt__job__kind=JobKind.NOTEBOOK,
        since__lte=now - timedelta(seconds=settings.NOTEBOOK_SILENT_LIMIT_S),
        reported_at__gte=now - LAUNCHER_FRESH,
    )
    for stall in silent.select_related("attempt__job__project__organisation"):
        isolation.attempt(
            partial(_reclaim_silent, stall, now=now), kind=ItemKind.JOB, name=str(stall.attempt.job_id), default=None
        )


def _look(row: NotebookActivity, job: Job, *, now: datetime) -> None:
    if now >= stops_at(row, job):
        _reclaim(row, job, now=now)
    elif now < warns_at(row, job):
        return
    elif row.warned_at is None or row.warned_at < row.active_at:
        row.warned_at = now
        row.save(update_fields=["warned_at"])
        _publish_idle("notebook.idle", row, job, now=now)


def _reclaim(row: NotebookActivity, job: Job, *, now: datetime) -> None:
    """Unless something was done in it meanwhile. Raises ConflictError when it was stopped meanwhile."""
    with transaction.atomic():
        present = NotebookActivity.objects.select_for_update().get(pk=row.pk)
        if now < stops_at(present, job):
            return
        present.reclaimed_at = now
        present.save(update_fields=["reclaimed_at"])
        _publish_idle("notebook.reclaimed", present, job, now=now)
        pause_job(job, actor=None)


def _reclaim_silent(stall: StallRecord, *, now: datetime) -> None:
    """Unless it answers again by now. Raises ConflictError when it was stopped meanwhile."""
    job, attempt = stall.attempt.job, stall.attempt
    with transaction.atomic():
        if not StallRecord.objects.select_for_update().filter(pk=stall.pk).exists():
            return
        NotebookActivity.objects.update_or_create(
            attempt=attempt,
            defaults={"reclaimed_at": now},
            create_defaults={"active_at": stall.since, "reported_at": stall.since, "reclaimed_at": now},
        )
        silent_s, limit_s = round((now - stall.since).total_seconds()), round(settings.NOTEBOOK_SILENT_LIMIT_S)
        append_of_job("notebook.silent", job, at=now, attempt_id=attempt.pk, silent_s=silent_s, limit_s=limit_s)
        pause_job(job, actor=None)


def _publish_idle(kind: str, row: NotebookActivity, job: Job, *, now: datetime) -> None:
    append_of_job(
        kind,
        job,
        at=now,
        attempt_id=row.attempt_id,
        idle_s=round((now - row.active_at).total_seconds()),
        limit_s=round(idle_limit_s(job)),
        stops_at=stops_at(row, job),
    )
