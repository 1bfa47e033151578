"""One parameter server: a thread a connection, one shard, until every worker has said goodbye."""

from __future__ import annotations

import select
import socket
import threading
import time
from contextlib import suppress

from mlhub.runtime.checkpoints import optimizer_file
from mlhub.runtime.errors import GangTimeoutError, PeerLostError
from mlhub.runtime.ps import frames
from mlhub.runtime.ps.conversation import Conversation
from mlhub.runtime.ps.frames import FrameError
from mlhub.runtime.ps.handshake import TIMEOUT_S, Purpose, StrangerError, admit
from mlhub.runtime.ps.sealed import SealedSocket
from mlhub.runtime.ps.shard import Shard
from mlhub.runtime.ps.sockets import accept, is_near, listen, listen_near, tune
from mlhub.runtime.ps.tls import context_for
from mlhub.wire.report import StalenessReport

POLL_S = 0.2


class Server:
    """address: host and port to listen on; port 0: any free one. is_encrypted: connections are TLS (tls.py)."""

    def __init__(
        self, address: tuple[str, int], *, index: int, n_servers: int, n_workers: int, attempt: str, secret: bytes,
        is_encrypted: bool = False, shard: Shard | None = None, tcp_only: bool = False,
    ) -> None:  # fmt: skip
        """tcp_only: no unix socket beside, for workers on this machine."""
        self.index, self.n_servers, self.n_workers = index, n_servers, n_workers
        self._attempt, self._secret = attempt, secret
        self._tls = context_for(secret, is_server=True) if is_encrypted else None
        self._shard = shard or Shard(n_workers)
        self._listener = listen(address)
        near = listen_near(self.port) if is_near(address[0]) and not tcp_only else None
        self._listeners = [self._listener] if near is None else [self._listener, near]
        self._connections: list[socket.socket] = []
        self._lines: dict[int, socket.socket] = {}  # by worker: for weights, until its training connection takes it
        self._came: set[int] = set()
        self._present: set[int] = set()
        self._has_goodbye = False
        self._changed = threading.Condition()

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
            self._shard.waiting.fail("The parameter server is leaving.")
            for listener in self._listeners:
                listener.close()
            for connection in self._connections:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)  # also wakes a thread that still listens
                connection.close()

    def _is_over(self) -> bool:
        with self._changed:
            if len(self._came) < self.n_workers or self._present:
                return False
            if not self._has_goodbye:
                raise PeerLostError("All workers are gone.")
            return True

    def _accept(self) -> None:
        callers, _, _ = select.select(self._listeners, (), (), POLL_S)
        for listener in callers:
            threading.Thread(target=self._meet, args=(accept(listener),), daemon=True).start()

    def _meet(self, connection: socket.socket) -> None:
        try:
            connection.settimeout(TIMEOUT_S)
            if self._tls is not None:
                connection = SealedSocket(connection, self._tls, is_server=True)
            worker, purpose = admit(connection, secret=self._secret, attempt=self._attempt)
        except (StrangerError, OSError) as error:
            print(f"server {self.index}: refused a connection: {error}", flush=True)
            connection.close()
            return
        tune(connection)
        with self._changed:
            self._connections.append(connection)
            if purpose is Purpose.ANSWERS:
                self._lines[worker] = connection
                self._changed.notify_all()
                return
        if not purpose.is_training:
            self._converse(Conversation(self._shard, connection, worker), worker, purpose)
            connection.close()
            return
        with self._changed:
            if worker in self._present or not 0 <= worker < self.n_workers:
                print(f"server {self.index}: there is a worker {worker} already", flush=True)
                connection.close()
                return
            self._came.add(worker)
            self._present.add(worker)
        line = self._line_of(worker) if purpose is Purpose.TRAINING_APART else None
        reason = self._converse(Conversation(self._shard, connection, worker, line=line), worker, purpose)
        connection.close()
        if line is not None:
            line.close()
        self._say_goodbye(worker, reason)

    def _converse(self, conversation: Conversation, worker: int, purpose: Purpose) -> str | None:
        """Until it ends; returns why, unless by a goodbye."""
        try:
            if purpose is Purpose.SNAPSHOTS:
                conversation.keep_snapshots(optimizer_file(self.index, self.n_servers))
            else:
                conversation.train()
        except (PeerLostError, FrameError, ValueError, KeyError, TypeError, OSError, RuntimeError) as error:
            return f"Worker {worker}: {error}"
        return None

    def _line_of(self, worker: int) -> socket.socket | None:
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
