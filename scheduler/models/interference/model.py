# SPDX-License-Identifier: Apache-2.0
"""Interference: how fast two jobs run that share one GPU, relative to their speeds alone, and whether that gains.

A pair that was measured counts for itself. Any other is predicted by a Gaussian process over latent sensitivities and
pressures (gaussian_process.py), blended with boosted trees on the jobs' features where there are any
(boosted_trees.py); the blend is what predicts left-out pairs best.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from scheduler.api.arrays import Floats, Ints
from scheduler.models.interference.boosted_trees import BoostedTrees
from scheduler.models.interference.gaussian_process import PairProcess
from scheduler.models.interference.job_features import JobTable, JobTraits, MeasuredPair, PairSpeeds, Vocabulary

# Mean and standard deviation over 330 measured V100 pairs (Narayanan et al., Gavel, OSDI '20).
PRIOR_MEAN, PRIOR_SD = 0.66, 0.24
MIN_PAIRS = 8
MIN_PAIRS_FOR_TREES = 30
LEAST_SPEED = 0.01
LEAST_SD = 0.01
MEASURED_SD = 0.03  # of one measurement; repeats lessen it
MAX_PROCESS_PAIRS = 1500  # the process costs their cube; trees take all
N_INNER_FOLDS = 4
BLENDS = (0.0, 0.25, 0.5, 0.75, 1.0)


class Interference:
    """Predicts speeds of pairs from measured ones, and is immutable.

    The order and orientation of the pairs do not matter.

    With fewer than MIN_PAIRS distinct pairs (`is_prior`) all but the measured pairs get the prior, and its wide sd.
    """

    def __init__(self, measured: Sequence[MeasuredPair]) -> None:
        """Raises ValueError for a normalised speed that is not above 0."""
        pairs = _merged(measured)
        self._seen = {key: speeds for key, (_, _, speeds) in pairs.items()}
        jobs = sorted({_key(job): job for a, b, _ in pairs.values() for job in (a, b)}.items())
        self._known = {job.name: job for _, job in reversed(jobs)}
        self.n_pairs = len(pairs)
        # faster than alone is noise of the measurement, or two jobs that share what they read: as far as it was seen
        self._ceiling = max([1.0, *(norm for norms in self._seen.values() for norm in norms[:2])])
        self.is_prior = self.n_pairs < MIN_PAIRS
        self._trees: BoostedTrees | None = None
        self.tree_share = 0.0
        if not self.is_prior:
            self._fit(jobs, list(pairs))

    @property
    def features(self) -> Sequence[str]:
        """Returns the features that are used."""
        return () if self.is_prior else tuple(self._vocabulary.features)

    @property
    def names(self) -> Sequence[str]:
        """Returns the names of the jobs that were measured."""
        return tuple(sorted(self._known))

    def is_measured(self, a: str | JobTraits, b: str | JobTraits) -> bool:
        """Returns whether the two jobs were measured together."""
        return _pair_key(self._traits(a), self._traits(b)) in self._seen

    def knows(self, job: str | JobTraits) -> bool:
        """Returns whether a job of this name was ever measured. Callers share no GPU of a job that was not."""
        return (job if isinstance(job, str) else job.name) in self._known

    def predict(self, a: str | JobTraits, b: str | JobTraits) -> PairSpeeds:
        """Returns the speeds of a and b on the same GPU. A bare name has the features it was measured with."""
        return self.predict_all([(a, b)])[0]

    def gains(self, a: str | JobTraits, b: str | JobTraits, *, sds: float = 0.0) -> bool:
        """Returns whether both together are faster than one after the other, even if it goes worse by so many sds."""
        speeds = self.predict(a, b)
        return speeds.norm_a + speeds.norm_b - sds * float(np.hypot(speeds.sd_a, speeds.sd_b)) > 1.0

    def predict_all(self, pairs: Sequence[tuple[str | JobTraits, str | JobTraits]]) -> list[PairSpeeds]:
        """Returns the predictions for many pairs at once, each as predict() has it."""
        traits = [(self._traits(a), self._traits(b)) for a, b in pairs]
        predicted = self._predicted(traits)
        return [
            self._remembered(a, b) if _pair_key(a, b) in self._seen else speeds
            for (a, b), speeds in zip(traits, predicted, strict=True)
        ]

    def _fit(self, jobs: Sequence[tuple[_Key, JobTraits]], pairs: Sequence[tuple[_Key, _Key]]) -> None:
        self._vocabulary = Vocabulary([job for _, job in jobs])
        table = self._vocabulary.table(job for _, job in jobs)
        row = {key: i for i, (key, _) in enumerate(jobs)}
        a_P = np.array([row[a] for a, _ in pairs], dtype=np.int64)
        b_P = np.array([row[b] for _, b in pairs], dtype=np.int64)
        y_P2 = np.array([self._seen[pair][:2] for pair in pairs])
        kept = np.unique(np.linspace(0, len(pairs) - 1, min(len(pairs), MAX_PROCESS_PAIRS)).astype(np.int64))
        self._process = PairProcess(table, a_P[kept], b_P[kept], y_P2[kept])
        if self._vocabulary.features and len(pairs) >= MIN_PAIRS_FOR_TREES:
            self._blend(table, a_P, b_P, y_P2, kept)

    def _blend(self, table: JobTable, a_P: Ints, b_P: Ints, y_P2: Floats, kept: Ints) -> None:
        """The share of the trees that would have predicted left-out pairs best."""
        folds_P = np.random.default_rng(0).permutation(len(a_P)) % N_INNER_FOLDS
        left_out_P2 = np.zeros_like(y_P2)
        for fold in range(N_INNER_FOLDS):
            inside, outside = np.flatnonzero(folds_P != fold), np.flatnonzero(folds_P == fold)
            trees = BoostedTrees().fit(*_examples(table, a_P[inside], b_P[inside], y_P2[inside]))
            predicted = trees.predict(_examples(table, a_P[outside], b_P[outside], y_P2[outside])[0])
            left_out_P2[outside] = predicted.reshape(2, -1).T
        smooth_P2 = self._process.left_out_M.reshape(2, -1).T

        def error(share: float) -> float:
            blended = (1 - share) * smooth_P2 + share * left_out_P2[kept]
            return float(np.mean((np.clip(blended, LEAST_SPEED, self._ceiling) - y_P2[kept]) ** 2))

        self.tree_share = min(BLENDS, key=error)
        if self.tree_share:
            self._trees = BoostedTrees().fit(*_examples(table, a_P, b_P, y_P2))

    def _predicted(self, pairs: Sequence[tuple[JobTraits, JobTraits]]) -> list[PairSpeeds]:
        if self.is_prior or not pairs:
            return [PairSpeeds(PRIOR_MEAN, PRIOR_MEAN, PRIOR_SD, PRIOR_SD) for _ in pairs]
        table = self._vocabulary.table(job for pair in pairs for job in pair)
        a_P = 2 * np.arange(len(pairs), dtype=np.int64)
        self_N, other_N = np.concatenate([a_P, a_P + 1]), np.concatenate([a_P + 1, a_P])
        mean_N, sd_N = self._process.predict(table, self_N, other_N)
        if self._trees is not None:
            by_trees_N = self._trees.predict(_inputs(table, self_N, other_N))
            mean_N = (1 - self.tree_share) * mean_N + self.tree_share * by_trees_N
        mean_2P = np.clip(mean_N, LEAST_SPEED, self._ceiling).reshape(2, -1)
        sd_2P = np.maximum(sd_N, LEAST_SD).reshape(2, -1)
        return [
            PairSpeeds(float(a), float(b), float(sd_a), float(sd_b))
            for a, b, sd_a, sd_b in zip(*mean_2P, *sd_2P, strict=True)
        ]

    def _remembered(self, a: JobTraits, b: JobTraits) -> PairSpeeds:
        first, second, n = self._seen[_pair_key(a, b)]
        one, two = (first, second) if _key(a) <= _key(b) else (second, first)
        sd = MEASURED_SD / float(np.sqrt(n))
        return PairSpeeds(one, two, sd, sd)

    def _traits(self, job: str | JobTraits) -> JobTraits:
        return self._known.get(job, JobTraits(job)) if isinstance(job, str) else job


_Key = tuple[str, tuple[tuple[str, float], ...], str]


def _key(job: JobTraits) -> _Key:
    return job.name, _features_key(job.features), job.gpu_type


def _features_key(features: Mapping[str, float]) -> tuple[tuple[str, float], ...]:
    return tuple(sorted((name, float(value)) for name, value in features.items() if np.isfinite(value)))


def _pair_key(a: JobTraits, b: JobTraits) -> tuple[_Key, _Key]:
    one, two = _key(a), _key(b)
    return (one, two) if one <= two else (two, one)


def _merged(
    measured: Sequence[MeasuredPair],
) -> dict[tuple[_Key, _Key], tuple[JobTraits, JobTraits, tuple[float, float, int]]]:
    """Mean speeds of each pair of jobs, in the order of their keys, with the number of measurements."""
    gathered: dict[tuple[_Key, _Key], tuple[JobTraits, JobTraits, list[tuple[float, float]]]] = {}
    for pair in measured:
        if not (pair.norm_a > 0 and pair.norm_b > 0):
            raise ValueError(
                f"{pair.a.name} co-located with {pair.b.name}: speeds must be above 0; leave unmeasured pairs out"
            )
        swapped = _key(pair.a) > _key(pair.b)
        first, second = (pair.b, pair.a) if swapped else (pair.a, pair.b)
        speeds = (pair.norm_b, pair.norm_a) if swapped else (pair.norm_a, pair.norm_b)
        gathered.setdefault(_pair_key(first, second), (first, second, []))[2].append(speeds)
    merged = {}
    for key, (first, second, many) in sorted(gathered.items()):
        ones, twos = zip(*sorted(many), strict=True)
        merged[key] = (first, second, (float(np.mean(ones)), float(np.mean(twos)), len(many)))
    return merged


def _examples(table: JobTable, a_P: Ints, b_P: Ints, y_P2: Floats) -> tuple[Floats, Floats]:
    x = _inputs(table, np.concatenate([a_P, b_P]), np.concatenate([b_P, a_P]))
    return x, np.concatenate([y_P2[:, 0], y_P2[:, 1]])


def _inputs(table: JobTable, self_N: Ints, other_N: Ints) -> Floats:
    """What the trees see of i co-located with j: i's features and j's, and their sums, which is where a GPU is full."""
    own = np.column_stack([table.features[self_N], table.sizes[self_N]])
    others = np.column_stack([table.features[other_N], table.sizes[other_N]])
    return np.column_stack([own, others, own + others])
