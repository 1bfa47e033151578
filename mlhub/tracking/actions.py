# SPDX-License-Identifier: Apache-2.0
"""Writes to tracked runs: one verb a function, one transaction each."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from mlhub.core.errors import ConflictError, InvalidInputError, NotFoundError, QuotaExceededError
from mlhub.events.actions import append
from mlhub.events.changes import ChangeKind, report_change
from mlhub.jobs.models import Job
from mlhub.storage import actions as storage
from mlhub.tenants.access_control.permissions import require_role
from mlhub.tenants.actions import require_open
from mlhub.tenants.models import Project, User
from mlhub.tenants.roles import Role
from mlhub.tracking.access import Caller
from mlhub.tracking.job_runs import store_job_points
from mlhub.tracking.limits import MAX_DATASETS, MAX_RUN_PARAMS, MAX_RUN_TAGS, MAX_TAG_VALUE, Entry, LogBatch, check_key
from mlhub.tracking.models import ExperimentTags, Run, RunDataset, RunParam, RunStatus, RunTag
from mlhub.tracking.pods import mask_of, masked_batch
from mlhub.tracking.points import SeriesEnd, lock_series, store_points
from mlhub.wire.masking import masked_texts

OWNER_KIND = "run"  # of the blobs of a run's artifacts
NAME_TAG = "mlflow.runName"
HISTORY_TAG = "mlflow.log-model.history"
MAX_EXPERIMENT_TAGS = 200


def create_run(caller: Caller, project: Project, *, name: str, started_ms: int, tags: Sequence[Entry] = ()) -> Run:
    """Raises NotAllowedError, ConflictError for an archived project, InvalidInputError."""
    caller.require_writer(project)
    if caller.attempt is None:  # a job of an archived project goes on to its end
        require_open(project)
    LogBatch(tags=tags).check()
    tags = masked_batch(LogBatch(tags=tags), caller.attempt).tags
    if project.runs.all()[settings.MAX_RUNS_PER_PROJECT - 1 :][:1].exists():
        raise QuotaExceededError(
            f"The project {project.name} may have {settings.MAX_RUNS_PER_PROJECT:,} runs.",
            field="experiment_id",
            remedy="Delete runs for good, or use another project.",
            limit="runs",
        )
    job = caller.attempt.job if caller.attempt is not None else None
    with transaction.atomic():
        run = Run.objects.create(
            project=project,
            name=mask_of(caller.attempt)(name),
            created_by=caller.user,
            started_ms=started_ms,
            parent_job=job,
        )
        _set_tags(run, tags)
        report_change(ChangeKind.RUN, organisation_id=project.organisation_id)
    return run


def own_run_of(job: Job) -> Run:
    """The row that has what is logged to a job's own run beyond the job; made at the first such entry."""
    now_ms = int(job.submitted_at.timestamp() * 1000)
    first = {"project": job.project, "job": job, "name": job.name, "created_by": job.created_by, "started_ms": now_ms}
    run: Run = Run.objects.get_or_create(pk=job.pk, defaults=first)[0]
    return run


def log_batch(caller: Caller, target: Run | Job, batch: LogBatch) -> None:
    """Logs all of it or nothing.

    Raises InvalidInputError for what is over a limit and for a parameter that has another value, NotAllowedError,
    ConflictError for a deleted run or a job that does not run, GoneError, QuotaExceededError.
    """
    caller.require_logger(target)
    batch.check()
    batch = masked_batch(batch, caller.attempt)
    with transaction.atomic():
        if isinstance(target, Job):
            store_job_points(target, batch.points)
            if not (batch.params or batch.tags):
                return
            run = own_run_of(target)
        else:
            run = target if batch.points else locked(target)
            if batch.points:
                store_points(run, batch.points, known=_locked_series(run))
        number = caller.attempt.number if caller.attempt is not None and run.job_id is not None else 0
        _log_params(run, batch.params, attempt_number=number)
        _set_tags(run, batch.tags)


def _locked_series(run: Run) -> dict[str, SeriesEnd]:
    """The run's metrics, read once its row is locked as by locked(). Raises ConflictError, NotFoundError."""
    found = lock_series(run.pk)
    if found is None:
        raise _gone(run)
    _begin_change(run, deleted_at=found.deleted_at)
    return found.ends


def delete_tag(caller: Caller, target: Run | Job, key: str) -> bool:
    """Returns whether the run had the tag."""
    caller.require_owner(target)
    return bool(RunTag.objects.filter(run_id=target.pk, key=key).delete()[0])


def log_datasets(caller: Caller, target: Run | Job, datasets: Sequence[RunDataset]) -> None:
    """Adds inputs to a run; the same one again changes nothing. Raises InvalidInputError."""
    caller.require_logger(target)
    with transaction.atomic():
        run = own_run_of(target) if isinstance(target, Job) else locked(target)
        if len(datasets) + run.datasets.count() > MAX_DATASETS:
            raise InvalidInputError(f"A run may have {MAX_DATASETS:,} datasets.", field="datasets")
        mask = mask_of(caller.attempt)
        for dataset in datasets:
            dataset.run, dataset.name = run, mask(dataset.name)
            dataset.description = masked_texts(dataset.description, mask)
            dataset.tags = masked_texts(dataset.tags, mask)
        RunDataset.objects.bulk_create(datasets, ignore_conflicts=True)


def update_run(
    caller: Caller, target: Run | Job, *, status: str = "", ended_ms: int | None = None, name: str = ""
) -> None:
    """A job's state follows its pods alone: what a client says of the end of its run, or of its name, moves no job."""
    caller.require_writer(target.project)
    if isinstance(target, Job):
        return
    with transaction.atomic():
        run = locked(target)
        if status:
            run.status = _status(status)
        if ended_ms is not None:
            run.ended_ms = ended_ms
        if name:
            check_key(name, field="run_name")
            run.name = mask_of(caller.attempt)(name)
        run.save(update_fields=["status", "ended_ms", "name"])
    target.status, target.ended_ms, target.name = run.status, run.ended_ms, run.name


def set_deleted(caller: Caller, target: Run | Job, *, is_deleted: bool) -> None:
    """MLflow's way of deleting: the run is hidden and may be restored. Raises ConflictError for a job."""
    caller.require_owner(target)
    if isinstance(target, Job):
        raise ConflictError("A job is not deleted as a run.", remedy="Delete it on its page when it has ended.")
    with transaction.atomic():
        Run.objects.filter(pk=target.pk).update(deleted_at=timezone.now() if is_deleted else None)
        report_change(ChangeKind.RUN, organisation_id=target.project.organisation_id)


def delete_run(run: Run, *, actor: User) -> None:
    """For good, with its curves and artifacts. For who made it, and admins. Raises NotAllowedError."""
    require_role(actor, run.project, Role.MEMBER if run.created_by_id == actor.pk else Role.ADMIN)
    remove_run(run, actor=actor)


def remove_run(run: Run, *, actor: User | None) -> None:
    """actor: None where retention removes a run that was deleted long ago."""
    with transaction.atomic():
        lock_run(run.pk)
        storage.release(owner_kind=OWNER_KIND, owner_id=run.pk)
        Run.objects.filter(pk=run.pk).delete()
        append(
            "run.deleted",
            organisation=run.project.organisation,
            subject_kind="run",
            subject_id=run.pk,
            actor=actor,
            name=run.name,
            project_id=str(run.project_id),
        )


def lock_run(run_id: UUID) -> Run | None:
    """Held while points are written and while the run is removed: no constraint ties points to it."""
    found: Run | None = Run.objects.select_for_update(of=("self",)).filter(pk=run_id).first()
    return found


def locked(run: Run) -> Run:
    """The run's row, for a change of it, which is reported. Raises ConflictError for a run that was deleted,
    NotFoundError for one that is gone."""
    found = lock_run(run.pk)
    if found is None:
        raise _gone(run)
    _begin_change(run, deleted_at=found.deleted_at)
    return found


def _gone(run: Run) -> NotFoundError:
    return NotFoundError(f"There is no run {run.pk} any more.", field="run_id")


def _begin_change(run: Run, *, deleted_at: datetime | None) -> None:
    """Of a run whose row is locked; the change is reported. Raises ConflictError for a run that was deleted."""
    if deleted_at is not None:
        raise ConflictError(f"The run {run.pk} is deleted.", code="run_deleted", remedy="Restore it first.")
    report_change(ChangeKind.RUN, organisation_id=run.project.organisation_id)


def set_experiment_tag(caller: Caller, project: Project, key: str, value: str | None) -> bool:
    """Writes one, or takes it away (None), for any member.

    Returns whether there was one of that key. Raises InvalidInputError, NotAllowedError.
    """
    caller.require_writer(project)
    LogBatch(tags=[Entry(key, value or "")]).check()
    with transaction.atomic():
        ExperimentTags.objects.get_or_create(project=project)
        found: ExperimentTags = ExperimentTags.objects.select_for_update(of=("self",)).get(project=project)
        had = found.values.pop(key, None) is not None
        if value is not None:
            found.values[key] = value
        if len(found.values) > MAX_EXPERIMENT_TAGS:
            raise QuotaExceededError(
                f"An experiment may have {MAX_EXPERIMENT_TAGS:,} tags.", field="key", limit="experiment_tags"
            )
        found.save(update_fields=["values"])
    return had


def note_logged_model(caller: Caller, target: Run | Job, about: dict[str, Any]) -> None:
    """What clients before MLflow 3 say of a model that they logged: a list in a tag, of which the oldest go when it is
    as long as a tag may be."""
    caller.require_logger(target)
    with transaction.atomic():
        run = own_run_of(target) if isinstance(target, Job) else locked(target)
        tag = run.tags.filter(key=HISTORY_TAG).first()
        history = [*_listed_in(tag), about]
        while history and len(json.dumps(history)) > MAX_TAG_VALUE:
            history.pop(0)
        _set_tags(run, [Entry(HISTORY_TAG, json.dumps(history))])


def _listed_in(tag: RunTag | None) -> list[Any]:
    """A client may have written anything there."""
    try:
        found = json.loads(tag.value) if tag is not None else []
    except ValueError:
        return []
    return found if isinstance(found, list) else []


def _log_params(run: Run, params: Sequence[Entry], *, attempt_number: int) -> None:
    if not params:
        return
    # by key, so that two workers that log the same ones do not wait for each other in a circle
    ordered = sorted(params, key=lambda param: param.key)
    rows = [RunParam(run=run, key=p.key, value=p.value, attempt_number=attempt_number) for p in ordered]
    RunParam.objects.filter(run=run, key__in=[p.key for p in params], attempt_number__lt=attempt_number).delete()
    RunParam.objects.bulk_create(rows, ignore_conflicts=True)
    _require_few(run, "parameters", run.params.count(), MAX_RUN_PARAMS)
    stored = dict(RunParam.objects.filter(run=run, key__in=[p.key for p in params]).values_list("key", "value"))
    for param in params:
        if stored[param.key] != param.value:
            raise InvalidInputError(
                f"Changing param values is not allowed. Param with key='{param.key}' was already logged with "
                f"value='{stored[param.key][:200]}' for run ID='{run.pk}'.",
                code="param_changed",
                field="params",
                remedy="Log it under another name, or in another run.",
            )


def _set_tags(run: Run, tags: Sequence[Entry]) -> None:
    values: dict[str, str] = {tag.key: tag.value for tag in tags}
    name = values.pop(NAME_TAG, "")[:250]
    if name and run.job_id is None:
        Run.objects.filter(pk=run.pk).update(name=name)
        run.name = name
    rows: list[Any] = [RunTag(run=run, key=key, value=value) for key, value in sorted(values.items())]
    RunTag.objects.bulk_create(rows, update_conflicts=True, unique_fields=["run", "key"], update_fields=["value"])
    if rows:
        _require_few(run, "tags", run.tags.count(), MAX_RUN_TAGS)


def _require_few(run: Run, what: str, n: int, most: int) -> None:
    """Raises QuotaExceededError, which takes back what was just stored."""
    if n > most:
        raise QuotaExceededError(
            f"The run {run.name} may have {most:,} {what}.",
            field=what,
            remedy="Log them as an artifact, or to another run.",
            limit=what,
        )


def _status(text: str) -> str:
    if text not in RunStatus.values:
        raise InvalidInputError(
            f"{text[:50]!r} is no status.", field="status", remedy=f"Give one of {', '.join(RunStatus.values)}."
        )
    return text
