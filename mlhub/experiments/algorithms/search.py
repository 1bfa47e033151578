# SPDX-License-Identifier: Apache-2.0
"""The next step of a study: a new trial, a promotion, or none, as a function of its rules and recorded trials."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from mlhub.experiments.algorithms import asha, tpe
from mlhub.experiments.algorithms.asha import Promotion, RungResult
from mlhub.experiments.algorithms.space import SearchSpace, Value


class Algorithm(StrEnum):
    RANDOM = "random"
    GRID = "grid"
    ASHA = "asha"
    TPE = "tpe"


class TrialStatus(StrEnum):
    """running: its job has to reach the trial's rung. waiting: it has, and may be promoted. completed: the last rung.
    failed, stopped: it is never trained again."""

    RUNNING = "running"
    WAITING = "waiting"
    COMPLETED = "completed"
    FAILED = "failed"
    STOPPED = "stopped"


OVER = (TrialStatus.COMPLETED, TrialStatus.FAILED, TrialStatus.STOPPED)


@dataclass(frozen=True)
class SearchRules:
    """rungs: epochs or steps at which trials are compared, rising; the last are all that one trains. is_max: whether
    a larger value of the metric is better."""

    algorithm: Algorithm
    space: SearchSpace
    seed: int
    rungs: tuple[int, ...]
    eta: int
    max_trials: int
    is_max: bool

    def score(self, value: float) -> float:
        """Larger is better."""
        return value if self.is_max else -value


@dataclass(frozen=True)
class TrialRecord:
    """values: of the metric, one for each rung that it has reached. rung: that it has reached or is trained to."""

    number: int
    parameters: Mapping[str, Value]
    status: TrialStatus
    rung: int
    values: tuple[float, ...] = ()


@dataclass(frozen=True)
class NewTrial:
    number: int
    parameters: dict[str, Value]


def next_step(rules: SearchRules, trials: Sequence[TrialRecord]) -> NewTrial | Promotion | None:
    """What to do with one more free place. None: nothing, until a running trial reports; or nothing at all.

    trials: all of the study, in any order. The same arguments give the same step.
    """
    if rules.algorithm is Algorithm.ASHA and (promotion := _promotion(rules, trials)) is not None:
        return promotion
    number = len(trials)
    if number >= rules.max_trials:
        return None
    parameters = _parameters(rules, trials, number)
    return None if parameters is None else NewTrial(number, parameters)


def step_ahead(rules: SearchRules, trials: Sequence[TrialRecord]) -> NewTrial | Promotion | None:
    """As next_step(), but for the parameters of a new trial, which may take long to find."""
    if rules.algorithm is Algorithm.TPE:  # it has a point to suggest whenever a trial is left
        return NewTrial(len(trials), {}) if len(trials) < rules.max_trials else None
    return next_step(rules, trials)


def most_trials(rules: SearchRules) -> int:
    """How many the study makes at most: its limit, or the points that its space has."""
    n = rules.space.n_grid_points if rules.algorithm is Algorithm.GRID else None
    if rules.algorithm in (Algorithm.RANDOM, Algorithm.ASHA):
        n = rules.space.n_points
    return rules.max_trials if n is None else min(n, rules.max_trials)


def is_trained_on(rules: SearchRules, trials: Sequence[TrialRecord], *, trial: int, rung: int) -> bool:
    """Of a trial that has reached a rung and cannot rest there. trials: all of the study, with its result there."""
    return asha.is_kept(_results(rules, trials), trial=trial, rung=rung, eta=rules.eta)


def _results(rules: SearchRules, trials: Sequence[TrialRecord]) -> list[RungResult]:
    return [
        RungResult(trial.number, rung, rules.score(value))
        for trial in trials
        for rung, value in enumerate(trial.values)
    ]


def _promotion(rules: SearchRules, trials: Sequence[TrialRecord]) -> Promotion | None:
    busy = [trial.number for trial in trials if trial.status is not TrialStatus.WAITING]
    return asha.next_promotion(_results(rules, trials), n_rungs=len(rules.rungs), eta=rules.eta, excluded=busy)


def _parameters(rules: SearchRules, trials: Sequence[TrialRecord], number: int) -> dict[str, Value] | None:
    if rules.algorithm is Algorithm.GRID:
        return rules.space.grid_point(number) if number < rules.space.n_grid_points else None
    if rules.algorithm is Algorithm.TPE:
        tried = [_tried(rules, trial) for trial in sorted(trials, key=lambda trial: trial.number)]
        return tpe.suggest(rules.space, tried, number=number, seed=rules.seed)
    return rules.space.sample(number, seed=rules.seed)


def _tried(rules: SearchRules, trial: TrialRecord) -> tpe.TriedPoint:
    is_measured = bool(trial.values) and math.isfinite(trial.values[-1])
    value = rules.score(trial.values[-1]) if is_measured else None
    return tpe.TriedPoint(trial.parameters, value, is_running=trial.status is TrialStatus.RUNNING and not is_measured)
