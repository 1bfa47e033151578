# SPDX-License-Identifier: Apache-2.0
"""Pausing admission: no waiting job is started until it is resumed, by an administrator or at a time."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction

from mlhub.control.deciding.memory import MemoryOwner, load_memory
from mlhub.control.models import AdmissionPause
from mlhub.core.errors import ConflictError
from mlhub.events.actions import append
from mlhub.events.models import Event
from mlhub.jobs.models import Job
from mlhub.jobs.states import JobState
from mlhub.tenants.models import User

NOT_PAUSED = 0  # the version of a pause that there is not


@dataclass(frozen=True)
class AdmissionHold:
    """What a pause means for a round. until_s: None = until it is resumed. promised: jobs that get their GPUs even so,
    since they were stopped to be resized, or others were stopped for them."""

    until_s: float | None
    promised: Collection[str] = ()

    def applies_to(self, job: Job) -> bool:
        """Whether it keeps the job waiting."""
        return job.state == JobState.QUEUED and str(job.id) not in self.promised


def pause_admission(
    *, actor: User, reason: str, until: datetime | None = None, version: int | None = None, now: datetime
) -> AdmissionPause:
    """From the next round on no waiting job is started. A pause that is there gets this reason and this end.

    version: that of the pause that the caller saw, 0 where there was none; None = whatever there is. Raises
    ConflictError where another administrator paused, changed or resumed admission since.
    """
    end_due_pause(now=now)
    with transaction.atomic():
        new = {"reason": reason, "until": until, "paused_by": actor, "since": now}
        pause, is_new = AdmissionPause.objects.select_for_update().get_or_create(pk=1, defaults=new)
        before = None if is_new else _facts(pause)
        _require_version(version, None if is_new else pause, {"reason": reason, "until": until})
        pause.reason, pause.until = reason, until
        if not is_new and _facts(pause) == before:
            return pause
        pause.paused_by = actor
        pause.version = _publish("scheduler.admission_paused", actor=actor, before=before, after=_facts(pause)).pk
        pause.save()
    return pause


def _require_version(version: int | None, pause: AdmissionPause | None, yours: dict[str, Any]) -> None:
    """Raises ConflictError where the pause is another one than the caller saw."""
    present = NOT_PAUSED if pause is None else pause.version
    if version in (None, present):
        return
    raise ConflictError(
        "Another administrator paused admission, or changed the pause, meanwhile."
        if pause is not None
        else "Another administrator resumed admission meanwhile.",
        code="stale_version",
        field="version",
        remedy="Compare `present` with `yours`, and send yours with the present version, or leave it.",
        version=present,
        present={"reason": "", "until": None} if pause is None else _facts(pause),
        yours=yours,
    )


def resume_admission(*, actor: User, now: datetime) -> bool:
    """Lets the next round start jobs; returns whether admission was paused."""
    end_due_pause(now=now)
    return _end(actor=actor)


def end_due_pause(*, now: datetime) -> bool:
    """Ends a pause whose end has come; returns whether there was one."""
    if not AdmissionPause.objects.filter(until__lte=now).exists():
        return False
    return _end(actor=None, due_at=now)


def current_pause(*, now: datetime) -> AdmissionPause | None:
    """The pause that holds now, also where no round has yet ended one that is due."""
    pause = AdmissionPause.objects.select_related("paused_by").filter(pk=1).first()
    return None if pause is None or (pause.until is not None and pause.until <= now) else pause


def current_hold(*, now: datetime) -> AdmissionHold | None:
    """What the present pause means for a round; None while there is none."""
    pause = current_pause(now=now)
    if pause is None:
        return None
    promised = frozenset(load_memory(MemoryOwner.POLICY).resizing)
    return AdmissionHold(None if pause.until is None else pause.until.timestamp(), promised)


def _end(*, actor: User | None, due_at: datetime | None = None) -> bool:
    """due_at: only a pause whose end has come by then: it may have been prolonged meanwhile."""
    with transaction.atomic():
        pause = AdmissionPause.objects.select_for_update().filter(pk=1).first()
        if pause is None or (due_at is not None and (pause.until is None or pause.until > due_at)):
            return False
        ended = {**_facts(pause), "since": pause.since}
        pause.delete()
        _publish("scheduler.admission_resumed", actor=actor, **ended)
    return True


def _facts(pause: AdmissionPause) -> dict[str, Any]:
    return {"reason": pause.reason, "until": pause.until}


def _publish(kind: str, *, actor: User | None, **facts: Any) -> Event:
    return append(kind, organisation=None, subject_kind="scheduler", subject_id=None, actor=actor, **facts)
