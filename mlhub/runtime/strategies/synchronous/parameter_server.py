"""Parameter servers under BSP: workers push gradients, servers hold weights and optimiser, everybody waits for all."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from mlhub.runtime.checkpoints.optimizer_state import join, owed
from mlhub.runtime.checkpoints.step_folders import Checkpoint
from mlhub.runtime.compression.codecs import ErrorFeedback, codec_for
from mlhub.runtime.optimization.gradient_noise import LocalNoiseEstimator
from mlhub.runtime.pod import Pod
from mlhub.runtime.ps.client.client import Client
from mlhub.runtime.ps.embedding_tables import EmbeddingTablePlan
from mlhub.runtime.ps.layout import plan_shards
from mlhub.runtime.ps.server.aggregator import leaf_plan
from mlhub.runtime.ps.tree import AggregationTree
from mlhub.runtime.ps.wire import sockets
from mlhub.runtime.ps.wire.frames import CHECKPOINT, STOP
from mlhub.runtime.ps.wire.shared_memory import shared_or_none
from mlhub.runtime.strategies.catalogue.schema import StrategySpec
from mlhub.runtime.strategies.protocol import (
    Barrier,
    ControlFlags,
    Lockstep,
    Losses,
    OneModel,
    Saving,
    StepResult,
    TrainingPosition,
)
from mlhub.runtime.strategies.toolkit import flat_parameters
from mlhub.runtime.strategies.toolkit.gradient_accumulation import accumulate
from mlhub.runtime.strategies.toolkit.residual import ErrorFeedbackResidual
from mlhub.wire.launch import DataPlane


class Connected(OneModel):
    """A worker of parameter servers: the model in one flat vector, and a connection to every shard."""

    def __init__(self, pod: Pod, spec: StrategySpec) -> None:
        self.pod, self.spec = pod, spec
        self.n_members = pod.spec.n_workers
        self.current = 0  # the step whose batch this worker trains on
        self.gauge = LocalNoiseEstimator()

    def device(self) -> torch.device:
        return torch.device("cpu")

    def connect(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, *, resume: Checkpoint | None,
        course: TrainingPosition, work: dict[str, Any] | None = None,
    ) -> None:  # fmt: skip
        """work: leases.Work, when workers go at their own pace."""
        spec = self.pod.spec
        named = self.trained(model, optimizer)
        tree = AggregationTree.of(self.spec.parameters, n_workers=spec.n_workers, n_servers=spec.n_servers)
        addresses = tree.servers_of(spec.index, spec.server_addresses)
        is_encrypted = spec.data_plane is DataPlane.TLS
        is_near = all(sockets.is_near(address) for address in addresses) and not is_encrypted
        shared = shared_or_none(flat_parameters.n_trained(named)) if is_near else None
        self.weights, self.gradient = flat_parameters.flatten(
            named, into=None if shared is None else (shared.weights, shared.gradient)
        )
        self.course, self.named = course, named
        self.feedback = self._feedback(resume, named)
        self.debt = ErrorFeedbackResidual({}) if self.feedback is not None else ErrorFeedbackResidual.of(resume)
        self.client = Client(
            addresses,
            self.weights,
            self.gradient,
            index=tree.index_of(spec.index),
            attempt=spec.attempt_id,
            secret=self.pod.secret,
            start_timeout_s=spec.start_timeout_s,
            is_whole=self.spec.needs_one_shard,
            feedback=self.feedback,
            is_encrypted=is_encrypted,
            shared=shared,
            returns_within_s=spec.start_timeout_s if self.spec.scheme.servers_come_back else None,
            overlaps=self.spec.name == "bounded_delay",
            roots=spec.server_addresses[: tree.n_roots] if tree.n_leaves and spec.index == 0 else None,
        )
        if spec.index == 0:
            plans = plan_shards(
                named,
                optimizer,
                n_shards=tree.n_roots,
                n_workers=tree.n_clients(0),
                resume_from=None if resume is None else str(resume.folder),
                is_whole=self.spec.needs_one_shard,
                strategy=self.spec.to_json(),
                work=work,
                rates=asdict(course.rates),
                start=course.start,
            )
            if tree.n_leaves:
                self.client.start_roots(plans, self.weights)
            else:
                of_tables = self.table_plans(optimizer, n_shards=tree.n_roots)
                plans = [replace(plan, tables=own) for plan, own in zip(plans, of_tables, strict=True)]
                self.client.start(plans, self.table_weights())
        if tree.n_leaves and tree.index_of(spec.index) == 0:
            n_workers = tree.n_clients(tree.n_roots + spec.index)
            plan = leaf_plan(self.weights.numel(), n_workers=n_workers, strategy=self.spec.to_json())
            self.client.start([plan])
        self.client.pull()
        self.connected()

    def trained(self, model: nn.Module, optimizer: torch.optim.Optimizer) -> list[tuple[str, nn.Parameter]]:  # noqa: ARG002
        """What lies in the flat vector."""
        return flat_parameters.trained(model)

    def table_plans(self, optimizer: torch.optim.Optimizer, *, n_shards: int) -> list[tuple[EmbeddingTablePlan, ...]]:  # noqa: ARG002
        """By shard, what does not."""
        return [()] * n_shards

    def table_weights(self) -> Sequence[Tensor]:
        """All of it, table by table."""
        return ()

    def connected(self) -> None:
        """The servers have started."""

    def clip(self, limit: float | None) -> None:
        flat_parameters.clip(self.gradient, limit)

    def _feedback(self, resume: Checkpoint | None, named: list[tuple[str, nn.Parameter]]) -> ErrorFeedback | None:
        codec = codec_for(self.spec.parameters)
        if codec is None:
            return None
        spec, sizes = self.pod.spec, [(name, p.numel()) for name, p in named]
        residual = torch.zeros_like(self.gradient)
        if resume is not None:
            saved, mean = join(resume.optimizer()), resume.residuals()
            residual = owed(saved, sizes, worker=spec.index, n_workers=spec.n_workers, mean=mean)
        return ErrorFeedback(codec, residual, seed=f"{spec.training.seed}/{spec.index}", turn=self.course.start)

    def differentiate(self, losses: Losses, *, n: int) -> tuple[float, float]:
        """Into self.gradient, clipped. Returns the sum of losses by their shares, and the sum of shares."""
        self.gradient.zero_()
        told, weight = accumulate(losses, lambda: [self.gradient], self.gauge, n=n)
        self.course.pulse.beat("sync")
        limit = self.course.clip_norm
        self.clip(None if limit is None else limit * weight)
        if self.debt and self.current == self.course.start:
            self.debt.pay(((name, 0, p.grad) for name, p in self.named), share=weight)
        return told, weight

    def exchanged(self, loss: float | None, began: float, *, pushes: int = 1, pulls: int = 1) -> StepResult:
        sent, received = float(self.client.bytes_pushed), float(self.client.bytes_pulled)
        sync_s, wait_s = time.perf_counter() - began, self.client.take_waited_s()
        noise = self.gauge.take()
        return StepResult(loss, sync_s, sent * pushes, received * pulls, wait_s=min(wait_s, sync_s), noise=noise)

    def settle(self, meeting: Barrier) -> None:
        """Before a checkpoint: what this worker's compressed pushes left out belongs into it."""
        if meeting.step > self.course.start:
            self.debt.settle()
        if self.feedback is not None and meeting.saves:
            self.client.tell_owed()
            self.client.total([0.0])  # all have, before the snapshot is taken

    def total(self, values: Sequence[float]) -> list[float]:
        self.course.pulse.beat("sync")
        return self.client.total(values)

    def average_buffers(self, model: nn.Module) -> None:
        flat_parameters.average_buffers(model, self.total, self.n_members)

    def save_optimizer(self) -> Saving:
        self.client.take_snapshot()
        return _Saving(self.client, ErrorFeedbackResidual(self.debt.by_name))

    def close(self) -> None:
        if hasattr(self, "client"):
            self.client.close()


class ParameterServer(Connected, Lockstep):
    def __init__(self, pod: Pod, spec: StrategySpec) -> None:
        Connected.__init__(self, pod, spec)
        Lockstep.__init__(self, rank=pod.spec.index, n_workers=pod.spec.n_workers)

    def prepare(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, *, resume: Checkpoint | None, course: TrainingPosition
    ) -> nn.Module:
        self.begin(course)
        self.connect(model, optimizer, resume=resume, course=course)
        return model

    def gather(self, meeting: Barrier) -> None:
        self.settle(meeting)

    def step(self, losses: Losses, *, n: int) -> StepResult:
        self.current = self.done
        # the servers sum, so each worker's part weighs by its examples
        loss, _ = self.differentiate(losses, n=n)
        began = time.perf_counter()
        flags = STOP * self.wishes.stop | CHECKPOINT * self.wishes.checkpoint
        agreed, mean = self.client.exchange(flags=flags, value=loss)
        self.advance(ControlFlags(bool(agreed & STOP), bool(agreed & CHECKPOINT)))
        return self.exchanged(mean, began)


@dataclass(frozen=True)
class _Saving:
    client: Client
    debt: ErrorFeedbackResidual

    def write(self, folder: Path) -> None:
        self.client.write_snapshot(folder)
        self.debt.write(folder)
