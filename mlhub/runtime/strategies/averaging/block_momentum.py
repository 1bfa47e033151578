# SPDX-License-Identifier: Apache-2.0
"""Block momentum (BMUF): averaging with momentum from block to block. Source: Chen and Huo, ICASSP '16."""

from __future__ import annotations

import torch
from torch import nn

from mlhub.runtime.checkpoints.step_folders import StepCheckpoint
from mlhub.runtime.strategies.averaging.mixing import BlockMomentum, block_momentum_for
from mlhub.runtime.strategies.protocol import Barrier, TrainingPlan
from mlhub.runtime.strategies.toolkit.replicas import ReplicaStrategy


class BlockMomentumAveraging(ReplicaStrategy):
    """Ends a block every `period` steps; the mean change of a block updates the model with momentum."""

    def prepare(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, *, resume: StepCheckpoint | None, plan: TrainingPlan
    ) -> nn.Module:
        out = super().prepare(model, optimizer, resume=resume, plan=plan)
        given = self.spec.parameters
        momentum = given["momentum"] if given["momentum"] >= 0 else block_momentum_for(self.n_workers)
        self._block = BlockMomentum(self.weights.clone(), momentum, given["rate"], given["nesterov"])
        self._n_steps = 0
        return out

    def warmed_up(self) -> None:
        self._block.begin(self.weights)

    def after_step(self) -> float:
        self._n_steps += 1
        if self._n_steps < self.spec.parameters["period"]:
            return 0.0
        return self._end_block()

    def before_barrier(self, barrier: Barrier) -> None:  # noqa: ARG002
        """Ends the block; a barrier is about the model without Nesterov's look-ahead."""
        if self._n_steps:
            self._end_block()
        self.weights.copy_(self._block.reset_to_model())

    def _end_block(self) -> float:
        self._n_steps = 0
        sync_s = self.average(self.weights)
        self.weights.copy_(self._block.end_block(self.weights))
        for _, parameter in self.named if self.spec.parameters["reset_momentum"] else ():
            momentum = self.optimizer.state.get(parameter, {}).get("momentum_buffer")
            if momentum is not None:  # SGD's
                momentum.zero_()
        return sync_s
