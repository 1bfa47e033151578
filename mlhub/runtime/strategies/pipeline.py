"""Pipeline: each worker holds some layers, and micro-batches pass through all of them; torch's GPipe and 1F1B.

Every worker keeps the whole model's skeleton, filled with weights of others at meetings only: there each evaluates its
part of the held-out examples. In between it holds weights, gradients and optimiser of its own layers.
Sources: Huang et al., NeurIPS '19 (GPipe); Narayanan et al., SOSP '19 (1F1B); torch.distributed.pipelining.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe

from mlhub.runtime.checkpoints import Checkpoint, optimizer_file
from mlhub.runtime.errors import BadInputError
from mlhub.runtime.optimizer_state import Owned, collect, join, restore
from mlhub.runtime.rates import Scheduled
from mlhub.runtime.strategies.accumulate import accumulate
from mlhub.runtime.strategies.grouped import Copied, Grouped
from mlhub.runtime.strategies.layers import Layer, layers_of, most_stages, stages
from mlhub.runtime.strategies.protocol import Batch, Course, Losses, Meeting, StepResult, Wishes

AnySchedule = ScheduleGPipe | Schedule1F1B


class Pipeline(Grouped):
    def prepare(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, *, resume: Checkpoint | None, course: Course
    ) -> nn.Module:
        """Raises BadInputError for a model that cannot be divided among as many workers."""
        layers = layers_of(model)
        if self.n_workers > most_stages(layers):
            raise BadInputError(
                f"A pipeline of {self.n_workers} workers needs as many layers; {most_stages(layers)} have parameters.",
                field="max_workers",
                remedy=f"Give max_workers {most_stages(layers)}.",
            )
        self.begin(course)
        self.n_parts = self.n_workers
        self._stages = stages(layers, self.n_workers)
        self._stage = nn.Sequential(_InOneBlock(), *(layer.module for layer in self._stages[self.rank]), _InOneBlock())
        self._stage.register_forward_hook(self._count)
        named = [(f"{layer.name}.{key}", p) for layer in self._stages[self.rank] for key, p in _trained(layer)]
        self._owned = [Owned(name, 0, p) for name, p in named]
        self._trained = [p for _, p in named]
        own = {id(p) for p in self._trained}
        for group in optimizer.param_groups:
            group["params"] = [p for p in group["params"] if id(p) in own]
        self.optimizer, self.scheduled = optimizer, Scheduled(optimizer.param_groups, course.rates)
        if resume is not None:
            restore(optimizer, self._owned, join(resume.optimizer()))
        self._schedules: dict[int, AnySchedule] = {}
        self._is_whole, self._n_bytes = True, 0.0
        if self.n_workers > 1:
            self.join_group()
            self._tell(of=[0] * self.n_workers)
        return model

    def next(self, wishes: Wishes) -> Batch | Meeting:
        order = super().next(wishes)
        return order if isinstance(order, Meeting) else Batch(order.step, 0, 1)

    def step(self, losses: Losses, *, n: int) -> StepResult:
        self._forget_others()
        self.optimizer.zero_grad(set_to_none=True)
        self._n_bytes = 0.0
        if self.n_workers == 1:
            told, _ = accumulate(losses, lambda: [p.grad for p in self._trained], self.gauge, n=n)
        else:
            told = self._together(losses)
        self._clip()
        self.scheduled.set(self.done)
        self.optimizer.step()
        return self.told(told, 0.0, n_bytes=self._n_bytes)

    def _together(self, losses: Losses) -> float:
        """Only the last stage knows the loss."""
        inputs, targets = losses.whole()
        schedule, said = self._schedule(len(targets)), list[Tensor]()
        self._loss = losses.loss
        with losses.precision():
            if self.rank == 0:
                schedule.step(inputs)
            elif self.rank == self.n_workers - 1:
                schedule.step(target=targets, losses=said)
            else:
                schedule.step()
        return float(torch.stack(said).detach().mean()) if said else 0.0

    def _schedule(self, n_examples: int) -> AnySchedule:
        """One for each size of a batch: micro-batches are of one size, and an epoch's last batch is smaller."""
        if n_examples not in self._schedules:
            wanted = self.spec.parameters["micro_batches"]
            n = max(k for k in range(1, min(wanted, n_examples) + 1) if n_examples % k == 0)
            stage = PipelineStage(self._stage, self.rank, self.n_workers, self.device())
            # 1F1B keeps every stage busy from the start, with a micro-batch each
            is_1f1b = self.spec.parameters["schedule"] == "1f1b" and n >= self.n_workers
            kind = Schedule1F1B if is_1f1b else ScheduleGPipe
            self._schedules[n_examples] = kind(stage, n, loss_fn=lambda said, targets: self._loss(said, targets))
        return self._schedules[n_examples]

    def _clip(self) -> None:
        limit = self.course.clip_norm
        if limit is None:
            return
        gradients = [p.grad for p in self._trained if p.grad is not None]
        (square,) = self.total([sum(float(g.double().square().sum()) for g in gradients)])
        if square > limit * limit:
            for gradient in gradients:
                gradient *= limit / (square**0.5 + 1e-6)

    def gather(self, meeting: Meeting) -> None:  # noqa: ARG002 (the signature of Lockstep)
        """Each tells the others its layers."""
        if not self._is_whole:
            for k, stage in enumerate(self._stages):
                for layer in stage if k != self.rank else ():
                    for parameter in layer.module.parameters():
                        parameter.data = parameter.data.new_empty(self._shapes[id(parameter)])
            self._is_whole = True
            self._tell(of=range(self.n_workers))

    def average_buffers(self, model: nn.Module) -> None:
        """Each layer's buffers come from its stage."""

    def save_optimizer(self) -> Copied:
        return Copied({optimizer_file(self.rank, self.n_workers): collect(self.optimizer, self._owned)})

    def _forget_others(self) -> None:
        if not self._is_whole or self.n_workers == 1:
            return
        self._shapes = {}
        for k, stage in enumerate(self._stages):
            for layer in stage if k != self.rank else ():
                for parameter in layer.module.parameters():
                    self._shapes[id(parameter)] = parameter.shape
                    parameter.data = parameter.data.new_empty(0)
        self._is_whole = False

    def _tell(self, *, of: Sequence[int]) -> None:
        """Each stage's layers to all; of: the worker who has them right."""
        with torch.no_grad():
            for source, stage in zip(of, self._stages, strict=True):
                for layer in stage:
                    for value in [*layer.module.parameters(), *layer.module.buffers()]:
                        dist.broadcast(value.data, source)

    def _count(self, _: nn.Module, inputs: tuple[Any, ...], output: Any) -> None:
        """Activations go forward, their gradients back; the same stands in for what comes."""
        if torch.is_grad_enabled() and self.rank < self.n_workers - 1 and isinstance(output, Tensor):
            self._n_bytes += output.nbytes
        if torch.is_grad_enabled() and self.rank > 0 and isinstance(inputs[0], Tensor):
            self._n_bytes += inputs[0].nbytes


class _InOneBlock(nn.Module):
    """What is sent must lie in memory without gaps."""

    def forward(self, value: Any) -> Any:
        if not isinstance(value, Tensor) or not value.is_floating_point():
            return value
        return _Contiguous.apply(value)  # type: ignore[no-untyped-call]


class _Contiguous(torch.autograd.Function):
    """Of the value, and of its gradient."""

    @staticmethod
    def forward(ctx: Any, value: Tensor) -> Tensor:  # noqa: ARG004 (the signature of torch's)
        return value.contiguous().view_as(value)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:  # noqa: ARG004
        return gradient.contiguous()


def _trained(layer: Layer) -> Iterator[tuple[str, nn.Parameter]]:
    for key, parameter in layer.module.named_parameters():
        if parameter.requires_grad:
            yield key, parameter
