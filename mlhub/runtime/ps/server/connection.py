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
from mlhub.runtime.ps.rules import SendAnswer
from mlhub.runtime.ps.server.inflight import InflightPush
from mlhub.runtime.ps.server.rows import serve_rows
from mlhub.runtime.ps.server.shard import Shard
from mlhub.runtime.ps.wire import frames
from mlhub.runtime.ps.wire.frames import FrameError, Header, Operation
from mlhub.runtime.ps.wire.shared_memory import Lent, take
from mlhub.runtime.ps.wire.sockets import bytes_of

REQUESTS = (
    Operation.START, Operation.PULL, Operation.PUSH, Operation.REST, Operation.LEASE, Operation.ATTEND,
    Operation.TOTAL, Operation.OWED, Operation.ROWS_PULL, Operation.ROWS_PUSH, Operation.SHARE, Operation.RETURN,
    Operation.BYE,
)  # fmt: skip
N_AHEAD = 8  # pieces that may wait for other workers' while more are received


class ServerConnection:
    """With one worker. line: where weights are sent, if not where they are asked for. on_return: when it came back.

    Its methods return at a goodbye, and raise PeerLostError, FrameError, and whatever nonsense in a frame leads to.
    """

    def __init__(
        self, shard: Shard, connection: socket.socket, worker: int, *, line: socket.socket | None = None,
        on_return: Callable[[], object] = lambda: None,
    ) -> None:  # fmt: skip
        self._shard, self._connection, self._worker = shard, connection, worker
        self._line = connection if line is None else line
        self._lent: Lent | None = None
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
                    answer = shard.pull(worker)
                    self._send(answer, None, head=self._head(answer))
                case Operation.RETURN:
                    is_resting = bool(header.flags & frames.RESTING)
                    shard.come_back(worker, clock=header.number, is_resting=is_resting, version=header.step)
                    self._on_return()
                    frames.send(connection, Header(Operation.OK, 0))
                case Operation.REST:
                    shard.rest(worker)
                    frames.send(connection, Header(Operation.OK, 0))
                case Operation.LEASE:
                    stop = bool(header.flags & frames.STOP or shard.stop_flag)
                    checkpoint = bool(header.flags & frames.CHECKPOINT)
                    n = int(header.value)
                    self._order(
                        shard.assembly.ask(worker, header.number, stop=stop, checkpoint=checkpoint, n_under_way=n)
                    )
                case Operation.ATTEND:
                    self._order(shard.assembly.attend(worker, header.number))
                case Operation.ROWS_PULL | Operation.ROWS_PUSH:
                    serve_rows(connection, header, shard.tables, worker=worker, factor=shard.rate_factor())
                case Operation.OWED:
                    shard.snapshots.owed[worker] = self._receive_vector(header, size=shard.weights.numel())
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
        """Receive, apply and answer piece by piece.

        A worker that is ahead of those whose pushes go into the same version is received from no faster than it can
        be answered: what waits for the others then waits in the worker, not here.
        """
        shard, worker = self._shard, self._worker
        if header.length != shard.push_bytes:
            raise FrameError(f"{header.length} bytes pushed to a shard that takes {shard.push_bytes}.")
        if header.flags & frames.SHARED:
            self._use(header)
            return
        is_quiet = bool(header.flags & frames.QUIET)
        delivery = shard.announce(worker, header)
        answer: SendAnswer | None = None
        head, n_sent = b"", 0  # head: goes out with the first piece
        for index in range(len(shard.pieces)):
            self._receive_piece(shard.room(delivery, index))
            shard.arrived(delivery, index)
            if is_quiet:
                continue
            if answer is None:
                answer = shard.answer_for(worker, wait=False)
                head = self._head(answer) if answer is not None else b""
            while answer is not None and n_sent <= index:
                if not shard.ready(answer, delivery, n_sent, wait=index - n_sent >= N_AHEAD):
                    break
                self._send_piece(delivery, n_sent, head=head)
                head, n_sent = b"", n_sent + 1
        if answer is None:
            answer = shard.answer_for(worker, wait=True)
            assert answer is not None
            head = self._head(answer)
        if is_quiet:
            frames.send(self._connection, Header(Operation.OK, 0, step=answer.version, number=shard.clock(worker)))
        else:
            self._send(answer, delivery, head=head, n_sent=n_sent)

    def _use(self, header: Header) -> None:
        """What lies in the worker's own memory, and goes back there. The answer's header says that it is all there."""
        shard, worker, lent = self._shard, self._worker, self._lent
        if lent is None or lent.weights.numel() != shard.weights.numel() or shard.codec is not None:
            raise FrameError("A push in memory that is not shared, or not for this shard.")
        began, waited_s = time.perf_counter(), 0.0
        delivery = shard.announce(worker, header)
        delivery.is_lent = not shard.keeps_pushes
        answer: SendAnswer | None = None
        n_answered = 0
        for index, piece in enumerate(shard.pieces):
            values = lent.gradient[piece.begin : piece.end]
            if delivery.is_lent:
                delivery.rooms[index] = values
            else:
                shard.room(delivery, index).copy_(values)
            shard.arrived(delivery, index)
            answer = answer or shard.answer_for(worker, wait=False)
            while answer is not None and n_answered <= index and shard.ready(answer, delivery, n_answered, wait=False):
                self._write_piece(delivery, n_answered, lent.weights)
                n_answered += 1
        answer = answer or shard.answer_for(worker, wait=True)
        assert answer is not None
        for index in range(n_answered, len(shard.pieces)):
            shard.ready(answer, delivery, index, wait=True)
            waited_s = waited_s or time.perf_counter() - began
            self._write_piece(delivery, index, lent.weights)
        if delivery.is_lent:
            shard.give_back(delivery)
        frames.send_bytes(self._line, self._head(answer, waited_s=waited_s))

    def _write_piece(self, delivery: InflightPush, index: int, weights: torch.Tensor) -> None:
        piece = self._shard.pieces[index]
        weights[piece.begin : piece.end].copy_(self._shard.answer(self._worker, delivery, index))
        if piece.answers_pushes:
            self._shard.leave_room(delivery, index)

    def _receive_piece(self, room: torch.Tensor) -> None:
        codec = self._shard.codec
        if codec is None:
            frames.receive_into(self._connection, bytes_of(room))
            return
        payload = torch.empty(codec.n_bytes(room.numel()), dtype=torch.uint8)
        frames.receive_into(self._connection, bytes_of(payload))
        room.copy_(codec.decode(payload, n=room.numel()))

    def _send(self, answer: SendAnswer, delivery: InflightPush | None, *, head: bytes, n_sent: int = 0) -> None:
        """What is left of the weights, waiting for each piece."""
        for index in range(n_sent, len(self._shard.pieces)):
            self._shard.ready(answer, delivery, index, wait=True)
            self._send_piece(delivery, index, head=head)
            head = b""
        if head:  # a shard that holds nothing
            frames.send_bytes(self._line, head)

    def _head(self, answer: SendAnswer, *, waited_s: float = 0.0) -> bytes:
        shard = self._shard
        n_bytes, told, clock = shard.weights.nbytes, shard.value, shard.clock(self._worker)
        return Header(
            Operation.WEIGHTS,
            n_bytes,
            flags=shard.agreed,
            step=answer.version,
            value=told,
            weight=waited_s,
            number=clock,
        ).pack()

    def _send_piece(self, delivery: InflightPush | None, index: int, *, head: bytes) -> None:
        frames.send_together(self._line, head, bytes_of(self._shard.answer(self._worker, delivery, index)))
        if delivery is not None and self._shard.pieces[index].answers_pushes:
            self._shard.leave_room(delivery, index)

    def _order(self, order: LeasedWork | Backoff | WaitAtBarrier) -> None:
        """GRANT: step and, as value, the part. MEET: step, flags, and the members as JSON."""
        if isinstance(order, LeasedWork):
            frames.send(self._connection, Header(Operation.GRANT, 0, step=order.step, value=float(order.part)))
        elif isinstance(order, Backoff):
            frames.send(self._connection, Header(Operation.HOLD, 0))
        else:
            content = json.dumps(order.members).encode()
            flags = frames.STOP * order.stop | frames.CHECKPOINT * order.checkpoint
            frames.send(self._connection, Header(Operation.MEET, len(content), flags=flags, step=order.step), content)
