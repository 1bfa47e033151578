# SPDX-License-Identifier: Apache-2.0
"""Removes organisations and projects that are being deleted, in small transactions and in an order in which each may be
the last.

1. Every blob that the organisation or the project holds gets a mark: a holding of the deletion itself.
2. Studies, jobs with their checkpoints, runs, models, datasets, environments (of an organisation) and uploads go, in
   batches, then projects.
3. Marks go, one after the other, and with each the bytes, unless somebody else holds them.
4. Nothing may be left that names the organisation; then its row goes, with members, quotas and tokens.
Machines with agents remove what they cached within minutes of their next request about it, so an end is one of the
platform alone: `machines_left` names those that have not yet said that it is gone.
A process that is killed loses at most the batch that it was removing: the next run finds what is left.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import F, QuerySet
from django.utils import timezone

from mlhub.core.dispatch import send_on_commit
from mlhub.core.errors import ConflictError
from mlhub.core.locks import work_lock
from mlhub.datasets.actions import OWNER_KIND as DATASET
from mlhub.datasets.models import Dataset
from mlhub.environments.actions import OWNER_KIND as ENVIRONMENT
from mlhub.environments.models import PythonEnvironment
from mlhub.experiments.models import Study
from mlhub.jobs.artifacts import checkpoint_files
from mlhub.jobs.models import DeletedJob, Job
from mlhub.jobs.retention.deletion import REMOVE_DETACHED, remove_job
from mlhub.jobs.states import ENDED
from mlhub.registry.actions import OWNER_KIND as MODEL
from mlhub.registry.models import Model, ModelVersion
from mlhub.retention.deletion_contents import n_things, record_deletion
from mlhub.retention.models import OrganisationDeletion, ProjectDeletion, TenantDeletion
from mlhub.retention.project_caches import machines_left, remove_cache
from mlhub.storage import actions as storage
from mlhub.storage import resumable, work_queue
from mlhub.storage.models import Blob, Holding, ResumableUpload
from mlhub.tenants.actions.hierarchy.projects import contents_of
from mlhub.tenants.models import Organisation, Project, Team
from mlhub.tracking.actions import OWNER_KIND as RUN
from mlhub.tracking.actions import lock_run
from mlhub.tracking.artifacts import LOGGED_OWNER_KIND
from mlhub.tracking.models import LoggedModel, Run
from mlhub.tracking.points import remove_points

BATCH, MARKS = 50, 2000
POINTS = 5000
STORED_BEFORE = timedelta(hours=1)  # bytes that an upload stored since stay for the usual collection
GOES_WITH_IT = {"team", "teams", "webhook", "webhooks"}


def erase(deletion: TenantDeletion, *, run_s: float) -> bool:
    """Goes on for so long; returns whether it has ended. Raises ConflictError for what keeps it from ending."""
    until = time.monotonic() + run_s
    _count_anew(deletion)
    for name, step in STEPS.items():
        _row(deletion).update(step=name, problem="")
        while (n := step(deletion)) > 0:
            is_counted = name != "marks"
            _row(deletion).update(n_removed=F("n_removed") + n * is_counted)
            if time.monotonic() > until:
                return False
    _end(deletion)
    return True


def _row(deletion: TenantDeletion) -> QuerySet[Any]:
    return type(deletion)._default_manager.filter(pk=deletion.pk)


def _count_anew(deletion: TenantDeletion) -> None:
    """What a run that was killed removed and did not count is counted, too."""
    _row(deletion).update(n_removed=max(0, deletion.n_total - n_things(deletion)))


def _mark_blobs(deletion: TenantDeletion) -> int:
    # a mark is of no project, so that it outlives the one that is deleted
    marks_there = _marks(deletion).values("blob")
    held = _unmarked(deletion).exclude(blob__in=marks_there)
    blobs = list(held.values_list("blob_id", flat=True).distinct()[:MARKS])
    marks = [
        Holding(organisation_id=deletion.organisation_id, blob_id=blob, owner_kind=deletion.MARK, owner_id=deletion.pk)
        for blob in blobs
    ]
    Holding.objects.bulk_create(marks, ignore_conflicts=True)
    return len(blobs)


def _marks(deletion: TenantDeletion) -> QuerySet[Holding]:
    return Holding.objects.filter(owner_kind=deletion.MARK, owner_id=deletion.pk)


def _unmarked(deletion: TenantDeletion) -> QuerySet[Holding]:
    return Holding.objects.filter(deletion.holdings()).exclude(owner_kind=deletion.MARK, owner_id=deletion.pk)


def _remove_studies(deletion: TenantDeletion) -> int:
    ids = Study.objects.filter(deletion.rows_of()).values_list("pk", flat=True)[:BATCH]
    found = list(ids)
    Study.objects.filter(pk__in=found).delete()
    return len(found)


def _remove_jobs(deletion: TenantDeletion) -> int:
    jobs = Job.objects.filter(deletion.rows_of())
    found = list(jobs.filter(state__in=ENDED)[:BATCH])
    for job in found:
        with transaction.atomic():
            remove_job(job)
        _remove_checkpoints(job.pk)
    if not found and jobs.exists():
        raise ConflictError("A job has begun meanwhile: cancel it.", code="jobs_live")
    return len(found)


def _remove_checkpoints(job_id: UUID) -> None:
    checkpoint_files.remove_but(Path(settings.CHECKPOINT_ROOT) / str(job_id), ())


def _remove_runs(deletion: TenantDeletion) -> int:
    run = Run.objects.filter(deletion.rows_of(), job=None).first()
    if run is None:
        return 0
    while remove_points(run, limit=POINTS):
        pass
    with transaction.atomic():
        lock_run(run.pk)
        storage.release(owner_kind=RUN, owner_id=run.pk)
        Run.objects.filter(pk=run.pk).delete()
    return 1


def _remove_logged_models(deletion: TenantDeletion) -> int:
    found = list(LoggedModel.objects.filter(deletion.rows_of())[:BATCH])
    with transaction.atomic():
        for one in found:
            storage.release(owner_kind=LOGGED_OWNER_KIND, owner_id=one.pk)
        LoggedModel.objects.filter(pk__in=[one.pk for one in found]).delete()
    return len(found)


def _remove_models(deletion: TenantDeletion) -> int:
    """What was trained first: it refers to its code."""
    versions = ModelVersion.objects.filter(deletion.rows_of("model__project"))
    for some in (versions.exclude(code_version=None), versions):
        while ids := list(some.values_list("pk", flat=True)[:BATCH]):
            with transaction.atomic():
                for pk in ids:
                    storage.release(owner_kind=MODEL, owner_id=pk)
                work_queue.withdraw(ids)
                ModelVersion.objects.filter(pk__in=ids).delete()
    models = Model.objects.filter(deletion.rows_of())
    n = models.count()
    models.delete()
    return n


def _remove_datasets(deletion: TenantDeletion) -> int:
    found = list(Dataset.objects.filter(deletion.rows_of()).prefetch_related("versions")[:BATCH])
    for dataset in found:
        ids = [version.pk for version in dataset.versions.all()]
        with transaction.atomic():
            for pk in ids:
                storage.release(owner_kind=DATASET, owner_id=pk)
            work_queue.withdraw(ids)
            Dataset.objects.filter(pk=dataset.pk).delete()
    return len(found)


def _remove_environments(deletion: TenantDeletion) -> int:
    if not isinstance(deletion, OrganisationDeletion):  # they are of the organisation, for all its projects
        return 0
    ids = PythonEnvironment.objects.filter(organisation=deletion.organisation_id).values_list("pk", flat=True)
    found = list(ids[:BATCH])
    with transaction.atomic():
        for pk in found:
            storage.release(owner_kind=ENVIRONMENT, owner_id=pk)
        PythonEnvironment.objects.filter(pk__in=found).delete()
    return len(found)


def _remove_uploads(deletion: TenantDeletion) -> int:
    found = list(ResumableUpload.objects.filter(deletion.rows_of())[:BATCH])
    for upload in found:
        resumable.remove(upload)
    return len(found)


def _remove_projects(deletion: TenantDeletion) -> int:
    """With the last of their checkpoints, and what pods prepared of their data, which no row would name any more."""
    project = Project.objects.filter(deletion.projects()).first()
    if project is None:
        return 0
    for job_id in DeletedJob.objects.filter(project=project).values_list("pk", flat=True):
        _remove_checkpoints(job_id)
    remove_cache(project.pk)
    if isinstance(deletion, ProjectDeletion):
        _require_empty(project)
        while _mark_blobs(deletion):  # what a worker stored since the beginning
            pass
        _unmarked(deletion).delete()
    Project.objects.filter(pk=project.pk).delete()
    return 1


def _remove_blobs(deletion: TenantDeletion) -> int:
    with work_lock(storage.REMOVAL) as is_mine:
        if not is_mine:
            raise ConflictError("A backup or a collection is under way; bytes are removed after it.", code="backup")
        return _remove_marked(deletion)


def _remove_marked(deletion: TenantDeletion) -> int:
    # what a worker stored since the beginning
    _unmarked(deletion).delete()
    marks = list(_marks(deletion).select_related("blob")[:BATCH])
    for mark in marks:
        _remove_blob(deletion, mark.pk, mark.blob)
    return len(marks)


def _remove_blob(deletion: TenantDeletion, mark: UUID, blob: Blob) -> None:
    rows = _row(deletion)
    Holding.objects.filter(pk=mark).delete()
    if Holding.objects.filter(blob=blob.pk).exists():
        rows.update(shared_blobs=F("shared_blobs") + 1)
    elif storage.collect(blob.pk, unheld_for=STORED_BEFORE):
        rows.update(bytes_removed=F("bytes_removed") + blob.size_bytes)
    else:
        rows.update(later_blobs=F("later_blobs") + 1)


def _end(deletion: TenantDeletion) -> None:
    with transaction.atomic():
        if isinstance(deletion, OrganisationDeletion):
            _remove_organisation(deletion)
        deletion.refresh_from_db()
        deletion.step, deletion.ended_at, deletion.n_removed = "", timezone.now(), deletion.n_total
        deletion.save(update_fields=["step", "ended_at", "n_removed"])
        record_deletion(
            "erased",
            deletion,
            deletion.requested_by,
            counts=deletion.counts,
            bytes_removed=deletion.bytes_removed,
            shared_blobs=deletion.shared_blobs,
            later_blobs=deletion.later_blobs,
            n_machines_left=len(machines_left(deletion.ended_at)),
        )
        send_on_commit(REMOVE_DETACHED)


def _remove_organisation(deletion: OrganisationDeletion) -> None:
    organisation = Organisation.objects.select_for_update().filter(pk=deletion.organisation_id).first()
    if organisation is not None:
        _require_empty(organisation)
        Team.objects.filter(organisation=organisation).update(parent=None)  # a team protects those above it
        organisation.delete()


def _require_empty(owner: Organisation | Project) -> None:
    left = {kind: n for kind, n in contents_of(owner).items() if kind not in GOES_WITH_IT}
    if isinstance(owner, Organisation) and (n := Holding.objects.filter(organisation=owner).count()):
        left["stored file" if n == 1 else "stored files"] = n
    if left:
        words = ", ".join(f"{n} {kind}" for kind, n in left.items())
        raise ConflictError(f"{words} came meanwhile.", code="not_empty")


STEPS: dict[str, Callable[[TenantDeletion], int]] = {
    "marks": _mark_blobs,
    "studies": _remove_studies,
    "jobs": _remove_jobs,
    "runs": _remove_runs,
    "logged_models": _remove_logged_models,
    "models": _remove_models,
    "datasets": _remove_datasets,
    "environments": _remove_environments,
    "uploads": _remove_uploads,
    "projects": _remove_projects,
    "blobs": _remove_blobs,
}
