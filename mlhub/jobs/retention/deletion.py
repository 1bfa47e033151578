# SPDX-License-Identifier: Apache-2.0
"""Deleting a job that has ended: what goes with it, what stays, and who may."""

from __future__ import annotations

import stat
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.db import transaction

from mlhub.core.dispatch import send_on_commit
from mlhub.core.errors import ConflictError
from mlhub.jobs.events import append_of_job
from mlhub.jobs.models import Artifact, DeletedJob, Job
from mlhub.jobs.retention.retention_holds import hold_on
from mlhub.jobs.states import ENDED, predicate
from mlhub.registry.models import ModelVersion
from mlhub.storage import actions as storage
from mlhub.storage import work_queue
from mlhub.tenants.access_control.permissions import require_role
from mlhub.tenants.models import User
from mlhub.tenants.roles import Role
from mlhub.wire.trees import statuses_below

COLLECT = "mlhub.jobs.tasks.collect_checkpoints"
REMOVE_DETACHED = "mlhub.retention.tasks.remove_detached"


@dataclass(frozen=True)
class Deletion:
    """What deleting a job means now. refusal: why it is refused, "" = it is not; remedy: what to do then.

    checkpoint_bytes: None where only the backend's pods reach the checkpoints. trained_model: "name, version 2" of the
    model version that training made, which stays; "" = none. n_clones: jobs that were cloned from it, which stay.
    """

    refusal: str
    remedy: str
    n_attempts: int
    checkpoint_bytes: int | None
    result_bytes: int
    trained_model: str
    n_clones: int


def deletion_of(job: Job, *, actor: User) -> Deletion:
    """What delete_job would do. Raises NotAllowedError for who may not delete it."""
    _require_right(job, actor)
    conflict = _conflict(job)
    trained = ModelVersion.objects.filter(job_id=job.pk).select_related("model").first()
    results = Artifact.objects.downloadable(job)
    return Deletion(
        refusal=conflict.message if conflict else "",
        remedy=conflict.remedy if conflict else "",
        n_attempts=job.attempts.count(),
        checkpoint_bytes=_bytes_below(Path(settings.CHECKPOINT_ROOT) / str(job.pk)),
        result_bytes=sum(results.values_list("blob__size_bytes", flat=True)),
        trained_model=f"{trained.model.name}, version {trained.number}" if trained else "",
        n_clones=job.clones.count(),
    )


def delete_job(job: Job, *, actor: User) -> None:
    """For who submitted it, and admins: the job with its attempts, curves, log, predictions and checkpoints.

    The model that it trained stays, and so do events. Points, lines and checkpoints, however many, are out of reach at
    once, and removed after the request. Raises ConflictError while it has not ended, or the organisation's bounds of
    retention forbid it, and NotAllowedError.
    """
    _require_right(job, actor)
    with transaction.atomic():
        found = Job.objects.select_for_update(of=("self",)).select_related("project__organisation").get(pk=job.pk)
        conflict = _conflict(found)
        if conflict is not None:
            raise conflict
        n_attempts = found.attempts.count()
        remove_job(found)
        append_of_job(
            "job.deleted",
            found,
            actor=actor,
            state=found.state,
            project_id=str(found.project_id),
            n_attempts=n_attempts,
        )
        # should a message be lost, the next collection finds the same
        send_on_commit(COLLECT)
        send_on_commit(REMOVE_DETACHED)


def remove_job(job: Job) -> None:
    """The rows of a job that has ended, in the caller's transaction. Points, lines and checkpoints are out of reach."""
    for attempt_id in job.attempts.values_list("id", flat=True):
        storage.release(owner_kind="artifact", owner_id=attempt_id)
    work_queue.withdraw([job.pk])
    ModelVersion.objects.filter(job_id=job.pk).update(job_id=None)
    DeletedJob.objects.create(id=job.pk, project_id=job.project_id)
    Job.objects.filter(pk=job.pk).delete()


def _require_right(job: Job, actor: User) -> None:
    require_role(actor, job.project, Role.SUBMITTER if job.created_by_id == actor.id else Role.ADMIN)


def _conflict(job: Job) -> ConflictError | None:
    if job.state in ENDED:
        return hold_on(job)
    return ConflictError(
        f"{job.name} {predicate(job.state)}: only jobs that have ended can be deleted.",
        code="job_live",
        remedy="Cancel it, and delete it when it has ended.",
        state=job.state,
    )


def _bytes_below(folder: Path) -> int | None:
    """None when the folder is not there. Files that are removed meanwhile do not count."""
    if not folder.is_dir():
        return None if settings.BACKEND == "kubernetes" else 0
    return sum(found.st_size for found in statuses_below(folder) if stat.S_ISREG(found.st_mode))
