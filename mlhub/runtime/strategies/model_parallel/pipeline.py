# SPDX-License-Identifier: Apache-2.0
"""Pipeline: each worker holds some layers, and micro-batches pass through all of them in the order of a schedule.

Every worker keeps the modules of the whole model, but the weights of others at barriers only, where each evaluates its
part of the held-out examples. In between it holds weights, gradients and optimiser of its own layers. There may be
several replicas of the pipeline, each on a part of the batch; workers that hold the same layers sum their gradients.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.pipelining import PipelineStage

from mlhub.runtime.checkpoints.optimizer_state import ParameterSlice, collect, merge, restore
from mlhub.runtime.checkpoints.step_folders import StepCheckpoint, optimizer_file
from mlhub.runtime.errors import BadInputError
from mlhub.runtime.optimization.learning_rates import LearningRateScheduler
from mlhub.runtime.strategies.model_parallel.pipeline_schedules import AnySchedule, Ordering, replicas_for
from mlhub.runtime.strategies.model_parallel.stages import StageLayer, layers_of, most_stages, stages
from mlhub.runtime.strategies.protocol import Barrier, Batch, ControlFlags, Losses, StepResult, TrainingPlan
from mlhub.runtime.strategies.toolkit.gradient_accumulation import accumulate
from mlhub.runtime.strategies.toolkit.gradient_hooks import ring_bytes
from mlhub.runtime.strategies.toolkit.process_group import CopiedState, ProcessGroupStrategy
from mlhub.runtime.strategies.toolkit.residual import ErrorFeedbackResidual


class PipelineParallel(ProcessGroupStrategy):
    """A worker of a pipeline, or of one of several replicas of it."""

    def prepare(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, *, resume: StepCheckpoint | None, plan: TrainingPlan
    ) -> nn.Module:
        """Raises BadInputError for a model that cannot be divided among as many workers."""
        layers = layers_of(model)
        most = most_stages(layers)
        self._n_replicas = replicas_for(self.spec, n_workers=self.n_workers, most_stages=most)
        self._length = self.n_workers // self._n_replicas
        self._replica, self._place = divmod(self.rank, self._length)
        self._ordering = Ordering.of(self.spec, n_workers=self._length)
        n_stages = self._ordering.n_stages
        if n_stages > most:
            each = self._ordering.per_worker
            fewer = f"Give max_workers {most // each}" if most // each > 1 else "Give max_workers 1, or more layers"
            raise BadInputError(
                f"A pipeline of {n_stages} stages, {each} a worker, needs as many layers; {most} have parameters.",
                field="max_workers",
                remedy=f"{fewer}{', or a schedule of one stage a worker (1f1b)' if each > 1 else ''}.",
            )
        self.begin(plan)
        self.n_parts = self._length
        self._stages = stages(layers, n_stages)
        self._holders = self._ordering.holders
        self._own = {k: self._stages[k] for k, holder in enumerate(self._holders) if holder == self._place}
        self._modules = {k: self._module(k, stage) for k, stage in self._own.items()}
        own_layers = [layer for stage in self._own.values() for layer in stage]
        named = [(f"{layer.name}.{key}", p) for layer in own_layers for key, p in _trained(layer)]
        self._slices = [ParameterSlice(name, 0, p) for name, p in named]
        self._trained = [p for _, p in named]
        own = {id(p) for p in self._trained}
        for group in optimizer.param_groups:
            group["params"] = [p for p in group["params"] if id(p) in own]
        self.optimizer, self.scheduler = optimizer, LearningRateScheduler(optimizer.param_groups, plan.rates)
        if resume is not None:
            restore(optimizer, self._slices, merge(resume.optimizer()))
        self._carried_residual = ErrorFeedbackResidual.of(resume)
        self._schedules: dict[int, AnySchedule] = {}
        self._has_all_layers, self._n_bytes = True, 0.0
        if self.n_workers > 1:
            self.create_process_group()
            self._broadcast_stages([0] * n_stages)
        self._pipeline_group: dist.ProcessGroup | None = None
        self._replica_group: dist.ProcessGroup | None = None
        if self._n_replicas > 1:
            shape = (self._n_replicas, self._length)
            mesh = init_device_mesh(self.device().type, shape, mesh_dim_names=("data", "layer"))
            self._pipeline_group, self._replica_group = mesh["layer"].get_group(), mesh["data"].get_group()
        return model

    def next(self, flags: ControlFlags) -> Batch | Barrier:
        order = super().next(flags)
        return order if isinstance(order, Barrier) else Batch(order.step, self._replica, self._n_replicas)

    def step(self, losses: Losses, *, n: int) -> StepResult:
        self._free_other_stages()
        self.optimizer.zero_grad(set_to_none=True)
        self._n_bytes = 0.0
        if self._length == 1:
            loss_sum, _ = accumulate(losses, lambda: [p.grad for p in self._trained], self.local_noise, n=n)
        else:
            loss_sum = self._run_schedule(losses) * losses.share
        began = time.perf_counter()
        self._sum_over_replicas(1.0 if self._length == 1 else losses.share)
        sync_s = time.perf_counter() - began
        self._clip()
        self._carried_residual.add_to((name, start, tensor.grad) for name, start, tensor in self._slices)
        self._carried_residual.clear()
        self.scheduler.set(self.done)
        self.optimizer.step()
        return self.step_result(loss_sum, sync_s, n_bytes=self._n_bytes)

    def _run_schedule(self, losses: Losses) -> float:
        """Runs all micro-batches through the pipeline. Returns the mean loss on the last stage, 0 elsewhere."""
        inputs, targets = losses.whole()
        schedule, losses_seen = self._schedule(len(targets)), list[Tensor]()
        self._loss = losses.loss
        is_first, is_last = 0 in self._own, self._ordering.n_stages - 1 in self._own
        with losses.precision():
            schedule.step(
                *([inputs] if is_first else []),
                target=targets if is_last else None,
                losses=losses_seen if is_last else None,
            )
        return float(torch.stack(losses_seen).detach().mean()) if losses_seen else 0.0

    def _schedule(self, n_examples: int) -> AnySchedule:
        """The schedule of a batch size: an epoch's last batch is smaller, and micro-batches are of one size."""
        if n_examples not in self._schedules:
            n = self._ordering.micro_batches(wanted=self.spec.parameters["micro_batches"], n_examples=n_examples)
            n_stages, device = self._ordering.n_stages, self.device()
            own = [
                PipelineStage(module, k, n_stages, device, group=self._pipeline_group)
                for k, module in self._modules.items()
            ]
            self._schedules[n_examples] = self._ordering.build(
                own, n, lambda outputs, targets: _contiguous(self._loss(outputs, targets))
            )
        return self._schedules[n_examples]

    def _module(self, k: int, stage: Sequence[StageLayer]) -> nn.Sequential:
        """The module of a stage, with a hook that counts the bytes that it exchanges."""
        module = nn.Sequential(_StageInput(), *(layer.module for layer in stage), _StageOutput())
        module.register_forward_hook(partial(self._count, k))
        return module

    def _sum_over_replicas(self, share: float) -> None:
        """Sums gradients over replicas. share: the fraction of the batch that this replica's examples are."""
        if self._replica_group is None:
            return
        self.plan.heartbeat.record("sync")
        gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in self._trained]
        flat = torch.cat([gradient.reshape(-1) for gradient in gradients]).mul_(share)
        dist.all_reduce(flat, group=self._replica_group)
        self._n_bytes += ring_bytes(flat.nbytes, self._n_replicas)
        parts = torch.split(flat, [p.numel() for p in self._trained])
        for parameter, part in zip(self._trained, parts, strict=True):
            parameter.grad = part.view_as(parameter)

    def _clip(self) -> None:
        limit = self.plan.clip_norm
        if limit is None:
            return
        gradients = [p.grad for p in self._trained if p.grad is not None]
        (square,) = self.sum_over_workers([sum(float(g.double().square().sum()) for g in gradients)])
        norm = float(square / self._n_replicas) ** 0.5
        if norm > limit:
            for gradient in gradients:
                gradient *= limit / (norm + 1e-6)

    def before_barrier(self, barrier: Barrier) -> None:  # noqa: ARG002 (the signature of LockstepStrategy)
        """Broadcasts every stage's layers, so that each worker has the whole model."""
        if not self._has_all_layers:
            for parameter in self._other_parameters():
                parameter.data = parameter.data.new_empty(self._shapes[id(parameter)])
            self._has_all_layers = True
            self._broadcast_stages(self._holders)

    def average_buffers(self, model: nn.Module) -> None:
        """Each layer's buffers come from its stage."""

    def save_optimizer(self) -> CopiedState:
        return CopiedState({optimizer_file(self.rank, self._length): collect(self.optimizer, self._slices)})

    def _free_other_stages(self) -> None:
        if not self._has_all_layers or self.n_workers == 1:
            return
        self._shapes = {}
        for parameter in self._other_parameters():
            self._shapes[id(parameter)] = parameter.shape
            parameter.data = parameter.data.new_empty(0)
        self._has_all_layers = False

    def _other_parameters(self) -> Iterator[nn.Parameter]:
        for k, stage in enumerate(self._stages):
            for layer in stage if k not in self._own else ():
                yield from layer.module.parameters()

    def _broadcast_stages(self, sources: Sequence[int]) -> None:
        """Broadcasts the layers of each stage. sources: by stage, the worker whose values are right."""
        with torch.no_grad():
            for source, stage in zip(sources, self._stages, strict=True):
                for layer in stage:
                    for value in [*layer.module.parameters(), *layer.module.buffers()]:
                        dist.broadcast(value.data, source)

    def _count(self, k: int, _: nn.Module, inputs: tuple[Any, ...], output: Any) -> None:
        """Counts activations that are sent, and their gradients; as many bytes are received as the neighbour sends.

        Stages of one worker pass values to each other without sending.
        """
        if not torch.is_grad_enabled():
            return
        holders = self._holders
        if k < len(holders) - 1 and holders[k + 1] != self._place and isinstance(output, Tensor):
            self._n_bytes += output.nbytes
        if k > 0 and holders[k - 1] != self._place and isinstance(inputs[0], Tensor):
            self._n_bytes += inputs[0].nbytes


class _StageInput(nn.Module):
    """The gradient of the input is sent back, so it must be contiguous in memory."""

    def forward(self, value: Any) -> Any:
        is_sent = isinstance(value, Tensor) and value.is_floating_point()
        return _WholeGradient.apply(value) if is_sent else value  # type: ignore[no-untyped-call]


class _StageOutput(nn.Module):
    """The output must be contiguous too, and no view, which torch could not detach from its history."""

    def forward(self, value: Any) -> Any:
        return _contiguous(value) if isinstance(value, Tensor) else value


class _WholeGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, value: Tensor) -> Tensor:  # noqa: ARG004 (the signature of torch's)
        return value.view_as(value)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:  # noqa: ARG004
        return gradient.contiguous()


def _contiguous(value: Tensor) -> Tensor:
    """The value in memory of its own, without gaps."""
    value = value.contiguous()
    return value.clone() if value._is_view() else value


def _trained(layer: StageLayer) -> Iterator[tuple[str, nn.Parameter]]:
    for key, parameter in layer.module.named_parameters():
        if parameter.requires_grad:
            yield key, parameter
