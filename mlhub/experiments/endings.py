# SPDX-License-Identifier: Apache-2.0
"""When a study ends by itself: its trials or its budget are used up, or it cannot give a result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import transaction

from mlhub.experiments.actions import end_study
from mlhub.experiments.algorithms.asha import Promotion
from mlhub.experiments.algorithms.search import Algorithm, NewTrial, TrialStatus, next_step, step_ahead
from mlhub.experiments.models import Study, Trial
from mlhub.experiments.records import records_of, rules_of
from mlhub.experiments.states import StudyState
from mlhub.wire.words import hours_text

NO_METRIC = "no_metric"  # code of a trial whose job trained to its end without reporting the study's metric
MOST_FAILED_FIRST = 10  # trials that may fail before any gives a result
TRAINED = (TrialStatus.RUNNING, TrialStatus.WAITING, TrialStatus.COMPLETED)


@dataclass(frozen=True)
class StudyEnd:
    state: StudyState
    reason: str


def end_if_over(study_id: UUID) -> bool:
    """Returns whether the study has just ended."""
    study = Study.objects.get(pk=study_id)
    if study.state != StudyState.RUNNING:
        return False
    trials = list(study.trials.order_by("number"))
    ending = reason_to_end(study, trials) or exhausted(study, trials)
    if ending is None:
        return False
    with transaction.atomic():
        found = Study.objects.select_for_update(of=("self",)).select_related("project__organisation").get(pk=study_id)
        if found.state != StudyState.RUNNING or budget_of(found) != budget_of(study):  # a person was faster
            return False
        end_study(found, ending.state, ending.reason)
    return True


def budget_of(study: Study) -> tuple[int, int | None, float | None]:
    return study.max_trials, study.max_epochs, study.max_gpu_hours


def reason_to_end(study: Study, trials: Sequence[Trial]) -> StudyEnd | None:
    """What ends the study at once, although trials may run."""
    if study.is_bereft:
        return StudyEnd(StudyState.FAILED, "Its dataset or its model was deleted.")
    if not any(trial.results for trial in trials):
        failed = [trial for trial in trials if trial.status == TrialStatus.FAILED]
        without = next((trial for trial in failed if trial.code == NO_METRIC), None)
        if without is not None:
            return StudyEnd(StudyState.FAILED, f"No trial reports the metric {study.metric}. {without.message}".strip())
        if len(failed) >= MOST_FAILED_FIRST:
            return StudyEnd(StudyState.FAILED, f"The first {len(failed)} trials failed. The last: {failed[-1].message}")
    gpu_hours = sum(trial.gpu_s for trial in trials) / 3600
    if study.max_gpu_hours is not None and gpu_hours >= study.max_gpu_hours:
        return StudyEnd(StudyState.COMPLETED, f"Its budget of {hours_text(study.max_gpu_hours)} GPU-hours is used up.")
    return None


def affordable_step(
    study: Study, trials: Sequence[Trial], *, is_made: bool = True
) -> NewTrial | Promotion | StudyEnd | None:
    """The next step of the search; the StudyEnd where the budget of epochs forbids it; None where there is none now.

    is_made: False asks only whether there is one; a new trial has no parameters then.
    """
    rules = rules_of(study)
    step = (next_step if is_made else step_ahead)(rules, records_of(trials))
    if step is None or study.max_epochs is None:
        return step
    rung = 0 if isinstance(step, NewTrial) else step.rung
    further = rules.rungs[rung] - (rules.rungs[rung - 1] if rung else 0)
    if epochs_planned(study, trials) + further <= study.max_epochs:
        return step
    return StudyEnd(StudyState.COMPLETED, f"Its budget of {study.max_epochs:,} epochs is used up.")


def epochs_planned(study: Study, trials: Sequence[Trial]) -> float:
    """Epochs that all trials have trained, or will have when they reach their rungs."""
    planned = (study.rungs[trial.rung] if trial.status in TRAINED else 0 for trial in trials)
    return sum(max(trial.epochs, epochs) for trial, epochs in zip(trials, planned, strict=True))


def exhausted(study: Study, trials: Sequence[Trial]) -> StudyEnd | None:
    """Where no trial runs and none is to be made. Without any result it is a failure."""
    if any(trial.status == TrialStatus.RUNNING for trial in trials):
        return None
    step = affordable_step(study, trials, is_made=False)
    if isinstance(step, NewTrial | Promotion):
        return None
    if not any(trial.results for trial in trials):
        last = trials[-1].message if trials else (step.reason if step else "")
        return StudyEnd(StudyState.FAILED, f"No trial gave a result. {last}".strip())
    return step or StudyEnd(StudyState.COMPLETED, _all_done(study, len(trials)))


def _all_done(study: Study, n_trials: int) -> str:
    if n_trials >= study.max_trials:
        return f"All {n_trials} trials are done."
    what = "grid" if study.algorithm == Algorithm.GRID else "search space"
    return f"All {n_trials} points of the {what} are done."
