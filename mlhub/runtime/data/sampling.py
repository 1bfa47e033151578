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


@dataclass(frozen=True)
class Schedule:
    """Steps of a training: every epoch is a fresh shuffle, cut into global batches; the last one may be smaller."""

    n_examples: int
    batch_size: int
    epochs: int
    seed: int

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
        return _order(self.n_examples, self.seed, epoch)[start : start + length * self.batch_size]

    def share(self, step: int, *, rank: int, n_workers: int, length: int = 1) -> Indices:
        """One worker's part of a batch: contiguous, sizes differ by one at most; empty when there are too few."""
        whole = self.batch(step, length=length)
        size, n_larger = divmod(len(whole), n_workers)
        start = rank * size + min(rank, n_larger)
        return whole[start : start + size + (rank < n_larger)]


@lru_cache(maxsize=2)
def _order(n_examples: int, seed: int, epoch: int) -> Indices:
    generator = np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed & 0xFFFFFFFF, epoch])))
    return generator.permutation(n_examples).astype(np.int64)
