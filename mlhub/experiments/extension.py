# SPDX-License-Identifier: Apache-2.0
"""Adds to the budget of a study, which goes on: a live one, or one that ended because its budget was used up.

Trials that were stopped when it ended are taken up where they were: those that had reached a rung wait there again, so
that asynchronous halving compares them with later ones, and those that were on their way go on. Their jobs, which were
cancelled, go on from their last checkpoints.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db import transaction

from mlhub.core.dispatch import send_on_commit
from mlhub.core.errors import ConflictError, InvalidInputError
from mlhub.experiments.actions import ADVANCE, STUDY_ENDED, locked, record, require_right
from mlhub.experiments.admission import check_live_studies
from mlhub.experiments.algorithms.search import Algorithm, TrialStatus, most_trials
from mlhub.experiments.endings import exhausted, reason_to_end
from mlhub.experiments.models import MOST_TRIALS, Study, Trial
from mlhub.experiments.records import rules_of
from mlhub.experiments.states import StudyState, predicate
from mlhub.experiments.trial_jobs import CONTINUED
from mlhub.jobs.models import Job
from mlhub.jobs.states import Intent
from mlhub.tenants.actions import require_open
from mlhub.tenants.models import User

MOST_EPOCHS = 2**31 - 1
MOST_GPU_HOURS = 1e9


@dataclass(frozen=True)
class Addition:
    """What is added to each limit of a study; None: nothing."""

    trials: int | None = None
    epochs: int | None = None
    gpu_hours: float | None = None

    @property
    def facts(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if value is not None}


def extend_study(study: Study, addition: Addition, *, actor: User) -> Study:
    """Each call adds: two people who extend it at once both count.

    Raises InvalidInputError for a limit that the study does not have or that cannot be higher, ConflictError where it
    cannot go on or would end again at once, QuotaExceededError for too many live studies, NotAllowedError.
    """
    require_right(study, actor)
    require_open(study.project)
    if not addition.facts:
        raise InvalidInputError("Nothing is added.", field="trials", remedy="Give trials, epochs or gpu_hours.")
    with transaction.atomic():
        found = locked(study)
        _refuse_ended(found)
        before = most_trials(rules_of(found))
        _add(found, addition)
        if addition.trials is not None and most_trials(rules_of(found)) == before:
            raise _no_more_points(found, before)
        is_ended = found.state == StudyState.COMPLETED
        if is_ended:
            check_live_studies(found.project.organisation)
            _take_up_trials(found)
            _refuse_without_next_step(found)
            found.state, found.reason, found.finished_at = StudyState.RUNNING, "", None
        found.problem, found.steered_by = "", actor
        found.save(
            update_fields=[
                "max_trials", "max_epochs", "max_gpu_hours", "state", "reason", "problem", "finished_at", "steered_by",
            ]
        )  # fmt: skip
        record("study.extended", found, actor, is_resumed=is_ended, **addition.facts)
        send_on_commit(ADVANCE)
    study.refresh_from_db()
    return study


def _refuse_ended(study: Study) -> None:
    if study.is_bereft:
        raise ConflictError(
            "Its dataset or its model was deleted.", code="study_ended", remedy="Create another one.", state=study.state
        )
    if study.state in (StudyState.STOPPED, StudyState.FAILED):
        raise ConflictError(
            f"The study cannot go on: it {predicate(study.state)}. {study.reason}",
            code="study_ended",
            remedy="Clone it with changes.",
            state=study.state,
        )


def _add(study: Study, addition: Addition) -> None:
    """To the object alone. Raises InvalidInputError."""
    if addition.trials is not None:
        study.max_trials += addition.trials
        _require_at_most(study.max_trials, MOST_TRIALS, field="trials")
    if addition.epochs is not None:
        _require_limit(study.max_epochs, field="epochs", unit="epochs")
        study.max_epochs = (study.max_epochs or 0) + addition.epochs
        _require_at_most(study.max_epochs, MOST_EPOCHS, field="epochs")
    if addition.gpu_hours is not None:
        _require_limit(study.max_gpu_hours, field="gpu_hours", unit="GPU-hours")
        study.max_gpu_hours = (study.max_gpu_hours or 0) + addition.gpu_hours
        _require_at_most(study.max_gpu_hours, MOST_GPU_HOURS, field="gpu_hours")


def _require_at_most(amount: float, most: float, *, field: str) -> None:
    if amount > most:
        raise InvalidInputError(
            f"The study would have {amount:,.10g} of them, and may have {most:,.10g}.", field=field, remedy="Add less."
        )


def _require_limit(limit: float | None, *, field: str, unit: str) -> None:
    if limit is None:
        raise InvalidInputError(
            f"The study has no limit of {unit} to add to.", field=field, remedy=f"Leave {field} out."
        )


def _no_more_points(study: Study, n_points: int) -> InvalidInputError:
    what = "grid" if study.algorithm == Algorithm.GRID else "search space"
    return InvalidInputError(
        f"The {what} has {n_points:,} points, and the study may try all of them already.",
        field="trials",
        remedy="Clone the study with a larger search space.",
    )


def _take_up_trials(study: Study) -> None:
    """Called in the transaction that holds the study's row; the trials' rows wait for a step under way."""
    trials = study.trials.select_for_update().filter(status=TrialStatus.STOPPED, code=STUDY_ENDED)
    jobs = Job.objects.in_bulk([trial.job_id for trial in trials if trial.job_id is not None])
    for trial in trials:
        job = jobs.get(trial.job_id)
        if trial.job_id is not None and job is None:
            trial.code, trial.message = "job_deleted", "Its job was deleted."
        else:
            is_at_rung = len(trial.results) > trial.rung
            trial.status = TrialStatus.WAITING if is_at_rung else TrialStatus.RUNNING
            trial.code = CONTINUED if job is not None and job.intent == Intent.CANCEL else ""
            trial.message, trial.is_settled = "", False
        trial.save(update_fields=["status", "code", "message", "is_settled"])


def _refuse_without_next_step(study: Study) -> None:
    trials = list(Trial.objects.filter(study=study).order_by("number"))
    ending = reason_to_end(study, trials) or exhausted(study, trials)
    if ending is not None:
        used = sum(trial.gpu_s for trial in trials) / 3600
        has_hours = study.max_gpu_hours is not None and used >= study.max_gpu_hours
        spent = f" It has used {used:.4g} GPU-hours." if has_hours else ""
        raise ConflictError(
            f"With this the study would end again at once: {ending.reason}{spent}",
            code="study_exhausted",
            remedy="Add to what is used up, too, or clone the study with changes.",
            state=study.state,
        )
