# SPDX-License-Identifier: Apache-2.0
"""Model averaging (local SGD): workers train separately, and their models are averaged every few steps."""

from __future__ import annotations

import torch

from mlhub.runtime.strategies.protocol import Barrier
from mlhub.runtime.strategies.toolkit.replicas import ReplicaStrategy


class ModelAveraging(ReplicaStrategy):
    """Averages replicas every `period` steps, after `warmup_steps` of averaged gradients."""

    def after_step(self) -> float:
        is_due = (self.done + 1) % self.spec.parameters["period"] == 0
        return self._average_replicas() if is_due else 0.0

    def before_barrier(self, barrier: Barrier) -> None:  # noqa: ARG002
        self._average_replicas()

    def _average_replicas(self) -> float:
        sync_s = self.average(self.weights)
        sizes = {p: p.numel() for _, p in self.named} if self.spec.parameters["average_state"] else {}
        states = [
            value
            for parameter, size in sizes.items()
            for value in self.optimizer.state.get(parameter, {}).values()
            if isinstance(value, torch.Tensor) and value.is_floating_point() and value.dim() and value.numel() == size
        ]
        if states:
            flat = torch.cat([state.reshape(-1) for state in states])
            sync_s += self.average(flat)
            for state, part in zip(states, torch.split(flat, [s.numel() for s in states]), strict=True):
                state.copy_(part.view_as(state))
        return sync_s
