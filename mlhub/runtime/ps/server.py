"""One parameter server: a thread a connection, one shard, until every worker has said goodbye."""

from __future__ import annotations

import json
import socket
import threading
import time
from contextlib import suppress
from pathlib import Path

import torch

from mlhub.runtime.checkpoints import optimizer_file
from mlhub.runtime.errors import GangTimeoutError, PeerLostError
from mlhub.runtime.ps import frames
from mlhub.runtime.ps.deliveries import Delivery
from mlhub.runtime.ps.frames import FrameError, Header, Operation
from mlhub.runtime.ps.handshake import TIMEOUT_S, StrangerError, admit
from mlhub.runtime.ps.layout import ShardPlan
from mlhub.runtime.ps.leases import Grant, Hold, Meet
from mlhub.runtime.ps.rows import serve_rows
from mlhub.runtime.ps.rules import Answer
from mlhub.runtime.ps.shard import Shard
from mlhub.runtime.ps.tls import context_for
from mlhub.wire.report import StalenessReport

N_WAITING = 64
BUFFER_BYTES = 4 * 2**20
REQUESTS = (
    Operation.START, Operation.PULL, Operation.PUSH, Operation.REST, Operation.LEASE, Operation.ATTEND,
    Operation.TOTAL, Operation.OWED, Operation.ROWS_PULL, Operation.ROWS_PUSH, Operation.BYE,
)  # fmt: skip


class Server:
    """address: host and port to listen on; port 0: any free one. is_encrypted: connections are TLS (tls.py)."""

    def __init__(
        self, address: tuple[str, int], *, index: int, n_servers: int, n_workers: int, attempt: str, secret: bytes,
        is_encrypted: bool = False, shard: Shard | None = None,
    ) -> None:  # fmt: skip
        self.index, self.n_servers, self.n_workers = index, n_servers, n_workers
        self._attempt, self._secret = attempt, secret
        self._tls = context_for(secret, is_server=True) if is_encrypted else None
        self._shard = shard or Shard(n_workers)
        self._listener = socket.create_server(address, backlog=N_WAITING)
        size_buffers(self._listener)  # connections inherit them
        self._listener.settimeout(0.2)
        self._connections: list[socket.socket] = []
        self._lines: dict[int, socket.socket] = {}  # by worker: where weights are sent, if not where they are asked for
        self._came: set[int] = set()
        self._present: set[int] = set()
        self._has_goodbye = False
        self._lock = threading.Lock()

    @property
    def port(self) -> int:
        return int(self._listener.getsockname()[1])

    def staleness(self) -> StalenessReport:
        """How old pushes were when they were used, so far."""
        counts = list(self._shard.staleness)
        while counts and not counts[-1]:
            counts.pop()
        rule = self._shard.rule
        return StalenessReport(at=time.time(), counts=counts, n_discarded=0 if rule is None else rule.n_discarded)

    def ask_to_stop(self) -> None:
        """From the next step on the workers agree to leave."""
        self._shard.stop_flag = frames.STOP

    def serve(self, *, start_timeout_s: float) -> None:
        """Returns when all workers have left, one of them in good order. Raises PeerLostError, GangTimeoutError."""
        until = time.monotonic() + start_timeout_s
        try:
            while not self._is_over():
                if self._shard.failure is not None:
                    raise PeerLostError(self._shard.failure)
                if len(self._came) < self.n_workers and time.monotonic() > until:
                    raise GangTimeoutError(
                        f"{len(self._came)} of {self.n_workers} workers came within {start_timeout_s:.0f} s."
                    )
                self._accept()
        finally:
            self._shard.close()
            self._shard.fail("The parameter server is leaving.")
            self._listener.close()
            for connection in self._connections:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)  # also wakes a thread that still listens
                connection.close()

    def _is_over(self) -> bool:
        with self._lock:
            if len(self._came) < self.n_workers or self._present:
                return False
            if not self._has_goodbye:
                raise PeerLostError("All workers are gone.")
            return True

    def _accept(self) -> None:
        try:
            connection, _ = self._listener.accept()
        except TimeoutError:
            return
        threading.Thread(target=self._meet, args=(connection,), daemon=True).start()

    def _meet(self, connection: socket.socket) -> None:
        try:
            connection.settimeout(TIMEOUT_S)
            if self._tls is not None:
                connection = self._tls.wrap_socket(connection, server_side=True)
            worker, purpose = admit(connection, secret=self._secret, attempt=self._attempt)
        except (StrangerError, OSError) as error:
            print(f"server {self.index}: refused a connection: {error}", flush=True)
            connection.close()
            return
        tune(connection)
        with self._lock:
            self._connections.append(connection)
            is_training = purpose == "training"
            if purpose == "answers":
                self._lines[worker] = connection
                return
            if is_training and (worker in self._present or not 0 <= worker < self.n_workers):
                print(f"server {self.index}: there is a worker {worker} already", flush=True)
                connection.close()
                return
            if is_training:
                self._came.add(worker)
                self._present.add(worker)
        reason: str | None = None
        try:
            if purpose == "snapshots":
                self._keep_snapshots(connection)
            else:  # training; orders: a worker's second connection, for work while the first is busy
                self._train(connection, worker)
        except (PeerLostError, FrameError, ValueError, KeyError, TypeError, OSError, RuntimeError) as error:
            reason = f"Worker {worker}: {error}"
        finally:
            connection.close()
        if is_training:
            line = self._lines.pop(worker, None)
            if line is not None:
                line.close()
            self._say_goodbye(worker, reason)

    def _say_goodbye(self, worker: int, reason: str | None) -> None:
        if reason is not None:
            print(f"server {self.index}: {reason}", flush=True)
        self._shard.leave(worker, reason)
        with self._lock:
            self._present.discard(worker)
            self._has_goodbye |= reason is None

    def _train(self, connection: socket.socket, worker: int) -> None:
        """One worker's requests, until it says goodbye."""
        while True:
            header = frames.receive_header(connection, *REQUESTS)
            match header.operation:
                case Operation.BYE:
                    return
                case Operation.START:
                    self._start(connection, header)
                case Operation.PULL:
                    self._shard.wait_started()
                    answer = self._shard.pull(worker)
                    self._send(self._lines.get(worker, connection), worker, answer, None, head=self._head(answer))
                case Operation.PUSH:
                    self._receive_push(connection, worker, header)
                case Operation.REST:
                    self._shard.rest(worker)
                    frames.send(connection, Header(Operation.OK, 0))
                case Operation.LEASE:
                    stop, checkpoint = bool(header.flags & frames.STOP), bool(header.flags & frames.CHECKPOINT)
                    n = int(header.value)
                    order = self._shard.ask(worker, stop=stop, checkpoint=checkpoint, n_under_way=n)
                    self._order(connection, order)
                case Operation.ATTEND:
                    self._order(connection, self._shard.attend(worker))
                case Operation.ROWS_PULL | Operation.ROWS_PUSH:
                    serve_rows(connection, header, self._shard.tables, factor=self._shard.rate_factor())
                case Operation.OWED:
                    self._shard.owed[worker] = self._receive_vector(connection, header)
                    frames.send(connection, Header(Operation.OK, 0))
                case _:
                    summed = self._shard.total(worker, frames.receive_bytes(connection, header.length))
                    frames.send(connection, Header(Operation.TOTAL, len(summed)), summed)

    def _start(self, connection: socket.socket, header: Header) -> None:
        plan = ShardPlan.from_json(json.loads(frames.receive_bytes(connection, header.length)))
        weights = self._receive_vector(connection, frames.receive_header(connection, Operation.WEIGHTS), size=plan.size)
        tables = []
        for table in plan.tables:
            incoming, n = frames.receive_header(connection, Operation.WEIGHTS), table.n_rows * table.width
            tables.append(self._receive_vector(connection, incoming, size=n).view(table.n_rows, table.width))
        self._shard.start(plan, weights, tables)
        frames.send(connection, Header(Operation.OK, 0))

    def _receive_vector(self, connection: socket.socket, header: Header, *, size: int | None = None) -> torch.Tensor:
        vector = torch.empty(self._shard.weights.numel() if size is None else size)
        if header.length != vector.nbytes:
            raise FrameError(f"{header.length} bytes for a shard of {vector.nbytes}.")
        frames.receive_into(connection, bytes_of(vector))
        return vector

    def _receive_push(self, connection: socket.socket, worker: int, header: Header) -> None:
        """Receive, apply and answer piece by piece; what cannot be sent yet is sent when all is received."""
        shard = self._shard
        if header.length != shard.push_bytes:
            raise FrameError(f"{header.length} bytes pushed to a shard that takes {shard.push_bytes}.")
        is_quiet = bool(header.flags & frames.QUIET)
        line = self._lines.get(worker, connection)
        delivery = shard.announce(worker, header)
        answer: Answer | None = None
        head, n_sent = b"", 0  # head: goes out with the first piece
        for index, piece in enumerate(shard.pieces):
            self._receive_piece(connection, shard.room(delivery, piece))
            shard.arrived(delivery, index)
            if is_quiet:
                continue
            if answer is None:
                answer = shard.answer_for(worker, wait=False)
                head = self._head(answer) if answer is not None else b""
            while answer is not None and n_sent <= index and shard.ready(answer, delivery, n_sent, wait=False):
                self._send_piece(line, worker, delivery, n_sent, head=head)
                head, n_sent = b"", n_sent + 1
        if answer is None:
            answer = shard.answer_for(worker, wait=True)
            assert answer is not None
            head = self._head(answer)
        if is_quiet:
            frames.send(connection, Header(Operation.OK, 0, step=answer.version))
        else:
            self._send(line, worker, answer, delivery, head=head, n_sent=n_sent)

    def _receive_piece(self, connection: socket.socket, room: torch.Tensor) -> None:
        codec = self._shard.codec
        if codec is None:
            frames.receive_into(connection, bytes_of(room))
            return
        payload = torch.empty(codec.n_bytes(room.numel()), dtype=torch.uint8)
        frames.receive_into(connection, bytes_of(payload))
        room.copy_(codec.decode(payload, n=room.numel()))

    def _send(
        self,
        connection: socket.socket,
        worker: int,
        answer: Answer,
        delivery: Delivery | None,
        *,
        head: bytes,
        n_sent: int = 0,
    ) -> None:
        """What is left of the weights, waiting for each piece."""
        for index in range(n_sent, len(self._shard.pieces)):
            self._shard.ready(answer, delivery, index, wait=True)
            self._send_piece(connection, worker, delivery, index, head=head)
            head = b""
        if head:  # a shard that holds nothing
            frames.send_bytes(connection, head)

    def _head(self, answer: Answer) -> bytes:
        shard = self._shard
        header = Header(
            Operation.WEIGHTS, shard.weights.nbytes, flags=shard.agreed, step=answer.version, value=shard.value
        )
        return header.pack()

    def _send_piece(
        self, connection: socket.socket, worker: int, delivery: Delivery | None, index: int, *, head: bytes
    ) -> None:
        piece = self._shard.pieces[index]
        pushed = None if delivery is None else self._shard.room(delivery, piece)
        frames.send_together(connection, head, bytes_of(piece.answer(worker, pushed)))

    def _order(self, connection: socket.socket, order: Grant | Hold | Meet) -> None:
        """GRANT: step and, as value, the part. MEET: step, flags, and the members as JSON."""
        if isinstance(order, Grant):
            frames.send(connection, Header(Operation.GRANT, 0, step=order.step, value=float(order.part)))
        elif isinstance(order, Hold):
            frames.send(connection, Header(Operation.HOLD, 0))
        else:
            content = json.dumps(order.members).encode()
            flags = frames.STOP * order.stop | frames.CHECKPOINT * order.checkpoint
            frames.send(connection, Header(Operation.MEET, len(content), flags=flags, step=order.step), content)

    def _keep_snapshots(self, connection: socket.socket) -> None:
        """Rank 0's second connection: copy the optimiser's state at once, write it while training goes on."""
        while True:
            header = frames.receive_header(
                connection, Operation.START, Operation.SNAPSHOT, Operation.WRITE, Operation.BYE
            )
            if header.operation is Operation.BYE:
                return
            if header.operation is Operation.START:
                self._start(connection, header)
                continue
            if header.operation is Operation.SNAPSHOT:
                self._shard.take_snapshot()
            else:
                folder = Path(json.loads(frames.receive_bytes(connection, header.length))["folder"])
                self._shard.write_snapshot(folder / optimizer_file(self.index, self.n_servers))
            frames.send(connection, Header(Operation.OK, 0))


def bytes_of(tensor: torch.Tensor) -> memoryview:
    """The tensor's own memory, flat; no copy."""
    return tensor.detach().numpy().data.cast("B") if tensor.numel() else memoryview(b"")


def size_buffers(connection: socket.socket) -> None:
    """Room for some pieces on the way; before the connection is made, since TCP agrees on its window then."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER_BYTES)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)


def tune(connection: socket.socket) -> None:
    """Small frames at once; a peer that vanished without a word is noticed within half a minute."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 10)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 5)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 4)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 30_000)
