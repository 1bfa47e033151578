# SPDX-License-Identifier: Apache-2.0
"""TLS to the site's proxy, over which one thread sends while another one receives.

Python's own TLS sockets may not be used by two threads at once, so the library encrypts in memory, one call at a time.
Standard library only.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading

BUFFER_BYTES = 2**16


def trusting(certificates: str) -> ssl.SSLContext:
    """certificates: of authorities, in PEM; "" = those of this machine. Raises ssl.SSLError."""
    return ssl.create_default_context(cadata=certificates or None)


class TlsConnection(socket.socket):
    """A connected socket of which these methods alone are used: what is sent by them is encrypted."""

    def __init__(self, connected: socket.socket, trusted: ssl.SSLContext, host: str) -> None:
        """Takes the socket over, and shakes hands within its time limit. Raises OSError, and closes it then."""
        limit_s = connected.gettimeout()
        super().__init__(connected.family, connected.type, connected.proto, fileno=connected.detach())
        super().settimeout(limit_s)
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = trusted.wrap_bio(self._incoming, self._outgoing, server_hostname=host)
        self._calls, self._order = threading.Lock(), threading.Lock()
        self._early = b""  # decrypted, and not yet asked for
        try:
            self._shake_hands()
        except BaseException:
            self.close()
            raise

    def sendall(self, data: bytes, flags: int = 0) -> None:  # type: ignore[override]
        """Raises OSError."""
        with self._order:
            with self._calls:
                rest = memoryview(data)
                while rest:
                    rest = rest[self._tls.write(rest) :]
                encrypted = self._outgoing.read()
            super().sendall(encrypted, flags)

    def recv(self, bufsize: int, flags: int = 0) -> bytes:
        """b"" once no more come. Raises OSError."""
        while True:
            with self._calls:
                data = self._decrypted(bufsize)
                has_answer = self._outgoing.pending > 0
            if has_answer:  # of TLS itself, such as to a change of keys
                self.sendall(b"")
            if data is not None:
                return data
            encrypted = super().recv(BUFFER_BYTES, flags)
            with self._calls:
                if encrypted:
                    self._incoming.write(encrypted)
                else:
                    self._incoming.write_eof()

    def shutdown(self, how: int) -> None:
        """Also says by TLS that no more are sent, unless only receiving ends. Raises OSError."""
        if how != socket.SHUT_RD:
            with self._order:
                with self._calls:
                    self._say_end()
                with contextlib.suppress(OSError):
                    super().sendall(self._outgoing.read())
        super().shutdown(how)

    def _decrypted(self, n_bytes: int) -> bytes | None:
        """Of what came; b"" at its end, None before more has come."""
        if self._early:
            data, self._early = self._early[:n_bytes], self._early[n_bytes:]
            return data
        try:
            return self._tls.read(n_bytes)
        except ssl.SSLWantReadError:
            return None
        except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
            return b""

    def _say_end(self) -> None:
        """Reads what has come before: Python's library waits for the other side's end, and takes data for an error."""
        came = b""
        while data := self._decrypted(BUFFER_BYTES):
            came += data
        self._early = came
        with contextlib.suppress(ssl.SSLError):
            self._tls.unwrap()

    def _shake_hands(self) -> None:
        while True:
            try:
                self._tls.do_handshake()
                is_done = True
            except ssl.SSLWantReadError:
                is_done = False
            super().sendall(self._outgoing.read())
            if is_done:
                return
            received = super().recv(BUFFER_BYTES)
            if not received:
                raise ConnectionResetError("The connection was closed while TLS was agreed on.")
            self._incoming.write(received)
