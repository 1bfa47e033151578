"""Sharded: every worker holds the model, but only its own part of the optimiser's state (ZeRO-1, BigDL, SINGA).

    reduce-scatter the gradient, step on the own 1/n of the weights, all-gather the weights

It is all-reduce cut in two, with the step in between: as many bytes travel. The optimiser must treat every element by
itself, so that a stretch can be cut anywhere. Source: Rajbhandari et al., SC '20.
"""

from __future__ import annotations

import time

import torch
import torch.distributed as dist
from torch import nn

from mlhub.runtime.checkpoints.optimizer_state import Owned, collect, join, restore
from mlhub.runtime.checkpoints.step_folders import Checkpoint, optimizer_file
from mlhub.runtime.optimization.learning_rates import Scheduled
from mlhub.runtime.ps.layout import plan_shards
from mlhub.runtime.strategies.protocol import Losses, StepResult, TrainingPosition
from mlhub.runtime.strategies.toolkit import flat_parameters
from mlhub.runtime.strategies.toolkit.gradient_accumulation import accumulate
from mlhub.runtime.strategies.toolkit.process_group import Copied, ProcessGroupStrategy
from mlhub.runtime.strategies.toolkit.residual import ErrorFeedbackResidual


class Sharded(ProcessGroupStrategy):
    def prepare(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, *, resume: Checkpoint | None, course: TrainingPosition
    ) -> nn.Module:
        """Raises BadInputError for an optimiser that looks at more than one element at a time."""
        self.begin(course)
        self.n_parts = self.n_workers
        named, self._debt = flat_parameters.trained(model), ErrorFeedbackResidual.of(resume)
        (plan,) = plan_shards(named, optimizer, n_shards=1, n_workers=self.n_workers, resume_from=None)
        self._weights, self._gradient = flat_parameters.flatten(named, multiple=self.n_workers)
        if self.n_workers > 1:
            self.join_group()
            dist.broadcast(self._weights, 0)
        length = self._weights.numel() // self.n_workers
        begin, end = self.rank * length, min((self.rank + 1) * length, plan.size)
        self._own = self._weights[self.rank * length :][:length]
        self._own_gradient = torch.zeros_like(self._own)
        self._owned: list[Owned] = []
        self._optimizer: torch.optim.Optimizer | None = None
        if begin < end:  # the last worker of many may have nothing of a tiny model
            self._optimizer, places = plan.optimizer_for(self._own[: end - begin], begin=begin, end=end)
            self._owned = [Owned(place.parameter, place.start, place.tensor) for place in places]
            for place in places:
                place.tensor.grad = self._own_gradient[place.offset :][: place.tensor.numel()]
            self._scheduled = Scheduled(self._optimizer.param_groups, course.rates)
            if resume is not None:
                restore(self._optimizer, self._owned, join(resume.optimizer()))
        return model

    def step(self, losses: Losses, *, n: int) -> StepResult:
        self._gradient.zero_()
        told, _ = accumulate(losses, lambda: [self._gradient], self.gauge, n=n)
        self.course.pulse.beat("sync")
        began = time.perf_counter()
        self._scatter()
        self._clip()
        self._debt.pay((name, start, tensor.grad) for name, start, tensor in self._owned)
        self._debt.settle()
        stepped = time.perf_counter()
        if self._optimizer is not None:
            self._scheduled.set(self.done)
            self._optimizer.step()
        optimizer_s = time.perf_counter() - stepped
        self._spread()
        n_bytes = 2.0 * self._weights.nbytes * (self.n_workers - 1) / self.n_workers
        return self.told(told, time.perf_counter() - began - optimizer_s, n_bytes=n_bytes)

    def save_optimizer(self) -> Copied:
        name = optimizer_file(self.rank, self.n_workers)
        return Copied({name: {} if self._optimizer is None else collect(self._optimizer, self._owned)})

    def _scatter(self) -> None:
        """Parts of the batch weigh by their examples already: their sum is the gradient."""
        if self.n_workers == 1:
            self._own_gradient.copy_(self._gradient)
        elif self._gradient.is_cuda:
            dist.reduce_scatter_tensor(self._own_gradient, self._gradient)
        else:
            # gloo's reduce-scatter sends twice as much: it is an all-reduce inside
            pieces = torch.empty_like(self._gradient)
            dist.all_to_all_single(pieces, self._gradient)
            torch.sum(pieces.view(self.n_workers, -1), 0, out=self._own_gradient)

    def _clip(self) -> None:
        limit = self.course.clip_norm
        if limit is None:
            return
        (square,) = self.total([float(self._own_gradient.double().square().sum())])
        if square > limit * limit:
            self._own_gradient *= limit / (square**0.5 + 1e-6)

    def _spread(self) -> None:
        if self.n_workers > 1:
            dist.all_gather_into_tensor(self._weights, self._own.clone())
