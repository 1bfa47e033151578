# SPDX-License-Identifier: Apache-2.0
"""Asynchronous workers: each leases whole batches (or parts) and waits for others at barriers only."""

from __future__ import annotations

import time
from dataclasses import asdict

import torch
from torch import nn

from mlhub.runtime.checkpoints.step_folders import StepCheckpoint
from mlhub.runtime.pod import Pod
from mlhub.runtime.ps.leases import Backoff, BatchLease, LeasedWork, WaitAtBarrier
from mlhub.runtime.strategies.catalogue.schema import StrategySpec
from mlhub.runtime.strategies.protocol import Barrier, Batch, ControlFlags, Losses, StepResult, TrainingPlan
from mlhub.runtime.strategies.toolkit.server_worker import ServerWorker


class Asynchronous(ServerWorker):
    """ASP, SSP, soft-sync, first k of n: every gradient is pushed at once, and the servers' rule does the rest."""

    is_lockstep = False

    def __init__(self, pod: Pod, spec: StrategySpec) -> None:
        super().__init__(pod, spec)
        self.parts = int(spec.parameters.get("group", spec.parameters.get("k", 1)))

    def prepare(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, *, resume: StepCheckpoint | None, plan: TrainingPlan
    ) -> nn.Module:
        warmup = int(self.spec.parameters.get("warmup_steps", 0))
        lease = BatchLease(plan.steps, plan.steps_per_epoch, self.parts, start=plan.start, warmup_steps=warmup)
        self.connect(model, optimizer, resume=resume, plan=plan, work=asdict(lease))
        if any(self.client.versions):  # it came late: until the next barrier it sums alone
            self.n_members = 1
        self.optimizer = optimizer
        return model

    def next(self, flags: ControlFlags) -> Batch | Barrier:
        self.plan.heartbeat.record("sync")
        work: LeasedWork | Backoff | WaitAtBarrier = self.client.coordination.lease(
            stop=flags.stop, checkpoint=flags.checkpoint, n_under_way=self.n_in_flight
        )
        if isinstance(work, Backoff):
            self.flush()
            work = self.client.coordination.wait_at_barrier()
        if isinstance(work, LeasedWork):
            self.current = work.step
            return Batch(work.step, work.part, self.parts)
        assert isinstance(work, WaitAtBarrier)
        self.n_members = len(work.members)
        rank = work.members.index(self.pod.spec.index)
        barrier = Barrier(work.step, ControlFlags(work.stop, work.checkpoint), rank, self.n_members)
        self.before_barrier(barrier)
        return barrier

    def step(self, losses: Losses, *, n: int) -> StepResult:
        loss, weight = self.compute_gradient(losses, n=n)
        began = time.perf_counter()
        self.client.exchange(weight=weight)
        return self.exchange_result(loss / weight if weight else None, began)

    @property
    def n_in_flight(self) -> int:
        """Pushes whose arrival is not yet confirmed."""
        return 0

    def flush(self) -> None:
        """Pushes what this worker still holds back; called before it idles."""

    def before_barrier(self, barrier: Barrier) -> None:
        """Pulls the model: all workers have flushed, so it is the servers' weights."""
        self.client.pull()
        self.prepare_checkpoint(barrier)
