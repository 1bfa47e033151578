"""One shard's state under BSP: gradients of all workers, summed in the order of ranks, then one optimiser step."""

from __future__ import annotations

import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from mlhub.runtime.checkpoints import latest, write_tensors
from mlhub.runtime.errors import PeerLostError
from mlhub.runtime.optimizer_state import Owned, collect, restore
from mlhub.runtime.ps.layout import ShardPlan


@dataclass
class _Gathering:
    """Something that every worker brings once, and all get the answer to."""

    n_workers: int
    arrived: int = 0
    generation: int = 0


class Shard:
    """Shared by the connections' threads. Every wait ends with fail(), so that nobody hangs on a dead gang."""

    def __init__(self, n_workers: int) -> None:
        self.n_workers = n_workers
        self.weights = torch.empty(0)
        self.gradients: list[Tensor] = []
        self.totals: dict[int, tuple[float, ...]] = {}
        self.summed: tuple[float, ...] = ()
        self.flags = self.agreed = 0
        self.stop_flag = 0
        self.values, self.value = [0.0] * n_workers, 0.0
        self.snapshot: dict[str, Tensor] = {}
        self._is_started = False
        self._failure: str | None = None
        self._changed = threading.Condition()
        self._pushes, self._totals = _Gathering(n_workers), _Gathering(n_workers)

    def start(self, plan: ShardPlan, weights: Tensor) -> None:
        """Rank 0's: the first weights. Raises ValueError, OSError, torch's errors for a bad plan."""
        with self._changed:
            self.weights = weights
            self.gradients = [torch.empty(plan.size) for _ in range(self.n_workers)]
            self._gradient = torch.zeros(plan.size)
            self._optimizer, parameters = plan.build(self.weights, self._gradient)
            self._owned = [Owned(s.parameter, s.start, p) for s, p in zip(plan.segments, parameters, strict=True)]
            if plan.resume_from is not None:
                folder = Path(plan.resume_from)
                checkpoint = latest(folder.parent)
                if checkpoint is None or checkpoint.folder != folder:
                    raise ValueError(f"the checkpoint {folder.name} is not there or not whole")
                restore(self._optimizer, self._owned, checkpoint.optimizer())
            self._is_started = True
            self._changed.notify_all()

    def wait_started(self) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._is_started or self._failure is not None)
            self._raise_if_failed()

    def push(self, worker: int, flags: int, value: float) -> tuple[int, float]:
        """The worker's gradient lies in gradients[worker]. Once the step is done: all flags, and the sum of values."""
        with self._changed:
            self.flags |= flags
            self.values[worker] = value
            self._gather(self._pushes, self._apply)
            return self.agreed, self.value

    def total(self, worker: int, values: bytes) -> bytes:
        """Sums float64 vectors over all workers, in the order of ranks."""
        with self._changed:
            self.totals[worker] = struct.unpack(f"{len(values) // 8}d", values)
            self._gather(self._totals, self._sum)
            return struct.pack(f"{len(self.summed)}d", *self.summed)

    def take_snapshot(self) -> None:
        """Copies the optimiser's state; call it between steps."""
        with self._changed:
            self.snapshot = collect(self._optimizer, self._owned)

    def write_snapshot(self, path: Path) -> None:
        tensors, self.snapshot = self.snapshot, {}
        write_tensors(path, tensors or {"empty": torch.zeros(1)})

    def fail(self, reason: str) -> None:
        """Whoever waits, now or later, gets PeerLostError."""
        with self._changed:
            self._failure = self._failure or reason
            self._changed.notify_all()

    def _gather(self, gathering: _Gathering, conclude: Callable[[], None]) -> None:
        generation = gathering.generation
        gathering.arrived += 1
        if gathering.arrived == self.n_workers and self._failure is None:
            conclude()
            gathering.arrived = 0
            gathering.generation += 1
            self._changed.notify_all()
        self._changed.wait_for(lambda: gathering.generation > generation or self._failure is not None)
        if gathering.generation == generation:
            self._raise_if_failed()

    def _apply(self) -> None:
        """Workers' losses are weighted by their share already, so that the sum is the batch's mean gradient."""
        self._gradient.copy_(self.gradients[0])
        for gradient in self.gradients[1:]:
            self._gradient += gradient
        self._optimizer.step()
        self.value = sum(self.values)
        self.agreed, self.flags = self.flags | self.stop_flag, 0

    def _sum(self) -> None:
        rows = [self.totals[worker] for worker in sorted(self.totals)]
        self.summed = tuple(sum(column) for column in zip(*rows, strict=True))
        self.totals = {}

    def _raise_if_failed(self) -> None:
        if self._failure is not None:
            raise PeerLostError(self._failure)
