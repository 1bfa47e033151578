"""The naive scheme: one main worker takes in every gradient, makes the step and gives everybody the weights.

For teaching, and as a yardstick: it equals all-reduce, but 2 X (n - 1) bytes of a model of X pass through one worker.
"""

from __future__ import annotations

import time

from mlhub.runtime.strategies.averaging.model_averaging import ModelAveraging
from mlhub.runtime.strategies.protocol import Barrier, Losses, StepResult


class MainWorker(ModelAveraging):
    def step(self, losses: Losses, *, n: int) -> StepResult:
        self.n_sent, self.n_received = 0.0, 0.0
        told = self.differentiate(losses, n=n)
        self.course.pulse.beat("sync")
        began = time.perf_counter()
        others = list(range(1, self.n_workers))
        if self.rank:
            self.exchange(self.gradient, to=[0], of=[]).wait()
            (weights,) = self.exchange(self.weights, to=[], of=[0]).wait()
            self.weights.copy_(weights)
        else:
            for theirs in self.exchange(self.gradient, to=[], of=others).wait():
                self.gradient += theirs
            self.gradient /= self.n_workers
            self.clip()
            self.scheduled.set(self.done)
            self.optimizer.step()
            self.exchange(self.weights, to=others, of=[]).wait()
        sync_s = time.perf_counter() - began
        return self.told(told, sync_s, n_bytes=self.n_sent, n_received=self.n_received)

    def gather(self, meeting: Barrier) -> None:
        """Everybody has the main worker's weights already."""
