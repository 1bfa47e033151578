# SPDX-License-Identifier: Apache-2.0
"""What a shard's workers do together: they lease batches, wait at barriers, and sum numbers.

All of it follows from the requests and their order. So that a server may die and go on, each request is written down
(write_ahead_log.py) before it is answered; a worker that received no reply sends it again, under the same number.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Any

from mlhub.runtime.ps.leases import Backoff, LeasedWork, Leases, WaitAtBarrier
from mlhub.runtime.ps.server.waiting import ShardCondition
from mlhub.runtime.ps.server.weights.inflight import PendingSum
from mlhub.runtime.ps.server.write_ahead_log import WriteAheadLog

Order = LeasedWork | Backoff | WaitAtBarrier


class WorkerCoordination:
    """Shared by the connections' threads. leases: when workers go at their own pace.

    joined: workers that have connected to this server, or to an incarnation before. left: by worker that is not here
    any more, whether it left and was not lost.
    """

    def __init__(self, n_workers: int, waiting: ShardCondition) -> None:
        self.leases: Leases | None = None
        self.joined: set[int] = set()
        self.left: dict[int, bool] = {}
        self._waiting = waiting
        self._last_requests: dict[int, int] = {}  # by worker: the number of its last request
        self._orders: dict[int, Order] = {}  # by worker: the reply to its last request for work, once there is one
        self._participants = set(range(n_workers))
        self._totals = PendingSum()
        self._contributed: dict[int, int] = {}  # by worker: to which sum it has given its part last
        self._log: WriteAheadLog | None = None

    @property
    def clock(self) -> int:
        """With which workers went on from the last barrier."""
        return 0 if self.leases is None else self.leases.clock

    @property
    def n_totals(self) -> int:
        """Sums made so far."""
        return self._totals.generation

    def record_in(self, log: WriteAheadLog) -> None:
        """Records every request in the log from here on."""
        with self._waiting.changed:
            self._log = log
            log.begin(self.state())

    def restore(self, log: WriteAheadLog) -> None:
        """Restores the state after the log's last line. Raises OSError."""
        lines = log.read()
        with self._waiting.changed:
            self._restore(next(lines))
            for kind, *fields in lines:
                self._CARRY_OUT[kind](self, *fields)

    def lease(
        self, worker: int, number: int = 0, *, stop: bool, checkpoint: bool, n_under_way: int
    ) -> LeasedWork | Backoff:
        with self._waiting.changed:
            if not self._is_repeated(worker, number):
                self._wait_begun(worker)
                self._record("lease", worker, number, stop, checkpoint, n_under_way)
            order = self._orders[worker]
            assert not isinstance(order, WaitAtBarrier)
            return order

    def wait_at_barrier(self, worker: int, number: int = 0, *, clock: int) -> LeasedWork | WaitAtBarrier:
        with self._waiting.changed:
            if not self._is_repeated(worker, number):
                self._record("barrier", worker, number, clock)
            self._waiting.wait(lambda: worker in self._orders)
            order = self._orders[worker]
            assert not isinstance(order, Backoff)
            return order

    def total(self, worker: int, values: bytes, number: int = 0) -> bytes:
        """Sums float64 vectors over all participants, in the order of ranks.

        One that came after the last barrier is no participant until the next, and receives its own values.
        """
        with self._waiting.changed:
            if self.leases is not None and worker not in self._participants:
                return values
            if not self._is_repeated(worker, number):
                self._record("total", worker, number, struct.unpack(f"{len(values) // 8}d", values))
            generation = self._contributed[worker]
            self._waiting.wait(lambda: self._totals.generation > generation)
            return struct.pack(f"{len(self._totals.reply)}d", *self._totals.reply)

    def join(self, worker: int) -> None:
        """A worker has connected. After a restart, only those that had are waited for."""
        with self._waiting.changed:
            if worker not in self.joined:
                self._record("join", worker)

    def rejoin(self, worker: int) -> None:
        """A worker that had left is here again, or its successor. With the lock held."""
        if worker in self.left:
            self._record("rejoin", worker)

    def _wait_begun(self, worker: int) -> None:
        """With the lock held: the first batch is leased once all workers are there."""
        leases = self.leases
        assert leases is not None
        if not leases.is_begun:
            self._record("arrive", worker)
            self._waiting.wait(lambda: leases.is_begun)

    def leave(self, worker: int, *, is_expected: bool = False) -> None:
        """With the lock held: no worker waits for this one any more."""
        self._record("leave", worker, is_expected)

    # Requests, carried out; once more when they are read in a log -----------------------------------------------------

    def _lease(self, worker: int, number: int, stop: bool, checkpoint: bool, n_under_way: int) -> None:
        assert self.leases is not None
        self._last_requests[worker] = number
        self._orders[worker] = self.leases.ask(worker, stop=stop, checkpoint=checkpoint, n_under_way=n_under_way)

    def _arrive(self, worker: int) -> None:
        assert self.leases is not None
        self.leases.arrive(worker)
        self._waiting.changed.notify_all()

    def _wait_at_barrier(self, worker: int, number: int, clock: int) -> None:
        assert self.leases is not None
        self._last_requests[worker] = number
        self._orders.pop(worker, None)
        self._publish(self.leases.wait_at_barrier(worker, clock=clock))

    def _total(self, worker: int, number: int, values: tuple[float, ...]) -> None:
        self._last_requests[worker], self._contributed[worker] = number, self._totals.generation
        self._totals.rows[worker] = values
        self._conclude_total()

    def _join(self, worker: int) -> None:
        self.joined.add(worker)

    def _rejoin(self, worker: int) -> None:
        self.left.pop(worker, None)
        if self.leases is None:  # with leases, those who met at the last barrier take part
            self._participants.add(worker)

    def _leave(self, worker: int, is_expected: bool) -> None:
        self.left[worker] = is_expected
        self._participants.discard(worker)
        if self.leases is not None:
            self._publish(self.leases.leave(worker))
        self._conclude_total()

    _CARRY_OUT: Mapping[str, Callable[..., None]] = {
        "arrive": _arrive, "lease": _lease, "barrier": _wait_at_barrier, "total": _total, "join": _join,
        "rejoin": _rejoin, "leave": _leave,
    }  # fmt: skip

    def _is_repeated(self, worker: int, number: int) -> bool:
        return number != 0 and self._last_requests.get(worker) == number

    def _record(self, kind: str, *fields: Any) -> None:
        if self._log is not None:
            self._log.append([kind, *fields])
        self._CARRY_OUT[kind](self, *fields)
        if self._log is not None and self._log.is_long:
            self._log.begin(self.state())

    def state(self) -> dict[str, Any]:
        """Returns the state as JSON takes it, with which a log begins."""
        return {
            "leases": None if self.leases is None else self.leases.state(),
            "joined": sorted(self.joined),
            "left": list(self.left.items()),
            "last_requests": list(self._last_requests.items()),
            "orders": [[worker, _order_to_json(order)] for worker, order in self._orders.items()],
            "participants": sorted(self._participants),
            "totals": [list(self._totals.rows.items()), self._totals.generation, self._totals.reply],
            "contributed": list(self._contributed.items()),
        }

    def _restore(self, state: Mapping[str, Any]) -> None:
        if self.leases is not None:
            self.leases.restore(state["leases"])
        self.joined, self.left = set(state["joined"]), dict(state["left"])
        self._last_requests, self._contributed = dict(state["last_requests"]), dict(state["contributed"])
        self._orders = {worker: _order_from_json(order) for worker, order in state["orders"]}
        self._participants = set(state["participants"])
        rows, generation, reply = state["totals"]
        self._totals = PendingSum(dict(rows), generation, tuple(reply))

    def _publish(self, orders: dict[int, LeasedWork | WaitAtBarrier]) -> None:
        for order in orders.values():
            if isinstance(order, WaitAtBarrier):
                self._participants = set(order.members)
        self._orders |= orders
        self._waiting.changed.notify_all()

    def _conclude_total(self) -> None:
        rows = self._totals.rows
        if rows and self._participants <= rows.keys():
            columns = zip(*(rows[worker] for worker in sorted(rows)), strict=True)
            self._totals = PendingSum({}, self._totals.generation + 1, tuple(sum(column) for column in columns))
            self._waiting.changed.notify_all()


def _order_to_json(order: Order) -> list[Any]:
    match order:
        case LeasedWork(step, part):
            return ["lease", step, part]
        case WaitAtBarrier(step, stop, checkpoint, members):
            return ["barrier", step, stop, checkpoint, members]
        case _:
            return ["backoff"]


def _order_from_json(raw: list[Any]) -> Order:
    match raw:
        case ["lease", step, part]:
            return LeasedWork(step, part)
        case ["barrier", step, stop, checkpoint, members]:
            return WaitAtBarrier(step, stop, checkpoint, tuple(members))
        case _:
            return Backoff()
