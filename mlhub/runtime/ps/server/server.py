# SPDX-License-Identifier: Apache-2.0
"""One parameter server: a thread a connection, one shard, until every worker has left."""

from __future__ import annotations

import functools
import select
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from mlhub.runtime.checkpoints.step_folders import optimizer_file
from mlhub.runtime.errors import GangTimeoutError, PeerLostError
from mlhub.runtime.ps.server.connection import ServerConnection
from mlhub.runtime.ps.server.shard import Shard
from mlhub.runtime.ps.server.shard_snapshots import SnapshotWriter
from mlhub.runtime.ps.server.worker_registry import WorkerRegistry
from mlhub.runtime.ps.wire.frames import FrameError
from mlhub.runtime.ps.wire.handshake import TIMEOUT_S, HandshakeCaller, NoWayBackError, StrangerError, admit
from mlhub.runtime.ps.wire.messages import DoneReply, Purpose
from mlhub.runtime.ps.wire.sockets import accept, is_near, listen, listen_near, tune
from mlhub.runtime.ps.wire.tls import context_for
from mlhub.runtime.ps.wire.tls_socket import TlsSocket
from mlhub.runtime.ps.wire.transfer import send
from mlhub.wire.report import StalenessReport

POLL_S = 0.2
RETURN_S = 20.0  # workers that live find a server that came back within a fraction of it
REFUSE_S = 3.0  # a worker that comes back to a server that leaves is refused with the reason


class Server:
    """address: host and port to listen on; port 0: any free one. is_encrypted: connections are TLS (tls.py).

    workers: which are connected.
    """

    def __init__(
        self, address: tuple[str, int], *, index: int, n_servers: int, n_workers: int, attempt: str, secret: bytes,
        is_encrypted: bool = False, shard: Shard | None = None, tcp_only: bool = False,
        snapshot_writer: SnapshotWriter | None = None, incarnation: int = 0,
        on_return: Callable[[Server], object] | None = None,
    ) -> None:  # fmt: skip
        """tcp_only: no additional unix socket for workers on this machine.

        snapshot_writer: lets it go on after a death. incarnation: how often it died; above 0 it starts from what its
        snapshot writer stored.
        on_return: called once all its workers have come back. Raises OSError, ValueError without a whole snapshot.
        """
        self.index, self.n_servers, self.n_workers = index, n_servers, n_workers
        self._attempt, self._secret = attempt, secret
        self._tls = context_for(secret, is_server=True) if is_encrypted else None
        self.shard = shard or Shard(n_workers)
        self.shard.observer = snapshot_writer
        self._incarnation, self._on_return = incarnation, on_return
        self._refusal: str | None = None
        self._listener = listen(address)
        near = listen_near(self.port) if is_near(address[0]) and not tcp_only else None
        self._listeners = [self._listener] if near is None else [self._listener, near]
        self._connections: list[socket.socket] = []
        self._for_weights: dict[int, socket.socket] = {}  # by worker, until its training connection is made
        self._changed = threading.Condition()
        self.workers = WorkerRegistry(n_workers)
        if incarnation and snapshot_writer is not None:
            snapshot_writer.restore(self.shard)
            coordination = self.shard.coordination
            self.workers = WorkerRegistry(n_workers, joined=coordination.joined, left=coordination.left)

    @property
    def port(self) -> int:
        return int(self._listener.getsockname()[1])

    def staleness(self) -> StalenessReport:
        """How old pushes were when they were used, so far."""
        counts = list(self.shard.staleness)
        while counts and not counts[-1]:
            counts.pop()
        rule = self.shard.rule
        return StalenessReport(at=time.time(), counts=counts, n_discarded=0 if rule is None else rule.n_discarded)

    def ask_to_stop(self) -> None:
        """From the next step on the workers agree to leave."""
        self.shard.is_asked_to_stop = True

    def serve(self, *, start_timeout_s: float) -> None:
        """Returns when all workers have left, one of them in good order. Raises PeerLostError, GangTimeoutError."""
        began = time.monotonic()
        until = began + start_timeout_s
        try:
            while not self.workers.is_over():
                if self.workers.awaited and time.monotonic() > began + RETURN_S:
                    self._give_up_awaited()
                if self.shard.failure is not None:
                    raise PeerLostError(self.shard.failure)
                n_joined = self.workers.n_joined
                if n_joined < self.n_workers and time.monotonic() > until:
                    raise GangTimeoutError(
                        f"{n_joined} of {self.n_workers} workers came within {start_timeout_s:.0f} s."
                    )
                self._accept()
        except (PeerLostError, GangTimeoutError) as error:
            if self.shard.observer is not None:
                self._refusal = str(error)
                self._hang_up()
                self._refuse_returning()
            raise
        finally:
            self._hang_up()
            for listener in self._listeners:
                listener.close()

    def _hang_up(self) -> None:
        self.shard.close()
        self.shard.waiting.fail("The parameter server is leaving.")
        for connection in self._connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)  # also wakes a thread that still listens
            connection.close()

    def _refuse_returning(self) -> None:
        """Reports to workers that wait for this server that it does not come back."""
        until = time.monotonic() + REFUSE_S
        while time.monotonic() < until:
            self._accept()

    def _give_up_awaited(self) -> None:
        """Workers that did not come back died while the server was away."""
        for worker in sorted(self.workers.awaited):
            self.shard.leave(worker, f"Worker {worker} did not come back to the server.")
            self._end_waiting(worker)

    def _end_waiting(self, worker: int) -> None:
        if self.workers.end_waiting(worker) and self._on_return is not None:
            self._on_return(self)

    @property
    def n_lost(self) -> int:
        """Versions that the last death cost."""
        return self.shard.n_lost

    def _accept(self) -> None:
        callers, _, _ = select.select(self._listeners, (), (), POLL_S)
        for listener in callers:
            threading.Thread(target=self._admit, args=(accept(listener),), daemon=True).start()

    def _admit(self, connection: socket.socket) -> None:
        try:
            connection.settimeout(TIMEOUT_S)
            if self._tls is not None:
                connection = TlsSocket(connection, self._tls, is_server=True)
            caller = admit(
                connection,
                secret=self._secret,
                attempt=self._attempt,
                incarnation=self._incarnation,
                why_not=self._why_not,
            )
            worker, purpose = caller.index, caller.purpose
        except (StrangerError, NoWayBackError, OSError) as error:
            print(f"server {self.index}: refused a connection: {error}", flush=True)
            connection.close()
            return
        tune(connection)
        with self._changed:
            self._connections.append(connection)
            if purpose is Purpose.WEIGHTS_ONLY:
                self._for_weights[worker] = connection
                self._changed.notify_all()
                return
        if not purpose.is_training:
            self._answer(self._connection(connection, worker), worker, purpose)
            connection.close()
            return
        if not self.workers.connect(worker, within_s=TIMEOUT_S):
            print(f"server {self.index}: there is a worker {worker} already", flush=True)
            connection.close()
            return
        if worker in self.workers.awaited and caller.known_incarnation is None:
            self.shard.leave(worker, f"Worker {worker} died while the server was away.")
            self._end_waiting(worker)
        self.shard.coordination.join(worker)
        weights = self._weights_connection_of(worker) if purpose is Purpose.PUSHES_ONLY else None
        reason = self._answer(self._connection(connection, worker, weights=weights), worker, purpose)
        self._record_leaving(worker, reason)
        if reason is None:
            with suppress(PeerLostError):
                send(connection, DoneReply())  # that it left is in the log
        connection.close()
        if weights is not None:
            weights.close()

    def _connection(
        self, connection: socket.socket, worker: int, *, weights: socket.socket | None = None
    ) -> ServerConnection:
        return ServerConnection(
            self.shard,
            connection,
            worker,
            snapshot_file=optimizer_file(self.index, self.n_servers),
            weights_connection=weights,
            on_return=functools.partial(self._end_waiting, worker),
        )

    def _why_not(self, caller: HandshakeCaller) -> str | None:
        """A reason to send a worker of the gang away."""
        if self._refusal is not None:
            return self._refusal
        was_lost = self.shard.coordination.left.get(caller.index) is False
        if caller.known_incarnation is not None and (was_lost or caller.known_incarnation == self._incarnation):
            return "it did not report in time, and others have taken over what it had"
        return None

    def _answer(self, connection: ServerConnection, worker: int, purpose: Purpose) -> str | None:
        """Answers requests until the connection ends. Returns why it is lost, or None when the worker left."""
        try:
            connection.serve(purpose)
        except (PeerLostError, FrameError, ValueError, KeyError, TypeError, OSError, RuntimeError) as error:
            return f"Worker {worker}: {error}"
        return None

    def _weights_connection_of(self, worker: int) -> socket.socket | None:
        """The connection for weights that the worker has made before this one, and that another thread admits."""
        with self._changed:
            self._changed.wait_for(lambda: worker in self._for_weights, TIMEOUT_S)
            return self._for_weights.pop(worker, None)

    def _record_leaving(self, worker: int, reason: str | None) -> None:
        if reason is not None:
            print(f"server {self.index}: {reason}", flush=True)
        self.shard.leave(worker, reason)
        self.workers.disconnect(worker, is_expected=reason is None)
