# SPDX-License-Identifier: Apache-2.0
"""All-reduce in which a large linear layer's gradient is sent as its factors: inputs and errors.

Of K rows (examples, or their positions) a layer from M to N has the gradient errors^T inputs: M N numbers, made of
K (M + N). Every worker sends its rows to all others, which form the product of all rows. With few rows and
wide layers these are fewer bytes than a ring all-reduce of the gradient; other layers use the ring.
Models are averaged at barriers, since machines may round products differently.
Source: Chilimbi et al., Project Adam, OSDI '14, sec. 3.2, where servers form the product.
"""

from __future__ import annotations

import time
from collections import Counter

import torch
import torch.distributed as dist
from torch import Tensor, nn

from mlhub.runtime.checkpoints.step_folders import StepCheckpoint
from mlhub.runtime.strategies.protocol import Losses, StepResult, TrainingPlan
from mlhub.runtime.strategies.toolkit import flat_parameters
from mlhub.runtime.strategies.toolkit.replicas import ReplicaStrategy

TOLERANCE = 1e-3  # of a gradient's norm: how much a product of rows may differ from it by rounding


def saves_bytes(n_rows: int, *, n_inputs: int, n_outputs: int, n_workers: int) -> bool:
    """Whether sending n_rows of inputs and errors to all others is less than a ring all-reduce of the gradient."""
    return n_rows * (n_inputs + n_outputs) * n_workers < 2 * n_inputs * n_outputs


class FactoredLayer:
    """A linear layer's inputs and errors in this step, recorded by hooks. is_sent: they replace the gradient."""

    def __init__(self, layer: nn.Linear) -> None:
        self.weight, self.n_inputs, self.n_outputs = layer.weight, layer.in_features, layer.out_features
        self.is_sent = False
        self._inputs: list[Tensor] = []
        self._errors: list[Tensor] = []
        layer.register_forward_hook(self._record)

    def pop_factors(self) -> tuple[Tensor, Tensor]:
        """Returns inputs (K, M) and errors (K, N) of this step, and clears them."""
        device = self.weight.device
        inputs = torch.cat([torch.empty(0, self.n_inputs, device=device), *self._inputs])
        errors = torch.cat([torch.empty(0, self.n_outputs, device=device), *self._errors])
        self._inputs, self._errors = [], []
        return inputs, errors

    def _record(self, _: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        if not torch.is_grad_enabled():
            return
        if not output.requires_grad:  # the first layer, when its weight needs no gradient of its own
            output.requires_grad_()
        rows = inputs[0].detach().reshape(-1, self.n_inputs).float()

        def record_error(error: Tensor) -> None:
            self._inputs.append(rows)
            self._errors.append(error.detach().reshape(-1, self.n_outputs).float())

        output.register_hook(record_error)  # type: ignore[no-untyped-call]


class SufficientFactorBroadcasting(ReplicaStrategy):
    """The first step uses the ring; the rows that it recorded decide which layers are sent as factors afterwards."""

    def prepare(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, *, resume: StepCheckpoint | None, plan: TrainingPlan
    ) -> nn.Module:
        out = super().prepare(model, optimizer, resume=resume, plan=plan)
        self._layers = [FactoredLayer(layer) for layer in linear_layers(model)] if self.n_workers > 1 else []
        self._trained = [p for _, p in flat_parameters.trainable_parameters(model)]
        self._has_chosen = False
        return out

    def step(self, losses: Losses, *, n: int) -> StepResult:  # noqa: ARG002 (the signature of ReplicaStrategy)
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
        """Sums the gradient over workers into self.gradient; parts are weighted by their examples already."""
        rows = [layer.pop_factors() for layer in self._layers]
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
        """Chooses the layers to send as factors, the same on all workers: by the most rows that one of them has.

        A weight that is also used outside of its layer's call has another gradient, and stays with the ring.
        """
        seen = [float(len(inputs)) for inputs, _ in rows]
        wrong = [float(not _is_product(layer, *found)) for layer, found in zip(self._layers, rows, strict=True)]
        most = torch.tensor([seen, wrong], device=self.gradient.device)
        dist.all_reduce(most, dist.ReduceOp.MAX)
        for layer, n_rows, is_wrong in zip(self._layers, *most.tolist(), strict=True):
            sizes = {"n_inputs": layer.n_inputs, "n_outputs": layer.n_outputs, "n_workers": self.n_workers}
            layer.is_sent = not is_wrong and n_rows > 0 and saves_bytes(int(n_rows), **sizes)
            layer.weight.requires_grad_(not layer.is_sent)  # its gradient need not be computed here

    def _ring(self, parameters: list[nn.Parameter]) -> None:
        if not parameters:
            return
        flat = torch.cat([_gradient(p).reshape(-1) for p in parameters])
        dist.all_reduce(flat)
        n_bytes = 2.0 * flat.nbytes * (self.n_workers - 1) / self.n_workers
        self.bytes_sent, self.bytes_received = self.bytes_sent + n_bytes, self.bytes_received + n_bytes
        for parameter, part in zip(parameters, torch.split(flat, [p.numel() for p in parameters]), strict=True):
            _gradient(parameter).copy_(part.view_as(parameter))

    def _products(self, sent: list[tuple[FactoredLayer, Tensor, Tensor]]) -> None:
        """Gathers the rows of all workers, padded with zeros, which change no product."""
        most = torch.tensor([len(inputs) for _, inputs, _ in sent], device=self.gradient.device)
        dist.all_reduce(most, dist.ReduceOp.MAX)
        shapes = [(int(k), layer.n_inputs + layer.n_outputs) for k, (layer, *_) in zip(most, sent, strict=True)]
        own = self.gradient.new_zeros(sum(k * width for k, width in shapes))
        for block, (_, inputs, errors) in zip(_cut(own, shapes), sent, strict=True):
            block[: len(inputs)] = torch.cat([inputs, errors], dim=1)
        gathered = [torch.empty_like(own) for _ in range(self.n_workers)]
        dist.all_gather(gathered, own)
        n_bytes = float(own.nbytes * (self.n_workers - 1))
        self.bytes_sent, self.bytes_received = self.bytes_sent + n_bytes, self.bytes_received + n_bytes
        for index, (layer, *_) in enumerate(sent):
            rows = torch.cat([_cut(rows_of, shapes)[index] for rows_of in gathered])
            inputs, errors = torch.split(rows, [layer.n_inputs, layer.n_outputs], dim=1)
            torch.mm(errors.T, inputs, out=_gradient(layer.weight))


def linear_layers(model: nn.Module) -> list[nn.Linear]:
    """Linear layers whose weight is trained and belongs to no other module."""
    owners = Counter(id(p) for module in model.modules() for p in module.parameters(recurse=False))
    return [
        module
        for module in model.modules()
        if type(module) is nn.Linear and module.weight.requires_grad and owners[id(module.weight)] == 1
    ]


def _is_product(layer: FactoredLayer, inputs: Tensor, errors: Tensor) -> bool:
    gradient = _gradient(layer.weight)
    difference = (errors.T @ inputs - gradient).norm()
    return bool(difference <= TOLERANCE * gradient.norm() + 1e-12)


def _gradient(parameter: Tensor) -> Tensor:
    assert parameter.grad is not None  # a view of the flat gradient
    return parameter.grad


def _cut(vector: Tensor, shapes: list[tuple[int, int]]) -> list[Tensor]:
    pieces = torch.split(vector, [k * width for k, width in shapes])
    return [piece.view(shape) for piece, shape in zip(pieces, shapes, strict=True)]
