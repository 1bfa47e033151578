# SPDX-License-Identifier: Apache-2.0
"""The loop's part of runs in the sandbox: starts those that workers ask for, reports what the cluster could not make,
and removes what no worker waits for any more."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

import structlog
from django.conf import settings

from mlhub.backends.protocol import (
    Backend,
    BackendUnavailableError,
    SandboxRunBackend,
    SandboxRunPhase,
    SandboxRunStatus,
    SandboxSpec,
)
from mlhub.runtime.sandbox.verdicts import End
from mlhub.storage import sandbox_runs
from mlhub.storage.models import SandboxRun
from mlhub.wire.sandbox import VERSION, SandboxTask

logger = structlog.stdlib.get_logger(__name__)
MOST_AT_ONCE = 100  # runs that a round starts; the others wait for the next
VANISHED_AFTER = timedelta(seconds=30)  # a Job that was made is not there: somebody removed it
SIGKILL = 9
LIMITS = {SandboxRunPhase.OUT_OF_MEMORY: End.MEMORY, SandboxRunPhase.OUT_OF_DISK: End.DISK}


def tend_sandbox_runs(backend: Backend, *, now: datetime) -> None:
    """Does nothing where runs are made elsewhere. Raises BackendUnavailableError."""
    if settings.SANDBOX != "jobs" or not isinstance(backend, SandboxRunBackend):
        return
    seen = {status.run_id: status for status in backend.observe_sandbox_runs()}
    runs = {str(run.pk): run for run in SandboxRun.objects.open().select_related("project__organisation")}
    for run_id, run in runs.items():
        if run_id in seen:
            _follow(run, seen[run_id], now=now)
        elif run.started_at is not None and now - run.started_at > VANISHED_AFTER:
            sandbox_runs.record_failure(run.pk, "The Job of this run was removed from the cluster.", now=now)
    _start(backend, [run for run_id, run in runs.items() if run.started_at is None and run_id not in seen], now=now)
    over = sorted(seen.keys() - {str(pk) for pk in SandboxRun.objects.open().values_list("pk", flat=True)})
    backend.remove_sandbox_runs(over)
    sandbox_runs.forget_abandoned(now=now)


def _follow(run: SandboxRun, status: SandboxRunStatus, *, now: datetime) -> None:
    """A pod's own report comes to the API; here are the ends that no pod can report."""
    if run.started_at is None:  # the process that made its Job ended before it could write that down
        sandbox_runs.record_started(run.pk, now=now)
    if status.phase in LIMITS:
        sandbox_runs.record_outcome(run.pk, _killed(LIMITS[status.phase], status.message), now=now)
    elif status.phase is SandboxRunPhase.FAILED:
        sandbox_runs.record_failure(run.pk, status.message, now=now)
    elif status.phase is SandboxRunPhase.DONE:  # it had reported before, or never will
        sandbox_runs.record_failure(run.pk, "Its Job ended without a report.", now=now)


def _killed(end: End, proof: str) -> dict[str, object]:
    words = {"exit_code": -SIGKILL, "output": "", "printed": "", "end": end.value, "proof": proof, "is_cut": False}
    return {"version": VERSION, **words}


def _start(backend: SandboxRunBackend, waiting: list[SandboxRun], *, now: datetime) -> None:
    chosen = sorted(waiting, key=lambda run: run.requested_at)[:MOST_AT_ONCE]
    if not chosen:
        return
    failed = backend.start_sandbox_runs([_spec(run) for run in chosen])
    for run in chosen:
        failure = failed.get(str(run.pk))
        if failure is None:
            sandbox_runs.record_started(run.pk, now=now)
        elif isinstance(failure, BackendUnavailableError):
            logger.warning("sandbox.run_delayed", run=str(run.pk), error=failure)
        else:
            sandbox_runs.record_failure(run.pk, str(failure), now=now)


def _spec(run: SandboxRun) -> SandboxSpec:
    task = SandboxTask.from_dict(run.task)
    run_id: UUID = run.pk
    return SandboxSpec(
        run_id=str(run_id),
        task=task,
        api_url=settings.PUBLIC_URL,
        token=sandbox_runs.token_of(run_id),
        deadline_s=sandbox_runs.deadline_s(task),
        labels={
            "organisation": run.project.organisation.name,
            "project": run.project.name,
            "project_id": str(run.project_id),
        },
    )
