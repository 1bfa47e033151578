# SPDX-License-Identifier: Apache-2.0
"""Stalled gangs: reported after a minute, with the workers that are waited for; ended when it lasts too long.

What a gang reports of itself counts, not what it fails to report: while the ingest API is away, no gang stalls.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta

import structlog

from mlhub.backends.protocol import Backend, ItemKind
from mlhub.control.fault_isolation.isolation import FaultIsolation
from mlhub.events.models import Event
from mlhub.jobs import attempts
from mlhub.jobs.events import append_of_attempt
from mlhub.jobs.limits.stalls import stall_limit_s
from mlhub.jobs.models import Attempt, JobKind
from mlhub.jobs.states import JobState
from mlhub.metrics.measurements.stalls import Waited, waited_for
from mlhub.metrics.models import StallRecord
from mlhub.registry.models import Kind
from mlhub.wire.exits import Cause
from mlhub.wire.launch import AttemptId

logger = structlog.stdlib.get_logger(__name__)
FRESH = timedelta(seconds=180)  # launchers report every minute while it lasts
STALL_EVENT = "attempt.stalled"


def watch_stalls(backend: Backend, *, now: datetime, isolation: FaultIsolation | None = None) -> None:
    """Looks at every running gang of which a worker reported that it makes no step.

    isolation: gets the attempts that cannot be handled. Raises BackendUnavailableError.
    """
    isolation = FaultIsolation() if isolation is None else isolation
    rows = StallRecord.objects.filter(
        attempt__ended_at=None, attempt__job__state=JobState.RUNNING, reported_at__gte=now - FRESH
    ).exclude(attempt__job__kind=JobKind.NOTEBOOK)  # notebooks.py pauses those
    by_attempt: defaultdict[str, list[StallRecord]] = defaultdict(list)
    for row in rows.order_by("worker"):
        by_attempt[str(row.attempt_id)].append(row)

    def handle(attempt_id: str) -> None:
        attempt = Attempt.objects.select_related("job__project__organisation", "job__model_version").get(pk=attempt_id)
        _handle(backend, attempt, by_attempt[attempt_id], now=now)

    isolation.each(list(by_attempt), handle, kind=ItemKind.ATTEMPT)


def _handle(backend: Backend, attempt: Attempt, still: Sequence[StallRecord], *, now: datetime) -> None:
    is_script = attempt.job.model_version.kind == Kind.SCRIPT
    since = min(row.since for row in still)
    still_s, most_s = (now - since).total_seconds(), stall_limit_s(attempt.job)
    waited = Waited(busy=(0,), silent=()) if is_script else waited_for(attempt)
    step = max(row.step for row in still)
    if still_s >= most_s:
        logger.warning("gang.stalled", attempt=attempt.id, still_s=still_s, waited_for=waited)
        attempts.close_failed(attempt, cause=_cause(waited), message=_words(waited, still_s, is_script), now=now)
        backend.stop(AttemptId(str(attempt.id)), grace_s=0.0)
    elif not is_script or still_s >= most_s / 2:  # a script may well be silent for some minutes
        _publish_stall(attempt, waited, step=step, since=since, still_s=still_s, limit=most_s, now=now)


def _cause(waited: Waited) -> Cause:
    """A worker stuck in its own code will be so again; one that vanished, or was cut off, may work elsewhere."""
    return Cause.STALLED if waited.busy else Cause.TIMEOUT


def _words(waited: Waited, still_s: float, is_script: bool) -> str:
    if is_script:
        return f"The script has reported nothing for {still_s:.0f} s."
    return f"No step for {still_s:.0f} s: the gang waits for {waited}."


def _publish_stall(
    attempt: Attempt, waited: Waited, *, step: int, since: datetime, still_s: float, limit: float, now: datetime
) -> None:
    """Appends an event, once for each step at which it stalls and each set of workers that it waits for."""
    whom = str(waited)
    about = {"kind": STALL_EVENT, "subject_id": attempt.job_id, "facts__attempt_id": str(attempt.id)}
    if Event.objects.filter(**about, facts__step=step, facts__waited_for=whom).exists():
        return
    append_of_attempt(
        STALL_EVENT,
        attempt,
        at=now,
        step=step,
        still_s=round(still_s),
        limit_s=round(limit),
        waited_for=whom,
        busy=list(waited.busy),
        silent=list(waited.silent),
        since=since,
    )
