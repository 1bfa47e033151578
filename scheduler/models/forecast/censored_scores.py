# SPDX-License-Identifier: Apache-2.0
"""Quantiles of scores of which some are known to be at least so large only: product-limit (Kaplan and Meier, 1958).

Scores count by how much the prediction was like the one that is asked for. In full, those of the same cause, and all
others together as so many: conformal prediction within a category (Mondrian; Vovk, Gammerman and Shafer, 2005, 4.5),
where one seen rarely borrows from the rest. And the less, the longer or shorter the predicted time was: localised
conformal prediction (Guan, 2023), since a short job is overtaken, preempted or demoted less than a long one. Where few
are like it, what the models say themselves has the more weight. Axes: S scores, Q predictions that are asked for, P
predicted times of these.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist
from typing import Any

import numpy as np

from scheduler.api.arrays import Floats

N_PRIOR = 5  # scores that stand for what the models say: their P50 at score 0, their P90 at 1
_PRIOR = [NormalDist().inv_cdf((2 * i + 1) / (2 * N_PRIOR)) / NormalDist().inv_cdf(0.9) for i in range(N_PRIOR)]

Score = Sequence[Any]  # value, weight, 1 or (where it is at least so much) 0, cause, predicted seconds; also from JSON


class CensoredScores:
    """Holds the scores of one group of predictions, sorted once.

    The seconds of a score are those that were predicted; 0 where they are not known: it is like all others then.
    prior, pooled: the weights, in scores, of what the models say and of all scores of other causes.
    """

    def __init__(self, scores: Sequence[Score], *, prior: float, pooled: float) -> None:
        value, weight, ended, cause, predicted_s = zip(*scores, strict=True)
        self._pooled = pooled
        value_S = np.array([*value, *_PRIOR])
        weight_S = np.array(weight, dtype=np.float64)
        weight_S *= weight_S.sum() / np.square(weight_S).sum()  # their sum is the effective number (Kish, 1965)
        weight_S = np.concatenate((weight_S, np.full(N_PRIOR, prior / N_PRIOR)))
        ended_S = np.concatenate((np.array(ended, dtype=np.float64), np.ones(N_PRIOR)))
        predicted_S = np.concatenate((np.array(predicted_s, dtype=np.float64), np.zeros(N_PRIOR)))
        order_S = np.argsort(value_S, kind="stable")
        self._value_S, self._weight_S, self._ended_S = value_S[order_S], weight_S[order_S], ended_S[order_S]
        predicted_S = predicted_S[order_S]
        self._log_S, self._is_known_S = np.log(np.maximum(predicted_S, 1.0)), predicted_S > 0.0
        self._numbers = {name: number for number, name in enumerate(dict.fromkeys(cause))}
        n_causes = len(self._numbers)
        self._cause_S = np.array([*map(self._numbers.__getitem__, cause), *[n_causes] * N_PRIOR])[order_S]
        self._is_other: dict[str, Floats] = {}

    def quantiles(self, asked: Sequence[tuple[str, float]], levels: Sequence[float]) -> list[list[float]]:
        """Returns, for each prediction that is asked for, the smallest scores that are at least the levels' quantiles.

        asked: by cause, and the logarithm of the seconds that are predicted.
        """
        weight_QS = self._weights_for(asked)
        at_risk_QS = weight_QS[:, ::-1].cumsum(axis=1)[:, ::-1]
        gone_QS = 1 - np.cumprod(1 - self._ended_S * weight_QS / at_risk_QS, axis=1)
        levels_L = np.array(levels)
        place_QL = np.array([gone_S.searchsorted(levels_L) for gone_S in gone_QS])
        found: list[list[float]] = self._value_S[np.minimum(place_QL, len(self._value_S) - 1)].tolist()
        return found

    def _weights_for(self, asked: Sequence[tuple[str, float]]) -> Floats:
        """A score counts 1 / e for every factor of e between the predicted times. Shape (Q, S)."""
        places = {log_s: place for place, log_s in enumerate(dict.fromkeys([log_s for _, log_s in asked]))}
        away_PS = np.abs(self._log_S - np.array(list(places))[:, None])
        weight_PS = self._weight_S * np.exp(-away_PS * self._is_known_S)
        weight_QS: Floats = weight_PS[[places[log_s] for _, log_s in asked]]
        is_other_QS = np.array([self._others(cause) for cause, _ in asked])
        others = [float(weight_S @ is_other_S) for weight_S, is_other_S in zip(weight_QS, is_other_QS, strict=True)]
        surplus_Q = np.array([1 - self._pooled / each if each > self._pooled else 0.0 for each in others])
        weight_QS *= 1 - is_other_QS * surplus_Q[:, None]
        return weight_QS

    def _others(self, cause: str) -> Floats:
        """1 for the scores of other causes, 0 for those of this one and for what the models say."""
        found = self._is_other.get(cause)
        if found is None:
            is_other_S = (self._cause_S != self._numbers.get(cause, -1)) & (self._cause_S < len(self._numbers))
            found = self._is_other[cause] = is_other_S.astype(np.float64)
        return found
