# SPDX-License-Identifier: Apache-2.0
"""Downpour: workers push summed gradients and fetch weights now and then. Source: Dean et al., NIPS '12."""

from __future__ import annotations

import time

import torch
from torch import nn

from mlhub.runtime.checkpoints.step_folders import StepCheckpoint
from mlhub.runtime.strategies.asynchronous.asynchronous import Asynchronous
from mlhub.runtime.strategies.protocol import Losses, StepResult, TrainingPlan


class Downpour(Asynchronous):
    """Gradients are summed over n_push steps and weights fetched every n_fetch; in between come local steps of SGD."""

    pushes_gradient = False

    def prepare(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, *, resume: StepCheckpoint | None, plan: TrainingPlan
    ) -> nn.Module:
        out = super().prepare(model, optimizer, resume=resume, plan=plan)
        self._sum, self._n_summed, self._n_steps = torch.zeros_like(self.gradient), 0, 0
        groups = [{"params": g["params"], "lr": float(g["lr"])} for g in optimizer.param_groups]
        self._local = torch.optim.SGD(groups)
        return out

    def step(self, losses: Losses, *, n: int) -> StepResult:
        loss, _ = self.compute_gradient(losses, n=n)
        began = time.perf_counter()
        self._n_steps += 1
        self._n_summed += 1
        self._sum.add_(self.gradient)
        pushes = self._n_steps % self.spec.parameters["n_push"] == 0
        fetches = self._n_steps % self.spec.parameters["n_fetch"] == 0
        if pushes and fetches:
            self.client.exchange(self._sum)
            self._reset_sum()
        elif fetches:
            self.client.pull()
        else:
            if pushes:
                self.flush()
            self._local.step()
        return self.exchange_result(loss, began, pushes=int(pushes), pulls=int(fetches))

    def flush(self) -> None:
        if self._n_summed:
            self.client.push(self._sum)
            self._reset_sum()

    def _reset_sum(self) -> None:
        self._sum.zero_()
        self._n_summed = 0
