# SPDX-License-Identifier: Apache-2.0
"""Gradient-boosted oblivious trees in numpy: finds the thresholds that a smooth model blurs.

Axes: N examples, F features, T trees, L leaves. Source: Friedman, Greedy function approximation (2001); trees whose
levels each ask one question of all leaves, as in Prokhorenkova et al., CatBoost (NeurIPS '18).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from scheduler.api.arrays import Floats

N_BINS = 32


class BoostedTrees:
    """Fits boosted regression trees by least squares. The subsamples come from a generator with a fixed seed."""

    def __init__(
        self, *, n_trees: int = 250, depth: int = 4, rate: float = 0.06, ridge: float = 2.0, sampled: float = 0.7
    ) -> None:
        self._n_trees, self._depth, self._rate, self._ridge, self._sampled = n_trees, depth, rate, ridge, sampled
        self._cuts: list[Floats] = []
        self._trees: list[tuple[list[tuple[int, int]], Floats]] = []
        self._mean = 0.0

    def fit(self, x_NF: Floats, y_N: Floats) -> BoostedTrees:
        """Fits the trees: each corrects the residual of those before it, on a random part of the examples."""
        inner = np.linspace(0, 1, N_BINS + 1)[1:-1]
        self._cuts = [np.unique(np.quantile(column, inner)) for column in x_NF.T]
        self._mean = float(y_N.mean())
        self._trees = []
        bins_NF = self._bins(x_NF)
        rest_N = y_N - self._mean
        random = np.random.default_rng(0)
        for _ in range(self._n_trees):
            chosen = random.random(len(y_N)) < self._sampled
            if chosen.sum() < 2:
                chosen[:] = True
            questions = self._questions(bins_NF[chosen], rest_N[chosen])
            leaf_N = _leaves(bins_NF, questions)
            n_leaves = 1 << len(questions)
            sums = np.bincount(leaf_N[chosen], weights=rest_N[chosen], minlength=n_leaves)
            counts = np.bincount(leaf_N[chosen], minlength=n_leaves)
            values = self._rate * sums / (counts + self._ridge)
            self._trees.append((questions, values))
            rest_N = rest_N - values[leaf_N]
        return self

    def predict(self, x_NF: Floats) -> Floats:
        """Returns the predictions for examples of shape (n, features), shape (n,)."""
        bins_NF = self._bins(x_NF)
        total = np.full(len(x_NF), self._mean)
        for questions, values in self._trees:
            total += values[_leaves(bins_NF, questions)]
        return total

    def _bins(self, x_NF: Floats) -> NDArray[np.int64]:
        found = [np.searchsorted(cuts, column, side="left") for cuts, column in zip(self._cuts, x_NF.T, strict=True)]
        return np.stack(found, axis=1).astype(np.int64) if found else np.zeros((len(x_NF), 0), dtype=np.int64)

    def _questions(self, bins_NF: NDArray[np.int64], rest_N: Floats) -> list[tuple[int, int]]:
        """The (feature, bin) of each level: right is what lies above the bin."""
        n, n_features = bins_NF.shape
        leaf_N = np.zeros(n, dtype=np.int64)
        columns_F = np.arange(n_features) * N_BINS
        weights = np.repeat(rest_N, n_features)
        questions: list[tuple[int, int]] = []
        for level in range(self._depth if n_features else 0):
            n_leaves = 1 << level
            cells = (leaf_N[:, None] * (n_features * N_BINS) + columns_F + bins_NF).ravel()
            shape = (n_leaves, n_features, N_BINS)
            sums = np.bincount(cells, weights=weights, minlength=int(np.prod(shape))).reshape(shape).cumsum(axis=2)
            counts = np.bincount(cells, minlength=int(np.prod(shape))).reshape(shape).cumsum(axis=2)
            right_sums, right_counts = sums[:, :, -1:] - sums, counts[:, :, -1:] - counts
            gains = sums**2 / (counts + self._ridge) + right_sums**2 / (right_counts + self._ridge)
            feature, cut = divmod(int(np.argmax(gains.sum(axis=0))), N_BINS)
            questions.append((feature, cut))
            leaf_N = 2 * leaf_N + (bins_NF[:, feature] > cut)
        return questions


def _leaves(bins_NF: NDArray[np.int64], questions: list[tuple[int, int]]) -> NDArray[np.int64]:
    leaf_N = np.zeros(len(bins_NF), dtype=np.int64)
    for feature, cut in questions:
        leaf_N = 2 * leaf_N + (bins_NF[:, feature] > cut)
    return leaf_N
