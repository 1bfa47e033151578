# SPDX-License-Identifier: Apache-2.0
"""Random peers of an exchange. All workers draw the same ones from the seed, so none waits in vain."""

from __future__ import annotations

import numpy as np


def pairs(*, seed: int, exchange: int, n_workers: int) -> list[int]:
    """The peer of each worker, or the worker itself where one is left over. Pairs are mutual and disjoint."""
    order = _generator(seed, exchange).permutation(n_workers).tolist()
    peer = list(range(n_workers))
    for first, second in zip(order[::2], order[1::2], strict=False):
        peer[first], peer[second] = second, first
    return peer


def senders(*, seed: int, exchange: int, n_workers: int, probability: float) -> list[int | None]:
    """The worker to which each one sends, uniformly drawn; None: it does not send now."""
    random = _generator(seed, exchange)
    sends = random.random(n_workers) < probability
    hops = random.integers(1, max(2, n_workers), n_workers)
    return [
        (rank + int(hops[rank])) % n_workers if sends[rank] and n_workers > 1 else None for rank in range(n_workers)
    ]


def _generator(seed: int, exchange: int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed & 0xFFFFFFFF, exchange, 7])))
