"""Parameter servers under BSP: workers push gradients, servers hold weights and optimiser, everybody waits for all."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from mlhub.runtime.checkpoints import Checkpoint
from mlhub.runtime.errors import BadInputError
from mlhub.runtime.pod import Pod
from mlhub.runtime.ps.client import Client
from mlhub.runtime.ps.frames import CHECKPOINT, STOP
from mlhub.runtime.ps.layout import plan_shards
from mlhub.runtime.strategies.protocol import Saving, StepResult, Wishes


class ParameterServer:
    def __init__(self, pod: Pod) -> None:
        self._pod = pod

    def device(self) -> torch.device:
        return torch.device("cpu")

    def prepare(self, model: nn.Module, optimizer: torch.optim.Optimizer, *, resume: Checkpoint | None) -> nn.Module:
        spec = self._pod.spec
        named = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
        _check(named)
        self._flatten(named)
        self._client = Client(
            spec.server_addresses,
            self._weights,
            self._gradient,
            index=spec.index,
            attempt=spec.attempt_id,
            secret=self._pod.secret,
            start_timeout_s=spec.start_timeout_s,
        )
        if spec.index == 0:
            plans = plan_shards(
                named,
                optimizer,
                n_shards=spec.n_servers,
                n_workers=spec.n_workers,
                resume_from=None if resume is None else str(resume.folder),
            )
            self._client.start(plans)
        self._client.pull()
        return model

    def step(self, loss: Tensor, *, share: float, wishes: Wishes) -> StepResult:
        self._gradient.zero_()
        # the servers sum, so each worker's part weighs by its examples
        torch.autograd.backward(loss * share)
        began = time.perf_counter()
        flags = STOP * wishes.stop | CHECKPOINT * wishes.checkpoint
        agreed, mean = self._client.exchange(flags=flags, value=float(loss.detach()) * share)
        sync_s = time.perf_counter() - began
        n_bytes = float(self._client.n_bytes)
        return StepResult(Wishes(bool(agreed & STOP), bool(agreed & CHECKPOINT)), mean, sync_s, n_bytes, n_bytes)

    def total(self, values: Sequence[float]) -> list[float]:
        return self._client.total(values)

    def average_buffers(self, model: nn.Module) -> None:
        buffers = [b for b in model.buffers() if b.is_floating_point()]
        if not buffers or self._pod.spec.n_workers == 1:
            return
        flat = torch.cat([b.detach().reshape(-1).double() for b in buffers])
        mean = torch.tensor(self._client.total(flat.tolist()), dtype=torch.float64) / self._pod.spec.n_workers
        start = 0
        for buffer in buffers:
            buffer.copy_(mean[start : start + buffer.numel()].reshape(buffer.shape))
            start += buffer.numel()

    def save_optimizer(self, folder: Path) -> Saving:
        self._client.take_snapshot()
        return _Saving(self._client, folder)

    def close(self) -> None:
        if hasattr(self, "_client"):
            self._client.close()

    def _flatten(self, named: Sequence[tuple[str, nn.Parameter]]) -> None:
        """Parameters and gradients become views of two flat vectors, so that nothing is copied at a step."""
        n_elements = sum(p.numel() for _, p in named)
        self._weights, self._gradient = torch.empty(n_elements), torch.zeros(n_elements)
        start = 0
        for _, parameter in named:
            end = start + parameter.numel()
            self._weights[start:end] = parameter.detach().reshape(-1)
            parameter.data = self._weights[start:end].view(parameter.shape)
            parameter.grad = self._gradient[start:end].view(parameter.shape)
            start = end


@dataclass(frozen=True)
class _Saving:
    client: Client
    folder: Path

    def write(self) -> None:
        self.client.write_snapshot(self.folder)


def _check(named: Sequence[tuple[str, nn.Parameter]]) -> None:
    for name, parameter in named:
        if parameter.dtype != torch.float32:
            raise BadInputError(
                f"The parameter {name} is {parameter.dtype}; parameter servers hold float32.",
                field="build_model",
                remedy="Build the model in float32, or pin the mode all_reduce.",
            )
    if not named:
        raise BadInputError("The model has no parameters to train.", field="build_model", remedy="Add some.")
