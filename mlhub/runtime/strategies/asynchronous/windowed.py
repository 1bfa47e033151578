# SPDX-License-Identifier: Apache-2.0
"""Workers train separately and exchange with the servers every `window` steps: ADAG, DynSGD, EASGD.

Sources: Hermans, 2017 (ADAG); Jiang et al., SIGMOD '17 (DynSGD); Zhang, Choromanska and LeCun, NIPS '15 (EASGD).
"""

from __future__ import annotations

import time

import torch
from torch import Tensor, nn

from mlhub.runtime.checkpoints.step_folders import StepCheckpoint
from mlhub.runtime.errors import BadInputError
from mlhub.runtime.optimization.learning_rates import LearningRateScheduler
from mlhub.runtime.strategies.asynchronous.asynchronous import Asynchronous
from mlhub.runtime.strategies.protocol import Barrier, Batch, ControlFlags, Losses, StepResult, TrainingPlan


class Windowed(Asynchronous):
    """Every worker uses the user's optimiser; what it pushes after a window depends on the strategy."""

    pushes_gradient = False

    def prepare(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, *, resume: StepCheckpoint | None, plan: TrainingPlan
    ) -> nn.Module:
        out = super().prepare(model, optimizer, resume=resume, plan=plan)
        self._window_start, self._n_steps = self.weights.clone(), 0
        self._local_weights: Tensor | None = None
        self._scheduler = LearningRateScheduler(optimizer.param_groups, plan.rates)
        _set_nesterov(optimizer, self.spec.parameters.get("momentum", 0.0))
        return out

    def next(self, flags: ControlFlags) -> Batch | Barrier:
        if self._local_weights is not None:
            self.weights.copy_(self._local_weights)
            self._local_weights = None
        return super().next(flags)

    def step(self, losses: Losses, *, n: int) -> StepResult:
        loss, _ = self.compute_gradient(losses, n=n)
        began = time.perf_counter()
        self._scheduler.set(self.current)
        self.optimizer.step()
        self._n_steps += 1
        if self._n_steps < self.spec.parameters["window"]:
            return self.exchange_result(loss, began, pushes=0, pulls=0)
        began = time.perf_counter()
        self.flush()
        return self.exchange_result(loss, began)

    def flush(self) -> None:
        if not self._n_steps:
            return
        if self.spec.name == "easgd":
            self.client.exchange(self.weights)
        else:
            delta = self.weights - self._window_start
            if self.spec.name == "adag":
                delta /= self._n_steps
            self.client.exchange(delta)
            self._window_start.copy_(self.weights)
        self._n_steps = 0

    def before_barrier(self, barrier: Barrier) -> None:
        """A barrier is about the servers' weights; an elastic worker returns to its own afterwards."""
        if self.spec.name == "easgd":
            self._local_weights = self.weights.clone()
        super().before_barrier(barrier)
        self._window_start.copy_(self.weights)


def _set_nesterov(optimizer: torch.optim.Optimizer, momentum: float) -> None:
    """Gives the optimiser Nesterov momentum, which makes EASGD EAMSGD. Raises BadInputError where it has none."""
    if not momentum:
        return
    if not isinstance(optimizer, torch.optim.SGD):
        raise BadInputError(
            f"The optimiser {type(optimizer).__name__} cannot be given Nesterov momentum.",
            field="strategy.momentum",
            remedy='Train with the hyperparameter "optimizer": "sgd", or leave momentum out.',
        )
    for group in optimizer.param_groups:
        group["momentum"], group["nesterov"] = momentum, True
