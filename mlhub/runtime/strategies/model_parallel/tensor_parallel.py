# SPDX-License-Identifier: Apache-2.0
"""Weights divided over workers by torch's own modules: tensor parallelism, FSDP2, and both on a mesh of two dimensions.

A copy of the model whose weights are divided (DTensor) is trained. The model itself is empty meanwhile, and filled at
barriers, where each worker evaluates its part of the held-out examples; so checkpoints are complete, and any number
of workers can resume them.
Sources: Shoeybi et al., Megatron-LM, 2019; Rajbhandari et al., ZeRO, SC '20; torch.distributed.fsdp, .tensor.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Mapping
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import FSDPModule, fully_shard
from torch.distributed.tensor import DTensor, distribute_tensor
from torch.distributed.tensor.parallel import ColwiseParallel, ParallelStyle, RowwiseParallel, parallelize_module

from mlhub.runtime.checkpoints.optimizer_state import merge
from mlhub.runtime.checkpoints.step_folders import StepCheckpoint, optimizer_file
from mlhub.runtime.errors import BadInputError
from mlhub.runtime.optimization.learning_rates import LearningRateScheduler
from mlhub.runtime.strategies.model_parallel.linear_pairs import pairs_of
from mlhub.runtime.strategies.protocol import Barrier, Batch, ControlFlags, Losses, StepResult, TrainingPlan
from mlhub.runtime.strategies.toolkit.process_group import CopiedState, ProcessGroupStrategy
from mlhub.runtime.strategies.toolkit.residual import ErrorFeedbackResidual


class TensorParallel(ProcessGroupStrategy):
    """A mesh of n / parts replicas, each divided into `parts` by its pairs of linear layers; replicas are sharded."""

    @property
    def n_parts_of_layers(self) -> int:
        """The parts of each divided layer: all workers (tensor), one (fully_sharded), or the parameter (hybrid)."""
        if self.spec.name == "tensor":
            return self.n_workers
        return min(self.n_workers, int(self.spec.parameters.get("parts", 1)))

    def prepare(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, *, resume: StepCheckpoint | None, plan: TrainingPlan
    ) -> nn.Module:
        """Raises BadInputError for a model that cannot be divided like that."""
        self.begin(plan)
        n_parts = self.n_parts_of_layers
        self._n_replicas = self.n_workers // n_parts
        if self._n_replicas * n_parts != self.n_workers:
            raise BadInputError(
                f"{self.n_workers} workers cannot be replicas of {n_parts} parts.",
                field="max_workers",
                remedy=f"Give min_workers and max_workers a multiple of {n_parts}.",
            )
        self._model, self._trained = model, model
        if self.n_workers > 1:
            self.create_process_group()
            with torch.no_grad():
                for value in model.state_dict().values():
                    dist.broadcast(value, 0)
            self._trained = _copy_of(model)
            mesh = init_device_mesh(self.device().type, (self._n_replicas, n_parts), mesh_dim_names=("data", "layer"))
            if n_parts > 1:
                _divide_pairs(self._trained, mesh["layer"], n_parts)
            if self._n_replicas > 1:
                _shard(self._trained, mesh["data"])
        self._named = {name: p for name, p in self._trained.named_parameters() if p.requires_grad}
        _repoint(optimizer, model, self._named)
        self.optimizer, self.scheduler = optimizer, LearningRateScheduler(optimizer.param_groups, plan.rates)
        if resume is not None:
            self._restore(resume)
        self._carried_residual = ErrorFeedbackResidual.of(resume)
        self._shapes = {name: p.shape for name, p in model.named_parameters()}
        self._state: dict[str, Tensor] = {}
        return self._trained

    def next(self, flags: ControlFlags) -> Batch | Barrier:
        order = super().next(flags)
        if isinstance(order, Barrier):
            return order
        # all parts of a replica see the same examples
        return Batch(order.step, self.rank // self.n_parts_of_layers, self._n_replicas)

    def step(self, losses: Losses, *, n: int) -> StepResult:
        self._free_model()
        self.optimizer.zero_grad(set_to_none=True)
        loss_sum = 0.0
        for index in range(n):
            if isinstance(self._trained, FSDPModule):
                self._trained.set_requires_gradient_sync(index == n - 1)
            loss, share = next(losses)
            # FSDP averages over replicas, the batch's mean weighs by examples
            torch.autograd.backward(loss * (share * self._n_replicas))
            loss_sum += float(loss.detach()) * share
        self.plan.heartbeat.record("sync")
        began = time.perf_counter()
        self._clip()
        self._add_residual()
        sync_s = time.perf_counter() - began
        self.scheduler.set(self.done)
        self.optimizer.step()
        return self.step_result(loss_sum / self.n_parts_of_layers, sync_s, n_bytes=0.0)

    def before_barrier(self, barrier: Barrier) -> None:
        if self.n_workers > 1:
            divided = dict(self._trained.named_parameters())
            for name, parameter in self._model.named_parameters():
                parameter.data = _full(divided[name].detach()).clone()
        if barrier.saves:
            self._state = self._collect()

    def save_optimizer(self) -> CopiedState:
        return CopiedState({optimizer_file(0, 1): self._state})

    def _free_model(self) -> None:
        for parameter in self._model.parameters() if self.n_workers > 1 else ():
            parameter.data = parameter.data.new_empty(0)

    def _clip(self) -> None:
        limit = self.plan.clip_norm
        if limit is None:
            return
        gradients = [p.grad for p in self._named.values() if p.grad is not None]
        squares = [float(_full(torch.linalg.vector_norm(g))) ** 2 for g in gradients]
        norm = float(sum(squares)) ** 0.5
        if norm > limit:
            for gradient in gradients:
                gradient *= limit / (norm + 1e-6)

    def _add_residual(self) -> None:
        for name, residual in self._carried_residual.by_name.items():
            parameter = self._named.get(name)
            if parameter is not None and parameter.grad is not None:
                parameter.grad += _as(residual.view(parameter.shape).to(parameter.device), parameter)
        self._carried_residual.clear()

    def _collect(self) -> dict[str, Tensor]:
        """The optimiser's state in the format of optimizer_state.py; all workers take part, and rank 0 keeps it."""
        out = {}
        for name, parameter in self._named.items():
            for key, value in self.optimizer.state.get(parameter, {}).items():
                found = _full(value).detach().cpu() if isinstance(value, Tensor) else torch.tensor(value)
                is_flat = found.numel() == parameter.numel() and found.dim() > 0
                if self.rank == 0:
                    out[f"{name}|{key}|{0 if is_flat else 'whole'}"] = (found.reshape(-1) if is_flat else found).clone()
        return out

    def _restore(self, resume: StepCheckpoint) -> None:
        saved = merge(resume.optimizer())
        for (name, key), value in saved.flat.items():
            if name in self._named:
                parameter = self._named[name]
                self.optimizer.state[parameter][key] = _as(value.view(parameter.shape).to(parameter.device), parameter)
        for (name, key), value in saved.whole.items():
            if name in self._named:
                self.optimizer.state[self._named[name]][key] = value.clone()


def _copy_of(model: nn.Module) -> nn.Module:
    """A copy with weights of its own that shares the running statistics."""
    out = copy.deepcopy(model)
    theirs = dict(model.named_modules())
    for name, module in out.named_modules():
        module._buffers.update(theirs[name]._buffers)
    return out


def _divide_pairs(model: nn.Module, mesh: DeviceMesh, n: int) -> None:
    pairs = [pair for pair in pairs_of(model) if pair.width % n == 0]
    if not pairs:
        raise BadInputError(
            f"No pair of linear layers has a width between them that {n} divides.",
            field="max_workers",
            remedy="Give a number of workers that divides the layers' width.",
        )
    plan: dict[str, ParallelStyle] = {}
    for pair in pairs:
        plan |= {pair.first: ColwiseParallel(), pair.second: RowwiseParallel()}
    parallelize_module(model, mesh, plan)


def _shard(model: nn.Module, mesh: DeviceMesh) -> None:
    """Shards the layers of sequences one by one, so that only those in use are gathered, and then the rest."""
    for row in [m for m in model.modules() if isinstance(m, nn.Sequential | nn.ModuleList)]:
        for layer in row:
            is_row = isinstance(layer, nn.Sequential | nn.ModuleList)
            if not is_row and any(True for _ in layer.parameters()):
                fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)


def _repoint(optimizer: torch.optim.Optimizer, model: nn.Module, named: Mapping[str, nn.Parameter]) -> None:
    """Gives the optimiser the divided parameters, with plain ones in separate groups, as fused kernels need."""
    name_of = {id(p): name for name, p in model.named_parameters()}
    groups: list[dict[str, Any]] = []
    for group in optimizer.param_groups:
        ours = [named[name_of[id(p)]] for p in group["params"] if id(p) in name_of]
        for is_divided in (False, True):
            chosen = [p for p in ours if isinstance(p, DTensor) is is_divided]
            if chosen:
                groups.append({**group, "params": chosen})
    optimizer.param_groups[:] = groups


def _full(value: Tensor) -> Tensor:
    return value.full_tensor() if isinstance(value, DTensor) else value


def _as(value: Tensor, parameter: Tensor) -> Tensor:
    """Distributes a value like the parameter; every worker has the whole value, so nothing is sent."""
    if not isinstance(parameter, DTensor):
        return value.clone()
    return distribute_tensor(value, parameter.device_mesh, parameter.placements, src_data_rank=None)
