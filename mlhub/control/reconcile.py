# SPDX-License-Identifier: Apache-2.0
"""Observe: what the backend shows against what the rows say. Level-triggered, so that any round can be the first."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from datetime import datetime

import structlog
from django.conf import settings
from django.db import DatabaseError

from mlhub.backends.protocol import (
    AttemptStatus,
    Backend,
    BackendUnavailableError,
    GangPhase,
    ItemKind,
    LaunchError,
)
from mlhub.control.isolation import Isolation, reason_of
from mlhub.control.launch_specs import launch_spec
from mlhub.jobs import attempts
from mlhub.jobs.models import Attempt
from mlhub.jobs.states import Intent, JobState
from mlhub.wire.exits import Cause, ExitCode
from mlhub.wire.launch import AttemptId

logger = structlog.stdlib.get_logger(__name__)
N_LAST_LINES = 40
ABANDON_GRACE_S = 0.0  # a gang that belongs to no attempt has nothing to save


def reconcile(
    backend: Backend, statuses: Sequence[AttemptStatus], *, now: datetime, isolation: Isolation | None = None
) -> None:
    """Moves jobs to where their gangs are, repeats launches and stops that were interrupted, ends orphaned gangs.

    isolation: gets the attempts and gangs that cannot be handled. Raises BackendUnavailableError.
    """
    isolation = Isolation() if isolation is None else isolation
    by_id = {str(status.attempt_id): status for status in statuses}
    live = {str(attempt.id): attempt for attempt in attempts.live_attempts()}

    def follow(attempt: Attempt) -> None:
        status = by_id.get(str(attempt.id))
        with structlog.contextvars.bound_contextvars(attempt=str(attempt.id), job=str(attempt.job_id)):
            if status is None:
                _missing(backend, attempt, now=now, isolation=isolation)
            else:
                _follow(backend, attempt, status, now=now)

    isolation.each(live.values(), follow, kind=ItemKind.ATTEMPT, name=lambda attempt: attempt.id)
    # of attempts that have ended: dropped, or ended and dropped in a later round
    orphans = [status for attempt_id, status in by_id.items() if attempt_id not in live]
    isolation.each(
        orphans,
        lambda status: backend.stop(status.attempt_id, grace_s=ABANDON_GRACE_S),
        kind=ItemKind.GANG,
        name=lambda status: status.attempt_id,
    )


def start(backend: Backend, attempt: Attempt, *, now: datetime, isolation: Isolation) -> str:
    """Launches an attempt's gang; what happened, in a word. An attempt that can never start is closed.

    One whose launch raises what no backend is to raise is closed, too: it would hold its GPUs for ever.
    """
    try:
        backend.launch(launch_spec(attempts.attempt_to_launch(attempt.id)))
    except LaunchError as error:
        logger.warning("launch.failed", attempt=attempt.id, cause=error.cause, error=error)
        attempts.close_failed(attempt, cause=error.cause, message=str(error), now=now)
        return "failed"
    except BackendUnavailableError as error:
        logger.warning("launch.delayed", attempt=attempt.id, error=error)
        return "delayed"  # the attempt stays STARTING; the next round launches it
    except DatabaseError:
        raise
    except Exception as error:
        isolation.add(ItemKind.ATTEMPT, str(attempt.id), error)
        message = f"The launch failed by an error of the platform: {reason_of(error)}"
        attempts.close_failed(attempt, cause=Cause.LAUNCH_FAILED, message=message, now=now)
        return "failed"
    return "launched"


def ask_to_stop(backend: Backend, attempt: Attempt, *, reason: str, now: datetime) -> bool:
    """STOPPING first, then the backend: if we die in between, the next round asks the backend again."""
    if not attempts.record_stop(attempt, reason=reason, now=now):
        return False
    backend.stop(AttemptId(str(attempt.id)), grace_s=settings.STOP_GRACE_S)
    return True


def _missing(backend: Backend, attempt: Attempt, *, now: datetime, isolation: Isolation) -> None:
    state = JobState(attempt.job.state)
    if state is JobState.STARTING and attempt.started_at is None and attempt.job.intent == Intent.RUN:
        start(backend, attempt, now=now, isolation=isolation)
    elif state is JobState.STOPPING or attempt.job.intent != Intent.RUN:
        attempts.close_stopped(attempt, cause=None, message="Its gang was gone already.", now=now)
    else:
        message = "The backend does not know its gang any more."
        attempts.close_failed(attempt, cause=Cause.NODE_LOST, message=message, now=now)


def _follow(backend: Backend, attempt: Attempt, status: AttemptStatus, *, now: datetime) -> None:
    state = JobState(attempt.job.state)
    if status.phase.is_ended:
        _close(backend, attempt, status, now=now)
        backend.stop(status.attempt_id, grace_s=0.0)
        return
    if status.phase is GangPhase.RUNNING and state is JobState.STARTING:
        attempts.record_running(attempt, now=status.started_at or now)
        state = JobState.RUNNING
    if status.phase is GangPhase.RUNNING and status.message:
        attempts.record_lost_workers(attempt, message=status.message, now=now)
    if state is JobState.STOPPING:
        if status.phase is not GangPhase.STOPPING:
            backend.stop(status.attempt_id, grace_s=settings.STOP_GRACE_S)
    elif attempt.job.intent != Intent.RUN:
        reason = {Intent.PAUSE: "paused", Intent.CANCEL: "cancelled"}[Intent(attempt.job.intent)]
        ask_to_stop(backend, attempt, reason=reason, now=now)


def _close(backend: Backend, attempt: Attempt, status: AttemptStatus, *, now: datetime) -> None:
    logger.info("gang.ended", attempt=attempt.id, phase=status.phase, cause=status.cause)
    if status.phase is GangPhase.SUCCEEDED:
        attempts.close_succeeded(attempt, now=now)
    elif status.phase is GangPhase.STOPPED:
        attempts.close_stopped(attempt, cause=status.cause, message=status.message, now=now)
    else:
        cause, words = status.cause or Cause.UNKNOWN, _last_words(backend, status)
        attempts.close_failed(attempt, cause=cause, message=status.message, now=now, last_words=words)


def _last_words(backend: Backend, status: AttemptStatus) -> str:
    """The end of what a pod that failed had to say. A pod that could not even report left it with the backend only."""
    pod = next((p for p in status.pods if p.exit_code not in (None, ExitCode.DONE, ExitCode.PREEMPTED)), None)
    if pod is None:
        return ""
    return "\n".join(deque(backend.logs(status.attempt_id, role=pod.role, index=pod.index), maxlen=N_LAST_LINES))
