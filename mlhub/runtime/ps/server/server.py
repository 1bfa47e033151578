# SPDX-License-Identifier: Apache-2.0
"""One parameter server: a thread a connection, one shard, until every worker has sent BYE."""

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
from mlhub.runtime.ps.wire import frames
from mlhub.runtime.ps.wire.frames import FrameError, Header, Operation
from mlhub.runtime.ps.wire.handshake import TIMEOUT_S, HandshakeCaller, NoWayBackError, Purpose, StrangerError, admit
from mlhub.runtime.ps.wire.sockets import accept, is_near, listen, listen_near, tune
from mlhub.runtime.ps.wire.tls import context_for
from mlhub.runtime.ps.wire.tls_socket import TlsSocket
from mlhub.wire.report import StalenessReport

POLL_S = 0.2
RETURN_S = 20.0  # workers that live find a server that came back within a fraction of it
FAREWELL_S = 3.0  # a worker that comes back to a server that leaves is refused with the reason


class Server:
    """address: host and port to listen on; port 0: any free one. is_encrypted: connections are TLS (tls.py)."""

    def __init__(
        self, address: tuple[str, int], *, index: int, n_servers: int, n_workers: int, attempt: str, secret: bytes,
        is_encrypted: bool = False, shard: Shard | None = None, tcp_only: bool = False,
        snapshot_writer: SnapshotWriter | None = None, incarnation: int = 0,
        on_return: Callable[[Server], object] | None = None,
    ) -> None:  # fmt: skip
        """tcp_only: no additional unix socket for workers on this machine.

        snapshot_writer: lets it go on after a death. incarnation: how often it died; above 0 it starts from what its
        snapshot writer stored.
        on_return: called once all its workers have come back. Raises OSError, ValueError when nothing whole is kept.
        """
        self.index, self.n_servers, self.n_workers = index, n_servers, n_workers
        self._attempt, self._secret = attempt, secret
        self._tls = context_for(secret, is_server=True) if is_encrypted else None
        self._shard = shard or Shard(n_workers)
        self._shard.observer = snapshot_writer
        self._incarnation, self._on_return = incarnation, on_return
        self._awaited: set[int] = set()  # workers of an earlier incarnation that have not come back yet
        self._refusal: str | None = None
        self._listener = listen(address)
        near = listen_near(self.port) if is_near(address[0]) and not tcp_only else None
        self._listeners = [self._listener] if near is None else [self._listener, near]
        self._connections: list[socket.socket] = []
        self._lines: dict[int, socket.socket] = {}  # by worker: for weights, until its training connection takes it
        self._came: set[int] = set()
        self._present: set[int] = set()
        self._has_goodbye = False
        self._changed = threading.Condition()
        if incarnation and snapshot_writer is not None:
            snapshot_writer.restore(self._shard)
            gone = self._shard.assembly.gone
            self._awaited = set(range(n_workers)) - gone.keys()
            self._came, self._has_goodbye = set(range(n_workers)), any(gone.values())

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
        began = time.monotonic()
        until = began + start_timeout_s
        try:
            while not self._is_over():
                if self._awaited and time.monotonic() > began + RETURN_S:
                    self._give_up()
                if self._shard.failure is not None:
                    raise PeerLostError(self._shard.failure)
                if len(self._came) < self.n_workers and time.monotonic() > until:
                    raise GangTimeoutError(
                        f"{len(self._came)} of {self.n_workers} workers came within {start_timeout_s:.0f} s."
                    )
                self._accept()
        except (PeerLostError, GangTimeoutError) as error:
            if self._shard.observer is not None:
                self._refusal = str(error)
                self._hang_up()
                self._say_farewell()
            raise
        finally:
            self._hang_up()
            for listener in self._listeners:
                listener.close()

    def _hang_up(self) -> None:
        self._shard.close()
        self._shard.waiting.fail("The parameter server is leaving.")
        for connection in self._connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)  # also wakes a thread that still listens
            connection.close()

    def _say_farewell(self) -> None:
        """Reports to workers that wait for this server that it does not come back."""
        until = time.monotonic() + FAREWELL_S
        while time.monotonic() < until:
            self._accept()

    def _give_up(self) -> None:
        """Workers that did not come back died while the server was away."""
        for worker in sorted(self._awaited):
            self._shard.leave(worker, f"Worker {worker} did not come back to the server.")
        self._are_back(self._awaited.copy())

    def _are_back(self, workers: set[int]) -> None:
        with self._changed:
            was_awaiting = bool(self._awaited)
            self._awaited -= workers
            is_first = was_awaiting and not self._awaited
        if is_first and self._on_return is not None:
            self._on_return(self)

    @property
    def n_lost(self) -> int:
        """Versions that the last death cost."""
        return self._shard.n_lost

    def _is_over(self) -> bool:
        with self._changed:
            if len(self._came) < self.n_workers or self._present or self._awaited:
                return False
            if not self._has_goodbye:
                raise PeerLostError("All workers are gone.")
            return True

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
                self._lines[worker] = connection
                self._changed.notify_all()
                return
        if not purpose.is_training:
            self._converse(ServerConnection(self._shard, connection, worker), worker, purpose)
            connection.close()
            return
        with self._changed:
            if worker in self._present or not 0 <= worker < self.n_workers:
                print(f"server {self.index}: there is a worker {worker} already", flush=True)
                connection.close()
                return
            self._came.add(worker)
            self._present.add(worker)
        if worker in self._awaited and caller.known_incarnation is None:
            self._shard.leave(worker, f"Worker {worker} died while the server was away.")
            self._are_back({worker})
        line = self._weights_connection_of(worker) if purpose is Purpose.PUSHES_ONLY else None
        on_return = functools.partial(self._are_back, {worker})
        conversation = ServerConnection(self._shard, connection, worker, line=line, on_return=on_return)
        reason = self._converse(conversation, worker, purpose)
        self._say_goodbye(worker, reason)
        if reason is None:
            with suppress(PeerLostError):
                frames.send(connection, Header(Operation.OK, 0))  # its goodbye is in the journal
        connection.close()
        if line is not None:
            line.close()

    def _why_not(self, caller: HandshakeCaller) -> str | None:
        """A reason to send a worker of the gang away."""
        if self._refusal is not None:
            return self._refusal
        was_lost = self._shard.assembly.gone.get(caller.index) is False
        if caller.known_incarnation is not None and (was_lost or caller.known_incarnation == self._incarnation):
            return "it did not report in time, and others have taken over what it had"
        return None

    def _converse(self, conversation: ServerConnection, worker: int, purpose: Purpose) -> str | None:
        """Until it ends; returns why, unless by a goodbye."""
        try:
            if purpose is Purpose.SNAPSHOTS:
                conversation.keep_snapshots(optimizer_file(self.index, self.n_servers))
            else:
                conversation.train()
        except (PeerLostError, FrameError, ValueError, KeyError, TypeError, OSError, RuntimeError) as error:
            return f"Worker {worker}: {error}"
        return None

    def _weights_connection_of(self, worker: int) -> socket.socket | None:
        """The connection for weights that the worker has made before this one, and that another thread is taking in."""
        with self._changed:
            self._changed.wait_for(lambda: worker in self._lines, TIMEOUT_S)
            return self._lines.pop(worker, None)

    def _say_goodbye(self, worker: int, reason: str | None) -> None:
        if reason is not None:
            print(f"server {self.index}: {reason}", flush=True)
        self._shard.leave(worker, reason)
        with self._changed:
            self._present.discard(worker)
            self._has_goodbye |= reason is None
