# SPDX-License-Identifier: Apache-2.0
"""A worker's requests to the parameter servers: to each shard its part, at the same time, repeated after a restart."""

from __future__ import annotations

import json
import socket
import struct
import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import torch

from mlhub.runtime.compression.codecs import ErrorFeedback
from mlhub.runtime.errors import PeerLostError
from mlhub.runtime.ps.client.checkpoint_copies import CheckpointCopies, hand_over
from mlhub.runtime.ps.client.inflight_push import OutgoingPush
from mlhub.runtime.ps.client.link import ConnectionMonitor, Link, LinkCaller, ServerConnections
from mlhub.runtime.ps.client.rows import RowClient
from mlhub.runtime.ps.layout import ShardPlan, bounds, push_bytes
from mlhub.runtime.ps.leases import Backoff, LeasedWork, WaitAtBarrier
from mlhub.runtime.ps.wire import frames
from mlhub.runtime.ps.wire.frames import Header, Operation
from mlhub.runtime.ps.wire.handshake import Purpose
from mlhub.runtime.ps.wire.request_numbers import RequestNumbers
from mlhub.runtime.ps.wire.shared_memory import SharedBuffer
from mlhub.runtime.ps.wire.sockets import bytes_of
from mlhub.runtime.ps.wire.tls import context_for
from mlhub.runtime.ps.wire.tls_socket import TlsSocket

INLINE_BYTES = 512 * 2**10  # fits into socket buffers
GOODBYE_S = 5.0  # a server that leaves at the same moment is not waited for much longer
T = TypeVar("T")


class Client:
    """weights and gradient: the model's flat vectors, shape (n_elements,), float32; shards are stretches of them."""

    def __init__(
        self, addresses: Sequence[str], weights: torch.Tensor, gradient: torch.Tensor, *,
        index: int, attempt: str, secret: bytes, start_timeout_s: float,
        is_whole: bool = False, feedback: ErrorFeedback | None = None, overlaps: bool = False,
        is_encrypted: bool = False, roots: Sequence[str] | None = None, shared: SharedBuffer | None = None,
        returns_within_s: float | None = None,
    ) -> None:  # fmt: skip
        """feedback: pushes are compressed by it. overlaps: work is asked for while an exchange is under way.
        is_encrypted: connections are TLS. roots: worker 0's, where `addresses` are leaves: the model's own servers.
        shared: what weights and gradient lie in, if servers on this machine may work there.
        returns_within_s: how long a server that died is waited for; None: its death is the end.

        Raises GangTimeoutError when a server does not come, StrangerError when it is none of the gang's.
        """
        self._index, self._numbers = index, RequestNumbers()
        until = time.monotonic() + start_timeout_s
        self._cuts = bounds(weights.numel(), len(addresses), is_whole=is_whole)
        self._feedback = feedback
        self._all_weights, self._gradient = weights, gradient
        self._weights = self._views(weights)
        self._shared = shared
        self._waited_s = [0.0] * len(addresses)  # by shard: from asking to the first byte of the answer
        self._pool, self._senders = ThreadPoolExecutor(len(addresses)), ThreadPoolExecutor(len(addresses))
        tls = context_for(secret, is_server=False) if is_encrypted else None
        codec = None if feedback is None else feedback.codec
        self._push_bytes = [push_bytes(end - begin, codec) for begin, end in self._cuts]
        # Weights come while gradients go. On one connection each would wait for the other's lock in the kernel, and
        # one of TLS may be used by one thread at a time.
        is_split = max(4 * (end - begin) for begin, end in self._cuts) > INLINE_BYTES
        training = [Purpose.WEIGHTS_ONLY, Purpose.PUSHES_ONLY] if is_split else [Purpose.TRAINING]
        saving = [Purpose.SNAPSHOTS] if index == 0 and roots is None else []
        caller = LinkCaller(index=index, attempt=attempt, secret=secret, tls=tls)
        self._links = [
            Link(
                caller,
                address,
                [*training, *[Purpose.ORDERS] * (overlaps and shard == 0), *saving],
                until=until,
                share=self._sharing(shard, shared),
                returns_within_s=returns_within_s,
            )
            for shard, address in enumerate(addresses)
        ]
        own = [caller.call(address, Purpose.SNAPSHOTS, until=until)[0] for address in roots or ()]
        self._copies = CheckpointCopies(self._surely, len(addresses), own)
        self._monitor = None if returns_within_s is None else ConnectionMonitor(self._links)
        if self._monitor is not None:
            self._monitor.start()
        self.bytes_pulled, self.bytes_pushed = weights.nbytes, sum(self._push_bytes)  # of one exchange

    def start(self, plans: Sequence[ShardPlan], tables: Sequence[torch.Tensor] = ()) -> None:
        """Rank 0's, or a leaf's first worker's: hands over the first weights. tables: whole, those of the plans.

        Raises PeerLostError, also for a server that comes back: it has nothing yet.
        """

        def one(shard: int) -> None:
            rows = [
                bytes_of(whole[table.first_row : table.first_row + table.n_rows])
                for table, whole in zip(plans[shard].tables, tables, strict=True)
            ]
            hand_over(
                self._links[shard].connections.training, plans[shard], self._weights[shard], *rows, sender=self._index
            )

        self._map(one, range(len(self._links)))

    def rows(self, table: int, *, n_rows: int) -> RowClient:
        """Returns the client of the rows of one of the plans' tables."""

        def on_shards(shards: Collection[int], act: Callable[[int, socket.socket], None]) -> None:
            self._each(lambda shard, connections: act(shard, connections.training), shards)

        return RowClient(on_shards, self._numbers, n_shards=len(self._links), table=table, n_rows=n_rows)

    def start_roots(self, plans: Sequence[ShardPlan], weights: torch.Tensor) -> None:
        """Worker 0's, before its leaf is started."""
        cuts = bounds(weights.numel(), len(plans))
        for connection, plan, (begin, end) in zip(self._copies.roots, plans, cuts, strict=True):
            hand_over(connection, plan, bytes_of(weights[begin:end]), sender=self._index)

    def pull(self) -> None:
        """Waits for rank 0's weights; later: takes the newest."""

        def one(shard: int, connections: ServerConnections) -> None:
            frames.send(connections.training, Header(Operation.PULL, 0, sender=self._index))
            self._receive_weights(shard, connections, self._weights[shard])

        self._each(one)

    @property
    def versions(self) -> tuple[int, ...]:
        """The versions of the weights that were received last, by shard."""
        return tuple(link.version for link in self._links)

    def exchange(
        self, pushed: torch.Tensor | None = None, *, into: torch.Tensor | None = None,
        versions: Sequence[int] | None = None, weight: float = 1.0, flags: int = 0, value: float = 0.0,
    ) -> tuple[int, float]:  # fmt: skip
        """Pushes the gradient (or `pushed`, of its shape), takes the new weights. Returns what the servers report.

        into: where the weights go, unless into the model's. versions: of the weights that the gradient was computed
        on, unless the newest. weight: its part of a batch.
        Under BSP what servers report is all workers' flags together, and the sum of their values.
        """
        if self._monitor is not None and pushed is self._all_weights and into is None:
            pushed = pushed.clone()  # they must be as they were when they are pushed again
        targets = self._weights if into is None else self._views(into)
        pushes = self._pushes(pushed, versions, weight=weight, flags=flags, value=value)

        def one(shard: int, connections: ServerConnections) -> tuple[int, float]:
            if connections.is_shared and pushed is None and into is None:
                pushes[shard].point(connections.training)
                return self._await_weights(shard, connections)
            sending = self._send_push(connections, pushes[shard])
            try:
                control = self._receive_weights(shard, connections, targets[shard])
            except PeerLostError:
                connections.hang_up()
                if sending is not None:
                    wait([sending])
                raise
            if sending is not None:
                sending.result()
            return control

        # shards may see a stop order at different steps; the first one's word counts for all workers alike
        return self._each(one)[0]

    def push(self, pushed: torch.Tensor | None = None, *, weight: float = 1.0) -> None:
        """Pushes and takes no weights back."""
        pushes = self._pushes(pushed, None, weight=weight, flags=frames.WITHOUT_REPLY, value=0.0)

        def one(shard: int, connections: ServerConnections) -> None:
            self._send_push(connections, pushes[shard])
            self._links[shard].clock = frames.receive_header(connections.training, Operation.OK).number

        self._each(one)

    def send_residuals(self, more: torch.Tensor | None = None) -> None:
        """Hands over what compressed pushes left out so far, so that the next snapshot holds it.

        more: the residual of workers that push by way of this one, shape (n_elements,).
        """
        assert self._feedback is not None
        own = self._feedback.residual
        residual = self._views(own if more is None else own + more)

        def one(shard: int, connections: ServerConnections) -> None:
            header = Header(Operation.RESIDUAL, len(residual[shard]), sender=self._index)
            frames.send(connections.training, header, residual[shard])
            frames.receive_header(connections.training, Operation.OK)

        self._each(one)

    def ask(self, *, flags: int, n_under_way: int = 0) -> LeasedWork | Backoff:
        """All batches but the last n_under_way are done; another, please.

        flags: STOP, CHECKPOINT: requests for the next barrier.
        """
        number = self._numbers.next()
        asked = Header(Operation.LEASE, 0, sender=self._index, flags=flags, value=float(n_under_way), number=number)

        def one(_: int, connections: ServerConnections) -> LeasedWork | Backoff:
            frames.send(connections.orders, asked)
            header = frames.receive_header(connections.orders, Operation.GRANT, Operation.BACKOFF)
            return LeasedWork(header.step, int(header.value)) if header.operation is Operation.GRANT else Backoff()

        return self._surely(0, one)

    def idle(self) -> None:
        """No worker needs to wait for this one until it pushes again."""

        def one(shard: int, connections: ServerConnections) -> None:
            self._links[shard].is_idle = True
            frames.send(connections.training, Header(Operation.IDLE, 0, sender=self._index))
            frames.receive_header(connections.training, Operation.OK)  # what was left over is applied before a barrier

        self._each(one)

    def wait_at_barrier(self) -> LeasedWork | WaitAtBarrier:
        """Rests, and waits for work or for everybody."""
        self.idle()
        number = self._numbers.next()

        def one(_: int, connections: ServerConnections) -> LeasedWork | WaitAtBarrier:
            frames.send(connections.orders, Header(Operation.WAIT_AT_BARRIER, 0, sender=self._index, number=number))
            header = frames.receive_header(connections.orders, Operation.GRANT, Operation.BARRIER)
            if header.operation is Operation.GRANT:
                return LeasedWork(header.step, int(header.value))
            members = tuple(json.loads(frames.receive_bytes(connections.orders, header.length)))
            stop, checkpoint = bool(header.flags & frames.STOP), bool(header.flags & frames.CHECKPOINT)
            return WaitAtBarrier(header.step, stop, checkpoint, members)

        order = self._surely(0, one)
        for link in self._links:
            link.is_idle = False
        return order

    def total(self, values: Sequence[float]) -> list[float]:
        """Sums over all workers, by way of the first shard."""
        payload, number = struct.pack(f"{len(values)}d", *values), self._numbers.next()

        def one(_: int, connections: ServerConnections) -> list[float]:
            header = Header(Operation.TOTAL, len(payload), sender=self._index, number=number)
            frames.send(connections.training, header, payload)
            reply = frames.receive_header(connections.training, Operation.TOTAL)
            return list(struct.unpack(f"{len(values)}d", frames.receive_bytes(connections.training, reply.length)))

        return self._surely(0, one)

    def take_snapshot(self) -> None:
        """Rank 0's, between two steps: every shard copies its optimiser's state."""
        self._copies.take()

    def write_snapshot(self, folder: Path) -> None:
        """Every shard writes what it copied into folder; may run during training."""
        self._copies.write(folder)

    def close(self, *, says_goodbye: bool = True) -> None:
        """Closes the connections; servers leave once all workers have sent BYE."""
        if self._monitor is not None:
            self._monitor.end()
        if says_goodbye:
            self._say_goodbye()
        for connection in self._copies.roots:
            connection.close()
        for link in self._links:
            link.connections.close()
        self._pool.shutdown(wait=False)
        self._senders.shutdown(wait=False)
        if self._shared is not None:
            self._shared.close()

    def _say_goodbye(self) -> None:
        goodbye = Header(Operation.BYE, 0, sender=self._index)
        connections = [link.connections for link in self._links]
        other_lines = [c for e in connections for c in (e.snapshots, e.orders) if c is not e.training]
        for connection in [*self._copies.roots, *other_lines]:
            with suppress(PeerLostError):
                frames.send(connection, goodbye)

        def one(_: int, connections: ServerConnections) -> None:
            frames.send(connections.training, goodbye)
            if self._monitor is not None:  # a server that dies now must know it when it comes back
                frames.receive_header(connections.training, Operation.OK)

        for shard, link in enumerate(self._links):
            if link.returns_within_s is not None:
                link.returns_within_s = GOODBYE_S
            with suppress(PeerLostError):
                self._surely(shard, one)

    def _surely(self, shard: int, act: Callable[[int, ServerConnections], T]) -> T:
        """Calls act(shard, connections), and again after each restart of the server. Raises PeerLostError."""
        link = self._links[shard]
        while True:
            connections = link.connections
            try:
                return act(shard, connections)
            except PeerLostError as broken:
                link.come_back(connections, broken)

    def _each(self, act: Callable[[int, ServerConnections], T], shards: Collection[int] | None = None) -> list[T]:
        return self._map(lambda shard: self._surely(shard, act), range(len(self._links)) if shards is None else shards)

    def _map(self, act: Callable[[int], T], shards: Collection[int]) -> list[T]:
        if len(shards) == 1:
            return [act(shard) for shard in shards]
        return list(self._pool.map(act, shards))

    def _views(self, vector: torch.Tensor) -> list[memoryview]:
        return [bytes_of(vector[begin:end]) for begin, end in self._cuts]

    def _pushes(
        self, pushed: torch.Tensor | None, versions: Sequence[int] | None, *, weight: float, flags: int, value: float
    ) -> list[OutgoingPush]:
        """Returns the push for each shard."""
        vector, number = self._gradient if pushed is None else pushed, self._numbers.next()
        based_on = self.versions if versions is None else versions
        return [
            OutgoingPush(
                Header(Operation.PUSH, length, flags, self._index, based_on[shard], value, weight, number),
                vector[begin:end],
                begin,
                self._feedback,
            )
            for shard, (length, (begin, end)) in enumerate(zip(self._push_bytes, self._cuts, strict=True))
        ]

    def _sharing(self, shard: int, shared: SharedBuffer | None) -> Callable[[socket.socket], bool] | None:
        """Lets a server use this worker's memory, if it can; returns whether."""
        if shared is None or self._feedback is not None:
            return None
        (begin, end), sender = self._cuts[shard], self._index

        def share(connection: socket.socket) -> bool:
            if connection.family != socket.AF_UNIX or isinstance(connection, TlsSocket):
                return False
            shared.offer(connection, begin=begin, end=end, sender=sender)
            return True

        return share

    def _send_push(self, connections: ServerConnections, push: OutgoingPush) -> Future[None] | None:
        """Sends the push, in another thread when it is large, so that both ends read while they write."""
        if push.header.length <= INLINE_BYTES or push.header.flags & frames.WITHOUT_REPLY:
            push.send(connections.training)
            return None
        return self._senders.submit(push.send, connections.training)

    def take_waited_s(self) -> float:
        """Seconds that the slowest shard let this worker wait since the last call, before it began to answer."""
        waited_s, self._waited_s = max(self._waited_s), [0.0] * len(self._waited_s)
        return waited_s

    def _await_weights(self, shard: int, connections: ServerConnections) -> tuple[int, float]:
        link, header = self._links[shard], frames.receive_header(connections.weights, Operation.WEIGHTS)
        self._waited_s[shard] += header.weight
        link.version, link.clock = header.step, header.number
        return header.flags, header.value

    def _receive_weights(self, shard: int, connections: ServerConnections, target: memoryview) -> tuple[int, float]:
        link, began = self._links[shard], time.perf_counter()
        header = frames.receive_header(connections.weights, Operation.WEIGHTS)
        self._waited_s[shard] += time.perf_counter() - began
        if header.length != len(target):
            raise frames.FrameError(f"{header.length} bytes of weights for a shard of {len(target)}.")
        frames.receive_into(connections.weights, target)
        link.version, link.clock = header.step, header.number
        return header.flags, header.value
