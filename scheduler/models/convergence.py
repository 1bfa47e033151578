# SPDX-License-Identifier: Apache-2.0
"""How far a curve of loss or accuracy still has to go: v(k) = c + s / (a k + b), as training curves mostly run.

Source: Peng et al., Optimus (EuroSys '18), sec. 3.1, with a sign, so that it also fits what rises (accuracy).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

LEAST_POINTS = 5
N_LIMITS = 60  # values tried for where the curve levels out
RANGE = 20.0  # it levels out within so many times the range that was seen


@dataclass(frozen=True)
class TargetPrediction:
    """Holds the step at which the curve is expected to reach the target, and the relative error of the steps still to
    go.
    """

    step: float
    error: float


def reaching(points: Sequence[tuple[float, float]], *, target: float, falls: bool) -> TargetPrediction | None:
    """Returns when the curve reaches the target; None when the points are too few or too noisy, or it never does.

    points: (step, value), steps ascending. falls: lower values are better.
    """
    if len(points) < LEAST_POINTS:
        return None
    steps_P, values_P = np.array([p[0] for p in points], float), np.array([p[1] for p in points], float)
    sign = 1.0 if falls else -1.0
    gaps_P = sign * values_P  # falls in any case
    goal = sign * target
    if gaps_P.min() <= goal:
        return TargetPrediction(float(steps_P[int(np.argmax(gaps_P <= goal))]), 0.0)
    fits = _fits(steps_P, gaps_P)
    best = min(fits, default=None)
    spread = float(np.ptp(gaps_P))
    if best is None or spread <= 0 or best[0] > (0.25 * spread) ** 2:
        return None
    now = float(steps_P[-1])
    # limits that fit nearly as well give the uncertainty
    good = [_step_at(goal, fit) for fit in fits if fit[0] <= 1.5 * best[0] + 1e-12]
    known = [step for step in good if step is not None]
    expected = _step_at(goal, best)
    if expected is None or len(known) < 0.5 * len(good):
        return None
    left = np.maximum(np.array(known) - now, 1.0)
    return TargetPrediction(max(expected, now + 1.0), float(np.std(np.log(left))))


Fit = tuple[float, float, float, float]  # mean squared error, a, b, limit


def _fits(steps_P: np.ndarray, values_P: np.ndarray) -> list[Fit]:
    """One for each supposed limit: all over the range, then once more near the best one."""
    low, span = float(values_P.min()), float(np.ptp(values_P)) or 1.0
    below = np.geomspace(1e-3, RANGE, N_LIMITS)
    found = {i: fit for i, d in enumerate(below) if (fit := _fit(steps_P, values_P, low - span * d)) is not None}
    if not found:
        return []
    best = min(found, key=lambda i: found[i])
    near = np.linspace(below[max(0, best - 1)], below[min(best + 1, N_LIMITS - 1)], N_LIMITS)
    fine = [fit for d in near if (fit := _fit(steps_P, values_P, low - span * d)) is not None]
    return [*found.values(), *fine]


def _fit(steps_P: np.ndarray, values_P: np.ndarray, limit: float) -> Fit | None:
    """A line through 1 / (value - limit), weighted so that the values' own errors count."""
    a, b = np.polyfit(steps_P, 1.0 / (values_P - limit), 1, w=(values_P - limit) ** 2)
    fitted_P = a * steps_P + b
    if a <= 0 or fitted_P.min() <= 0:
        return None
    return float(np.mean((limit + 1.0 / fitted_P - values_P) ** 2)), float(a), float(b), limit


def _step_at(goal: float, fit: Fit) -> float | None:
    _, a, b, limit = fit
    return (1.0 / (goal - limit) - b) / a if goal > limit else None
