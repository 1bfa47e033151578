# SPDX-License-Identifier: Apache-2.0
"""Synchronous EASGD: workers train alone, tied to a centre that all of them keep; no server is needed for it.

The centre is the model: it is what is evaluated, saved and resumed. Any number of workers resumes from it.
Source: Zhang, Choromanska and LeCun, NIPS '15.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from mlhub.runtime.checkpoints.step_folders import StepCheckpoint
from mlhub.runtime.strategies.averaging.mixing import ElasticCentre
from mlhub.runtime.strategies.protocol import Barrier, Batch, ControlFlags, TrainingPlan
from mlhub.runtime.strategies.toolkit.replicas import ReplicaStrategy


class ElasticAveraging(ReplicaStrategy):
    """Every `period` steps one sum over workers, of how far each is from the centre."""

    def prepare(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, *, resume: StepCheckpoint | None, plan: TrainingPlan
    ) -> nn.Module:
        out = super().prepare(model, optimizer, resume=resume, plan=plan)
        given = self.spec.parameters
        alpha = given["alpha"] if given["alpha"] >= 0 else given["beta"] / self.n_workers
        self.centre = ElasticCentre(self.weights.clone(), alpha)
        self._own: Tensor | None = None
        self._pull: Tensor | None = None
        return out

    def next(self, flags: ControlFlags) -> Batch | Barrier:
        if self._own is not None:
            self.weights.copy_(self._own)
            self._own = None
        return super().next(flags)

    def warmed_up(self) -> None:
        self.centre.weights.copy_(self.weights)

    def before_step(self) -> float:
        """The pull is by where worker and centre were when the gradient was computed."""
        if (self.done + 1) % self.spec.parameters["period"]:
            return 0.0
        self._pull = self.centre.pull(self.weights)
        pulls = self._pull.clone()
        sync_s = self.average(pulls)
        self.centre.move(pulls.mul_(self.n_workers))
        return sync_s

    def after_step(self) -> float:
        if self._pull is not None:
            self.weights.sub_(self._pull)
            self._pull = None
        return 0.0

    def before_barrier(self, barrier: Barrier) -> None:  # noqa: ARG002 (the signature of LockstepStrategy)
        """A barrier is about the centre; the worker goes on from its own weights."""
        self._own = self.weights.clone()
        self.weights.copy_(self.centre.weights)
