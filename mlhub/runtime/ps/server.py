"""One parameter server: a thread a connection, one shard, until every worker has said goodbye."""

from __future__ import annotations

import json
import socket
import threading
import time
from pathlib import Path

import torch

from mlhub.runtime.checkpoints import optimizer_file
from mlhub.runtime.errors import GangTimeoutError, PeerLostError
from mlhub.runtime.ps import frames
from mlhub.runtime.ps.frames import FrameError, Header, Operation
from mlhub.runtime.ps.handshake import StrangerError, admit
from mlhub.runtime.ps.layout import ShardPlan
from mlhub.runtime.ps.shard import Shard

N_WAITING = 64


class Server:
    """address: host and port to listen on. on_ready: called once every worker is connected."""

    def __init__(
        self, address: tuple[str, int], *, index: int, n_servers: int, n_workers: int, attempt: str, secret: bytes
    ) -> None:
        self.index, self.n_servers, self.n_workers = index, n_servers, n_workers
        self._attempt, self._secret = attempt, secret
        self._shard = Shard(n_workers)
        self._listener = socket.create_server(address, backlog=N_WAITING)
        self._listener.settimeout(0.2)
        self._connections: list[socket.socket] = []
        self._came: set[int] = set()
        self._left: set[int] = set()
        self._failure: str | None = None
        self._lock = threading.Lock()

    @property
    def port(self) -> int:
        return int(self._listener.getsockname()[1])

    def ask_to_stop(self) -> None:
        """From the next step on the workers agree to leave."""
        self._shard.stop_flag = frames.STOP

    def serve(self, *, start_timeout_s: float) -> None:
        """Returns when every worker has left in good order. Raises PeerLostError, GangTimeoutError."""
        until = time.monotonic() + start_timeout_s
        try:
            while len(self._left) < self.n_workers:
                if self._failure is not None:
                    raise PeerLostError(self._failure)
                if len(self._came) < self.n_workers and time.monotonic() > until:
                    raise GangTimeoutError(
                        f"{len(self._came)} of {self.n_workers} workers came within {start_timeout_s:.0f} s."
                    )
                self._accept()
        finally:
            self._shard.fail("The parameter server is leaving.")
            self._listener.close()
            for connection in self._connections:
                connection.close()

    def _accept(self) -> None:
        try:
            connection, _ = self._listener.accept()
        except TimeoutError:
            return
        threading.Thread(target=self._meet, args=(connection,), daemon=True).start()

    def _meet(self, connection: socket.socket) -> None:
        try:
            worker, purpose = admit(connection, secret=self._secret, attempt=self._attempt)
        except (StrangerError, OSError) as error:
            print(f"server {self.index}: refused a connection: {error}", flush=True)
            connection.close()
            return
        tune(connection)
        with self._lock:
            self._connections.append(connection)
        try:
            if purpose == "snapshots":
                self._keep_snapshots(connection)
            elif 0 <= worker < self.n_workers and worker not in self._came:
                self._came.add(worker)
                self._train(connection, worker)
                self._left.add(worker)
        except (PeerLostError, FrameError, ValueError, KeyError, TypeError, OSError, RuntimeError) as error:
            if purpose != "snapshots" and self._failure is None and worker not in self._left:
                self._failure = f"Worker {worker}: {error}"
                self._shard.fail(self._failure)
        finally:
            connection.close()

    def _train(self, connection: socket.socket, worker: int) -> None:
        """One worker's requests, until it says goodbye."""
        known = (Operation.START, Operation.PULL, Operation.PUSH, Operation.TOTAL, Operation.BYE)
        while True:
            header = frames.receive_header(connection, *known)
            if header.operation is Operation.BYE:
                return
            if header.operation is Operation.START:
                self._start(connection, header)
            elif header.operation is Operation.PULL:
                self._shard.wait_started()
                self._send_weights(connection, header.step)
            elif header.operation is Operation.PUSH:
                gradient = self._shard.gradients[worker]
                if header.length != gradient.nbytes:
                    raise FrameError(f"A gradient of {header.length} bytes for a shard of {gradient.nbytes}.")
                frames.receive_into(connection, bytes_of(gradient))
                agreed, value = self._shard.push(worker, header.flags, header.value)
                self._send_weights(connection, header.step, flags=agreed, value=value)
            else:
                summed = self._shard.total(worker, frames.receive_bytes(connection, header.length))
                frames.send(connection, Header(Operation.TOTAL, len(summed)), summed)

    def _start(self, connection: socket.socket, header: Header) -> None:
        plan = ShardPlan.from_json(json.loads(frames.receive_bytes(connection, header.length)))
        weights = torch.empty(plan.size)
        incoming = frames.receive_header(connection, Operation.WEIGHTS)
        if incoming.length != weights.nbytes:
            raise FrameError(f"{incoming.length} bytes of weights for a shard of {weights.nbytes}.")
        frames.receive_into(connection, bytes_of(weights))
        self._shard.start(plan, weights)
        frames.send(connection, Header(Operation.OK, 0))

    def _send_weights(self, connection: socket.socket, step: int, *, flags: int = 0, value: float = 0.0) -> None:
        weights = bytes_of(self._shard.weights)
        header = Header(Operation.WEIGHTS, len(weights), flags=flags, step=step, value=value)
        frames.send(connection, header, weights)

    def _keep_snapshots(self, connection: socket.socket) -> None:
        """Rank 0's second connection: copy the optimiser's state at once, write it while training goes on."""
        while True:
            header = frames.receive_header(connection, Operation.SNAPSHOT, Operation.WRITE, Operation.BYE)
            if header.operation is Operation.BYE:
                return
            if header.operation is Operation.SNAPSHOT:
                self._shard.take_snapshot()
            else:
                folder = Path(json.loads(frames.receive_bytes(connection, header.length))["folder"])
                self._shard.write_snapshot(folder / optimizer_file(self.index, self.n_servers))
            frames.send(connection, Header(Operation.OK, 0))


def bytes_of(tensor: torch.Tensor) -> memoryview:
    """The tensor's own memory, flat; no copy."""
    return tensor.detach().numpy().data.cast("B")


def tune(connection: socket.socket) -> None:
    """Small frames at once; a peer that vanished without a word is noticed within half a minute."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 10)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 5)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 4)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 30_000)
