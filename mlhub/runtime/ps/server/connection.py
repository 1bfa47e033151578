# SPDX-License-Identifier: Apache-2.0
"""One connection to a shard after the handshake: what a worker asks for, and what it is sent."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable
from pathlib import Path

import torch

from mlhub.runtime.ps.layout import ShardPlan
from mlhub.runtime.ps.leases import Backoff, LeasedWork, WaitAtBarrier
from mlhub.runtime.ps.rules import SendReply
from mlhub.runtime.ps.server.inflight import InflightPush
from mlhub.runtime.ps.server.rows import serve_rows
from mlhub.runtime.ps.server.shard import Shard
from mlhub.runtime.ps.wire import frames
from mlhub.runtime.ps.wire.frames import FrameError, Header, Operation
from mlhub.runtime.ps.wire.shared_memory import SharedStretch, take
from mlhub.runtime.ps.wire.sockets import bytes_of

REQUESTS = (
    Operation.START, Operation.PULL, Operation.PUSH, Operation.IDLE, Operation.LEASE, Operation.WAIT_AT_BARRIER,
    Operation.TOTAL, Operation.RESIDUAL, Operation.ROWS_PULL, Operation.ROWS_PUSH, Operation.SHARE, Operation.RETURN,
    Operation.BYE,
)  # fmt: skip
N_AHEAD = 8  # chunks that may wait for other workers' while more are received


class ServerConnection:
    """Serves one worker. line: where weights are sent, if not where they are asked for. on_return: when it came back.

    Its methods return at a goodbye, and raise PeerLostError, FrameError, and whatever nonsense in a frame leads to.
    """

    def __init__(
        self, shard: Shard, connection: socket.socket, worker: int, *, line: socket.socket | None = None,
        on_return: Callable[[], object] = lambda: None,
    ) -> None:  # fmt: skip
        self._shard, self._connection, self._worker = shard, connection, worker
        self._line = connection if line is None else line
        self._lent: SharedStretch | None = None
        self._on_return = on_return

    def train(self) -> None:
        shard, connection, worker = self._shard, self._connection, self._worker
        while True:
            header = frames.receive_header(connection, *REQUESTS)
            match header.operation:
                case Operation.PUSH:
                    self._exchange(header)
                case Operation.BYE:
                    return
                case Operation.SHARE:
                    self._lent = take(connection, header)
                case Operation.START:
                    self._start(header)
                case Operation.PULL:
                    shard.wait_started()
                    reply = shard.pull(worker)
                    self._send(reply, None, head=self._head(reply))
                case Operation.RETURN:
                    is_idle = bool(header.flags & frames.IS_IDLE)
                    shard.come_back(worker, clock=header.number, is_idle=is_idle, version=header.step)
                    self._on_return()
                    frames.send(connection, Header(Operation.OK, 0))
                case Operation.IDLE:
                    shard.idle(worker)
                    frames.send(connection, Header(Operation.OK, 0))
                case Operation.LEASE:
                    stop = bool(header.flags & frames.STOP or shard.stop_flag)
                    checkpoint = bool(header.flags & frames.CHECKPOINT)
                    n = int(header.value)
                    self._order(
                        shard.assembly.ask(worker, header.number, stop=stop, checkpoint=checkpoint, n_under_way=n)
                    )
                case Operation.WAIT_AT_BARRIER:
                    self._order(shard.assembly.wait_at_barrier(worker, header.number))
                case Operation.ROWS_PULL | Operation.ROWS_PUSH:
                    serve_rows(connection, header, shard.tables, worker=worker, factor=shard.rate_factor())
                case Operation.RESIDUAL:
                    shard.snapshots.residuals[worker] = self._receive_vector(header, size=shard.weights.numel())
                    frames.send(connection, Header(Operation.OK, 0))
                case _:
                    values = frames.receive_bytes(connection, header.length)
                    summed = shard.assembly.total(worker, values, header.number)
                    frames.send(connection, Header(Operation.TOTAL, len(summed)), summed)

    def keep_snapshots(self, file_name: str) -> None:
        """Rank 0's second connection: copy the optimiser's state at once, write it while training goes on."""
        shard, connection = self._shard, self._connection
        while True:
            header = frames.receive_header(
                connection, Operation.START, Operation.SNAPSHOT, Operation.WRITE, Operation.BYE
            )
            match header.operation:
                case Operation.BYE:
                    return
                case Operation.START:
                    self._start(header)
                    continue
                case Operation.SNAPSHOT:
                    shard.take_snapshot()
                case _:
                    folder = Path(json.loads(frames.receive_bytes(connection, header.length))["folder"])
                    shard.snapshots.write(folder / file_name)
            frames.send(connection, Header(Operation.OK, 0))

    def _start(self, header: Header) -> None:
        plan = ShardPlan.from_json(json.loads(frames.receive_bytes(self._connection, header.length)))
        weights = self._receive_weights(plan.size)
        tables = [self._receive_weights(t.n_rows * t.width).view(t.n_rows, t.width) for t in plan.tables]
        self._shard.start(plan, weights, tables)
        self._shard.keep()
        frames.send(self._connection, Header(Operation.OK, 0))

    def _receive_weights(self, size: int) -> torch.Tensor:
        return self._receive_vector(frames.receive_header(self._connection, Operation.WEIGHTS), size=size)

    def _receive_vector(self, header: Header, *, size: int) -> torch.Tensor:
        vector = torch.empty(size)
        if header.length != vector.nbytes:
            raise FrameError(f"{header.length} bytes for a shard of {vector.nbytes}.")
        frames.receive_into(self._connection, bytes_of(vector))
        return vector

    def _exchange(self, header: Header) -> None:
        """Receive, apply and reply chunk by chunk.

        A worker that is ahead of those whose pushes go into the same version is received from no faster than it can
        be answered: what waits for the others then waits in the worker, not here.
        """
        shard, worker = self._shard, self._worker
        if header.length != shard.push_bytes:
            raise FrameError(f"{header.length} bytes pushed to a shard that takes {shard.push_bytes}.")
        if header.flags & frames.SHARED:
            self._use(header)
            return
        is_quiet = bool(header.flags & frames.WITHOUT_REPLY)
        inflight = shard.announce(worker, header)
        reply: SendReply | None = None
        head, n_sent = b"", 0  # head: goes out with the first chunk
        for index in range(len(shard.chunks)):
            self._receive_piece(shard.buffer(inflight, index))
            shard.arrived(inflight, index)
            if is_quiet:
                continue
            if reply is None:
                reply = shard.reply_for(worker, wait=False)
                head = self._head(reply) if reply is not None else b""
            while reply is not None and n_sent <= index:
                if not shard.ready(reply, inflight, n_sent, wait=index - n_sent >= N_AHEAD):
                    break
                self._send_piece(inflight, n_sent, head=head)
                head, n_sent = b"", n_sent + 1
        if reply is None:
            reply = shard.reply_for(worker, wait=True)
            assert reply is not None
            head = self._head(reply)
        if is_quiet:
            frames.send(self._connection, Header(Operation.OK, 0, step=reply.version, number=shard.clock(worker)))
        else:
            self._send(reply, inflight, head=head, n_sent=n_sent)

    def _use(self, header: Header) -> None:
        """What is in the worker's own memory, and goes back there. The reply's header reports that it is complete."""
        shard, worker, shared = self._shard, self._worker, self._lent
        if shared is None or shared.weights.numel() != shard.weights.numel() or shard.codec is not None:
            raise FrameError("A push in memory that is not shared, or not for this shard.")
        began, waited_s = time.perf_counter(), 0.0
        inflight = shard.announce(worker, header)
        inflight.is_shared = not shard.must_copy_pushes
        reply: SendReply | None = None
        n_answered = 0
        for index, chunk in enumerate(shard.chunks):
            values = shared.gradient[chunk.begin : chunk.end]
            if inflight.is_shared:
                inflight.buffers[index] = values
            else:
                shard.buffer(inflight, index).copy_(values)
            shard.arrived(inflight, index)
            reply = reply or shard.reply_for(worker, wait=False)
            while reply is not None and n_answered <= index and shard.ready(reply, inflight, n_answered, wait=False):
                self._write_piece(inflight, n_answered, shared.weights)
                n_answered += 1
        reply = reply or shard.reply_for(worker, wait=True)
        assert reply is not None
        for index in range(n_answered, len(shard.chunks)):
            shard.ready(reply, inflight, index, wait=True)
            waited_s = waited_s or time.perf_counter() - began
            self._write_piece(inflight, index, shared.weights)
        if inflight.is_shared:
            shard.detach_shared_memory(inflight)
        frames.send_bytes(self._line, self._head(reply, waited_s=waited_s))

    def _write_piece(self, inflight: InflightPush, index: int, weights: torch.Tensor) -> None:
        chunk = self._shard.chunks[index]
        weights[chunk.begin : chunk.end].copy_(self._shard.reply(self._worker, inflight, index))
        if chunk.returns_pushes:
            self._shard.release_buffer(inflight, index)

    def _receive_piece(self, buffer: torch.Tensor) -> None:
        codec = self._shard.codec
        if codec is None:
            frames.receive_into(self._connection, bytes_of(buffer))
            return
        payload = torch.empty(codec.n_bytes(buffer.numel()), dtype=torch.uint8)
        frames.receive_into(self._connection, bytes_of(payload))
        buffer.copy_(codec.decode(payload, n=buffer.numel()))

    def _send(self, reply: SendReply, inflight: InflightPush | None, *, head: bytes, n_sent: int = 0) -> None:
        """What is left of the weights, waiting for each chunk."""
        for index in range(n_sent, len(self._shard.chunks)):
            self._shard.ready(reply, inflight, index, wait=True)
            self._send_piece(inflight, index, head=head)
            head = b""
        if head:  # a shard that holds nothing
            frames.send_bytes(self._line, head)

    def _head(self, reply: SendReply, *, waited_s: float = 0.0) -> bytes:
        shard = self._shard
        n_bytes, value, clock = shard.weights.nbytes, shard.value, shard.clock(self._worker)
        return Header(
            Operation.WEIGHTS,
            n_bytes,
            flags=shard.agreed,
            step=reply.version,
            value=value,
            weight=waited_s,
            number=clock,
        ).pack()

    def _send_piece(self, inflight: InflightPush | None, index: int, *, head: bytes) -> None:
        frames.send_together(self._line, head, bytes_of(self._shard.reply(self._worker, inflight, index)))
        if inflight is not None and self._shard.chunks[index].returns_pushes:
            self._shard.release_buffer(inflight, index)

    def _order(self, order: LeasedWork | Backoff | WaitAtBarrier) -> None:
        """GRANT: step and, as value, the part. BARRIER: step, flags, and the members as JSON."""
        if isinstance(order, LeasedWork):
            frames.send(self._connection, Header(Operation.GRANT, 0, step=order.step, value=float(order.part)))
        elif isinstance(order, Backoff):
            frames.send(self._connection, Header(Operation.BACKOFF, 0))
        else:
            content = json.dumps(order.members).encode()
            flags = frames.STOP * order.stop | frames.CHECKPOINT * order.checkpoint
            frames.send(
                self._connection, Header(Operation.BARRIER, len(content), flags=flags, step=order.step), content
            )
