# SPDX-License-Identifier: Apache-2.0
"""The naive strategy: one main worker receives every gradient, makes the step and sends the weights to all.

For comparison: it equals all-reduce, but 2 X (n - 1) bytes of a model of X bytes pass through one worker.
"""

from __future__ import annotations

import time

from mlhub.runtime.strategies.protocol import Barrier, Losses, StepResult
from mlhub.runtime.strategies.toolkit.replicas import ReplicaStrategy


class MainWorker(ReplicaStrategy):
    """Worker 0 is the main worker."""

    def step(self, losses: Losses, *, n: int) -> StepResult:
        self.bytes_sent, self.bytes_received = 0.0, 0.0
        loss_sum = self.compute_gradient(losses, n=n)
        self.plan.heartbeat.record("sync")
        began = time.perf_counter()
        others = list(range(1, self.n_workers))
        if self.rank:
            self.exchange(self.gradient, to=[0], sources=[]).wait()
            (weights,) = self.exchange(self.weights, to=[], sources=[0]).wait()
            self.weights.copy_(weights)
        else:
            for received in self.exchange(self.gradient, to=[], sources=others).wait():
                self.gradient += received
            self.gradient /= self.n_workers
            self.clip()
            self.scheduler.set(self.done)
            self.optimizer.step()
            self.exchange(self.weights, to=others, sources=[]).wait()
        sync_s = time.perf_counter() - began
        return self.step_result(loss_sum, sync_s, n_bytes=self.bytes_sent, bytes_received=self.bytes_received)

    def before_barrier(self, barrier: Barrier) -> None:
        """All workers have the main worker's weights already."""
