# SPDX-License-Identifier: Apache-2.0
"""Quantiles of scores of which some are known to be at least so large only: product-limit (Kaplan and Meier, 1958).

Scores count in full among those of the same cause, and all others together as so many: conformal prediction within a
category (Mondrian; Vovk, Gammerman and Shafer, 2005, 4.5), where one seen rarely borrows from the rest. Axes: S scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist

import numpy as np

from scheduler.api.arrays import Floats

N_PRIOR = 5  # scores that stand for what the models say: their P50 at score 0, their P90 at 1
_PRIOR = [NormalDist().inv_cdf((2 * i + 1) / (2 * N_PRIOR)) / NormalDist().inv_cdf(0.9) for i in range(N_PRIOR)]

Score = tuple[float, float, float, str]  # value, weight, 1 or (where it is at least so much) 0, cause


class CensoredScores:
    """Holds the scores of one group of predictions, sorted once.

    prior, pooled: the weights, in scores, of what the models say and of all scores of other causes.
    """

    def __init__(self, scores: Sequence[Score], *, prior: float, pooled: float) -> None:
        value, weight, ended, cause = zip(*scores, strict=True)
        self._pooled = pooled
        value_S = np.array([*value, *_PRIOR])
        weight_S = np.array(weight, dtype=np.float64)
        weight_S *= weight_S.sum() / np.square(weight_S).sum()  # their sum is the effective number (Kish, 1965)
        weight_S = np.concatenate((weight_S, np.full(N_PRIOR, prior / N_PRIOR)))
        ended_S = np.concatenate((np.array(ended, dtype=np.float64), np.ones(N_PRIOR)))
        order_S = np.argsort(value_S, kind="stable")
        self._value_S, self._weight_S, self._ended_S = value_S[order_S], weight_S[order_S], ended_S[order_S]
        self._cause_S = np.array([*cause, *[""] * N_PRIOR], dtype=object)[order_S]
        self._is_prior_S = order_S >= len(scores)

    def quantiles(self, cause: str, levels: Sequence[float]) -> list[float]:
        """Returns the smallest scores that are at least the levels' quantiles, for predictions of that cause."""
        weight_S = self._weights_for(cause)
        at_risk_S = weight_S[::-1].cumsum()[::-1]
        stays_S = np.cumprod(1 - np.where(self._ended_S > 0, weight_S / at_risk_S, 0.0))
        last = len(stays_S) - 1
        return [float(self._value_S[min(int(np.searchsorted(-stays_S, level - 1)), last)]) for level in levels]

    def _weights_for(self, cause: str) -> Floats:
        is_other_S = (self._cause_S != cause) & ~self._is_prior_S
        others = float(self._weight_S[is_other_S].sum())
        if others <= self._pooled:
            return self._weight_S
        found: Floats = np.where(is_other_S, self._weight_S * (self._pooled / others), self._weight_S)
        return found
