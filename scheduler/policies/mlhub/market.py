# SPDX-License-Identifier: Apache-2.0
"""Which jobs share at a price of a GPU: units of jobs on the same GPUs, and what each two of them gain together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scheduler.api.arrays import Floats
from scheduler.api.snapshot import JobSnapshot
from scheduler.policies.mlhub.matching import best_pairs

LEAST_GAIN = 0.05  # of the value of what is joined: predictions are not exact
PRICES = 8  # that are tried, each halving what is not known of it


@dataclass(frozen=True)
class SharingUnit:
    """Holds jobs on the same n GPUs. value: of what they do together in a second."""

    jobs: tuple[JobSnapshot, ...]
    n: int
    value: float

    def profit(self, price: float) -> float:
        """Returns what the unit is worth above the price of its GPUs, at least 0."""
        return max(0.0, self.value - price * self.n)


class Market:
    """Finds which single jobs of one kind share GPUs at a price. value_UU: what each two of them are worth together."""

    def __init__(self, units: Sequence[SharingUnit], value_UU: Floats) -> None:
        self.units, self.value_UU = units, value_UU
        self.n = units[0].n
        self.value_U = np.array([unit.value for unit in units])

    def pairs(self, price: float) -> list[tuple[int, int]]:
        """Returns the pairs that gain by sharing, where a GPU costs so much."""
        cost = price * self.n
        alone_U = np.maximum(self.value_U - cost, 0.0)
        gain_UU = np.maximum(self.value_UU - cost, 0.0) - alone_U[:, None] - alone_U
        least_UU = LEAST_GAIN * (self.value_U[:, None] + self.value_U)
        return best_pairs(np.where(gain_UU > least_UU, gain_UU, 0.0))

    def asked(self, price: float) -> int:
        """Returns GPUs for the jobs that are worth the price."""
        values_U = self.value_U.copy()
        for i, j in self.pairs(price):
            values_U[i], values_U[j] = self.value_UU[i, j], -np.inf
        return self.n * int((values_U > price * self.n).sum())


def clearing_price(markets: Sequence[Market], n_gpus: int) -> float:
    """Returns the least price of a GPU at which no more are asked for than there are, nearly."""
    low, high = 0.0, max(float(market.value_U.max()) / market.n for market in markets)
    for _ in range(PRICES):
        price = (low + high) / 2
        if sum(market.asked(price) for market in markets) > n_gpus:
            low = price
        else:
            high = price
    return high


def price_of_left_out(units: Sequence[SharingUnit], n_gpus: int) -> float:
    """Returns the value of a GPU to the best of those that get none, if the best are served."""
    left = n_gpus
    for unit in sorted(units, key=most_valuable_first):
        if unit.n > left:
            return unit.value / unit.n
        left -= unit.n
    return 0.0


def most_valuable_first(unit: SharingUnit) -> tuple[float, float, str]:
    """Returns the sort key of units: the largest value per GPU first, then the earliest submission."""
    return -unit.value / unit.n, unit.jobs[0].submitted_at_s, unit.jobs[0].id
