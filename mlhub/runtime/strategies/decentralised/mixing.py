# SPDX-License-Identifier: Apache-2.0
"""How workers of decentralised strategies mix their weights: topologies, push-sum, shares. Pure tensors."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from torch import Tensor

Topology = Callable[[int, int, int], Sequence[int]]


def _ring(rank: int, n: int, step: int) -> Sequence[int]:  # noqa: ARG001 (all topologies have one signature)
    return sorted({(rank - 1) % n, (rank + 1) % n} - {rank})


def _exponential(rank: int, n: int, step: int) -> Sequence[int]:
    """Workers a power of two away in both directions; the power changes from exchange to exchange."""
    hop = 2 ** (step % max(1, math.ceil(math.log2(n)))) if n > 1 else 0
    return sorted({(rank - hop) % n, (rank + hop) % n} - {rank})


def _complete(rank: int, n: int, step: int) -> Sequence[int]:  # noqa: ARG001
    return [other for other in range(n) if other != rank]


TOPOLOGIES: Mapping[str, Topology] = {"ring": _ring, "exponential": _exponential, "complete": _complete}


def peers(topology: str, *, rank: int, n_workers: int, exchange: int) -> Sequence[int]:
    """The peers of a worker at an exchange; being a peer is mutual. Raises KeyError for an unknown topology."""
    return TOPOLOGIES[topology](rank, n_workers, exchange)


@dataclass
class PushSum:
    """Stochastic gradient push on a directed graph: the value is x / y, and the sum of all y stays n.

    Source: Assran et al., SGP, ICML '19.
    """

    x: Tensor
    y: float = 1.0

    def send(self, n_peers: int) -> tuple[Tensor, float]:
        """Returns x and y for each peer; this worker keeps as much."""
        self.x, self.y = self.x / (n_peers + 1), self.y / (n_peers + 1)
        return self.x.clone(), self.y

    def receive(self, x: Tensor, y: float) -> None:
        self.x, self.y = self.x + x, self.y + y

    @property
    def value(self) -> Tensor:
        return self.x / self.y


@dataclass
class SharedMean:
    """GoSGD: a model and its share of the total. The sum of shares, and of models weighted by them, is conserved.

    Source: Blot et al., 2016.
    """

    weights: Tensor
    share: float

    def send(self) -> float:
        """Returns the share that is sent with a copy of the weights; this worker keeps as much."""
        self.share /= 2.0
        return self.share

    def receive(self, weights: Tensor, share: float) -> None:
        self.weights.lerp_(weights, share / (self.share + share))
        self.share += share
