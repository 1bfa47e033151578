# SPDX-License-Identifier: Apache-2.0
"""What the loop does once in a while: has ended jobs' checkpoints removed where only the backend's pods reach them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from uuid import UUID

import structlog

from mlhub.backends.protocol import Backend, BackendUnavailableError, ItemKind
from mlhub.control.fault_isolation.isolation import FaultIsolation
from mlhub.core.installation import is_restored_lately
from mlhub.jobs.models import DeletedJob
from mlhub.jobs.retention.checkpoint_retention import jobs_without_checkpoints
from mlhub.jobs.retention.retention_rules import CHECKPOINTS, cutoffs
from mlhub.tenants.models import Project

logger = structlog.stdlib.get_logger(__name__)
EVERY = timedelta(hours=6)
LOOKS_BACK = timedelta(days=3)  # a project whose last job ended longer ago was swept several times since


@dataclass
class Housekeeping:
    """last_at: when it was done last; a new process begins at once."""

    last_at: datetime | None = None

    def tend(self, backend: Backend, *, now: datetime, isolation: FaultIsolation | None = None) -> int:
        """Returns how many projects it asked for. A backend that is away is asked the next time.

        isolation: gets the projects that cannot be asked for.
        """
        isolation = FaultIsolation() if isolation is None else isolation
        if self.last_at is not None and now - self.last_at < EVERY:
            return 0
        self.last_at = now
        if is_restored_lately(now):
            return 0  # a volume may contain checkpoints of jobs that are newer than the restored database
        over, kept = _over(now), cutoffs(CHECKPOINTS, now=now)
        n_asked = 0
        for project in Project.objects.filter(id__in=over).select_related("organisation"):
            kept_for = timedelta(days=kept.days_of(project.id) or 0.0)
            ask = partial(_sweep, backend, project, over[project.id], kept_for)
            n_asked += isolation.attempt(ask, kind=ItemKind.PROJECT, name=str(project.id), default=False)
        return n_asked


def _over(now: datetime) -> dict[UUID, list[str]]:
    """By project, the jobs whose checkpoints may go: deleted ones, and those that ended longer ago than is kept.

    Jobs are named that are known to be over: what the database does not know, or shows as alive, is not touched.
    """
    kept = cutoffs(CHECKPOINTS, now=now)
    longest = max([kept.days or 0.0, *(own.days or 0.0 for own in kept.own.values())])
    deleted = DeletedJob.objects.filter(deleted_at__gt=now - timedelta(days=longest) - LOOKS_BACK)
    found = list(deleted.order_by("id").values_list("project_id", "id"))
    ended = jobs_without_checkpoints(now, within=LOOKS_BACK)
    found += ended.order_by("id").values_list("project_id", "id")
    over: dict[UUID, list[str]] = {}
    for project_id, job_id in found:
        over.setdefault(project_id, []).append(str(job_id))
    return over


def _sweep(backend: Backend, project: Project, ended: Sequence[str], kept_for: timedelta) -> bool:
    """Returns whether the backend could be asked."""
    labels = {
        "organisation": project.organisation.name,
        "project": project.name,
        "project_id": str(project.id),
    }
    try:
        backend.sweep_checkpoints(labels, ended=ended, older_than_s=kept_for.total_seconds())
    except BackendUnavailableError as error:
        logger.warning("housekeeping.delayed", project=project.id, error=error)
        return False
    return True
