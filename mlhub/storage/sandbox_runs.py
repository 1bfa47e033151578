# SPDX-License-Identifier: Apache-2.0
"""Runs in the sandbox that the cluster makes: a worker asks and waits, the control loop makes the Job, its pod reports.

The token of a run is derived from the platform's key, opens this run's task and files and nothing else, and is worth
nothing once the run has ended. What a pod hands in is untrusted: its size and types are checked by the API, and
inspection.py believes none of it.
"""

from __future__ import annotations

import hashlib
import hmac
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import structlog
from django.conf import settings
from django.utils import timezone

from mlhub.core.errors import GoneError, NotFoundError
from mlhub.events.wakeups import EVENTS, wake
from mlhub.runtime.sandbox.verdicts import End, Ended
from mlhub.storage.models import Blob, SandboxRun
from mlhub.tenants.models import Project
from mlhub.wire.sandbox import SandboxTask

logger = structlog.stdlib.get_logger(__name__)
POLL_S = 0.25
NOT_STARTED_AFTER = timedelta(minutes=15)  # no control loop made the Job
START_S = 300.0  # for a node to be found, and the image to be pulled
FETCH_BPS = 20 * 2**20  # bytes a second at which a pod gets its files at least
SLACK_S = 60.0


class SandboxUnavailableError(OSError):
    """The cluster could not make the run, which is the platform's fault: the same run may succeed later."""


def deadline_s(task: SandboxTask) -> float:
    """How long a Job may take in all: to start, to fetch its files, to make the run and to hand in how it ended."""
    return START_S + task.size_bytes / FETCH_BPS + task.timeout_s + SLACK_S


def token_of(run_id: UUID, *, key: str = "") -> str:
    """The bearer token of a run. key: settings.SECRET_KEY when it is left out."""
    signed = hmac.new((key or settings.SECRET_KEY).encode(), f"sandbox-run|{run_id}".encode(), hashlib.sha256)
    return "mls_" + signed.hexdigest()


def run_of(run_id: UUID, token: str) -> SandboxRun | None:
    """The run that the token belongs to; None for a wrong one. Raises GoneError once it has ended."""
    keys = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    if not any(hmac.compare_digest(token_of(run_id, key=key).encode(), token.encode()) for key in keys):
        return None
    run = SandboxRun.objects.open().filter(pk=run_id).first()
    if run is None:
        raise GoneError("This run has ended; nothing it reports counts any more.", code="fenced")
    found: SandboxRun = run
    return found


def readable_blob(run: SandboxRun, sha256: str) -> Blob:
    """A file that this run reads. Raises NotFoundError for all others."""
    known = {blob.sha256 for blob in SandboxTask.from_dict(run.task).blobs}
    blob = Blob.objects.filter(pk=sha256).first() if sha256 in known else None
    if blob is None:
        raise NotFoundError("This is no file of the run.")
    found: Blob = blob
    return found


@contextmanager
def requested(project: Project, task: SandboxTask) -> Iterator[SandboxRun]:
    """A run that the control loop starts; its row is gone when the block ends, and its Job a round later."""
    run = SandboxRun.objects.create(project=project, task=task.to_dict())
    wake(EVENTS)
    try:
        yield run
    finally:
        SandboxRun.objects.filter(pk=run.pk).delete()
        wake(EVENTS)


def wait_for(run: SandboxRun) -> Ended:
    """How the run ended. Raises SandboxUnavailableError when the cluster could not make it."""
    while True:
        run.refresh_from_db()
        if run.outcome is not None:
            return _ended(run.outcome)
        if run.failure:
            raise SandboxUnavailableError(run.failure)
        if run.started_at is None and timezone.now() - run.requested_at > NOT_STARTED_AFTER:
            raise SandboxUnavailableError(
                "No control loop started the run within 15 minutes; an administrator must see whether one is running."
            )
        time.sleep(POLL_S)


def record_started(run_id: UUID, *, now: datetime) -> None:
    SandboxRun.objects.open().filter(pk=run_id).update(started_at=now)


def record_outcome(run_id: UUID, outcome: dict[str, Any], *, now: datetime) -> bool:
    """The first report of a run counts; returns whether it was this one."""
    return bool(SandboxRun.objects.open().filter(pk=run_id).update(outcome=outcome, ended_at=now))


def record_failure(run_id: UUID, words: str, *, now: datetime) -> None:
    logger.warning("sandbox.run_failed", run=str(run_id), reason=words)
    SandboxRun.objects.open().filter(pk=run_id).update(failure=words[:2000], ended_at=now)


def forget_abandoned(*, now: datetime) -> int:
    """Removes runs whose worker was killed, long after anybody could wait for them; returns how many rows."""
    before = now - NOT_STARTED_AFTER - timedelta(hours=2)
    return int(SandboxRun.objects.filter(requested_at__lt=before).delete()[0])


def _ended(outcome: dict[str, Any]) -> Ended:
    return Ended(
        outcome["exit_code"],
        outcome["output"],
        outcome["printed"],
        End(outcome["end"]),
        outcome["proof"],
        outcome["is_cut"],
    )
