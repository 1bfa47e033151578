# SPDX-License-Identifier: Apache-2.0
"""Which examples are held out for evaluation: a fraction, stratified by class or not, or one of k folds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mlhub.runtime.data.sampling import DEFAULT_SPLIT_SEED, Indices, split


@dataclass(frozen=True)
class ValidationSplit:
    """fraction: of the examples. seed: of the random choice; None: that of the platform, the same for every job.

    is_stratified: whether each class is held out by the same fraction. folds: 0: no folds; k: the examples are divided
    into k parts, of which the part `fold` (from 0) is held out, so that k jobs evaluate on every example once.
    """

    fraction: float = 0.2
    seed: int | None = None
    is_stratified: bool = False
    folds: int = 0
    fold: int = 0

    @property
    def is_default(self) -> bool:
        return self == ValidationSplit()

    def n_held_out(self, n_examples: int) -> int:
        """How many of the examples are held out; at least one, and not all."""
        if self.folds:
            return max(0, (n_examples - self.fold + self.folds - 1) // self.folds)
        return min(max(1, round(n_examples * self.fraction)), max(0, n_examples - 1))

    def indices(self, n_examples: int, classes: Callable[[], NDArray[np.int64]]) -> tuple[Indices, Indices]:
        """Training and held-out indices, each sorted. classes: gives the class of each example, where that counts.

        Raises ValueError for fewer than two examples, or fewer than there are folds.
        """
        if not self.folds and not self.is_stratified and self.seed is None:
            return split(n_examples, evaluation_fraction=self.fraction)
        if n_examples < max(2, self.folds):
            raise ValueError(f"{n_examples} examples cannot be divided into {max(2, self.folds)} parts")
        seed = DEFAULT_SPLIT_SEED if self.seed is None else self.seed
        order = np.random.Generator(np.random.PCG64(seed)).permutation(n_examples).astype(np.int64)
        if self.is_stratified:
            order = order[np.argsort(classes()[order], kind="stable")]
        chosen = np.zeros(n_examples, dtype=bool)
        chosen[self._held_out(order, classes)] = True
        return np.flatnonzero(~chosen).astype(np.int64), np.flatnonzero(chosen).astype(np.int64)

    def _held_out(self, order: Indices, classes: Callable[[], NDArray[np.int64]]) -> Indices:
        """order: of all examples, random; when stratified, random within each class and class by class."""
        if self.folds:
            return order[self.fold :: self.folds]
        if not self.is_stratified:
            return order[: self.n_held_out(len(order))]
        _, sizes = np.unique(classes(), return_counts=True)
        quotas = _shares(sizes, self.n_held_out(len(order)))
        starts = np.cumsum(sizes) - sizes
        return np.concatenate([order[start : start + n] for start, n in zip(starts, quotas, strict=True)])


def _shares(sizes_C: NDArray[np.int64], total: int) -> NDArray[np.int64]:
    """Divides a total over classes in proportion to their sizes, by largest remainders."""
    exact = sizes_C * (total / sizes_C.sum())
    shares: NDArray[np.int64] = np.floor(exact).astype(np.int64)
    missing = total - int(shares.sum())
    shares[np.argsort(shares - exact, kind="stable")[:missing]] += 1
    return shares
