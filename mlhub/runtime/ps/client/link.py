"""A worker's connections to one parameter server, and how they are made again when the server died and comes back."""

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
from mlhub.runtime.ps.wire import frames
from mlhub.runtime.ps.wire.frames import Header, Operation
from mlhub.runtime.ps.wire.handshake import NoWayBackError, Purpose, StrangerError, greet
from mlhub.runtime.ps.wire.sockets import call, tune
from mlhub.runtime.ps.wire.tls_socket import TlsSocket

RETRY_S, MAX_RETRY_S = 0.05, 2.0
LOOK_S = 0.5
HANG_UP = select.POLLHUP | select.POLLERR | select.POLLRDHUP


class LinkCaller:
    """How a worker calls servers: with what it proves who it is."""

    def __init__(self, *, index: int, attempt: str, secret: bytes, tls: ssl.SSLContext | None) -> None:
        self.index = index
        self._attempt, self._secret, self._tls = attempt, secret, tls

    def call(
        self, address: str, purpose: Purpose, *, until: float, known_life: int | None = None
    ) -> tuple[socket.socket, int]:
        """A connection, and which life the server is in. until: on the clock of time.monotonic().

        Raises GangTimeoutError, StrangerError, NoWayBackError.
        """
        pause_s = RETRY_S
        while True:
            try:
                return self._call(address, purpose, known_life)
            except (StrangerError, NoWayBackError):
                raise
            except ssl.SSLCertVerificationError as error:
                raise StrangerError(f"The parameter server {address} is none of the gang's: {error}") from error
            except (OSError, PeerLostError) as error:
                if time.monotonic() > until:
                    raise GangTimeoutError(f"The parameter server {address} does not answer: {error}") from error
                time.sleep(pause_s)
                pause_s = min(2 * pause_s, MAX_RETRY_S)

    def _call(self, address: str, purpose: Purpose, known_life: int | None) -> tuple[socket.socket, int]:
        host, _, port = address.rpartition(":")
        connection = call((host, int(port)), timeout_s=5)
        try:
            if self._tls is not None:
                connection = TlsSocket(connection, self._tls, is_server=False)
            about = {"secret": self._secret, "attempt": self._attempt, "index": self.index}
            life = greet(connection, purpose=purpose, known_life=known_life, **about)  # type: ignore[arg-type]
            connection.settimeout(None)
            tune(connection)
        except BaseException:
            connection.close()
            raise
        return connection, life


class Ends(NamedTuple):
    """The connections of one life. training: everything but what has a connection of its own: line (weights that are
    received), orders, snapshots (rank 0's). is_shared: the server uses the worker's memory. n_returns: how often the
    server had come back."""

    training: socket.socket
    line: socket.socket
    orders: socket.socket
    snapshots: socket.socket
    is_shared: bool
    n_returns: int

    def hang_up(self) -> None:
        """Whoever waits for something to come gets PeerLostError."""
        for connection in self._all():
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self.close()

    def close(self) -> None:
        """Nobody uses them any more."""
        for connection in self._all():
            connection.close()

    def _all(self) -> set[socket.socket]:
        return {self.training, self.line, self.orders, self.snapshots}

    def is_broken(self) -> bool:
        """Whether the server has hung up."""
        poll = select.poll()
        try:
            poll.register(self.training, HANG_UP)
            return bool(poll.poll(0))
        except (OSError, ValueError):  # closed here, by somebody who noticed
            return False


class Link:
    """ends: as they are now. version, clock: as the server told last. is_resting: nobody needs to wait for this worker.

    Whoever speaks to the server takes `ends` once and keeps to them: they change when it comes back.
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
        self.is_resting = False
        self._lost: PeerLostError | None = None
        self._returning = threading.Lock()
        self._life: int | None = None
        self.ends = self._connect(until, n_returns=0)

    def come_back(self, broken_ends: Ends, broken: PeerLostError) -> None:
        """Returns once the server that these ends led to has come back. Raises PeerLostError when it does not."""
        if self.returns_within_s is None:
            raise broken
        with self._returning:
            if self._lost is not None:
                raise self._lost
            if self.ends is not broken_ends:
                return
            broken_ends.hang_up()
            until = time.monotonic() + self.returns_within_s
            while self.ends is broken_ends:
                try:
                    self.ends = self._connect(until, n_returns=broken_ends.n_returns + 1)
                except (GangTimeoutError, StrangerError, NoWayBackError) as error:
                    self._lost = PeerLostError(f"{broken} {error}")
                    raise self._lost from error
                except PeerLostError:
                    time.sleep(RETRY_S)

    def _connect(self, until: float, *, n_returns: int) -> Ends:
        found: dict[Purpose, socket.socket] = {}
        known = life = self._life
        is_shared = False
        try:
            for purpose in self._purposes:
                found[purpose], life = self._caller.call(self._address, purpose, until=until, known_life=known)
                if purpose.is_training and known is not None:
                    self._say_where(found[purpose])
                if purpose.is_training and self._share is not None:
                    is_shared = self._share(found[purpose])
        except BaseException:
            for connection in found.values():
                connection.close()
            raise
        self._life = life
        training = found[next(purpose for purpose in self._purposes if purpose.is_training)]
        line, orders = found.get(Purpose.ANSWERS, training), found.get(Purpose.ORDERS, training)
        return Ends(training, line, orders, found.get(Purpose.SNAPSHOTS, training), is_shared, n_returns)

    def _say_where(self, training: socket.socket) -> None:
        flags, sender = frames.RESTING * self.is_resting, self._caller.index
        where = Header(Operation.RETURN, 0, flags=flags, sender=sender, step=self.version, number=self.clock)
        frames.send(training, where)
        frames.receive_header(training, Operation.OK)


class Lookout(threading.Thread):
    """Notices servers that hung up while this worker has nothing to say to them: others may wait for its return."""

    def __init__(self, links: Sequence[Link]) -> None:
        super().__init__(name="lookout", daemon=True)
        self._links, self._is_ending = links, threading.Event()

    def run(self) -> None:
        while not self._is_ending.wait(LOOK_S):
            for link in self._links:
                ends = link.ends
                if ends.is_broken():
                    with suppress(PeerLostError):  # told by the next that speaks to it
                        link.come_back(ends, PeerLostError("A parameter server hung up."))

    def end(self) -> None:
        self._is_ending.set()
