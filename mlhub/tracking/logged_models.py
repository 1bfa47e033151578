# SPDX-License-Identifier: Apache-2.0
"""Logged models of MLflow 3: made before their files come, ready afterwards, inputs and outputs of runs."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from django.conf import settings
from django.db import transaction

from mlhub.core.errors import InvalidInputError, QuotaExceededError
from mlhub.events.actions import append
from mlhub.events.changes import ChangeKind, report_change
from mlhub.jobs.models import Job
from mlhub.storage import actions as storage
from mlhub.tenants.actions import require_open
from mlhub.tenants.models import Project
from mlhub.tracking.access import Caller
from mlhub.tracking.actions import locked, own_run_of
from mlhub.tracking.artifacts import LOGGED_OWNER_KIND
from mlhub.tracking.limits import Entry, LogBatch, LoggedPoint, check_key
from mlhub.tracking.models import LoggedModel, LoggedStatus, Run, RunModel
from mlhub.tracking.pods import mask_of, masked_batch

MAX_PARAMS = MAX_TAGS = 2000  # of a logged model, in all
MAX_METRICS = 1000
MAX_MODELS_OF_RUN = 1000  # inputs and outputs


def create_logged_model(
    caller: Caller,
    project: Project,
    *,
    name: str,
    model_type: str = "",
    run: Run | Job | None = None,
    params: Sequence[Entry] = (),
    tags: Sequence[Entry] = (),
) -> LoggedModel:
    """Raises NotAllowedError, ConflictError for an archived project, InvalidInputError, QuotaExceededError."""
    caller.require_writer(project)
    if caller.attempt is None:  # a job of an archived project goes on to its end
        require_open(project)
    if run is not None and run.project_id != project.pk:
        raise InvalidInputError("The run is one of another experiment.", field="source_run_id")
    check_key(name, field="name")
    LogBatch(params=params, tags=tags).check()
    masked = masked_batch(LogBatch(params=params, tags=tags), caller.attempt)
    most = settings.MAX_RUNS_PER_PROJECT
    if project.logged_models.all()[most - 1 :][:1].exists():
        raise QuotaExceededError(
            f"The project {project.name} may have {most:,} logged models.",
            field="experiment_id",
            remedy="Delete some, or use another project.",
            limit="logged_models",
        )
    with transaction.atomic():
        found: LoggedModel = LoggedModel.objects.create(
            project=project,
            run=own_run_of(run) if isinstance(run, Job) else run,
            parent_job=caller.attempt.job if caller.attempt is not None else None,
            name=mask_of(caller.attempt)(name),
            model_type=model_type,
            params={one.key: one.value for one in masked.params},
            tags={one.key: one.value for one in masked.tags},
            created_by=caller.user,
        )
        report_change(ChangeKind.RUN, organisation_id=project.organisation_id)
    return found


def finalise(caller: Caller, model: LoggedModel, status: str) -> LoggedModel:
    """Its files have come, or failed to. Raises InvalidInputError, NotAllowedError."""
    ends = (LoggedStatus.READY, LoggedStatus.UPLOAD_FAILED)
    if status not in ends:
        raise InvalidInputError(
            f"{status[:50]!r} is no status to end with.", field="status", remedy=f"Give one of {', '.join(ends)}."
        )
    with _changing(caller, model) as found:
        found.status = LoggedStatus(status)
    return found


def set_tags(caller: Caller, model: LoggedModel, tags: Sequence[Entry]) -> LoggedModel:
    LogBatch(tags=tags).check()
    tags = masked_batch(LogBatch(tags=tags), caller.attempt).tags
    with _changing(caller, model) as found:
        found.tags = _grown(found.tags, tags, field="tags", most=MAX_TAGS)
    return found


def delete_tag(caller: Caller, model: LoggedModel, key: str) -> bool:
    """Returns whether it had the tag."""
    caller.require_owner(model)
    with _changing(caller, model) as found:
        return found.tags.pop(key, None) is not None


def log_params(caller: Caller, model: LoggedModel, params: Sequence[Entry]) -> None:
    """Raises InvalidInputError for one that has another value, as of runs."""
    LogBatch(params=params).check()
    params = masked_batch(LogBatch(params=params), caller.attempt).params
    with _changing(caller, model) as found:
        for one in params:
            if found.params.get(one.key, one.value) != one.value:
                raise InvalidInputError(
                    f"The parameter {one.key} was logged with the value {found.params[one.key][:200]!r}.",
                    code="param_changed",
                    field="params",
                    remedy="Log it under another name.",
                )
        found.params = _grown(found.params, params, field="params", most=MAX_PARAMS)


def note_metrics(caller: Caller, target: Run | Job, points: Mapping[str, Sequence[LoggedPoint]]) -> None:
    """What a run logs about models, by the models' ids: the newest of each metric is kept with the model."""
    for model_id, logged in sorted(points.items()):
        with _changing(caller, caller.logged_model(model_id)) as found:
            for point in logged:
                known = found.metrics.get(point.key)
                if math.isfinite(point.value) and (known is None or (known["step"], known["timestamp"]) <= _age(point)):
                    newest = {"value": point.value, "timestamp": point.at_ms, "step": point.step}
                    found.metrics[point.key] = {**newest, "run_id": str(target.pk)}
            if len(found.metrics) > MAX_METRICS:
                raise QuotaExceededError(
                    f"A logged model may have {MAX_METRICS:,} metrics.", field="metrics", limit="metrics"
                )


def link_models(
    caller: Caller, target: Run | Job, models: Iterable[tuple[LoggedModel, int]], *, is_output: bool
) -> None:
    """Models as inputs or outputs of a run, each with a step; the same one again changes nothing."""
    caller.require_logger(target)
    with transaction.atomic():
        run = own_run_of(target) if isinstance(target, Job) else locked(target)
        rows = [RunModel(run=run, logged_model=model, is_output=is_output, step=step) for model, step in models]
        if len(rows) + run.models.count() > MAX_MODELS_OF_RUN:
            raise InvalidInputError(f"A run may have {MAX_MODELS_OF_RUN:,} models.", field="models")
        RunModel.objects.bulk_create(rows, ignore_conflicts=True)


def delete_logged_model(caller: Caller, model: LoggedModel) -> None:
    """For good, with its files; versions that were registered of it have their own. For who made it, and admins."""
    caller.require_owner(model)
    with transaction.atomic():
        storage.release(owner_kind=LOGGED_OWNER_KIND, owner_id=model.pk)
        LoggedModel.objects.filter(pk=model.pk).delete()
        append(
            "logged_model.deleted",
            organisation=model.project.organisation,
            subject_kind="run",
            subject_id=model.pk,
            actor=caller.user,
            name=model.name,
            project_id=str(model.project_id),
        )


@contextlib.contextmanager
def _changing(caller: Caller, model: LoggedModel) -> Iterator[LoggedModel]:
    """The model's row, locked, and saved at the end unless something was raised. Raises NotAllowedError, GoneError."""
    caller.require_logger(model)
    with transaction.atomic():
        rows = LoggedModel.objects.select_for_update(of=("self",)).select_related("project", "created_by")
        found: LoggedModel = rows.get(pk=model.pk)
        yield found
        found.save(update_fields=["status", "params", "tags", "metrics", "updated_at"])
        report_change(ChangeKind.RUN, organisation_id=found.project.organisation_id)


def _grown(known: dict[str, str], entries: Sequence[Entry], *, field: str, most: int) -> dict[str, str]:
    found = {**known, **{one.key: one.value for one in entries}}
    if len(found) > most:
        raise QuotaExceededError(f"A logged model may have {most:,} {field}.", field=field, limit=field)
    return found


def _age(point: LoggedPoint) -> tuple[int, int]:
    return point.step, point.at_ms
