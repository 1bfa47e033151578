# SPDX-License-Identifier: Apache-2.0
"""What workers do together by way of the first shard: they lease batches, wait at barriers and sum numbers."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from mlhub.runtime.ps.client.link import ServerConnections
from mlhub.runtime.ps.client.shard_links import ShardLinks
from mlhub.runtime.ps.leases import Backoff, LeasedWork, WaitAtBarrier
from mlhub.runtime.ps.wire.messages import BarrierRequest, IdleRequest, LeaseReply, LeaseRequest, SumRequest
from mlhub.runtime.ps.wire.request_numbers import RequestNumbers
from mlhub.runtime.ps.wire.transfer import call


class CoordinationClient:
    """One worker's side. numbers: of all its requests. It keeps the worker's clock, which is the same on all shards."""

    def __init__(self, links: ShardLinks, numbers: RequestNumbers) -> None:
        self._links, self._numbers = links, numbers
        self._clock = 0

    def count_push(self) -> int:
        """Returns the clock of the next push."""
        self._clock += 1
        return self._clock

    def advance_clock(self, clock: int) -> None:
        """The first shard reports where a worker that comes begins, or with which clock all left the last barrier."""
        if clock > self._clock:  # never while a push is under way on another thread
            self._clock = clock

    def lease(self, *, stop: bool, checkpoint: bool, n_under_way: int) -> LeasedWork | Backoff:
        """Asks for a batch. Raises PeerLostError."""
        request = LeaseRequest(stop, checkpoint, n_under_way, self._numbers.next())

        def one(_: int, connections: ServerConnections) -> LeasedWork | Backoff:
            reply = call(connections.orders, request)
            self.advance_clock(reply.clock)
            return LeasedWork(reply.step, reply.part) if isinstance(reply, LeaseReply) else Backoff()

        return self._links.on_shard(0, one)

    def idle(self) -> None:
        """Reports to all shards that no worker needs to wait for this one until it pushes again."""

        def one(shard: int, connections: ServerConnections) -> None:
            self._links[shard].is_idle, self._links[shard].clock = True, self._clock
            call(connections.training, IdleRequest(self._clock))  # answered once what was left over is applied

        self._links.on_each(one)

    def wait_at_barrier(self) -> LeasedWork | WaitAtBarrier:
        """Reports idle, and waits for a batch or for all workers."""
        self.idle()
        request = BarrierRequest(self._numbers.next(), self._clock)

        def one(_: int, connections: ServerConnections) -> LeasedWork | WaitAtBarrier:
            reply = call(connections.orders, request)
            self.advance_clock(reply.clock)
            if isinstance(reply, LeaseReply):
                return LeasedWork(reply.step, reply.part)
            return WaitAtBarrier(reply.step, reply.stop, reply.checkpoint, reply.members)

        order = self._links.on_shard(0, one)
        for link in self._links:
            link.is_idle, link.clock = False, self._clock
        return order

    def total(self, values: Sequence[float]) -> list[float]:
        """Sums over all workers."""
        request = SumRequest(self._numbers.next(), struct.pack(f"{len(values)}d", *values))

        def one(_: int, connections: ServerConnections) -> list[float]:
            return list(struct.unpack(f"{len(values)}d", call(connections.training, request).values))

        return self._links.on_shard(0, one)
