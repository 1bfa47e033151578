# SPDX-License-Identifier: Apache-2.0
"""GoSGD: asynchronous gossip by random sends. Source: Blot et al., 2016."""

from __future__ import annotations

import time

import torch
import torch.distributed as dist
from torch import nn

from mlhub.runtime.checkpoints.step_folders import StepCheckpoint
from mlhub.runtime.strategies.decentralised import mixing, peer_selection
from mlhub.runtime.strategies.protocol import Barrier, TrainingPlan
from mlhub.runtime.strategies.toolkit.replicas import ReplicaStrategy


class GoSgd(ReplicaStrategy):
    """Workers send their model and half of their share to a random peer, with a given probability a step.

    The sum of shares stays 1, and sending keeps the mean of models weighted by them, which is the model at a barrier.
    """

    def prepare(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, *, resume: StepCheckpoint | None, plan: TrainingPlan
    ) -> nn.Module:
        out = super().prepare(model, optimizer, resume=resume, plan=plan)
        self._state = mixing.SharedMean(self.weights, 1.0 / self.n_workers)
        return out

    def after_step(self) -> float:
        began, state = time.perf_counter(), self._state
        receivers = peer_selection.senders(
            seed=self.pod.spec.training.seed,
            exchange=self.done,
            n_workers=self.n_workers,
            probability=self.spec.parameters["probability"],
        )
        receiver = receivers[self.rank]
        sources = [rank for rank, to in enumerate(receivers) if to == self.rank]
        if receiver is None and not sources:
            return 0.0
        share = state.share if receiver is None else state.send()
        sent = torch.cat([self.weights, self.weights.new_tensor([share])])
        for received in self.exchange(sent, to=[] if receiver is None else [receiver], sources=sources).wait():
            state.receive(received[:-1], float(received[-1]))
        return time.perf_counter() - began

    def before_barrier(self, barrier: Barrier) -> None:  # noqa: ARG002
        if self.n_workers == 1:
            return
        self.weights *= self._state.share
        dist.all_reduce(self.weights)
        self.weights /= self.sum_over_workers([self._state.share])[0]
        self._state.share = 1.0 / self.n_workers
