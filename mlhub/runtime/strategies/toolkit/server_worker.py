# SPDX-License-Identifier: Apache-2.0
"""A worker of parameter servers: the model in one flat vector on its device, and a connection to every shard."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from mlhub.runtime.checkpoints.optimizer_state import merge, residual_for_worker
from mlhub.runtime.checkpoints.step_folders import StepCheckpoint
from mlhub.runtime.compression.codecs import ErrorFeedback, codec_for
from mlhub.runtime.devices import training_device
from mlhub.runtime.optimization.gradient_noise import LocalNoiseEstimator
from mlhub.runtime.pod import Pod
from mlhub.runtime.ps.client.client import Client
from mlhub.runtime.ps.client.device_client import DeviceClient
from mlhub.runtime.ps.client.staging import HostStaging
from mlhub.runtime.ps.embedding_tables import EmbeddingTablePlan
from mlhub.runtime.ps.layout import plan_shards
from mlhub.runtime.ps.server.aggregator import leaf_plan
from mlhub.runtime.ps.tree import AggregationTree
from mlhub.runtime.ps.wire import sockets
from mlhub.runtime.ps.wire.shared_memory import SharedBuffer, shared_or_none
from mlhub.runtime.strategies.catalogue.schema import StrategySpec
from mlhub.runtime.strategies.protocol import (
    Barrier,
    Losses,
    OptimizerSnapshot,
    SingleModel,
    StepResult,
    TrainingPlan,
)
from mlhub.runtime.strategies.toolkit import flat_parameters
from mlhub.runtime.strategies.toolkit.gradient_accumulation import accumulate
from mlhub.runtime.strategies.toolkit.residual import ErrorFeedbackResidual
from mlhub.wire.launch import DataPlane


class ServerWorker(SingleModel):
    """weights, gradient: flat, on the device where the worker computes. staging: their copies in main memory, where it
    is an accelerator. pushes_gradient: it pushes the gradient itself, whose copy then begins while it is computed.
    """

    pushes_gradient = True

    def __init__(self, pod: Pod, spec: StrategySpec) -> None:
        self.pod, self.spec = pod, spec
        self.n_members = pod.spec.n_workers
        self.current = 0  # the step whose batch this worker trains on
        self.local_noise = LocalNoiseEstimator()

    def device(self) -> torch.device:
        return training_device()

    def connect(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, *, resume: StepCheckpoint | None,
        plan: TrainingPlan, work: dict[str, Any] | None = None,
    ) -> None:  # fmt: skip
        """Connects to the servers, starts them if this is worker 0, and pulls the weights.

        work: the fields of a leases.BatchLease, when workers lease batches and do not make every step together.
        """
        spec = self.pod.spec
        self.plan, self.named = plan, self.select_parameters(model, optimizer)
        tree = AggregationTree.of(self.spec.parameters, n_workers=spec.n_workers, n_servers=spec.n_servers)
        plan.heartbeat.record("sync")
        self.client = self._connected_client(tree, resume)
        if spec.index == 0:
            self._start_servers(optimizer, tree, resume=resume, work=work)
        if tree.n_leaves and tree.index_of(spec.index) == 0:
            n_workers = tree.n_clients(tree.n_roots + spec.index)
            self.client.start([leaf_plan(self.weights.numel(), n_workers=n_workers, strategy=self.spec.to_json())])
        self.client.pull()
        self.on_connected()

    def _connected_client(self, tree: AggregationTree, resume: StepCheckpoint | None) -> Client:
        """Connects to the servers, which share this worker's memory where they are on its machine."""
        spec, is_encrypted = self.pod.spec, self.pod.spec.data_plane is DataPlane.TLS
        addresses = tree.servers_of(spec.index, spec.server_addresses)
        is_near = all(sockets.is_near(address) for address in addresses) and not is_encrypted
        shared = shared_or_none(flat_parameters.n_elements_of(self.named)) if is_near else None
        self._flatten(shared)
        self.feedback = self._feedback(resume, self.named)
        self.carried_residual = ErrorFeedbackResidual.of(resume if self.feedback is None else None)
        options: dict[str, Any] = {
            "index": tree.index_of(spec.index),
            "attempt": spec.attempt_id,
            "secret": self.pod.secret,
            "start_timeout_s": spec.start_timeout_s,
            "is_whole": self.spec.needs_one_shard,
            "feedback": self.feedback,
            "is_encrypted": is_encrypted,
            "shared": shared,
            "returns_within_s": spec.start_timeout_s if self.spec.declaration.servers_come_back else None,
            "overlaps": self.spec.name == "bounded_delay",
            "roots": spec.server_addresses[: tree.n_roots] if tree.n_leaves and spec.index == 0 else None,
        }
        if self.staging is None:
            return Client(addresses, self.weights, self.gradient, **options)
        return DeviceClient(addresses, self.staging, **options)

    def _flatten(self, shared: SharedBuffer | None) -> None:
        """Flattens the parameters: on an accelerator, with staging; else in the memory that servers share, if any."""
        memory = None if shared is None else (shared.weights, shared.gradient)
        self.staging: HostStaging | None = None
        if self.device().type == "cpu":
            self.weights, self.gradient = flat_parameters.flatten(self.named, into=memory)
            return
        self.weights, self.gradient = flat_parameters.flatten(self.named)
        self.staging = HostStaging(self.weights, self.gradient, [p for _, p in self.named], into=memory)

    def _start_servers(
        self, optimizer: torch.optim.Optimizer, tree: AggregationTree, *,
        resume: StepCheckpoint | None, work: dict[str, Any] | None,
    ) -> None:  # fmt: skip
        """Sends every root its shard of the model."""
        shard_plans = plan_shards(
            self.named,
            optimizer,
            n_shards=tree.n_roots,
            n_workers=tree.n_clients(0),
            resume_from=None if resume is None else str(resume.folder),
            is_whole=self.spec.needs_one_shard,
            strategy=self.spec.to_json(),
            work=work,
            rates=asdict(self.plan.rates),
            start=self.plan.start,
        )
        if tree.n_leaves:
            self.client.start_roots(shard_plans, self.weights if self.staging is None else self.staging.weights)
            return
        tables = self.table_plans(optimizer, n_shards=tree.n_roots)
        shard_plans = [replace(shard, tables=own) for shard, own in zip(shard_plans, tables, strict=True)]
        self.client.start(shard_plans, self.table_weights())

    def select_parameters(self, model: nn.Module, optimizer: torch.optim.Optimizer) -> list[tuple[str, nn.Parameter]]:  # noqa: ARG002
        """The parameters of the flat vector, by name."""
        return flat_parameters.trainable_parameters(model)

    def table_plans(self, optimizer: torch.optim.Optimizer, *, n_shards: int) -> list[tuple[EmbeddingTablePlan, ...]]:  # noqa: ARG002
        """The embedding tables of each shard, which are not in the flat vector."""
        return [()] * n_shards

    def table_weights(self) -> Sequence[Tensor]:
        """The rows of each embedding table."""
        return ()

    def on_connected(self) -> None:
        """Called when the servers have started."""

    def clip(self, limit: float | None) -> None:
        """Clips the gradient in place."""
        flat_parameters.clip(self.gradient, limit)

    def _feedback(self, resume: StepCheckpoint | None, named: list[tuple[str, nn.Parameter]]) -> ErrorFeedback | None:
        codec = codec_for(self.spec.parameters)
        if codec is None:
            return None
        spec, sizes = self.pod.spec, [(name, p.numel()) for name, p in named]
        residual = torch.zeros_like(self.gradient)
        if resume is not None:
            saved, mean = merge(resume.optimizer()), resume.residuals()
            own = residual_for_worker(saved, sizes, worker=spec.index, n_workers=spec.n_workers, mean=mean)
            residual = own.to(residual.device)
        return ErrorFeedback(codec, residual, seed=f"{spec.training.seed}/{spec.index}", turn=self.plan.start)

    def compute_gradient(self, losses: Losses, *, n: int) -> tuple[float, float]:
        """Computes the clipped gradient into self.gradient.

        Returns the sum of losses weighted by their shares of the batch, and the sum of shares.
        """
        self.gradient.zero_()
        limit, carries = self.plan.clip_norm, bool(self.carried_residual) and self.current == self.plan.start
        if self.staging is not None:
            is_final = self.pushes_gradient and self.feedback is None and limit is None and not carries
            self.staging.begin_step(n if is_final else 0)
        loss_sum, weight = accumulate(losses, lambda: [self.gradient], self.local_noise, n=n)
        self.plan.heartbeat.record("sync")
        self.clip(None if limit is None else limit * weight)
        if carries:
            self.carried_residual.add_to(((name, 0, p.grad) for name, p in self.named), share=weight)
        return loss_sum, weight

    def exchange_result(self, loss: float | None, began: float, *, pushes: int = 1, pulls: int = 1) -> StepResult:
        """Ends a step. began: when its exchange began. pushes, pulls: how many whole vectors it sent and received."""
        sent, received = float(self.client.bytes_pushed), float(self.client.bytes_pulled)
        sync_s, wait_s = time.perf_counter() - began, self.client.pop_waited_s()
        noise = self.local_noise.pop_sample()
        return StepResult(loss, sync_s, sent * pushes, received * pulls, wait_s=min(wait_s, sync_s), noise=noise)

    def prepare_checkpoint(self, barrier: Barrier) -> None:
        """Sends the residual of this worker's compressed pushes to the servers, for the checkpoint of this barrier."""
        if barrier.step > self.plan.start:
            self.carried_residual.clear()
        if self.feedback is not None and barrier.saves:
            self.client.send_residuals()
            self.client.coordination.total([0.0])  # every worker has sent it before the snapshot is taken

    def sum_over_workers(self, values: Sequence[float]) -> list[float]:
        self.plan.heartbeat.record("sync")
        return self.client.coordination.total(values)

    def average_buffers(self, model: nn.Module) -> None:
        flat_parameters.average_buffers(model, self.sum_over_workers, self.n_members)

    def save_optimizer(self) -> OptimizerSnapshot:
        self.client.take_snapshot()
        return _ServerSnapshot(self.client, ErrorFeedbackResidual(self.carried_residual.by_name))

    def close(self) -> None:
        if hasattr(self, "client"):
            self.client.close()


@dataclass(frozen=True)
class _ServerSnapshot:
    """An OptimizerSnapshot that the servers have taken, and the residual that this worker carries."""

    client: Client
    residual: ErrorFeedbackResidual

    def write(self, folder: Path) -> None:
        self.client.write_snapshot(folder)
        self.residual.write(folder)
