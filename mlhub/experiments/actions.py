# SPDX-License-Identifier: Apache-2.0
"""What people do with studies: create, pause, resume, stop, delete. advance.py makes their jobs follow.

extension.py adds to their budgets, cloning.py makes others like them.
"""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.utils import timezone

from mlhub.core.dispatch import send_on_commit
from mlhub.core.errors import ConflictError
from mlhub.datasets.models import DatasetVersion
from mlhub.events.actions import append
from mlhub.experiments.admission import check_live_studies, check_study
from mlhub.experiments.algorithms.search import OVER, TrialStatus
from mlhub.experiments.models import Study
from mlhub.experiments.states import ENDED_STUDIES, StudyState, predicate
from mlhub.registry.models import ModelVersion
from mlhub.tenants.access_control.permissions import require_role
from mlhub.tenants.actions import require_open
from mlhub.tenants.models import Project, User
from mlhub.tenants.roles import Role

STUDY_ENDED = "study_ended"  # code of a trial that was stopped with its study
ADVANCE = "mlhub.experiments.tasks.advance_studies"


def create_study(
    project: Project,
    *,
    dataset_version: DatasetVersion | None,
    model_version: ModelVersion,
    name: str,
    settings: dict[str, Any],
    actor: User,
    **request: Any,
) -> Study:
    """A running study, whose first jobs are submitted in a moment.

    dataset_version: None for a script that reads none. settings: of its jobs. request: space, metric, direction,
    algorithm, eta, min_epochs, seed, max_parallel, max_trials, max_epochs and max_gpu_hours; steps and min_steps of
    scripts. Raises InvalidInputError for what no trial could run with, ConflictError
    for versions that are still being inspected, QuotaExceededError where the organisation has too many live studies,
    NotAllowedError.
    """
    require_role(actor, project, Role.SUBMITTER)
    require_open(project)
    fields = check_study(project, dataset_version, model_version, settings, request, actor=actor)
    with transaction.atomic():
        check_live_studies(project.organisation)
        study = Study.objects.create(
            project=project,
            name=name,
            created_by=actor,
            dataset_version=dataset_version,
            has_dataset=dataset_version is not None,
            model_version=model_version,
            **fields,
        )
        record("study.created", study, actor, algorithm=study.algorithm, metric=study.metric)
        send_on_commit(ADVANCE)
    return study


def pause_study(study: Study, *, actor: User) -> Study:
    """No new trials; jobs of trials save and leave their GPUs until it is resumed."""
    return _steer(study, StudyState.PAUSED, "study.paused", actor=actor)


def resume_study(study: Study, *, actor: User) -> Study:
    return _steer(study, StudyState.RUNNING, "study.resumed", actor=actor)


def stop_study(study: Study, *, actor: User) -> Study:
    """For good: jobs of its trials are cancelled, but for those that have reached the last rung."""
    require_right(study, actor)
    with transaction.atomic():
        found = locked(study)
        if found.state == StudyState.STOPPED:
            return found
        _refuse_ended(found)
        Study.objects.filter(pk=found.pk).update(steered_by=actor)
        end_study(found, StudyState.STOPPED, f"{actor.username} stopped it.", actor=actor)
        send_on_commit(ADVANCE)
    study.refresh_from_db()
    return study


def delete_study(study: Study, *, actor: User) -> None:
    """One that has ended, with its trials; their jobs and models stay. Raises ConflictError, NotAllowedError."""
    require_right(study, actor)
    with transaction.atomic():
        found = locked(study)
        if found.state not in ENDED_STUDIES:
            raise ConflictError(
                f"{found.name} {predicate(found.state)}: only studies that have ended can be deleted.",
                code="study_live",
                remedy="Stop it first.",
                state=found.state,
            )
        if found.trials.filter(is_settled=False).exists():
            raise ConflictError(
                f"Jobs of {found.name} are still being cancelled.",
                code="study_live",
                remedy="Try again in a moment.",
                state=found.state,
            )
        Study.objects.filter(pk=found.pk).delete()
        record("study.deleted", found, actor, state=found.state)


def end_study(study: Study, state: StudyState, reason: str, *, actor: User | None = None) -> None:
    """Called in a transaction that holds the study's row. Its trials are trained no further."""
    now = timezone.now()
    Study.objects.filter(pk=study.pk).update(state=state, reason=reason, problem="", finished_at=now)
    live = study.trials.exclude(status__in=OVER)
    live.update(status=TrialStatus.STOPPED, code=STUDY_ENDED, message=f"The study ended: {reason}", is_settled=False)
    record(f"study.{state}", study, actor, reason=reason)


def _steer(study: Study, state: StudyState, kind: str, *, actor: User) -> Study:
    """Pauses or resumes; asked again it changes nothing. Raises ConflictError for an ended one, NotAllowedError."""
    require_right(study, actor)
    with transaction.atomic():
        found = locked(study)
        _refuse_ended(found)
        if found.state != state:
            Study.objects.filter(pk=found.pk).update(state=state, steered_by=actor, problem="")
            found.trials.exclude(status__in=OVER).update(is_settled=False)
            record(kind, found, actor)
            send_on_commit(ADVANCE)
    study.refresh_from_db()
    return study


def locked(study: Study) -> Study:
    found: Study = (
        Study.objects.select_for_update(of=("self",)).select_related("project__organisation").get(pk=study.pk)
    )
    return found


def _refuse_ended(study: Study) -> None:
    if study.state in ENDED_STUDIES:
        raise ConflictError(
            f"The study has ended: it {predicate(study.state)}.",
            code="study_ended",
            remedy="Create another one.",
            state=study.state,
        )


def require_right(study: Study, actor: User) -> None:
    require_role(actor, study.project, Role.SUBMITTER if study.created_by_id == actor.id else Role.ADMIN)


def record(kind: str, study: Study, actor: User | None, **facts: Any) -> None:
    append(
        kind,
        organisation=study.project.organisation,
        subject_kind="study",
        subject_id=study.id,
        actor=actor,
        name=study.name,
        project_id=str(study.project_id),
        **facts,
    )
