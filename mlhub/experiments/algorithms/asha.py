# SPDX-License-Identifier: Apache-2.0
"""ASHA: asynchronous successive halving, which trains the best 1/eta of every rung for eta times as long.

Source: Li et al., A System for Massively Parallel Hyperparameter Tuning (MLSys 2020), algorithm 2. A trial is promoted
as soon as it is among the best 1/eta of those that reached its rung; no rung waits until it is full.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

MOST_RUNGS = 20


@dataclass(frozen=True)
class RungResult:
    """What a trial reached at a rung. value: larger is better; not finite = it counts as the worst."""

    trial: int
    rung: int
    value: float


@dataclass(frozen=True)
class Promotion:
    """This trial goes on to this rung."""

    trial: int
    rung: int


def rungs_of(*, least: int, most: int, eta: int) -> tuple[int, ...]:
    """Epochs of the rungs: least, then eta times as many each time, and at last most. Needs 1 <= least <= most."""
    found: list[int] = []
    epochs = least
    while epochs < most and len(found) < MOST_RUNGS - 1:
        found.append(epochs)
        epochs *= eta
    return (*found, most)


def next_promotion(
    results: Iterable[RungResult], *, n_rungs: int, eta: int, excluded: Iterable[int] = ()
) -> Promotion | None:
    """The next promotion, from the highest rung that admits one; None = begin a new trial.

    results: all that were recorded, of trials that ended, too; a trial was promoted from a rung if it has a result at a
    higher one or is in excluded. excluded: trials that are being trained further now, have failed or were stopped.
    Equal values are ordered by the trial's number, so that the same results give the same answer in any order.
    """
    by_rung: list[dict[int, float]] = [{} for _ in range(n_rungs)]
    for result in results:
        by_rung[result.rung][result.trial] = result.value if math.isfinite(result.value) else -math.inf
    left_out = set(excluded)
    for rung in range(n_rungs - 2, -1, -1):
        promoted = {trial for higher in by_rung[rung + 1 :] for trial in higher}
        for trial in best_of(by_rung[rung], len(by_rung[rung]) // eta):
            if trial not in promoted and trial not in left_out and by_rung[rung][trial] > -math.inf:
                return Promotion(trial, rung + 1)
    return None


def is_kept(results: Iterable[RungResult], *, trial: int, rung: int, eta: int) -> bool:
    """Whether a trial that cannot rest at this rung, which it has just reached, is trained on; otherwise it is stopped.

    It is where it is among the best 1/eta of those that have reached the rung, of which there is always one.
    """
    values = {one.trial: one.value if math.isfinite(one.value) else -math.inf for one in results if one.rung == rung}
    return trial in best_of(values, max(1, len(values) // eta)) and values[trial] > -math.inf


def best_of(values: dict[int, float], n: int) -> Sequence[int]:
    """The n trials with the largest values, the best first."""
    return sorted(values, key=lambda trial: (-values[trial], trial))[:n]
