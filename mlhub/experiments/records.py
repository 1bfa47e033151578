# SPDX-License-Identifier: Apache-2.0
"""Rows as the pure algorithms see them."""

from __future__ import annotations

from collections.abc import Iterable

from mlhub.experiments.algorithms.search import Algorithm, SearchRules, TrialRecord, TrialStatus
from mlhub.experiments.algorithms.space_files import read_space
from mlhub.experiments.models import Direction, Study, Trial


def rules_of(study: Study) -> SearchRules:
    return SearchRules(
        algorithm=Algorithm(study.algorithm),
        space=read_space(study.space),
        seed=study.seed,
        rungs=tuple(study.rungs),
        eta=study.eta,
        max_trials=study.max_trials,
        is_max=study.direction == Direction.MAXIMIZE,
    )


def records_of(trials: Iterable[Trial]) -> list[TrialRecord]:
    return [record_of(trial) for trial in trials]


def record_of(trial: Trial) -> TrialRecord:
    values = tuple(result["value"] for result in trial.results)
    return TrialRecord(trial.number, trial.parameters, TrialStatus(trial.status), trial.rung, values)
