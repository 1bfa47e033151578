# SPDX-License-Identifier: Apache-2.0
"""A worker's links to all shards: requests go to several at the same time, and again to a server that restarted."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TypeVar

from mlhub.runtime.errors import PeerLostError
from mlhub.runtime.ps.client.link import ConnectionMonitor, Link, ServerConnections
from mlhub.runtime.ps.wire.messages import LeaveRequest
from mlhub.runtime.ps.wire.transfer import call, send

LEAVE_S = 5.0  # a server that ends at the same moment is not waited for much longer
T = TypeVar("T")


class ShardLinks:
    """links: by shard. is_monitored: a server that hangs up is connected to again at once, not at the next request."""

    def __init__(self, links: Sequence[Link], *, is_monitored: bool) -> None:
        self._links = list(links)
        self._pool = ThreadPoolExecutor(len(links))
        self._monitor = ConnectionMonitor(self._links) if is_monitored else None
        if self._monitor is not None:
            self._monitor.start()

    def __len__(self) -> int:
        return len(self._links)

    def __iter__(self) -> Iterator[Link]:
        return iter(self._links)

    def __getitem__(self, shard: int) -> Link:
        return self._links[shard]

    @property
    def versions(self) -> tuple[int, ...]:
        """The versions of the weights that were received last, by shard."""
        return tuple(link.version for link in self._links)

    @property
    def may_repeat(self) -> bool:
        """Whether requests are made again, to a server that restarted."""
        return self._monitor is not None

    def on_shard(self, shard: int, act: Callable[[int, ServerConnections], T]) -> T:
        """Calls act(shard, connections), and again after each restart of the server. Raises PeerLostError."""
        link = self._links[shard]
        while True:
            connections = link.connections
            try:
                return act(shard, connections)
            except PeerLostError as broken:
                link.reconnect(connections, broken)

    def on_each(self, act: Callable[[int, ServerConnections], T], shards: Collection[int] | None = None) -> list[T]:
        """on_shard() at the same time on these shards, or on all. Raises PeerLostError."""
        return self.map(lambda shard: self.on_shard(shard, act), shards)

    def map(self, act: Callable[[int], T], shards: Collection[int] | None = None) -> list[T]:
        """act(shard) at the same time for these shards, or for all."""
        chosen = range(len(self._links)) if shards is None else shards
        if len(chosen) == 1:
            return [act(shard) for shard in chosen]
        return list(self._pool.map(act, chosen))

    def leave(self) -> None:
        """Reports to every server that this worker is done; one that is gone is left out."""
        if self._monitor is not None:
            self._monitor.end()
        for link in self._links:
            for connection in {link.connections.snapshots, link.connections.orders} - {link.connections.training}:
                with suppress(PeerLostError):
                    send(connection, LeaveRequest())
        for shard, link in enumerate(self._links):
            if link.returns_within_s is not None:
                link.returns_within_s = LEAVE_S
            with suppress(PeerLostError):
                self.on_shard(shard, self._leave)

    def close(self) -> None:
        """Closes the connections; a server whose worker did not leave() takes it for dead."""
        if self._monitor is not None:
            self._monitor.end()
        for link in self._links:
            link.connections.close()
        self._pool.shutdown(wait=False)

    def _leave(self, _: int, connections: ServerConnections) -> None:
        if self.may_repeat:  # a server that dies now must know it after its restart
            call(connections.training, LeaveRequest())
        else:
            send(connections.training, LeaveRequest())
