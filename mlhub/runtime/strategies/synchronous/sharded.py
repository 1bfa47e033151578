# SPDX-License-Identifier: Apache-2.0
"""Sharded: every worker holds the model, but only its own part of the optimiser's state (ZeRO-1, BigDL, SINGA).

    reduce-scatter the gradient, step on the own 1/n of the weights, all-gather the weights

It is all-reduce in two halves with the step in between, and sends as many bytes. The optimiser must be elementwise, so
that weights can be cut anywhere. Source: Rajbhandari et al., SC '20.
"""

from __future__ import annotations

import time

import torch
import torch.distributed as dist
from torch import nn

from mlhub.runtime.checkpoints.optimizer_state import ParameterSlice, collect, merge, restore
from mlhub.runtime.checkpoints.step_folders import StepCheckpoint, optimizer_file
from mlhub.runtime.optimization.learning_rates import LearningRateScheduler
from mlhub.runtime.ps.layout import plan_shards
from mlhub.runtime.strategies.protocol import Losses, StepResult, TrainingPlan
from mlhub.runtime.strategies.toolkit import flat_parameters
from mlhub.runtime.strategies.toolkit.gradient_accumulation import accumulate
from mlhub.runtime.strategies.toolkit.process_group import CopiedState, ProcessGroupStrategy
from mlhub.runtime.strategies.toolkit.residual import ErrorFeedbackResidual


class Sharded(ProcessGroupStrategy):
    """Each worker updates its own slice of the flat weights."""

    def prepare(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, *, resume: StepCheckpoint | None, plan: TrainingPlan
    ) -> nn.Module:
        """Raises BadInputError for an optimiser that looks at more than one element at a time."""
        self.begin(plan)
        self.n_parts = self.n_workers
        named, self._carried_residual = flat_parameters.trainable_parameters(model), ErrorFeedbackResidual.of(resume)
        (shard,) = plan_shards(named, optimizer, n_shards=1, n_workers=self.n_workers, resume_from=None)
        self._weights, self._gradient = flat_parameters.flatten(named, multiple=self.n_workers)
        if self.n_workers > 1:
            self.create_process_group()
            dist.broadcast(self._weights, 0)
        length = self._weights.numel() // self.n_workers
        begin, end = self.rank * length, min((self.rank + 1) * length, shard.size)
        self._own = self._weights[self.rank * length :][:length]
        self._own_gradient = torch.zeros_like(self._own)
        self._slices: list[ParameterSlice] = []
        self._optimizer: torch.optim.Optimizer | None = None
        if begin < end:  # of a tiny model the last of many workers may hold nothing
            self._optimizer, places = shard.optimizer_for(self._own[: end - begin], begin=begin, end=end)
            self._slices = [ParameterSlice(place.parameter, place.start, place.tensor) for place in places]
            for place in places:
                place.tensor.grad = self._own_gradient[place.offset :][: place.tensor.numel()]
            self._scheduler = LearningRateScheduler(self._optimizer.param_groups, plan.rates)
            if resume is not None:
                restore(self._optimizer, self._slices, merge(resume.optimizer()))
        return model

    def step(self, losses: Losses, *, n: int) -> StepResult:
        self._gradient.zero_()
        loss_sum, _ = accumulate(losses, lambda: [self._gradient], self.local_noise, n=n)
        self.plan.heartbeat.record("sync")
        began = time.perf_counter()
        self._reduce_scatter()
        self._clip()
        self._carried_residual.add_to((name, start, tensor.grad) for name, start, tensor in self._slices)
        self._carried_residual.clear()
        stepped = time.perf_counter()
        if self._optimizer is not None:
            self._scheduler.set(self.done)
            self._optimizer.step()
        optimizer_s = time.perf_counter() - stepped
        self._gather_weights()
        n_bytes = 2.0 * self._weights.nbytes * (self.n_workers - 1) / self.n_workers
        return self.step_result(loss_sum, time.perf_counter() - began - optimizer_s, n_bytes=n_bytes)

    def save_optimizer(self) -> CopiedState:
        name = optimizer_file(self.rank, self.n_workers)
        return CopiedState({name: {} if self._optimizer is None else collect(self._optimizer, self._slices)})

    def _reduce_scatter(self) -> None:
        """Sums the gradient, a slice on each worker. Parts are weighted by their examples already."""
        if self.n_workers == 1:
            self._own_gradient.copy_(self._gradient)
        elif self._gradient.is_cuda:
            dist.reduce_scatter_tensor(self._own_gradient, self._gradient)
        else:
            # gloo implements reduce-scatter by an all-reduce, which sends twice as much
            pieces = torch.empty_like(self._gradient)
            dist.all_to_all_single(pieces, self._gradient)
            torch.sum(pieces.view(self.n_workers, -1), 0, out=self._own_gradient)

    def _clip(self) -> None:
        limit = self.plan.clip_norm
        if limit is None:
            return
        (square,) = self.sum_over_workers([float(self._own_gradient.double().square().sum())])
        if square > limit * limit:
            self._own_gradient *= limit / (square**0.5 + 1e-6)

    def _gather_weights(self) -> None:
        if self.n_workers > 1:
            dist.all_gather_into_tensor(self._weights, self._own.clone())
