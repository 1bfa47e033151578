# SPDX-License-Identifier: Apache-2.0
"""Promotions: those of the paper's pseudo-code on recorded curves, and what holds for any results."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlhub.experiments.algorithms.asha import Promotion, RungResult, next_promotion, rungs_of
from mlhub.experiments.algorithms.search import (
    Algorithm,
    NewTrial,
    SearchRules,
    TrialRecord,
    TrialStatus,
    next_step,
)
from mlhub.experiments.algorithms.space import RealRange, SearchSpace
from tests.experiments.asha_oracle import Asha

CURVES = Path(__file__).parents[2] / "benchmarks/recorded/study_curves.json"
SPACE = SearchSpace({"x": RealRange(0.0, 1.0)})
Curve = Callable[[int, int], float]  # of a trial's number and its rung


def rules(n_rungs: int, *, eta: int = 3, n_trials: int = 27) -> SearchRules:
    rungs = tuple(eta**k for k in range(n_rungs))
    return SearchRules(Algorithm.ASHA, SPACE, 0, rungs, eta, n_trials, is_max=True)


class Workers:
    """A study on so many workers, which finish in random order; every step is decided from the records alone."""

    def __init__(self, wanted: SearchRules, curve: Curve, *, n_workers: int, seed: int) -> None:
        self.rules, self.curve, self.n_workers = wanted, curve, n_workers
        self.random, self.records, self.steps = random.Random(seed), dict[int, TrialRecord](), list[tuple[int, int]]()

    def finish_one(self) -> tuple[int, int, float]:
        running = [r for r in self.records.values() if r.status is TrialStatus.RUNNING]
        one = self.random.choice(running)
        value = self.curve(one.number, one.rung)
        status = TrialStatus.COMPLETED if one.rung == len(self.rules.rungs) - 1 else TrialStatus.WAITING
        self.records[one.number] = TrialRecord(one.number, {}, status, one.rung, (*one.values, value))
        return one.number, one.rung, value

    def fill(self) -> None:
        while self.n_running < self.n_workers:
            listed = list(self.records.values())
            self.random.shuffle(listed)  # the order of the records means nothing
            step = next_step(self.rules, listed)
            if step is None:
                return
            number = step.number if isinstance(step, NewTrial) else step.trial
            rung = 0 if isinstance(step, NewTrial) else step.rung
            values = self.records[number].values if number in self.records else ()
            self.records[number] = TrialRecord(number, {}, TrialStatus.RUNNING, rung, values)
            self.steps.append((number, rung))

    @property
    def n_running(self) -> int:
        return sum(record.status is TrialStatus.RUNNING for record in self.records.values())


def compared(curve: Curve, *, n_rungs: int, eta: int, n_trials: int, n_workers: int, seed: int) -> Workers:
    """Both implementations side by side; they must do the same at every step."""
    ours = Workers(rules(n_rungs, eta=eta, n_trials=n_trials), curve, n_workers=n_workers, seed=seed)
    reference = Asha(n_rungs=n_rungs, eta=eta, n_trials=n_trials)
    while True:
        n_before, n_free = len(ours.steps), n_workers - ours.n_running
        ours.fill()
        wanted = [job for job in (reference.get_job() for _ in range(n_free)) if job is not None]
        assert ours.steps[n_before:] == wanted
        if ours.n_running == 0:
            return ours
        reference.report(*ours.finish_one())


@pytest.mark.parametrize("n_workers", [1, 4, 9])
@pytest.mark.parametrize("name", ["digits", "prose"])
def test_promotions_on_recorded_curves_are_those_of_the_papers_pseudo_code(name: str, n_workers: int) -> None:
    recorded = json.loads(CURVES.read_text())[name]["curves"]
    rungs = [1, 3, 9, 27]
    ours = compared(
        lambda trial, rung: recorded[trial][rungs[rung] - 1],
        n_rungs=4, eta=3, n_trials=len(recorded), n_workers=n_workers, seed=n_workers,
    )  # fmt: skip
    reached = [sum(len(record.values) > rung for record in ours.records.values()) for rung in range(4)]
    assert reached[0] == len(recorded)
    assert reached[3] >= 1  # else the comparison compared little
    assert reached[3] < reached[2] < reached[1] < reached[0]


@pytest.mark.slow
@given(
    values=st.lists(st.integers(0, 5), min_size=1, max_size=40),
    eta=st.integers(2, 4),
    n_rungs=st.integers(2, 4),
    n_workers=st.integers(1, 6),
    seed=st.integers(0, 1000),
)
def test_any_results_even_equal_ones_give_the_promotions_of_the_pseudo_code(
    values: Sequence[int], eta: int, n_rungs: int, n_workers: int, seed: int
) -> None:
    compared(
        lambda trial, rung: float(values[(trial * 7 + rung * 3) % len(values)]),
        n_rungs=n_rungs, eta=eta, n_trials=len(values), n_workers=n_workers, seed=seed,
    )  # fmt: skip


@given(st.lists(st.tuples(st.integers(0, 30), st.floats(allow_nan=True)), max_size=40, unique_by=lambda r: r[0]))
def test_at_most_one_of_eta_is_promoted_and_never_one_without_a_number(found: list[tuple[int, float]]) -> None:
    results, n = [RungResult(trial, 0, value) for trial, value in found], 0
    busy: list[int] = []
    while (step := next_promotion(results, n_rungs=2, eta=3, excluded=busy)) is not None:
        assert math.isfinite(dict(found)[step.trial])
        busy.append(step.trial)
        n += 1
    assert n <= len(found) // 3
    assert len(set(busy)) == n


def test_a_trial_that_failed_is_not_promoted_and_keeps_its_place_among_the_best() -> None:
    results = [RungResult(trial, 0, float(trial)) for trial in range(6)]
    assert next_promotion(results, n_rungs=2, eta=3) == Promotion(5, 1)
    assert next_promotion(results, n_rungs=2, eta=3, excluded=[5]) == Promotion(4, 1)
    assert next_promotion(results, n_rungs=2, eta=3, excluded=[5, 4]) is None


def test_rungs_end_with_all_epochs() -> None:
    assert rungs_of(least=1, most=27, eta=3) == (1, 3, 9, 27)
    assert rungs_of(least=2, most=20, eta=3) == (2, 6, 18, 20)
    assert rungs_of(least=5, most=5, eta=2) == (5,)
