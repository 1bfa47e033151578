# SPDX-License-Identifier: Apache-2.0
"""No worker waits for ever, in whatever order the requests of others reach the servers."""

from __future__ import annotations

import struct
import threading
from typing import Any

import pytest

from mlhub.runtime.ps.client.client import Client
from mlhub.runtime.ps.leases import Backoff, BatchLease, LeasedWork, Leases, WaitAtBarrier
from mlhub.runtime.ps.server.coordination import WorkerCoordination
from mlhub.runtime.ps.server.shard import Shard
from mlhub.runtime.ps.server.waiting import ShardCondition
from tests.runtime.ps.test_server import until
from tests.runtime.shards import Gang

WAIT_S = 60


def order_for(client: Client) -> LeasedWork | WaitAtBarrier:
    order = client.coordination.lease(stop=False, checkpoint=False, n_under_way=0)
    return client.coordination.wait_at_barrier() if isinstance(order, Backoff) else order


class Worker(threading.Thread):
    """A worker from its connection to the last barrier. n_done: the batches that it trained on, once it is there.

    pauses_for: what it waits for after its first lease. dies_after_lease: the first, whose batch others are given.
    """

    def __init__(
        self, gang: Gang, index: int, *, steps: int,
        pauses_for: threading.Event | None = None, dies_after_lease: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(daemon=True)
        self._gang, self.index, self._steps = gang, index, steps
        self._pauses_for, self._dies_after_lease = pauses_for, dies_after_lease
        self.n_done: int | None = None
        self.start()

    def run(self) -> None:
        client, _, _ = self._gang.client(self.index)
        n_done, order = 0, order_for(client)
        if self._dies_after_lease:
            client.close(leaves=False)
            return
        if self._pauses_for is not None:
            assert self._pauses_for.wait(WAIT_S)
        while isinstance(order, LeasedWork) or order.step < self._steps:
            if isinstance(order, LeasedWork):
                client.exchange()
                n_done += 1
            order = order_for(client)
        client.close()
        self.n_done = n_done


def all_done(workers: list[Worker]) -> int:
    for worker in workers:
        worker.join(WAIT_S)
    assert not [worker.index for worker in workers if worker.n_done is None], "these workers wait for ever"
    return sum(worker.n_done or 0 for worker in workers)


def ordered(
    monkeypatch: pytest.MonkeyPatch, shard: Shard, request: str, worker: int, *,
    first: threading.Event | None = None, after: threading.Event | None = None, then: threading.Event | None = None,
) -> None:  # fmt: skip
    """When this request of the worker comes, sets an event, carries the request out after another, and sets a third."""
    carry_out = getattr(shard, request)

    def carry_out_in_order(asking: int, **more: Any) -> Any:
        if asking == worker and first is not None:
            first.set()
        if asking == worker and after is not None:
            assert after.wait(WAIT_S)
        reply = carry_out(asking, **more)
        if asking == worker and then is not None:
            then.set()
        return reply

    monkeypatch.setattr(shard, request, carry_out_in_order)


def test_a_worker_that_comes_back_while_another_becomes_idle_has_one_clock_on_all_servers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is back before the other's report on the first server, and after it on the second."""
    gang = Gang({"name": "ssp"}, n_shards=2, work=BatchLease(steps=60, steps_per_epoch=30))
    is_alone = threading.Event()
    staying = Worker(gang, 0, steps=60, pauses_for=is_alone)
    Worker(gang, 1, steps=60, dies_after_lease=True).join(WAIT_S)
    until(lambda: not any(1 in server.workers.connected for server in gang.servers))
    is_done, is_back, is_idle = threading.Event(), threading.Event(), threading.Event()
    first, second = (server.shard for server in gang.servers)
    ordered(monkeypatch, first, "join", 1, after=is_done, then=is_back)
    ordered(monkeypatch, first, "idle", 0, first=is_done, after=is_back)
    ordered(monkeypatch, second, "idle", 0, then=is_idle)
    ordered(monkeypatch, second, "join", 1, after=is_idle)
    is_alone.set()
    assert all_done([staying, Worker(gang, 1, steps=60)]) == 60


@pytest.mark.parametrize(
    "strategy",
    [{"name": "ssp", "staleness": 0}, {"name": "softsync", "group": 1, "block": True}],
    ids=lambda strategy: strategy["name"],
)
def test_a_worker_without_a_batch_holds_back_none_that_has_one(strategy: dict[str, Any]) -> None:
    gang = Gang(strategy, n_workers=3, n_shards=2, work=BatchLease(steps=6, steps_per_epoch=1))
    assert all_done([Worker(gang, worker, steps=6) for worker in range(3)]) == 6
    assert not gang.errors


def test_a_worker_that_dies_before_the_first_batch_is_not_waited_for() -> None:
    gang = Gang({"name": "asp"}, n_workers=3, work=BatchLease(steps=6, steps_per_epoch=3))
    others = [Worker(gang, worker, steps=6) for worker in (0, 1)]
    client, _, _ = gang.client(2)
    client.close(leaves=False)
    assert all_done(others) == 6


def test_a_worker_that_comes_back_sums_alone_until_the_next_barrier() -> None:
    """It evaluates before it trains where the model came trained, and the others are not at a barrier then."""
    waiting = ShardCondition()
    coordination = WorkerCoordination(2, waiting)
    coordination.leases = Leases(BatchLease(steps=6, steps_per_epoch=3), 2)
    with waiting.changed:
        coordination.leave(1)
        coordination.rejoin(1)
    assert coordination.total(1, struct.pack("d", 2.0)) == struct.pack("d", 2.0)
    assert coordination.total(0, struct.pack("d", 1.0)) == struct.pack("d", 1.0)
