# SPDX-License-Identifier: Apache-2.0
"""Push-sum (stochastic gradient push) on a directed graph. Source: Assran et al., SGP, ICML '19."""

from __future__ import annotations

import math
import time

import torch
from torch import nn

from mlhub.runtime.checkpoints.step_folders import StepCheckpoint
from mlhub.runtime.errors import PeerLostError
from mlhub.runtime.strategies.decentralised import mixing
from mlhub.runtime.strategies.decentralised.periodic import PeriodicExchange
from mlhub.runtime.strategies.protocol import Barrier, TrainingPlan

TOLERANCE = 1e-3  # of a sum of weights in 32 bits


class PushSumGossip(PeriodicExchange):
    """Workers send in one direction only and hold x and a weight y; the model is x / y.

    Each sends equal parts to workers one or more powers of two ahead, another power at every exchange. The sum of all
    y always is the number of workers; otherwise a message was lost.
    """

    def prepare(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, *, resume: StepCheckpoint | None, plan: TrainingPlan
    ) -> nn.Module:
        out = super().prepare(model, optimizer, resume=resume, plan=plan)
        self._y = 1.0
        return out

    def before_step(self) -> float:
        self.weights *= self._y  # the step changes x, by a gradient at x / y
        return 0.0

    def after_step(self) -> float:
        began, index = time.perf_counter(), self.exchange_index
        if index is not None:
            hops = self._hops(index)
            state = mixing.PushSum(self.weights, self._y)
            x, y = state.send(len(hops))
            sent = torch.cat([x, x.new_tensor([y])])
            to, sources = ([(self.rank + sign * hop) % self.n_workers for hop in hops] for sign in (1, -1))
            for received in self.exchange(sent, to=to, sources=sources).wait():
                state.receive(received[:-1], float(received[-1]))
            self.weights.copy_(state.x)
            self._y = state.y
        self.weights /= self._y
        return time.perf_counter() - began

    def before_barrier(self, barrier: Barrier) -> None:
        """Raises PeerLostError when the sum of all y is not the number of workers."""
        (total,) = self.sum_over_workers([self._y])
        if abs(total - self.n_workers) > TOLERANCE * self.n_workers:
            raise PeerLostError(f"A message between workers was lost: the sum of y is {total}, not {self.n_workers}.")
        self.weights *= self._y
        super().before_barrier(barrier)
        self._y = 1.0

    def _hops(self, index: int) -> list[int]:
        n_hops = max(1, math.ceil(math.log2(self.n_workers)))
        n_peers = min(self.spec.parameters["n_peers"], n_hops)
        return [2 ** ((index + i) % n_hops) for i in range(n_peers)]
