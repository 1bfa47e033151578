# SPDX-License-Identifier: Apache-2.0
"""Stalled workers: what their launchers reported, and which workers that leaves for the others to wait for."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.utils import timezone

from mlhub.jobs.models import Attempt, Job
from mlhub.metrics.models import StallRecord
from mlhub.registry.models import Kind
from mlhub.wire.report import PhaseReport

DOINGS = ("start", "input", "compute", "sync")
MAX_STILL_S = 10**7


def record_stall(attempt: Attempt, report: PhaseReport, *, worker: int) -> None:
    """Stores the report of a stalled worker; deletes it when the worker is moving again."""
    if report.phase == "moving":
        StallRecord.objects.filter(attempt=attempt, worker=worker).delete()
        return
    doing, step, still_s = (report.detail.get(name) for name in ("doing", "step", "still_s"))
    now = timezone.now()
    found = {
        "since": max(now - timedelta(seconds=_seconds(still_s)), _logged_at(attempt)),
        "reported_at": now,
        "step": max(0, step) if isinstance(step, int) else 0,
        "doing": doing if doing in DOINGS else "",
    }
    StallRecord.objects.update_or_create(attempt=attempt, worker=worker, defaults=found)


def _logged_at(attempt: Attempt) -> datetime:
    """When a script last logged: its launcher does not see what it sends to the platform by itself (MLflow)."""
    job = Job.objects.select_related("model_version").get(pk=attempt.job_id)
    at = job.progress_at if job.model_version.kind == Kind.SCRIPT else None
    return at or datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True)
class Waited:
    """The workers that a stalled gang waits for. busy: they report that they do not wait, but read or compute;
    silent: they report nothing, because their machine or network is gone, or because it is too early."""

    busy: tuple[int, ...]
    silent: tuple[int, ...]

    def __str__(self) -> str:
        parts = [f"{_workers(self.busy)} in its own code"] if self.busy else []
        parts += [f"{_workers(self.silent)}, which reports nothing"] if self.silent else []
        return " and ".join(parts) or "the parameter servers, or the network between the workers"


def waited_for(attempt: Attempt) -> Waited:
    reported = dict(StallRecord.objects.filter(attempt=attempt).values_list("worker", "doing"))
    return Waited(
        busy=tuple(sorted(worker for worker, doing in reported.items() if doing != "sync")),
        silent=tuple(worker for worker in range(attempt.n_workers) if worker not in reported),
    )


def _workers(numbers: tuple[int, ...]) -> str:
    return f"worker{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}"


def _seconds(value: Any) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return min(float(value), MAX_STILL_S) if is_number and value > 0 else 0.0
