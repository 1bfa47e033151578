# SPDX-License-Identifier: Apache-2.0
"""A worker's connections to one parameter server, and how they are made again after the server restarted."""

from __future__ import annotations

import select
import socket
import ssl
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NamedTuple

from mlhub.runtime.errors import GangTimeoutError, PeerLostError
from mlhub.runtime.ps.wire.handshake import NoWayBackError, StrangerError, greet
from mlhub.runtime.ps.wire.messages import Purpose, ReturnRequest
from mlhub.runtime.ps.wire.sockets import call, tune
from mlhub.runtime.ps.wire.tls_socket import TlsSocket
from mlhub.runtime.ps.wire.transfer import call as call_server

RETRY_S, MAX_RETRY_S = 0.05, 2.0
MONITOR_S = 0.5
HANG_UP = select.POLLHUP | select.POLLERR | select.POLLRDHUP


class LinkCaller:
    """How a worker calls servers: with what it proves its identity."""

    def __init__(self, *, index: int, attempt: str, secret: bytes, tls: ssl.SSLContext | None) -> None:
        self.index = index
        self._attempt, self._secret, self._tls = attempt, secret, tls

    def call(
        self, address: str, purpose: Purpose, *, until: float, known_incarnation: int | None = None
    ) -> tuple[socket.socket, int]:
        """A connection, and which incarnation the server is in. until: on the clock of time.monotonic().

        Raises GangTimeoutError, StrangerError, NoWayBackError.
        """
        pause_s = RETRY_S
        while True:
            try:
                return self._call(address, purpose, known_incarnation)
            except (StrangerError, NoWayBackError):
                raise
            except ssl.SSLCertVerificationError as error:
                raise StrangerError(f"The parameter server {address} is none of the gang's: {error}") from error
            except (OSError, PeerLostError) as error:
                if time.monotonic() > until:
                    raise GangTimeoutError(f"The parameter server {address} does not answer: {error}") from error
                time.sleep(pause_s)
                pause_s = min(2 * pause_s, MAX_RETRY_S)

    def _call(self, address: str, purpose: Purpose, known_incarnation: int | None) -> tuple[socket.socket, int]:
        host, _, port = address.rpartition(":")
        connection = call((host, int(port)), timeout_s=5)
        try:
            if self._tls is not None:
                connection = TlsSocket(connection, self._tls, is_server=False)
            about = {"secret": self._secret, "attempt": self._attempt, "index": self.index}
            incarnation = greet(connection, purpose=purpose, known_incarnation=known_incarnation, **about)  # type: ignore[arg-type]
            connection.settimeout(None)
            tune(connection)
        except BaseException:
            connection.close()
            raise
        return connection, incarnation


class ServerConnections(NamedTuple):
    """The connections to one incarnation of a server, of which some may be the same socket.

    training: pushes, and what has no socket of its own. weights: receives weights. orders: requests for batches.
    snapshots: rank 0's. is_shared: the server uses the worker's memory. n_returns: restarts of the server before.
    """

    training: socket.socket
    weights: socket.socket
    orders: socket.socket
    snapshots: socket.socket
    is_shared: bool
    n_returns: int

    def hang_up(self) -> None:
        """A thread that waits to receive gets PeerLostError."""
        for connection in self._all():
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self.close()

    def close(self) -> None:
        """Releases the sockets, which no thread uses any more."""
        for connection in self._all():
            connection.close()

    def _all(self) -> set[socket.socket]:
        return {self.training, self.weights, self.orders, self.snapshots}

    def is_broken(self) -> bool:
        """Whether the server has hung up."""
        poll = select.poll()
        try:
            poll.register(self.training, HANG_UP)
            return bool(poll.poll(0))
        except (OSError, ValueError):  # closed here, by another thread that noticed
            return False


class _Made(NamedTuple):
    """A connection, and to which incarnation of the server. is_shared: the server uses the worker's memory."""

    connection: socket.socket
    incarnation: int
    is_shared: bool


class Link:
    """connections: the current ones. version: as the server reported last. clock: the worker's, of its last push that
    the server answered, or later. is_idle: nothing to push for now.

    A caller reads `connections` once and keeps to them, since a restart of the server replaces them.
    """

    def __init__(
        self, caller: LinkCaller, address: str, purposes: Sequence[Purpose], *, until: float,
        share: Callable[[socket.socket], bool] | None = None, returns_within_s: float | None = None,
    ) -> None:  # fmt: skip
        """purposes: in the order in which the server wants them. share: offers the worker's memory; whether it could.
        returns_within_s: None: a server that dies is lost.

        Raises GangTimeoutError, StrangerError.
        """
        self._caller, self._address, self._purposes, self._share = caller, address, purposes, share
        self.returns_within_s = returns_within_s
        self.version = self.clock = 0
        self.is_idle = False
        self._lost: PeerLostError | None = None
        self._returning = threading.Lock()
        self._incarnation: int | None = None
        self.connections = self._connect(until, n_returns=0)

    def record(self, *, version: int, clock: int) -> None:
        """Records what the server reported last."""
        self.version, self.clock = version, clock

    def reconnect(self, broken_connections: ServerConnections, broken: PeerLostError) -> None:
        """Returns once the server of these connections has restarted. Raises PeerLostError when it does not."""
        if self.returns_within_s is None:
            raise broken
        with self._returning:
            if self._lost is not None:
                raise self._lost
            if self.connections is not broken_connections:
                return
            broken_connections.hang_up()
            until = time.monotonic() + self.returns_within_s
            while self.connections is broken_connections:
                try:
                    self.connections = self._connect(until, n_returns=broken_connections.n_returns + 1)
                except (GangTimeoutError, StrangerError, NoWayBackError) as error:
                    self._lost = PeerLostError(f"{broken} {error}")
                    raise self._lost from error
                except PeerLostError:
                    time.sleep(RETRY_S)

    def _connect(self, until: float, *, n_returns: int) -> ServerConnections:
        found: dict[Purpose, _Made] = {}
        newest: int | None = None
        try:
            # a server may die while they are made: those to the dead incarnation are made again
            while outdated := [p for p in self._purposes if p not in found or found[p].incarnation != newest]:
                for purpose in outdated:
                    if purpose in found:
                        found.pop(purpose).connection.close()
                    found[purpose] = self._make(purpose, until)
                    newest = found[purpose].incarnation
        except BaseException:
            for made in found.values():
                made.connection.close()
            raise
        self._incarnation = newest
        training = found[next(purpose for purpose in self._purposes if purpose.is_training)]
        weights, orders, snapshots = (
            found.get(purpose, training).connection
            for purpose in (Purpose.WEIGHTS_ONLY, Purpose.ORDERS, Purpose.SNAPSHOTS)
        )
        return ServerConnections(training.connection, weights, orders, snapshots, training.is_shared, n_returns)

    def _make(self, purpose: Purpose, until: float) -> _Made:
        """Makes one connection, and reports on it what a server that restarted has to know."""
        known = self._incarnation
        connection, incarnation = self._caller.call(self._address, purpose, until=until, known_incarnation=known)
        is_shared = False
        try:
            if purpose.is_training and known is not None:
                self._report_state(connection)
            if purpose.is_training and self._share is not None:
                is_shared = self._share(connection)
        except BaseException:
            connection.close()
            raise
        return _Made(connection, incarnation, is_shared)

    def _report_state(self, training: socket.socket) -> None:
        call_server(training, ReturnRequest(self.is_idle, self.version, self.clock))


class ConnectionMonitor(threading.Thread):
    """Detects servers that hung up while this worker sends them nothing: other workers may wait for its return."""

    def __init__(self, links: Sequence[Link]) -> None:
        super().__init__(name="connection monitor", daemon=True)
        self._links, self._is_ending = links, threading.Event()

    def run(self) -> None:
        while not self._is_ending.wait(MONITOR_S):
            for link in self._links:
                connections = link.connections
                if connections.is_broken():
                    with suppress(PeerLostError):  # the next request reports it
                        link.reconnect(connections, PeerLostError("A parameter server hung up."))

    def end(self) -> None:
        self._is_ending.set()
