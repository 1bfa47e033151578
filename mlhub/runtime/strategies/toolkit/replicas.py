# SPDX-License-Identifier: Apache-2.0
"""Workers that each hold a replica of the model and update it separately, with exchanges in between."""

from __future__ import annotations

import time
from collections.abc import Sequence

import torch
import torch.distributed as dist
from torch import nn

from mlhub.runtime.checkpoints.step_folders import StepCheckpoint
from mlhub.runtime.strategies.protocol import Barrier, Losses, StepResult, TrainingPlan
from mlhub.runtime.strategies.toolkit import flat_parameters
from mlhub.runtime.strategies.toolkit.gradient_accumulation import accumulate
from mlhub.runtime.strategies.toolkit.process_group import ProcessGroupStrategy
from mlhub.runtime.strategies.toolkit.residual import ErrorFeedbackResidual


class ReplicaStrategy(ProcessGroupStrategy):
    """Each worker updates its own replica on its part of the batch; replicas are averaged before a barrier.

    In the first `warmup_steps`, for strategies that have them, gradients are averaged instead, as by all-reduce.
    Subclasses say in before_step() and after_step() how replicas are mixed.
    """

    def prepare(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, *, resume: StepCheckpoint | None, plan: TrainingPlan
    ) -> nn.Module:
        self.join_gang(model, optimizer, resume=resume, plan=plan)
        self.named, self.carried_residual = (
            flat_parameters.trainable_parameters(model),
            ErrorFeedbackResidual.of(resume),
        )
        self.weights, self.gradient = flat_parameters.flatten(self.named)
        self.bytes_sent, self.bytes_received = 0.0, 0.0
        if self.n_workers > 1:
            dist.broadcast(self.weights, 0)
        return model

    def step(self, losses: Losses, *, n: int) -> StepResult:
        self.bytes_sent, self.bytes_received = 0.0, 0.0
        self.start_exchange()
        loss_sum = self.compute_gradient(losses, n=n)
        self.plan.heartbeat.record("sync")
        self.clip()
        is_warm = self.done < self.spec.parameters.get("warmup_steps", 0)
        before_s = self.average(self.gradient) if is_warm else self.before_step()
        self.scheduler.set(self.done)
        self.optimizer.step()
        if is_warm:
            self.warmed_up()
        after_s = 0.0 if is_warm else self.after_step()
        return self.step_result(
            loss_sum, before_s + after_s, n_bytes=self.bytes_sent, bytes_received=self.bytes_received
        )

    def compute_gradient(self, losses: Losses, *, n: int) -> float:
        """Computes the gradient into self.gradient. Returns the sum of losses weighted by their shares."""
        self.gradient.zero_()
        # scaled so that averages over workers weigh by examples, as if the batch were one
        loss_sum, _ = accumulate(losses, lambda: [self.gradient], self.local_noise, n=n, scale=float(self.n_workers))
        return loss_sum

    def clip(self) -> None:
        """Clips the gradient of the whole batch, and adds the residual of an earlier attempt to it."""
        flat_parameters.clip(self.gradient, self.plan.clip_norm)
        if self.carried_residual:
            self.carried_residual.add_to((name, 0, p.grad) for name, p in self.named)
            self.carried_residual.clear()

    def start_exchange(self) -> None:
        """Starts an exchange that can run while the gradient is computed."""

    def warmed_up(self) -> None:
        """Called after each warm-up step, when all replicas are alike."""

    def before_step(self) -> float:
        """Mixes replicas before the optimiser's step. Returns the seconds that it took."""
        return 0.0

    def after_step(self) -> float:
        """Mixes replicas after the optimiser's step. Returns the seconds that it took."""
        return 0.0

    def before_barrier(self, barrier: Barrier) -> None:  # noqa: ARG002 (the signature of LockstepStrategy)
        self.average(self.weights)

    def exchange(self, vector: torch.Tensor, *, to: Sequence[int], sources: Sequence[int]) -> Exchange:
        """Starts to send a copy of the vector to the workers `to`, and to receive such vectors from `sources`."""
        self.bytes_sent += float(len(to) * vector.nbytes)
        self.bytes_received += float(len(sources) * vector.nbytes)
        return Exchange(vector.clone(), to, sources)

    def average(self, vector: torch.Tensor) -> float:
        """Averages the vector over all workers in place. Returns the seconds that it took."""
        if self.n_workers == 1:
            return 0.0
        began = time.perf_counter()
        dist.all_reduce(vector)
        vector /= self.n_workers
        n_bytes = 2.0 * vector.nbytes * (self.n_workers - 1) / self.n_workers
        self.bytes_sent, self.bytes_received = self.bytes_sent + n_bytes, self.bytes_received + n_bytes
        return time.perf_counter() - began


class Exchange:
    """Vectors in flight: all sends and receives are posted at once, so that workers cannot wait in a circle."""

    def __init__(self, sent: torch.Tensor, to: Sequence[int], sources: Sequence[int]) -> None:
        self._sent = sent  # kept until it is sent
        self._received = [torch.empty_like(sent) for _ in sources]
        operations = [dist.P2POp(dist.isend, sent, peer) for peer in to]
        operations += [dist.P2POp(dist.irecv, into, peer) for into, peer in zip(self._received, sources, strict=True)]
        self._works = dist.batch_isend_irecv(operations) if operations else []

    def wait(self) -> list[torch.Tensor]:
        """Waits, and returns the received vectors in the order of `sources`."""
        for work in self._works:
            work.wait()
        return self._received
