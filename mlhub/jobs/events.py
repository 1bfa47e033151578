# SPDX-License-Identifier: Apache-2.0
"""Events about jobs and their attempts, in the organisation of the job's project."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from mlhub.events.actions import append
from mlhub.events.models import Event
from mlhub.jobs.models import Attempt, Job
from mlhub.tenants.models import User


def append_of_job(kind: str, job: Job, *, actor: User | None = None, at: datetime | None = None, **facts: Any) -> Event:
    """Appends an event that names the job. actor: None = the platform itself."""
    return _append(kind, job, actor=actor, at=at, name=job.name, **facts)


def append_of_attempt(kind: str, attempt: Attempt, *, at: datetime | None = None, **facts: Any) -> Event:
    """Appends an event about one attempt of a job, as its pods or the control loop saw it."""
    return _append(kind, attempt.job, at=at, attempt_id=attempt.id, number=attempt.number, **facts)


def _append(kind: str, job: Job, **facts: Any) -> Event:
    return append(kind, organisation=job.project.organisation, subject_kind="job", subject_id=job.pk, **facts)
