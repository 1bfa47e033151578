# SPDX-License-Identifier: Apache-2.0
"""Bounded delay: ASP whose workers compute while exchanges are in flight."""

from __future__ import annotations

import time

import torch
from torch import nn

from mlhub.runtime.checkpoints.step_folders import StepCheckpoint
from mlhub.runtime.ps.client.bounded_delay import BoundedDelayQueue
from mlhub.runtime.strategies.asynchronous.asynchronous import Asynchronous
from mlhub.runtime.strategies.protocol import Losses, StepResult, TrainingPlan


class BoundedDelay(Asynchronous):
    """ASP whose workers compute while their last exchanges are in flight, at most `max_outstanding` of them.

    Source: Li et al., OSDI '14, sec. 3.4.
    """

    pushes_gradient = False  # but a copy of it, which is exchanged while the next one is computed

    def prepare(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, *, resume: StepCheckpoint | None, plan: TrainingPlan
    ) -> nn.Module:
        out = super().prepare(model, optimizer, resume=resume, plan=plan)
        self._exchanges = BoundedDelayQueue(
            self.client, self.weights, max_outstanding=self.spec.parameters["max_outstanding"]
        )
        return out

    @property
    def n_in_flight(self) -> int:
        return self._exchanges.n_under_way

    def step(self, losses: Losses, *, n: int) -> StepResult:
        loss, weight = self.compute_gradient(losses, n=n)
        began = time.perf_counter()
        self._exchanges.push(self.gradient, weight=weight)
        return self.exchange_result(loss / weight if weight else None, began)

    def flush(self) -> None:
        self._exchanges.drain()

    def close(self) -> None:
        if hasattr(self, "_exchanges"):
            self._exchanges.close()
        super().close()
