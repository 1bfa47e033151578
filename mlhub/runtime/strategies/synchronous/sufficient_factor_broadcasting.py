"""All-reduce in which a large linear layer's gradient travels as what it is a product of: inputs and errors.

Of K rows (examples, or their positions) a layer from M to N has the gradient errors^T inputs: M N numbers, made of
K (M + N). Every worker gives its rows to all others, who form the product of all rows themselves. With few rows and
wide layers this is less than a ring of the gradient sends; elsewhere the ring is used, layer by layer.
At barriers models are averaged: workers of different machines may round products differently.
Source: Chilimbi et al., Project Adam, OSDI '14, sec. 3.2, where servers form the product.
"""

from __future__ import annotations

import time
from collections import Counter

import torch
import torch.distributed as dist
from torch import Tensor, nn

from mlhub.runtime.checkpoints.step_folders import Checkpoint
from mlhub.runtime.strategies.protocol import Losses, StepResult, TrainingPlan
from mlhub.runtime.strategies.toolkit import flat_parameters
from mlhub.runtime.strategies.toolkit.replicas import ReplicaStrategy

ALIKE = 1e-3  # of a gradient's norm: what a product of rows may differ from it by rounding


def pays(n_rows: int, *, n_inputs: int, n_outputs: int, n_workers: int) -> bool:
    """Whether n_rows of inputs and errors, sent to all others, are less than a ring of the gradient sends."""
    return n_rows * (n_inputs + n_outputs) * n_workers < 2 * n_inputs * n_outputs


class FactoredLayer:
    """A linear layer's inputs and errors in this step, seen by hooks. is_sent: instead of its weight's gradient."""

    def __init__(self, layer: nn.Linear) -> None:
        self.weight, self.n_inputs, self.n_outputs = layer.weight, layer.in_features, layer.out_features
        self.is_sent = False
        self._inputs: list[Tensor] = []
        self._errors: list[Tensor] = []
        layer.register_forward_hook(self._see)

    def take(self) -> tuple[Tensor, Tensor]:
        """Shapes (K, M) and (K, N); forgets them."""
        device = self.weight.device
        inputs = torch.cat([torch.empty(0, self.n_inputs, device=device), *self._inputs])
        errors = torch.cat([torch.empty(0, self.n_outputs, device=device), *self._errors])
        self._inputs, self._errors = [], []
        return inputs, errors

    def _see(self, _: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        if not torch.is_grad_enabled():
            return
        if not output.requires_grad:  # the first layer, when its weight needs no gradient of its own
            output.requires_grad_()
        rows = inputs[0].detach().reshape(-1, self.n_inputs).float()

        def keep(error: Tensor) -> None:
            self._inputs.append(rows)
            self._errors.append(error.detach().reshape(-1, self.n_outputs).float())

        output.register_hook(keep)  # type: ignore[no-untyped-call]


class SufficientFactorBroadcasting(ReplicaStrategy):
    """The first step is a ring's; what it saw decides which layers are sent as rows from then on."""

    def prepare(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, *, resume: Checkpoint | None, plan: TrainingPlan
    ) -> nn.Module:
        out = super().prepare(model, optimizer, resume=resume, plan=plan)
        self._layers = [FactoredLayer(layer) for layer in linear_layers(model)] if self.n_workers > 1 else []
        self._trained = [p for _, p in flat_parameters.trainable_parameters(model)]
        self._has_chosen = False
        return out

    def step(self, losses: Losses, *, n: int) -> StepResult:  # noqa: ARG002 (the signature of Apart)
        self.bytes_sent, self.bytes_received, loss_sum = 0.0, 0.0, 0.0
        self.gradient.zero_()
        for loss, share in losses:
            torch.autograd.backward(loss * share)
            loss_sum += float(loss.detach()) * share
        self.plan.heartbeat.record("sync")
        began = time.perf_counter()
        if self.n_workers > 1:
            self._exchange()
        self.clip()
        self.scheduler.set(self.done)
        sync_s = time.perf_counter() - began
        self.optimizer.step()
        return self.step_result(loss_sum, sync_s, n_bytes=self.bytes_sent, bytes_received=self.bytes_received)

    def _exchange(self) -> None:
        """Into self.gradient: its sum over workers, whose parts weigh by their examples."""
        rows = [layer.take() for layer in self._layers]
        if not self._has_chosen:
            self._choose(rows)
            self._has_chosen = True
            self._ring(self._trained)
            return
        sent = [(layer, *found) for layer, found in zip(self._layers, rows, strict=True) if layer.is_sent]
        whole = {id(layer.weight) for layer, *_ in sent}
        self._ring([p for p in self._trained if id(p) not in whole])
        if sent:
            self._products(sent)

    def _choose(self, rows: list[tuple[Tensor, Tensor]]) -> None:
        """All workers choose alike: by the most rows that one of them has, and only what is a product everywhere.

        A weight that is also used without its layer's call is none, and stays with the ring.
        """
        seen = [float(len(inputs)) for inputs, _ in rows]
        wrong = [float(not _is_product(layer, *found)) for layer, found in zip(self._layers, rows, strict=True)]
        most = torch.tensor([seen, wrong], device=self.gradient.device)
        dist.all_reduce(most, dist.ReduceOp.MAX)
        for layer, n_rows, is_wrong in zip(self._layers, *most.tolist(), strict=True):
            sizes = {"n_inputs": layer.n_inputs, "n_outputs": layer.n_outputs, "n_workers": self.n_workers}
            layer.is_sent = not is_wrong and n_rows > 0 and pays(int(n_rows), **sizes)
            layer.weight.requires_grad_(not layer.is_sent)  # its gradient need not be computed here

    def _ring(self, parameters: list[nn.Parameter]) -> None:
        if not parameters:
            return
        together = torch.cat([_gradient(p).reshape(-1) for p in parameters])
        dist.all_reduce(together)
        n_bytes = 2.0 * together.nbytes * (self.n_workers - 1) / self.n_workers
        self.bytes_sent, self.bytes_received = self.bytes_sent + n_bytes, self.bytes_received + n_bytes
        for parameter, part in zip(parameters, torch.split(together, [p.numel() for p in parameters]), strict=True):
            _gradient(parameter).copy_(part.view_as(parameter))

    def _products(self, sent: list[tuple[FactoredLayer, Tensor, Tensor]]) -> None:
        """Rows of all workers: those that have fewer than others add zeros, which change no product."""
        most = torch.tensor([len(inputs) for _, inputs, _ in sent], device=self.gradient.device)
        dist.all_reduce(most, dist.ReduceOp.MAX)
        shapes = [(int(k), layer.n_inputs + layer.n_outputs) for k, (layer, *_) in zip(most, sent, strict=True)]
        own = self.gradient.new_zeros(sum(k * width for k, width in shapes))
        for room, (_, inputs, errors) in zip(_cut(own, shapes), sent, strict=True):
            room[: len(inputs)] = torch.cat([inputs, errors], dim=1)
        everybody = [torch.empty_like(own) for _ in range(self.n_workers)]
        dist.all_gather(everybody, own)
        n_bytes = float(own.nbytes * (self.n_workers - 1))
        self.bytes_sent, self.bytes_received = self.bytes_sent + n_bytes, self.bytes_received + n_bytes
        for index, (layer, *_) in enumerate(sent):
            rows = torch.cat([_cut(theirs, shapes)[index] for theirs in everybody])
            inputs, errors = torch.split(rows, [layer.n_inputs, layer.n_outputs], dim=1)
            torch.mm(errors.T, inputs, out=_gradient(layer.weight))


def linear_layers(model: nn.Module) -> list[nn.Linear]:
    """Those whose weight is trained, in float32, and no other module's, too."""
    owners = Counter(id(p) for module in model.modules() for p in module.parameters(recurse=False))
    return [
        module
        for module in model.modules()
        if type(module) is nn.Linear and module.weight.requires_grad and owners[id(module.weight)] == 1
    ]


def _is_product(layer: FactoredLayer, inputs: Tensor, errors: Tensor) -> bool:
    gradient = _gradient(layer.weight)
    apart = (errors.T @ inputs - gradient).norm()
    return bool(apart <= ALIKE * gradient.norm() + 1e-12)


def _gradient(parameter: Tensor) -> Tensor:
    assert parameter.grad is not None  # a view of the flat gradient
    return parameter.grad


def _cut(vector: Tensor, shapes: list[tuple[int, int]]) -> list[Tensor]:
    pieces = torch.split(vector, [k * width for k, width in shapes])
    return [piece.view(shape) for piece, shape in zip(pieces, shapes, strict=True)]
