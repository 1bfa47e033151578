# SPDX-License-Identifier: Apache-2.0
"""The advance of a study: jobs follow their trials, results are recorded, and free places are filled.

It compares what is stored with what shall be, so it may be broken off anywhere and made again: each trial and each
step of the search is one transaction, and the next advance goes on from what those left. What is decided depends on
recorded results alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

import structlog
from django.db import transaction

from mlhub.core.errors import DomainError
from mlhub.experiments.algorithms.asha import Promotion
from mlhub.experiments.algorithms.search import NewTrial, TrialStatus
from mlhub.experiments.endings import affordable_step, end_if_over, reason_to_end
from mlhub.experiments.models import Study, Trial
from mlhub.experiments.states import StudyState
from mlhub.experiments.trial_jobs import follow

logger = structlog.stdlib.get_logger(__name__)
FAULT = "A fault of the platform keeps a trial from going on; it is tried again. If this stays, ask an administrator."


def advance_study(study_id: UUID) -> None:
    """One pass. The caller sees to it that no other pass over the same study runs at the same time."""
    problem = _follow_all(_unsettled(study_id))
    while problem in ("", FAULT) and (trial_id := _take_step(study_id)) is not None:
        problem = _follow(trial_id) or problem
    Study.objects.filter(pk=study_id).exclude(problem=problem).update(problem=problem)
    if end_if_over(study_id):  # also with a problem: what already runs uses the budget
        _follow_all(_unsettled(study_id))


def _unsettled(study_id: UUID) -> list[UUID]:
    rows = Trial.objects.filter(study=study_id, is_settled=False).order_by("number")
    return list(rows.values_list("id", flat=True))


def _follow_all(trial_ids: Iterable[UUID]) -> str:
    """Returns the first problem, "" without one; a problem with one trial does not keep the others."""
    found = [problem for trial_id in trial_ids if (problem := _follow(trial_id))]
    return next((problem for problem in found if problem != FAULT), FAULT if found else "")


def _follow(trial_id: UUID) -> str:
    """Returns what a person or time must remedy, such as a full quota; "" = nothing. It is tried again.

    FAULT is a fault of the platform with this trial, which holds one of the parallel places and keeps no other.
    """
    try:
        with transaction.atomic():
            follow(Trial.objects.select_for_update(of=("self",)).get(pk=trial_id))
    except DomainError as error:
        logger.info("study.cannot_go_on", trial=str(trial_id), error=error.message)
        return f"{error.message} {error.remedy}".strip()
    except Exception:
        logger.exception("study.trial_not_followed", trial=str(trial_id))
        return FAULT
    return ""


def _take_step(study_id: UUID) -> UUID | None:
    """Stores the next new trial or promotion; returns the trial, None when there is none to make now.

    The step is computed before the study is locked, since it may take long, and people wait for the lock.
    """
    study = Study.objects.get(pk=study_id)
    trials = list(study.trials.order_by("number"))
    if not _has_place(study, trials) or reason_to_end(study, trials):
        return None
    step = affordable_step(study, trials)
    if not isinstance(step, NewTrial | Promotion):
        return None
    with transaction.atomic():
        study = Study.objects.select_for_update().get(pk=study_id)
        return _stored(study, step) if _has_place(study, study.trials.all()) else None


def _has_place(study: Study, trials: Iterable[Trial]) -> bool:
    # a job that is being paused or cancelled still holds its GPUs
    live = sum(not trial.is_settled for trial in trials)
    return study.state == StudyState.RUNNING and live < study.max_parallel


def _stored(study: Study, step: NewTrial | Promotion) -> UUID:
    if isinstance(step, NewTrial):
        return Trial.objects.create(study=study, number=step.number, parameters=step.parameters).pk
    promoted = study.trials.get(number=step.trial)
    Trial.objects.filter(pk=promoted.pk).update(rung=step.rung, status=TrialStatus.RUNNING, is_settled=False)
    return promoted.pk
