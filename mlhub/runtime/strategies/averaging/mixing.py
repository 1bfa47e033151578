"""How replicas that train apart come together again: averaging, block momentum, elastic pull, gossip. Pure tensors."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


def weighted_mean(replicas: Sequence[Tensor], weights: Sequence[float]) -> Tensor:
    """weights: of each replica, such as its number of examples; they need not add up to one."""
    total = math.fsum(weights)
    out = torch.zeros_like(replicas[0])
    for replica, weight in zip(replicas, weights, strict=True):
        out.add_(replica, alpha=weight / total)
    return out


@dataclass
class BlockMomentum:
    """BMUF: the mean of a block of local steps moves the model with momentum of its own.

    momentum 0 and rate 1 is plain averaging. Source: Chen and Huo, ICASSP '16.
    """

    weights: Tensor  # the model after the last block
    momentum: float
    rate: float = 1.0
    is_nesterov: bool = False

    def __post_init__(self) -> None:
        self.velocity = torch.zeros_like(self.weights)
        self._start = self.weights.clone()

    def begin(self, weights: Tensor) -> None:
        """The first block starts here."""
        self.weights.copy_(weights)
        self._start.copy_(weights)

    def conclude(self, mean: Tensor) -> Tensor:
        """mean: of all replicas after the block. Returns where every replica starts the next block."""
        self.velocity.mul_(self.momentum).add_(mean - self._start, alpha=self.rate)
        self.weights.add_(self.velocity)
        self._start.copy_(self.weights)
        if self.is_nesterov:
            self._start.add_(self.velocity, alpha=self.momentum)
        return self._start.clone()

    def land(self) -> Tensor:
        """The model itself, without the leap ahead; the next block starts here."""
        self._start.copy_(self.weights)
        return self._start


def block_momentum_for(n_workers: int) -> float:
    """The usual choice: 1 - 1 / n, so that a block counts as much as it would alone."""
    return 1.0 - 1.0 / n_workers


@dataclass
class ElasticCentre:
    """Synchronous EASGD: every worker is pulled towards a centre, and the centre as much towards all of them.

    w_i <- w_i - a (w_i - c) and c <- c + a sum_i (w_i - c), both with the values before: sum_i w_i + c is conserved.
    Every worker keeps a centre of its own, and all are alike. Source: Zhang, Choromanska and LeCun, NIPS '15, eq. 2-3.
    """

    weights: Tensor  # of the centre
    alpha: float

    def pull(self, worker: Tensor) -> Tensor:
        """What this worker will be moved by, and the centre the other way."""
        return (worker - self.weights).mul_(self.alpha)

    def move(self, pulls: Tensor) -> None:
        """pulls: the sum of all workers'."""
        self.weights.add_(pulls)


Topology = Callable[[int, int, int], Sequence[int]]


def _ring(rank: int, n: int, step: int) -> Sequence[int]:  # noqa: ARG001 (all topologies have one signature)
    return sorted({(rank - 1) % n, (rank + 1) % n} - {rank})


def _exponential(rank: int, n: int, step: int) -> Sequence[int]:
    """A power of two away, both ways, another one at every exchange."""
    hop = 2 ** (step % max(1, math.ceil(math.log2(n)))) if n > 1 else 0
    return sorted({(rank - hop) % n, (rank + hop) % n} - {rank})


def _complete(rank: int, n: int, step: int) -> Sequence[int]:  # noqa: ARG001
    return [other for other in range(n) if other != rank]


TOPOLOGIES: Mapping[str, Topology] = {"ring": _ring, "exponential": _exponential, "complete": _complete}


def peers(topology: str, *, rank: int, n_workers: int, exchange: int) -> Sequence[int]:
    """Whom a worker exchanges with; who is a peer of whom is mutual. Raises KeyError for an unknown topology."""
    return TOPOLOGIES[topology](rank, n_workers, exchange)


def mixing_matrix(topology: str, *, n_workers: int, exchange: int = 0) -> Tensor:
    """Shape (n, n), symmetric and doubly stochastic: each takes equal parts of itself and its peers.

    Every worker of a topology has as many peers as any other, so equal parts are doubly stochastic.
    Source: Lian et al., D-PSGD, NIPS '17.
    """
    matrix = torch.zeros(n_workers, n_workers, dtype=torch.float64)
    for rank in range(n_workers):
        near = peers(topology, rank=rank, n_workers=n_workers, exchange=exchange)
        for other in (rank, *near):
            matrix[rank, other] = 1.0 / (len(near) + 1)
    return matrix


@dataclass
class PushSum:
    """Stochastic gradient push on a directed graph: the value is x / y, and the sum of all y stays n.

    Source: Assran et al., SGP, ICML '19.
    """

    x: Tensor
    y: float = 1.0

    def send(self, n_peers: int) -> tuple[Tensor, float]:
        """What each of the peers gets; this worker keeps as much."""
        self.x, self.y = self.x / (n_peers + 1), self.y / (n_peers + 1)
        return self.x.clone(), self.y

    def receive(self, x: Tensor, y: float) -> None:
        self.x, self.y = self.x + x, self.y + y

    @property
    def value(self) -> Tensor:
        return self.x / self.y


@dataclass
class SharedMean:
    """GoSGD: a model and its share of the whole, in place. The sum of shares, and of models by shares, is conserved.

    Source: Blot et al., 2016.
    """

    weights: Tensor
    share: float

    def send(self) -> float:
        """The share that goes with a copy of the weights; as much stays."""
        self.share /= 2.0
        return self.share

    def receive(self, weights: Tensor, share: float) -> None:
        self.weights.lerp_(weights, share / (self.share + share))
        self.share += share
