# SPDX-License-Identifier: Apache-2.0
"""Costs of starts and stops, learned from a few attempts of each family: how much its own count, and how sure."""

from __future__ import annotations

import math
import random

import pytest

from scheduler.models.cost import Basis, CostKind, CostModel, CostObservation, restart_cost_s
from tests.scheduler.cases import job


def starts(**families: list[float]) -> list[CostObservation]:
    return [CostObservation(family, CostKind.START, s) for family, each in families.items() for s in each]


def test_before_anything_ran_it_is_a_guess_and_says_so() -> None:
    costs = CostModel([]).of("a")
    assert costs.start.basis is Basis.PRIOR
    assert costs.start.seconds == pytest.approx(15.0)
    assert costs.resize_s == pytest.approx(17.0)
    assert "a guess" in costs.start.sentence


def test_a_restart_adds_up_and_rests_on_its_weakest_part() -> None:
    seen = [
        CostObservation("a", kind, s)
        for kind, s in ((CostKind.START, 30.0), (CostKind.LEAVE, 1.0), (CostKind.LOSS, 0.0))
    ] * 7
    costs = CostModel(seen).of("a")
    assert costs.restart.seconds == pytest.approx(costs.resize_s) == pytest.approx(31.0, abs=1.5)
    assert costs.restart.error_s == pytest.approx(
        math.hypot(costs.start.error_s, costs.leave.error_s, costs.loss.error_s), rel=0.01
    )
    assert (costs.restart.n, costs.restart.basis) == (7, Basis.FAMILY)
    assert costs.restart.short == f"{costs.restart.seconds:.0f} s ± {costs.restart.error_s:.0f} s (7 observations)"
    once = CostModel([*seen[:1], *starts(b=[20.0] * 5)]).of("a")
    assert once.start.short.endswith("(1 observation and others')")
    assert (once.restart.n, once.restart.basis) == (0, Basis.PRIOR)
    assert once.restart.short.endswith("(a guess)")


def test_by_hand_one_observation_is_drawn_a_little_to_that_of_all() -> None:
    """One family alone is the mean of all. Two, at 10 and 40 s: mean sqrt(10.1 * 40.1) = 20.1 + 0.1 in logarithms.

    Between: (4 * 0.64 + 2 * (ln 4 / 2)^2) / 5; within: 0.09, the prior's. The weight of one is b / (b + w).
    """
    found = CostModel(starts(a=[10.0], b=[40.0])).of("a").start
    mean = (math.log(10.1) + math.log(40.1)) / 2
    between = (4 * 0.64 + 2 * (math.log(40.1 / 10.1) / 2) ** 2) / 5
    weight = between / (between + 0.09)
    assert found.seconds == pytest.approx(math.exp(weight * math.log(10.1) + (1 - weight) * mean) - 0.1)
    assert (found.basis, found.n) == (Basis.FEW, 1)


def test_with_many_of_its_own_a_family_s_median_counts_and_the_newest_only() -> None:
    found = CostModel(starts(a=[30.0] * 20 + [300.0] * 50, b=[5.0] * 9)).of("a").start
    assert found.seconds == pytest.approx(30.0, rel=0.02)
    assert found.basis is Basis.FAMILY


def test_a_family_that_never_ran_costs_what_others_do_and_is_less_sure() -> None:
    model = CostModel(starts(a=[10.0] * 5, b=[20.0] * 5, c=[40.0] * 5))
    assert model.of("new").start.seconds == pytest.approx(20.0, rel=0.01)
    assert model.of("new").start.basis is Basis.OTHERS
    known, new = model.of("b").start, model.of("new").start
    assert new.high_s / new.low_s > 2 * known.high_s / known.low_s


def test_one_outlier_changes_little() -> None:
    usual = CostModel(starts(a=[10.0] * 9)).of("a").start.seconds
    assert CostModel(starts(a=[900.0] + [10.0] * 9)).of("a").start.seconds == pytest.approx(usual, rel=0.05)


def test_two_of_three_lie_within_what_is_predicted_whatever_number_was_seen() -> None:
    chance, inside, n = random.Random(7), 0, 0
    for _ in range(300):
        centres = {f"f{k}": math.exp(chance.gauss(3.0, 0.8)) for k in range(6)}
        seen = [
            CostObservation(family, CostKind.START, centre * math.exp(chance.gauss(0, 0.3)))
            for family, centre in centres.items()
            for _ in range(chance.choice([1, 2, 5]))
        ]
        model = CostModel(seen)
        for family, centre in centres.items():
            predicted, took_s = model.of(family).start, centre * math.exp(chance.gauss(0, 0.3))
            inside, n = inside + (predicted.low_s <= took_s <= predicted.high_s), n + 1
    assert inside / n == pytest.approx(0.68, abs=0.04)


def test_a_restart_costs_the_leave_the_loss_and_the_start() -> None:
    assert restart_cost_s(job("a", start_s=20.0, checkpoint_s=3.0, lost_s=5.0)) == 28.0
    observations = [*starts(a=[20.0] * 5), *(CostObservation("a", CostKind.LEAVE, 3.0) for _ in range(5))]
    observations += [CostObservation("a", CostKind.LOSS, 5.0) for _ in range(5)]
    costs = CostModel(observations).of("a")
    assert (costs.preempt_s, costs.resize_s) == (pytest.approx(8.0), pytest.approx(28.0))
