# SPDX-License-Identifier: Apache-2.0
"""The only writer of Job.state: one conditional update and one event a transition, both or neither."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from mlhub.events.models import Event
from mlhub.jobs.events import append_of_job
from mlhub.jobs.models import PREDICTIONS, Job
from mlhub.jobs.states import ENDED, TRANSITIONS, JobState, Trigger
from mlhub.tenants.models import User


class IllegalTransitionError(Exception):
    """A trigger in a state that does not admit it: a bug. The message names what happened to the job before."""


@dataclass(frozen=True)
class Transition:
    job_id: UUID
    before: JobState
    after: JobState
    trigger: Trigger


def advance(
    job_id: UUID,
    *,
    trigger: Trigger,
    reason: str = "",
    attempt_id: UUID | None = None,
    actor: User | None = None,
    now: datetime | None = None,
    seen_version: int | None = None,
    facts: dict[str, Any] | None = None,
    **changes: Any,
) -> Transition | None:
    """Moves the job along states.TRANSITIONS, with other columns in `changes`, and appends the event "job.state".

    seen_version: the version that the caller decided upon. Returns None when another transaction moved the job first.
    Raises IllegalTransitionError.
    """
    now = now or timezone.now()
    with transaction.atomic():
        job = Job.objects.select_related("project__organisation").get(pk=job_id)
        if seen_version is not None and job.version != seen_version:
            return None
        before = JobState(job.state)
        after = TRANSITIONS.get((before, trigger))
        if after is None:
            raise IllegalTransitionError(_story(job, trigger))
        if after in ENDED:
            changes.setdefault("finished_at", now)
        if after in ENDED or after is JobState.PAUSED:  # no round decides on it any more
            changes |= dict.fromkeys(PREDICTIONS)
            changes["explanations"] = []
        moved = Job.objects.filter(pk=job_id, state=before, version=job.version).update(
            state=after, version=F("version") + 1, reason=reason, **changes
        )
        if not moved:
            return None
        append_of_job(
            "job.state",
            job,
            actor=actor,
            at=now,
            before=before,
            after=after,
            trigger=trigger,
            reason=reason,
            attempt_id=attempt_id,
            **(facts or {}),
        )
    return Transition(job_id, before, after, trigger)


def _story(job: Job, trigger: Trigger) -> str:
    past = Event.objects.filter(subject_id=job.pk, kind="job.state").order_by("-id")[:10]
    moves = [f"{e.at:%H:%M:%S} {e.facts['before']} -> {e.facts['after']} ({e.facts['trigger']})" for e in past]
    return f"{trigger} came to job {job.pk} in state {job.state}; before: {'; '.join(reversed(moves)) or 'nothing'}"
