"""What a shard's workers do together: batches are handed out among them, they meet, and they sum numbers."""

from __future__ import annotations

import struct

from mlhub.runtime.ps.deliveries import Gathering
from mlhub.runtime.ps.leases import Grant, Hold, Leases, Meet
from mlhub.runtime.ps.waiting import Waiting


class Assembly:
    """Shared by the connections' threads. leases: when workers go at their own pace."""

    def __init__(self, n_workers: int, waiting: Waiting) -> None:
        self.leases: Leases | None = None
        self._waiting = waiting
        self._orders: dict[int, Grant | Meet] = {}
        self._participants = set(range(n_workers))
        self._totals = Gathering()

    @property
    def n_totals(self) -> int:
        """Sums made so far."""
        return self._totals.generation

    def ask(self, worker: int, *, stop: bool, checkpoint: bool, n_under_way: int) -> Grant | Hold:
        with self._waiting.changed:
            assert self.leases is not None
            return self.leases.ask(worker, stop=stop, checkpoint=checkpoint, n_under_way=n_under_way)

    def attend(self, worker: int) -> Grant | Meet:
        with self._waiting.changed:
            assert self.leases is not None
            self._tell(self.leases.attend(worker))
            self._waiting.wait(lambda: worker in self._orders)
            return self._orders.pop(worker)

    def total(self, worker: int, values: bytes) -> bytes:
        """Sums float64 vectors over all who take part, in the order of ranks."""
        with self._waiting.changed:
            generation = self._totals.generation
            self._totals.rows[worker] = struct.unpack(f"{len(values) // 8}d", values)
            self._conclude_total()
            self._waiting.wait(lambda: self._totals.generation > generation)
            return struct.pack(f"{len(self._totals.answer)}d", *self._totals.answer)

    def leave(self, worker: int) -> None:
        """With the lock held: nobody waits for this worker any more."""
        self._participants.discard(worker)
        if self.leases is not None:
            self._tell(self.leases.leave(worker))
        self._conclude_total()

    def _tell(self, orders: dict[int, Grant | Meet]) -> None:
        for order in orders.values():
            if isinstance(order, Meet):
                self._participants = set(order.members)
        self._orders |= orders
        self._waiting.changed.notify_all()

    def _conclude_total(self) -> None:
        rows = self._totals.rows
        if rows and self._participants <= rows.keys():
            columns = zip(*(rows[worker] for worker in sorted(rows)), strict=True)
            self._totals = Gathering({}, self._totals.generation + 1, tuple(sum(column) for column in columns))
            self._waiting.changed.notify_all()
