# SPDX-License-Identifier: Apache-2.0
"""What interference models predict, in one object that the caller of decide() keeps from round to round.

A model is fitted to the measured pairs; the MAX_MODELS that were used last stay. Predictions of a model are kept for
MAX_PREDICTIONS pairs; a full table is emptied.
"""

from __future__ import annotations

from scheduler.api.sharing_measurements import PairObservation
from scheduler.models.bounded_tables import BoundedTable, RecentTable
from scheduler.models.interference.job_features import JobTraits, MeasuredPair, PairSpeeds
from scheduler.models.interference.model import Interference

MAX_MODELS = 8
MAX_PREDICTIONS = 1 << 14
MAX_AT_ONCE = 4096  # pairs of a model whose speeds are predicted in one go


class PairPredictions:
    """Keeps the predictions of one model."""

    def __init__(self, model: Interference) -> None:
        self._model = model
        self._norms = BoundedTable[tuple[str, str, float], tuple[float, float]](MAX_PREDICTIONS)
        self._speeds: dict[tuple[str, str], PairSpeeds] | None = None

    def norms(self, one: str, other: str, sds: float) -> tuple[float, float]:
        """Returns the normalised speeds of two families, each higher by sds standard deviations.

        The prior is the same for all pairs and distinguishes none from another: it is taken unchanged.
        """
        found = self._norms.get((one, other, sds))
        return self._norms.store((one, other, sds), self._predict(one, other, sds)) if found is None else found

    def _predict(self, one: str, other: str, sds: float) -> tuple[float, float]:
        if self._speeds is None:
            self._speeds = self._known_pairs()
        speeds = self._speeds.get((one, other)) or self._model.predict(one, other)
        if self._model.is_prior:
            return speeds.norm_a, speeds.norm_b
        both = (speeds.norm_a, speeds.sd_a), (speeds.norm_b, speeds.sd_b)
        first, second = (max(0.01, min(1.0, norm + sds * sd)) for norm, sd in both)
        return first, second

    def _known_pairs(self) -> dict[tuple[str, str], PairSpeeds]:
        """Speeds of all pairs of families that the model knows; none, if there are too many to predict at once."""
        pairs = [(one, other) for one in self._model.names for other in self._model.names]
        if len(pairs) > MAX_AT_ONCE:
            return {}
        return dict(zip(pairs, self._model.predict_all(pairs), strict=True))


class InterferenceCache:
    """Keeps models by the pairs that they were fitted to."""

    def __init__(self) -> None:
        self._predictions = RecentTable[tuple[PairObservation, ...], PairPredictions](MAX_MODELS)

    def predictions(self, pairs: tuple[PairObservation, ...]) -> PairPredictions:
        """Returns the predictions of the model fitted to these pairs; it is fitted if it is not there."""
        return self._predictions.find(pairs) or self._predictions.store(pairs, PairPredictions(_fitted(pairs)))


def _fitted(pairs: tuple[PairObservation, ...]) -> Interference:
    return Interference(
        [
            MeasuredPair(
                JobTraits(p.family_a, gpu_type=p.gpu_type),
                JobTraits(p.family_b, gpu_type=p.gpu_type),
                p.norm_a,
                p.norm_b,
            )
            for p in pairs
        ]
    )
