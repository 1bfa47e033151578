# SPDX-License-Identifier: Apache-2.0
"""Observe: what the backend shows against what the rows say. Level-triggered, so that any round can be the first."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from uuid import UUID

import structlog
from django.conf import settings
from django.db import DatabaseError, transaction

from mlhub.backends.protocol import (
    AttemptStatus,
    Backend,
    BackendUnavailableError,
    GangPhase,
    ItemKind,
    LaunchError,
    PodStatus,
)
from mlhub.control.fault_isolation.isolation import FaultIsolation, reason_of
from mlhub.control.observation.node_failures import record_node_failure
from mlhub.control.pods.launch_specs import launch_spec
from mlhub.environments.secrets import secret_values
from mlhub.jobs import attempts
from mlhub.jobs.models import Attempt, Job
from mlhub.jobs.states import Intent, JobState
from mlhub.wire.exits import Cause, ExitCode
from mlhub.wire.launch import AttemptId, LaunchSpec
from mlhub.wire.masking import SecretMask

logger = structlog.stdlib.get_logger(__name__)
N_LAST_LINES = 40
DELAYED = "delayed"  # what became of a launch that the backend could not be reached for
ABANDON_GRACE_S = 0.0  # a gang whose attempt is over has nothing to save
UNKNOWN_GANG = (
    "The database does not know this gang's attempt; it may have been restored from an older copy. The gang is left "
    "alone. If it is of no use, an administrator ends it at the backend."
)


@dataclass
class Due:
    """What a pass over the attempts leaves for the backend, which does many at once. stops: grace_s by attempt.

    The rows say by then what is to become of each gang: if this process ends in between, the next round asks again.
    """

    launches: list[Attempt] = field(default_factory=list)
    stops: dict[AttemptId, float] = field(default_factory=dict)


def reconcile(
    backend: Backend, statuses: Sequence[AttemptStatus], *, now: datetime, isolation: FaultIsolation | None = None
) -> bool:
    """Moves jobs to where their gangs are, repeats launches and stops that were interrupted, ends gangs of attempts
    that are known to be over. Gangs of unknown attempts are left alone and recorded.

    Returns whether a gang is about to leave: it stops, or has made its last step.

    isolation: gets the attempts and gangs that cannot be handled. Raises BackendUnavailableError.
    """
    isolation = FaultIsolation() if isolation is None else isolation
    by_id = {str(status.attempt_id): status for status in statuses}
    live = {str(attempt.id): attempt for attempt in attempts.live_attempts()}
    due = Due()

    def follow(attempt: Attempt) -> None:
        status = by_id.get(str(attempt.id))
        with structlog.contextvars.bound_contextvars(attempt=str(attempt.id), job=str(attempt.job_id)):
            if status is None:
                _missing(attempt, due, now=now)
            else:
                _follow(backend, attempt, status, due, now=now, isolation=isolation)

    isolation.each(live.values(), follow, kind=ItemKind.ATTEMPT, name=lambda attempt: attempt.id)
    orphans = [attempt_id for attempt_id in by_id if attempt_id not in live]
    over = attempts.known_to_be_over(orphans)
    for attempt_id in set(orphans) - over:
        isolation.add(ItemKind.GANG, attempt_id, UNKNOWN_GANG)
    # of attempts that have ended: dropped, or ended and dropped in a later round
    due.stops |= {AttemptId(attempt_id): ABANDON_GRACE_S for attempt_id in orphans if attempt_id in over}
    _stop_all(backend, due.stops, isolation)
    if due.launches:
        start_all(backend, due.launches, now=now, isolation=isolation)
    return any(_is_leaving(attempt.job) for attempt in live.values())


def _is_leaving(job: Job) -> bool:
    is_to_stop = job.state == JobState.STOPPING or job.intent != Intent.RUN
    return is_to_stop or 0 < job.steps_total <= job.steps_done


def _stop_all(backend: Backend, stops: Mapping[AttemptId, float], isolation: FaultIsolation) -> None:
    """Raises BackendUnavailableError when several gangs in a row did not reach the backend."""
    if not stops:
        return
    failed: Mapping[AttemptId, BackendUnavailableError]
    try:
        failed = backend.stop_all(stops)
    except BackendUnavailableError as error:
        failed = dict.fromkeys(stops, error)
    except Exception:  # of one of them: each is tried by itself, which costs the others nothing
        logger.exception("stop.one_by_one", n=len(stops))
        isolation.each(
            stops, lambda attempt_id: backend.stop(attempt_id, grace_s=stops[attempt_id]), kind=ItemKind.GANG
        )
        return

    def check(attempt_id: AttemptId) -> None:
        if attempt_id in failed:
            raise failed[attempt_id]

    isolation.each(stops, check, kind=ItemKind.GANG)


def start(backend: Backend, attempt: Attempt, *, now: datetime, isolation: FaultIsolation) -> str:
    """Launches an attempt's gang; what happened, in a word. An attempt that can never start is closed.

    One whose launch raises what no backend is to raise is closed, too: it would hold its GPUs for ever.
    """
    error: Exception | None = None
    try:
        found = attempts.attempt_to_launch(attempt.id)
        backend.launch(launch_spec(found, reads_platform_disk=backend.reads_platform_disk))
    except DatabaseError:
        raise
    except Exception as raised:
        error = raised
    return _started(attempt, error, now=now, isolation=isolation)


def start_all(
    backend: Backend, found: Sequence[Attempt], *, now: datetime, isolation: FaultIsolation
) -> Mapping[UUID, str]:
    """As start(), by the attempt's id; the backend is given all gangs at once."""
    outcomes: dict[UUID, str] = {}
    specs: dict[UUID, LaunchSpec] = {}
    read = _read_together(found)

    def specify(attempt: Attempt) -> None:
        try:
            whole = read.get(attempt.id) or attempts.attempt_to_launch(attempt.id)
            specs[attempt.id] = launch_spec(whole, reads_platform_disk=backend.reads_platform_disk)
        except DatabaseError:
            raise
        except Exception as error:
            outcomes[attempt.id] = _started(attempt, error, now=now, isolation=isolation)

    isolation.each(found, specify, kind=ItemKind.ATTEMPT, name=lambda attempt: attempt.id)
    try:
        failed = backend.launch_all(list(specs.values()))
    except BackendUnavailableError as error:
        failed = dict.fromkeys((spec.attempt_id for spec in specs.values()), error)
    except DatabaseError:
        raise
    except Exception:  # of one of them: each is tried by itself, which costs the others nothing
        logger.exception("launch.one_by_one", n=len(specs))
        for attempt in (a for a in found if a.id in specs):
            outcomes[attempt.id] = start(backend, attempt, now=now, isolation=isolation)
        return outcomes
    for attempt in (a for a in found if a.id in specs):
        error_or_none = failed.get(specs[attempt.id].attempt_id)
        outcomes[attempt.id] = _started(attempt, error_or_none, now=now, isolation=isolation)
    return outcomes


def _read_together(found: Sequence[Attempt]) -> Mapping[UUID, Attempt]:
    """Empty where one of them cannot be read: each is then read by itself."""
    try:
        return attempts.attempts_to_launch([attempt.id for attempt in found])
    except DatabaseError:
        raise
    except Exception:
        logger.exception("launch.read_one_by_one", n=len(found))
        return {}


def _started(attempt: Attempt, error: Exception | None, *, now: datetime, isolation: FaultIsolation) -> str:
    """What became of a launch, in a word."""
    if error is None:
        return "launched"
    if isinstance(error, BackendUnavailableError):
        logger.warning("launch.delayed", attempt=attempt.id, error=error)
        return DELAYED  # the attempt stays STARTING; the next round launches it
    if isinstance(error, LaunchError):
        logger.warning("launch.failed", attempt=attempt.id, cause=error.cause, error=error)
        with transaction.atomic():
            attempts.close_failed(attempt, cause=error.cause, message=str(error), now=now)
            _record_of_node(attempt, (), now=now, isolation=isolation)
        return "failed"
    isolation.add(ItemKind.ATTEMPT, str(attempt.id), error)
    message = f"The launch failed by an error of the platform: {reason_of(error)}"
    attempts.close_failed(attempt, cause=Cause.LAUNCH_FAILED, message=message, now=now)
    return "failed"


def ask_to_stop(backend: Backend, attempt: Attempt, *, reason: str, why: str = "", now: datetime) -> bool:
    """STOPPING first, then the backend: if we die in between, the next round asks the backend again."""
    if not attempts.record_stop(attempt, reason=reason, why=why, now=now):
        return False
    backend.stop(AttemptId(str(attempt.id)), grace_s=settings.STOP_GRACE_S)
    return True


def _missing(attempt: Attempt, due: Due, *, now: datetime) -> None:
    state = JobState(attempt.job.state)
    if state is JobState.STARTING and attempt.started_at is None and attempt.job.intent == Intent.RUN:
        due.launches.append(attempt)
    elif state is JobState.STOPPING or attempt.job.intent != Intent.RUN:
        attempts.close_stopped(attempt, cause=None, message="Its gang was gone already.", now=now)
    else:
        message = "The backend does not know its gang any more."
        attempts.close_failed(attempt, cause=Cause.NODE_LOST, message=message, now=now)


def _follow(
    backend: Backend,
    attempt: Attempt,
    status: AttemptStatus,
    due: Due,
    *,
    now: datetime,
    isolation: FaultIsolation,
) -> None:
    state = JobState(attempt.job.state)
    if status.phase.is_ended:
        _close(backend, attempt, status, now=now, isolation=isolation)
        due.stops[status.attempt_id] = 0.0
        return
    if status.phase is GangPhase.RUNNING and state is JobState.STARTING:
        attempts.record_running(attempt, now=status.started_at or now)
        state = JobState.RUNNING
    if status.phase is GangPhase.RUNNING and status.message:
        attempts.record_lost_workers(attempt, message=status.message, now=now)
    if state is JobState.STOPPING:
        if status.phase is not GangPhase.STOPPING:
            due.stops[status.attempt_id] = settings.STOP_GRACE_S
    elif attempt.job.intent != Intent.RUN:
        reason = {Intent.PAUSE: "paused", Intent.CANCEL: "cancelled"}[Intent(attempt.job.intent)]
        if attempts.record_stop(attempt, reason=reason, now=now):
            due.stops[status.attempt_id] = settings.STOP_GRACE_S


def _close(
    backend: Backend, attempt: Attempt, status: AttemptStatus, *, now: datetime, isolation: FaultIsolation
) -> None:
    logger.info("gang.ended", attempt=attempt.id, phase=status.phase, cause=status.cause)
    if status.phase is GangPhase.SUCCEEDED:
        attempts.close_succeeded(attempt, now=now)
    elif status.phase is GangPhase.STOPPED:
        attempts.close_stopped(attempt, cause=status.cause, message=status.message, now=now)
    else:
        mask = SecretMask(secret_values(attempt.job.project_id, attempt.job.secrets).values())
        cause, words = status.cause or Cause.UNKNOWN, mask(_last_words(backend, status))
        with transaction.atomic():
            attempts.close_failed(attempt, cause=cause, message=status.message, now=now, last_words=words)
            _record_of_node(attempt, status.pods, now=now, isolation=isolation)


def _record_of_node(attempt: Attempt, pods: Sequence[PodStatus], *, now: datetime, isolation: FaultIsolation) -> None:
    """With the end of the attempt or not at all; what cannot be recorded does not keep the attempt from ending."""
    record = partial(record_node_failure, attempt, pods=pods, now=now)
    isolation.attempt(record, kind=ItemKind.ATTEMPT, name=str(attempt.id), default=None)


def _last_words(backend: Backend, status: AttemptStatus) -> str:
    """The end of what a pod that failed had to say. A pod that could not even report left it with the backend only."""
    pod = next((p for p in status.pods if p.exit_code not in (None, ExitCode.DONE, ExitCode.PREEMPTED)), None)
    if pod is None:
        return ""
    return "\n".join(deque(backend.logs(status.attempt_id, role=pod.role, index=pod.index), maxlen=N_LAST_LINES))
