# SPDX-License-Identifier: Apache-2.0
"""Synchronous parameter servers (BSP): servers hold weights and optimiser, and every step waits for every worker."""

from __future__ import annotations

import time

import torch
from torch import nn

from mlhub.runtime.checkpoints.step_folders import StepCheckpoint
from mlhub.runtime.pod import Pod
from mlhub.runtime.ps.agreement import StepAgreement
from mlhub.runtime.strategies.catalogue.schema import StrategySpec
from mlhub.runtime.strategies.protocol import Barrier, ControlFlags, LockstepStrategy, Losses, StepResult, TrainingPlan
from mlhub.runtime.strategies.toolkit.server_worker import ServerWorker


class ParameterServer(ServerWorker, LockstepStrategy):
    """Workers push gradients and pull the new weights at every step; with leaves in between, it is hierarchical."""

    def __init__(self, pod: Pod, spec: StrategySpec) -> None:
        ServerWorker.__init__(self, pod, spec)
        LockstepStrategy.__init__(self, rank=pod.spec.index, n_workers=pod.spec.n_workers)

    def prepare(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, *, resume: StepCheckpoint | None, plan: TrainingPlan
    ) -> nn.Module:
        self.begin(plan)
        self.connect(model, optimizer, resume=resume, plan=plan)
        return model

    def before_barrier(self, barrier: Barrier) -> None:
        self.prepare_checkpoint(barrier)

    def step(self, losses: Losses, *, n: int) -> StepResult:
        self.current = self.done
        # servers add up gradients, each of which is weighted by its worker's examples
        loss, _ = self.compute_gradient(losses, n=n)
        began = time.perf_counter()
        agreed = self.client.exchange(report=StepAgreement(self.flags.stop, self.flags.checkpoint, loss))
        self.finish_step(ControlFlags(agreed.stop, agreed.checkpoint))
        return self.exchange_result(agreed.value, began)
