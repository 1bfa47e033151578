# SPDX-License-Identifier: Apache-2.0
"""Celery's part of jobs: trying a job out before it may be scheduled, and clearing away what ended jobs left."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import structlog
from celery import shared_task
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from mlhub.core.locks import work_lock
from mlhub.environments.models import EnvironmentState
from mlhub.jobs import actions
from mlhub.jobs.artifacts import checkpoint_files
from mlhub.jobs.execution import environments, inputs, startup, validations
from mlhub.jobs.execution.causes import failure
from mlhub.jobs.limits.profile_limits import misfit
from mlhub.jobs.models import Checkpoint, DeletedJob, Job, PassedValidation, Preflight
from mlhub.jobs.retention.checkpoint_retention import jobs_without_checkpoints
from mlhub.jobs.states import ENDED
from mlhub.storage import work_queue
from mlhub.storage.inspection import inspect
from mlhub.storage.models import WorkItem
from mlhub.wire.exits import Cause
from mlhub.wire.sandbox import BlobArgument, TextArgument

logger = structlog.stdlib.get_logger(__name__)
STUCK_AFTER_S = 45.0
MAX_PASSED_AT_ONCE = 1000  # jobs that one dry run passes; those after them are passed at their own turn
CAUSES = {
    "out_of_memory": Cause.OUT_OF_MEMORY,
    "not_a_number": Cause.NOT_A_NUMBER,
    "too_slow": Cause.STALLED,
    "storage_quota": Cause.STORAGE_QUOTA,
}


@shared_task
def hand_off_job(job_id: str) -> None:
    """Tries model and data out in the sandbox: then the scheduler may have the job, or it FAILED with the reason."""
    with work_lock(f"preflight:{job_id}") as is_mine:
        jobs = Job.objects.select_related(
            "dataset_version__dataset", "model_version__model", "model_version__code_version",
            "model_version__dataset_version", "model_version__environment__layer",
            "model_version__code_version__environment__layer", "project__organisation",
        )  # fmt: skip
        job = jobs.filter(pk=job_id, preflight=Preflight.PENDING).exclude(state__in=ENDED).first()
        if is_mine and job is not None:
            structlog.contextvars.bind_contextvars(organisation=str(job.project.organisation_id))
            _try_out(job)


@shared_task
def sweep_not_handed_off() -> int:
    """Queues again what has waited too long for its dry run and is in no queue; returns how many."""
    before = timezone.now() - timedelta(seconds=STUCK_AFTER_S)
    queued = WorkItem.objects.open().values("subject_id")
    stuck = Job.objects.live().filter(preflight=Preflight.PENDING, submitted_at__lt=before).exclude(pk__in=queued)
    found = list(stuck.select_related("project__organisation", "created_by")[:500])
    for job in found:
        organisation = job.project.organisation
        work_queue.enqueue(actions.HAND_OFF, job.id, organisation=organisation, user=job.created_by, is_bulk=True)
    return len(found)


@shared_task
def collect_checkpoints() -> int:
    """Removes the checkpoints of deleted jobs, and of jobs that ended long ago, as the settings have it; returns how
    many folders. Pinned checkpoints stay until their job is deleted.

    Folders of jobs that the database does not know are left alone: after an older database was restored they are newer
    work.
    """
    folders = {path.name: path for path in Path(settings.CHECKPOINT_ROOT).glob("*") if _is_id(path.name)}
    deleted = DeletedJob.objects.filter(pk__in=folders)
    removed = [checkpoint_files.remove_but(folders[str(job_id)], ()) for job_id in deleted.values_list("id", flat=True)]
    over = jobs_without_checkpoints(timezone.now()).filter(pk__in=folders)
    removed += [_collect(job_id, folders[str(job_id)]) for job_id in over.values_list("id", flat=True)]
    n_unknown = len(folders) - Job.objects.filter(pk__in=folders).count() - deleted.count()
    if n_unknown:
        logger.warning("checkpoints.of_unknown_jobs", folders=n_unknown, root=str(settings.CHECKPOINT_ROOT))
    return sum(removed)


def _collect(job_id: UUID, folder: Path) -> bool:
    """Removes an ended job's checkpoints but for the pinned ones, unless the job was resumed or deleted meanwhile.

    The row is locked until they are gone, so that no attempt is opened that would resume from them.
    """
    with transaction.atomic():
        ended = jobs_without_checkpoints(timezone.now()).select_for_update()
        if not ended.filter(pk=job_id).values_list("id", flat=True):
            return False
        pinned = Checkpoint.objects.filter(attempt__job=job_id, is_pinned=True)
        return checkpoint_files.remove_but(folder, set(pinned.values_list("name", flat=True)))


@shared_task
def continue_with_environment(environment_id: str) -> int:
    """Queues the jobs that waited for this environment, which is ready or has failed; returns how many."""
    found = environments.waiting_for(environment_id)
    for job in found:
        organisation = job.project.organisation
        work_queue.enqueue(actions.HAND_OFF, job.id, organisation=organisation, user=job.created_by, is_bulk=True)
    return len(found)


def _try_out(job: Job) -> None:
    """Makes the dry run, unless one of the same content and settings passed before.

    A job whose environment is being built waits; the build's end queues it again.
    """
    environment = environments.current_environment(job)
    if environment is not None and environment.state == EnvironmentState.BUILDING:
        return
    if environment is not None and environment.state == EnvironmentState.FAILED:
        _fail(job, environment.error or {})
        return
    job.validation_key = validations.key_of(job)  # the runtime may have changed since the submission
    job.startup = startup.with_mark(job.startup, startup.VALIDATION_BEGUN, timezone.now())
    Job.objects.filter(pk=job.pk).update(validation_key=job.validation_key, startup=job.startup)
    known = validations.find(job)
    if known is not None and actions.reuse_validation(job, known):
        return
    there = tuple(replace(item, uri="") for item in inputs.inputs_of(job))
    blobs = [part for item in there for part in ("--blob", item.sha256, BlobArgument(item.sha256, item.size_bytes))]
    spec = TextArgument(validations.dry_run_spec(job, there).to_json())
    verdict = inspect("preflight", "--spec", spec, *blobs, project=job.project)
    error = verdict.error or misfit(job, verdict.found["profile"])
    if verdict.error is None:
        kept = validations.keep(job, verdict.found["profile"])
        if error is None:
            actions.pass_preflight(job, profile=verdict.found["profile"], validation=kept)
        _pass_others(kept)
    if error is not None:
        _fail(job, error)


def _fail(job: Job, error: dict[str, str]) -> None:
    """error: {code, field, message, remedy, traceback?}."""
    found = failure(CAUSES.get(error["code"], Cause.USER_CODE), message=error["message"])
    found |= {
        "message": error["message"],
        "remedy": error["remedy"] or found["remedy"],
        "traceback": error.get("traceback") or None,
    }
    logger.info("job.preflight_failed", job=job.id, error=json.dumps(error)[:500])
    actions.fail_preflight(job, failure={**found, "field": error["field"]})


def _pass_others(validation: PassedValidation) -> None:
    """Jobs that wait for the same dry run need none; those that do not fit for another reason keep their turn."""
    for other in validations.waiting_for(validation, limit=MAX_PASSED_AT_ONCE):
        actions.reuse_validation(other, validation)


def _is_id(name: str) -> bool:
    try:
        UUID(name)
    except ValueError:
        return False
    return True
