# SPDX-License-Identifier: Apache-2.0
"""How replicas that train separately are combined: block momentum, the elastic centre. Pure tensors."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass
class BlockMomentum:
    """BMUF: the mean of a block of local steps updates the model, with momentum from block to block.

    momentum 0 and rate 1 is plain averaging. Source: Chen and Huo, ICASSP '16.
    """

    weights: Tensor  # of the model after the last block
    momentum: float
    rate: float = 1.0
    is_nesterov: bool = False

    def __post_init__(self) -> None:
        self.velocity = torch.zeros_like(self.weights)
        self._start = self.weights.clone()

    def begin(self, weights: Tensor) -> None:
        """Starts the first block from these weights."""
        self.weights.copy_(weights)
        self._start.copy_(weights)

    def end_block(self, mean: Tensor) -> Tensor:
        """Ends a block. mean: of all replicas after it. Returns the weights that every replica continues with."""
        self.velocity.mul_(self.momentum).add_(mean - self._start, alpha=self.rate)
        self.weights.add_(self.velocity)
        self._start.copy_(self.weights)
        if self.is_nesterov:
            self._start.add_(self.velocity, alpha=self.momentum)
        return self._start.clone()

    def reset_to_model(self) -> Tensor:
        """Returns the model itself, without Nesterov's look-ahead, and starts the next block there."""
        self._start.copy_(self.weights)
        return self._start


def block_momentum_for(n_workers: int) -> float:
    """The default momentum 1 - 1 / n, with which a block counts as much as it would on one worker."""
    return 1.0 - 1.0 / n_workers


@dataclass
class ElasticCentre:
    """Synchronous EASGD: every worker is pulled towards a centre, and the centre as much towards all of them.

    w_i <- w_i - a (w_i - c) and c <- c + a sum_i (w_i - c), both with the values before: sum_i w_i + c is conserved.
    Every worker holds a copy of the centre. Source: Zhang, Choromanska and LeCun, NIPS '15, eq. 2-3.
    """

    weights: Tensor  # of the centre
    alpha: float

    def pull(self, worker: Tensor) -> Tensor:
        """How far this worker moves towards the centre, which moves as far towards the worker."""
        return (worker - self.weights).mul_(self.alpha)

    def move(self, pulls: Tensor) -> None:
        """Moves the centre. pulls: the sum of all workers' pulls."""
        self.weights.add_(pulls)
