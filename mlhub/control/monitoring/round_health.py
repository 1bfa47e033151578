# SPDX-License-Identifier: Apache-2.0
"""Whether rounds are made: when the last one was attempted and finished, and since when there was none."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from django.conf import settings
from django.db import transaction

from mlhub.control.models import SchedulerState
from mlhub.events.actions import append
from mlhub.events.changes import ChangeKind, report_change
from mlhub.jobs.models import Job


class StopCause(StrEnum):
    """Why no round is finished, as far as the database shows."""

    LOOP_AWAY = "loop_away"  # none is attempted: the control loop's process does not run, or hangs
    BACKEND_AWAY = "backend_away"  # the cluster cannot be reached
    ROUNDS_FAIL = "rounds_fail"  # each attempt ends with an error


STOP_CAUSES = [(cause.value, cause.value) for cause in StopCause]


@dataclass(frozen=True)
class RoundHealth:
    """Ages in seconds, None where there was no round yet. stopped_since, cause: None while rounds are made.

    message: why rounds fail, for administrators.
    """

    finished_age_s: float | None
    attempted_age_s: float | None
    stopped_since: datetime | None
    cause: StopCause | None
    message: str = ""


def record_attempt(*, now: datetime) -> SchedulerState:
    """Records that a round begins; returns the loop's row."""
    state, _ = SchedulerState.objects.get_or_create(pk=1)
    state.attempted_at = now
    state.save(update_fields=["attempted_at"])
    return state


def save_state(state: SchedulerState) -> None:
    """Saves the loop's row but for stopped_since, which another process may have set meanwhile."""
    names = [field.name for field in SchedulerState._meta.concrete_fields if not field.primary_key]
    state.save(update_fields=[name for name in names if name != "stopped_since"])


def record_finished(state: SchedulerState, *, now: datetime) -> None:
    """Saves the row of a round that was finished; publishes that rounds are made again, where they had stopped."""
    with transaction.atomic():
        stopped_since = SchedulerState.objects.filter(pk=1).values_list("stopped_since", flat=True).first()
        state.round_at, state.error, state.stopped_since = now, "", None
        state.save()  # rounds that are finished have not stopped, whatever was published a moment ago
        report_change(ChangeKind.ROUND, organisation_id=None)
        if stopped_since is not None:
            append(
                "scheduler.rounds_resumed",
                organisation=None,
                subject_kind="scheduler",
                subject_id=None,
                at=now,
                stopped_since=stopped_since,
            )


def record_unfinished(reason: str) -> None:
    """Records why the newest attempt was not finished."""
    SchedulerState.objects.filter(pk=1).update(error=reason)


def round_health(*, now: datetime) -> RoundHealth:
    """Returns how rounds do. They count as stopped when none was finished for settings.ROUNDS_LATE_S.

    Before the first round, the time counts since the oldest job that waits was submitted.
    """
    state = SchedulerState.objects.filter(pk=1).first() or SchedulerState()
    since = (
        state.round_at or Job.objects.queued().order_by("submitted_at").values_list("submitted_at", flat=True).first()
    )
    finished_s, attempted_s = _age_s(state.round_at, now), _age_s(state.attempted_at, now)
    if since is None or now - since < timedelta(seconds=settings.ROUNDS_LATE_S):
        return RoundHealth(finished_s, attempted_s, None, None)
    if attempted_s is None or attempted_s >= settings.ROUNDS_LATE_S:
        return RoundHealth(finished_s, attempted_s, since, StopCause.LOOP_AWAY)
    if state.backend_away_since is not None:
        return RoundHealth(finished_s, attempted_s, since, StopCause.BACKEND_AWAY, state.backend_message)
    return RoundHealth(finished_s, attempted_s, since, StopCause.ROUNDS_FAIL, state.error)


def publish_stop(*, now: datetime) -> bool:
    """Appends one event when rounds have stopped; returns whether it did. The loop itself publishes the end."""
    health = round_health(now=now)
    if health.stopped_since is None or health.cause is None:
        return False
    with transaction.atomic():
        SchedulerState.objects.get_or_create(pk=1)
        is_first = SchedulerState.objects.filter(pk=1, stopped_since=None).update(stopped_since=health.stopped_since)
        if is_first:
            append(
                "scheduler.rounds_stopped",
                organisation=None,
                subject_kind="scheduler",
                subject_id=None,
                at=now,
                since=health.stopped_since,
                cause=health.cause.value,
                message=health.message,
            )
    return bool(is_first)


def _age_s(at: datetime | None, now: datetime) -> float | None:
    return None if at is None else round((now - at).total_seconds(), 3)
