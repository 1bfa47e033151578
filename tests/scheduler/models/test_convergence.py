# SPDX-License-Identifier: Apache-2.0
"""Curves that level out: when they reach a target, and when nothing can be predicted."""

from __future__ import annotations

import numpy as np
import pytest

from scheduler.models.convergence import reaching


def curve(n: int, *, noise: float = 0.0, seed: int = 0) -> list[tuple[float, float]]:
    """Loss 0.2 + 1 / (0.01 k + 0.5), every 10 steps."""
    chance = np.random.default_rng(seed)
    steps = 10.0 * np.arange(1, n + 1)
    return [(k, 0.2 + 1 / (0.01 * k + 0.5) + noise * chance.standard_normal()) for k in steps]


def test_a_curve_without_noise_is_continued_exactly() -> None:
    found = reaching(curve(12), target=0.3, falls=True)
    assert found is not None
    assert found.step == pytest.approx(950, rel=0.1)  # 0.2 + 1 / (9.5 + 0.5)


def test_what_rises_is_fitted_alike() -> None:
    rising = [(k, 1 - v) for k, v in curve(12)]
    found = reaching(rising, target=0.7, falls=False)
    assert found is not None
    assert found.step == pytest.approx(950, rel=0.1)


@pytest.mark.parametrize("seed", range(5))
def test_noise_widens_the_band_and_the_truth_is_in_it(seed: int) -> None:
    found = reaching(curve(40, noise=0.01, seed=seed), target=0.3, falls=True)
    assert found is not None
    assert abs(np.log((found.step - 400) / 550)) <= 3 * found.error + 0.2


def test_a_target_that_was_reached_is_known() -> None:
    found = reaching(curve(12), target=1.0, falls=True)
    assert found is not None
    assert found.step <= 120
    assert found.error == 0


@pytest.mark.parametrize("points", [curve(3), [(k, 1.0) for k in range(9)], [(k, float(k)) for k in range(1, 9)]])
def test_too_few_points_a_flat_curve_and_one_that_gets_worse_say_nothing(points: list[tuple[float, float]]) -> None:
    assert reaching(points, target=0.1, falls=True) is None


def test_a_target_below_the_limit_is_never_reached() -> None:
    assert reaching(curve(60), target=-50.0, falls=True) is None
