# SPDX-License-Identifier: Apache-2.0
"""The examples of each step: a pure function of seed and step, independent of the number of workers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.int64]
DEFAULT_SPLIT_SEED = 20_240_229


def split(n_examples: int, *, evaluation_fraction: float) -> tuple[Indices, Indices]:
    """Training and held-out indices, which never change for a dataset; at least one example each.

    Raises ValueError below two examples.
    """
    if n_examples < 2:
        raise ValueError("a dataset needs at least two examples: one to train on, one to evaluate with")
    order = np.random.Generator(np.random.PCG64(DEFAULT_SPLIT_SEED)).permutation(n_examples).astype(np.int64)
    n_held_out = min(max(1, round(n_examples * evaluation_fraction)), n_examples - 1)
    return np.sort(order[n_held_out:]), np.sort(order[:n_held_out])


class ClassBalance:
    """Draws epochs in which every class is equally frequent: some examples come several times, others not at all."""

    def __init__(self, classes_N: NDArray[np.int64]) -> None:
        """classes_N: the class of each training example, by its position."""
        self._n = len(classes_N)
        self._members = [np.flatnonzero(classes_N == c) for c in np.unique(classes_N)]

    def draw(self, generator: np.random.Generator) -> Indices:
        """The positions of an epoch, as many as there are examples; an example comes as often as the others of its
        class, or once more."""
        sizes = [len(part) for part in np.array_split(np.arange(self._n), len(self._members))]
        drawn = [
            np.concatenate([generator.permutation(own) for _ in range(-(-size // len(own)))])[:size]
            for own, size in zip(self._members, sizes, strict=True)
        ]
        return generator.permutation(np.concatenate(drawn)).astype(np.int64)


@dataclass(frozen=True)
class Schedule:
    """Steps of a training: every epoch is a fresh shuffle, cut into global batches; the last one may be smaller."""

    n_examples: int
    batch_size: int
    epochs: int
    seed: int
    balance: ClassBalance | None = None

    @property
    def steps_per_epoch(self) -> int:
        return -(-self.n_examples // self.batch_size)

    @property
    def steps_total(self) -> int:
        return self.steps_per_epoch * self.epochs

    def batch(self, step: int, *, length: int = 1) -> Indices:
        """Positions of the global batch of a step, counted from 0; of so many batches of its epoch as one."""
        epoch, position = divmod(step, self.steps_per_epoch)
        start = position * self.batch_size
        return _order(self.n_examples, self.seed, epoch, self.balance)[start : start + length * self.batch_size]

    def share(self, step: int, *, rank: int, n_workers: int, length: int = 1) -> Indices:
        """One worker's part of a batch: contiguous, sizes differ by one at most; empty when there are too few."""
        whole = self.batch(step, length=length)
        size, n_larger = divmod(len(whole), n_workers)
        start = rank * size + min(rank, n_larger)
        return whole[start : start + size + (rank < n_larger)]


@lru_cache(maxsize=2)
def _order(n_examples: int, seed: int, epoch: int, balance: ClassBalance | None) -> Indices:
    generator = np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed & 0xFFFFFFFF, epoch])))
    if balance is not None:
        return balance.draw(generator)
    return generator.permutation(n_examples).astype(np.int64)
