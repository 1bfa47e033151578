"""A worker's connections to the parameter servers: one a shard, spoken to at the same time."""

from __future__ import annotations

import json
import socket
import ssl
import struct
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import torch

from mlhub.runtime.compression import ErrorFeedback
from mlhub.runtime.errors import GangTimeoutError, PeerLostError
from mlhub.runtime.ps import frames
from mlhub.runtime.ps.frames import Header, Operation
from mlhub.runtime.ps.handshake import Purpose, StrangerError, greet
from mlhub.runtime.ps.layout import ShardPlan, bounds
from mlhub.runtime.ps.leases import Grant, Hold, Meet
from mlhub.runtime.ps.pieces import PIECE_ELEMENTS, push_bytes
from mlhub.runtime.ps.rows import RowClient
from mlhub.runtime.ps.sealed import SealedSocket
from mlhub.runtime.ps.sharing import Shared
from mlhub.runtime.ps.sockets import bytes_of, call, tune
from mlhub.runtime.ps.tls import context_for

RETRY_S = 0.1
INLINE_BYTES = 512 * 2**10  # fits into socket buffers
T = TypeVar("T")


class Client:
    """weights and gradient: the model's flat vectors, shape (n_elements,), float32; shards are stretches of them."""

    def __init__(
        self, addresses: Sequence[str], weights: torch.Tensor, gradient: torch.Tensor, *,
        index: int, attempt: str, secret: bytes, start_timeout_s: float,
        is_whole: bool = False, feedback: ErrorFeedback | None = None, overlaps: bool = False,
        is_encrypted: bool = False, roots: Sequence[str] | None = None, shared: Shared | None = None,
    ) -> None:  # fmt: skip
        """feedback: pushes are compressed by it. overlaps: work is asked for while an exchange is under way.
        is_encrypted: connections are TLS. roots: worker 0's, where `addresses` are leaves: the model's own servers.
        shared: what weights and gradient lie in, if servers on this machine may work there.

        Raises GangTimeoutError when a server does not come, StrangerError when it is none of the gang's.
        """
        self._index, self._attempt, self._secret = index, attempt, secret
        self._until = time.monotonic() + start_timeout_s
        self._cuts = bounds(weights.numel(), len(addresses), is_whole=is_whole)
        self._feedback = feedback
        self._weights, self._gradients = self._views(weights), self._views(gradient)
        self._gradient = gradient
        self._versions = [0] * len(addresses)  # of the weights that were received last, by shard
        self._waited_s = [0.0] * len(addresses)  # by shard: from asking to the first byte of the answer
        self._pool, self._senders = ThreadPoolExecutor(len(addresses)), ThreadPoolExecutor(len(addresses))
        self._tls = context_for(secret, is_server=False) if is_encrypted else None
        codec = None if feedback is None else feedback.codec
        self._push_bytes = [push_bytes(end - begin, codec) for begin, end in self._cuts]
        # Weights come while gradients go. On one connection each would wait for the other's lock in the kernel, and
        # one of TLS may be used by one thread at a time.
        is_apart = max(4 * (end - begin) for begin, end in self._cuts) > INLINE_BYTES
        lines = [self._connect(address, Purpose.ANSWERS) for address in addresses] if is_apart else None
        training = Purpose.TRAINING_APART if is_apart else Purpose.TRAINING
        self._connections = [self._connect(address, training) for address in addresses]
        self._lines = self._connections if lines is None else lines
        self._is_shared = [self._share(shard, shared) for shard in range(len(addresses))]
        self._orders = self._connect(addresses[0], Purpose.ORDERS) if overlaps else self._connections[0]
        holders = addresses if roots is None and index == 0 else roots or ()
        self._snapshots = [self._connect(address, Purpose.SNAPSHOTS) for address in holders]
        self.bytes_pulled, self.bytes_pushed = weights.nbytes, sum(self._push_bytes)  # of one exchange

    def start(self, plans: Sequence[ShardPlan], tables: Sequence[torch.Tensor] = ()) -> None:
        """Rank 0's, or a leaf's first worker's: hands over the first weights. tables: whole, those of the plans."""

        def one(shard: int) -> None:
            rows = [
                bytes_of(whole[table.first_row : table.first_row + table.n_rows])
                for table, whole in zip(plans[shard].tables, tables, strict=True)
            ]
            self._hand_over(self._connections[shard], plans[shard], self._weights[shard], *rows)

        self._each(one)

    def rows(self, table: int, *, n_rows: int) -> RowClient:
        """For one of the plans' tables."""
        return RowClient(self._connections, table=table, n_rows=n_rows)

    def start_roots(self, plans: Sequence[ShardPlan], weights: torch.Tensor) -> None:
        """Worker 0's, before its leaf is started."""
        cuts = bounds(weights.numel(), len(plans))
        for connection, plan, (begin, end) in zip(self._snapshots, plans, cuts, strict=True):
            self._hand_over(connection, plan, bytes_of(weights[begin:end]))

    def _hand_over(self, connection: socket.socket, plan: ShardPlan, *weights: memoryview) -> None:
        told = json.dumps(plan.to_json()).encode()
        frames.send(connection, Header(Operation.START, len(told), sender=self._index), told)
        for content in weights:
            frames.send(connection, Header(Operation.WEIGHTS, len(content)), content)
        frames.receive_header(connection, Operation.OK)

    def pull(self) -> None:
        """Waits for rank 0's weights; later: takes the newest."""

        def one(shard: int) -> None:
            frames.send(self._connections[shard], Header(Operation.PULL, 0, sender=self._index))
            self._receive_weights(shard, self._weights[shard])

        self._each(one)

    @property
    def versions(self) -> tuple[int, ...]:
        """Of the weights that were received last, by shard."""
        return tuple(self._versions)

    def exchange(
        self, pushed: torch.Tensor | None = None, *, into: torch.Tensor | None = None,
        versions: Sequence[int] | None = None, weight: float = 1.0, flags: int = 0, value: float = 0.0,
    ) -> tuple[int, float]:  # fmt: skip
        """Pushes the gradient (or `pushed`, of its shape), takes the new weights. Returns what the servers tell.

        into: where the weights go, unless into the model's. versions: of the weights that the gradient was computed
        on, unless the newest. weight: its part of a batch.
        Under BSP what servers tell is all workers' flags together, and the sum of their values.
        """

        targets = self._weights if into is None else self._views(into)
        based_on = self._versions if versions is None else versions

        def one(shard: int) -> tuple[int, float]:
            if self._is_shared[shard] and pushed is None and into is None:
                self._push_shared(shard, based_on[shard], weight=weight, flags=flags, value=value)
                return self._await_weights(shard)
            sending = self._send_push(shard, pushed, based_on[shard], weight=weight, flags=flags, value=value)
            told = self._receive_weights(shard, targets[shard])
            if sending is not None:
                sending.result()
            return told

        # shards may see a stop order at different steps; the first one's word counts for all workers alike
        return self._each(one)[0]

    def push(self, pushed: torch.Tensor | None = None, *, weight: float = 1.0) -> None:
        """Pushes and takes no weights back."""

        def one(shard: int) -> None:
            self._send_push(shard, pushed, self._versions[shard], weight=weight, flags=frames.QUIET, value=0.0)
            frames.receive_header(self._connections[shard], Operation.OK)

        self._each(one)

    def tell_owed(self, more: torch.Tensor | None = None) -> None:
        """Hands over what compressed pushes left out so far, so that the next snapshot holds it.

        more: what others owe who push by way of this one, shape (n_elements,).
        """
        assert self._feedback is not None
        own = self._feedback.residual
        residual = self._views(own if more is None else own + more)

        def one(shard: int) -> None:
            header = Header(Operation.OWED, len(residual[shard]), sender=self._index)
            frames.send(self._connections[shard], header, residual[shard])
            frames.receive_header(self._connections[shard], Operation.OK)

        self._each(one)

    def ask(self, *, flags: int, n_under_way: int = 0) -> Grant | Hold:
        """All batches but the last n_under_way are done; another, please.

        flags: STOP, CHECKPOINT: wishes for the next meeting.
        """
        asked = Header(Operation.LEASE, 0, sender=self._index, flags=flags, value=float(n_under_way))
        frames.send(self._orders, asked)
        header = frames.receive_header(self._orders, Operation.GRANT, Operation.HOLD)
        return Grant(header.step, int(header.value)) if header.operation is Operation.GRANT else Hold()

    def rest(self) -> None:
        """Nobody needs to wait for this worker until it pushes again."""
        for connection in self._connections:
            frames.send(connection, Header(Operation.REST, 0, sender=self._index))
        for connection in self._connections:
            frames.receive_header(connection, Operation.OK)  # so that what was left over is applied before a meeting

    def attend(self) -> Grant | Meet:
        """Rests, and waits for work or for everybody."""
        self.rest()
        frames.send(self._orders, Header(Operation.ATTEND, 0, sender=self._index))
        header = frames.receive_header(self._orders, Operation.GRANT, Operation.MEET)
        if header.operation is Operation.GRANT:
            return Grant(header.step, int(header.value))
        members = tuple(json.loads(frames.receive_bytes(self._orders, header.length)))
        stop, checkpoint = bool(header.flags & frames.STOP), bool(header.flags & frames.CHECKPOINT)
        return Meet(header.step, stop, checkpoint, members)

    def total(self, values: Sequence[float]) -> list[float]:
        """Sums over all workers, by way of the first shard."""
        payload = struct.pack(f"{len(values)}d", *values)
        frames.send(self._connections[0], Header(Operation.TOTAL, len(payload), sender=self._index), payload)
        header = frames.receive_header(self._connections[0], Operation.TOTAL)
        return list(struct.unpack(f"{len(values)}d", frames.receive_bytes(self._connections[0], header.length)))

    def take_snapshot(self) -> None:
        """Rank 0's, between two steps: every shard copies its optimiser's state."""
        for connection in self._snapshots:
            frames.send(connection, Header(Operation.SNAPSHOT, 0))
        for connection in self._snapshots:
            frames.receive_header(connection, Operation.OK)

    def write_snapshot(self, folder: Path) -> None:
        """Every shard writes what it copied into folder; may run beside training."""
        for connection in self._snapshots:
            frames.send_json(connection, Operation.WRITE, {"folder": str(folder)})
        for connection in self._snapshots:
            frames.receive_header(connection, Operation.OK)

    def close(self, *, says_goodbye: bool = True) -> None:
        """The servers leave once all workers have said goodbye."""
        orders = [] if self._orders is self._connections[0] else [self._orders]
        for connection in [*self._snapshots, *orders, *self._connections]:
            if says_goodbye:
                with suppress(PeerLostError):
                    frames.send(connection, Header(Operation.BYE, 0, sender=self._index))
            connection.close()
        for line in self._lines:
            line.close()
        self._pool.shutdown(wait=False)
        self._senders.shutdown(wait=False)

    def _each(self, one: Callable[[int], T]) -> list[T]:
        if len(self._connections) == 1:
            return [one(0)]
        return list(self._pool.map(one, range(len(self._connections))))

    def _views(self, vector: torch.Tensor) -> list[memoryview]:
        return [bytes_of(vector[begin:end]) for begin, end in self._cuts]

    def _send_push(
        self, shard: int, pushed: torch.Tensor | None, version: int, *, weight: float, flags: int, value: float
    ) -> Future[None] | None:
        """In another thread when it is large, so that both ends read while they write."""
        length = self._push_bytes[shard]
        header = Header(Operation.PUSH, length, flags, self._index, version, value, weight)
        if length <= INLINE_BYTES or flags & frames.QUIET:
            self._stream(shard, header, pushed)
            return None
        return self._senders.submit(self._stream, shard, header, pushed)

    def _share(self, shard: int, shared: Shared | None) -> bool:
        """Whether the shard's server can use this worker's memory."""
        connection = self._connections[shard]
        if shared is None or self._feedback is not None or connection.family != socket.AF_UNIX or self._tls is not None:
            return False
        begin, end = self._cuts[shard]
        shared.offer(connection, begin=begin, end=end, sender=self._index)
        return True

    def _push_shared(self, shard: int, version: int, *, weight: float, flags: int, value: float) -> None:
        """The gradient, where it lies."""
        length = self._push_bytes[shard]
        header = Header(Operation.PUSH, length, flags | frames.SHARED, self._index, version, value, weight)
        frames.send_bytes(self._connections[shard], header.pack())

    def _await_weights(self, shard: int) -> tuple[int, float]:
        header = frames.receive_header(self._lines[shard], Operation.WEIGHTS)
        self._waited_s[shard] += header.weight
        self._versions[shard] = header.step
        return header.flags, header.value

    def _stream(self, shard: int, header: Header, pushed: torch.Tensor | None) -> None:
        """Encodes a piece while the last is on its way."""
        begin, end = self._cuts[shard]
        if self._feedback is None:
            content = self._gradients[shard] if pushed is None else bytes_of(pushed[begin:end])
            frames.send(self._connections[shard], header, content)
            return
        vector, head = self._gradient if pushed is None else pushed, header.pack()
        for at in range(begin, end, PIECE_ELEMENTS):
            payload = self._feedback.encode(vector[at : min(end, at + PIECE_ELEMENTS)], begin=at)
            frames.send_together(self._connections[shard], head, bytes_of(payload))
            head = b""
        if head:  # a shard that holds nothing
            frames.send_bytes(self._connections[shard], head)

    def take_waited_s(self) -> float:
        """Seconds that the slowest shard let this worker wait since the last call, before it began to answer."""
        waited_s, self._waited_s = max(self._waited_s), [0.0] * len(self._waited_s)
        return waited_s

    def _receive_weights(self, shard: int, target: memoryview) -> tuple[int, float]:
        began = time.perf_counter()
        header = frames.receive_header(self._lines[shard], Operation.WEIGHTS)
        self._waited_s[shard] += time.perf_counter() - began
        if header.length != len(target):
            raise frames.FrameError(f"{header.length} bytes of weights for a shard of {len(target)}.")
        frames.receive_into(self._lines[shard], target)
        self._versions[shard] = header.step
        return header.flags, header.value

    def _connect(self, address: str, purpose: Purpose) -> socket.socket:
        host, _, port = address.rpartition(":")
        while True:
            try:
                connection = call((host, int(port)), timeout_s=5)
                if self._tls is not None:
                    connection = SealedSocket(connection, self._tls, is_server=False)
                greet(connection, secret=self._secret, attempt=self._attempt, index=self._index, purpose=purpose)
            except StrangerError:
                raise
            except ssl.SSLCertVerificationError as error:
                raise StrangerError(f"The parameter server {address} is none of the gang's: {error}") from error
            except (OSError, PeerLostError) as error:
                if time.monotonic() > self._until:
                    raise GangTimeoutError(f"The parameter server {address} does not answer: {error}") from error
                time.sleep(RETRY_S)
            else:
                connection.settimeout(None)
                tune(connection)
                return connection
