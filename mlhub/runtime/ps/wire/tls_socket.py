# SPDX-License-Identifier: Apache-2.0
"""A TLS connection with large reads and writes of the kernel.

Python's SSLSocket makes a call for every record of 16 kB and two to read one, and wakes the other end as often. Here
records are made and opened in memory, and a quarter of a megabyte at once is sent or received.
"""

from __future__ import annotations

import socket
import ssl
from contextlib import suppress
from typing import cast

from typing_extensions import Buffer

AT_ONCE_BYTES = 2**18


class TlsSocket(socket.socket):
    """For one thread at a time; blocking. Takes the connection over."""

    def __init__(self, connection: socket.socket, context: ssl.SSLContext, *, is_server: bool) -> None:
        """Raises ssl.SSLError for a stranger, OSError."""
        timeout_s = connection.gettimeout()
        super().__init__(connection.family, connection.type, connection.proto, fileno=connection.detach())
        self.settimeout(timeout_s)
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._received = memoryview(bytearray(AT_ONCE_BYTES))
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=is_server)
        try:
            self._shake_hands()
        except OSError:
            self.close()
            raise

    def sendall(self, data: Buffer, flags: int = 0) -> None:  # noqa: ARG002 (a socket's signature)
        view = memoryview(data).cast("B")
        for start in range(0, len(view), AT_ONCE_BYTES):
            part = view[start : start + AT_ONCE_BYTES]
            while part:
                part = part[self._tls.write(part) :]
            self._flush()

    def recv_into(self, buffer: Buffer, nbytes: int = 0, flags: int = 0) -> int:
        """Some bytes, or with MSG_WAITALL all that fit; fewer, or none, at the end of the stream."""
        view = memoryview(buffer).cast("B")
        wanted, done = nbytes or len(view), 0
        while done < wanted:
            try:
                n = cast(int, self._tls.read(wanted - done, view[done:]))  # typeshed knows only the form without buffer
            except ssl.SSLWantReadError:
                if (done and not flags & socket.MSG_WAITALL) or not self._fill():
                    break
                continue
            except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
                break
            if n == 0:
                break
            done += n
        return done

    def _shake_hands(self) -> None:
        while True:
            try:
                self._tls.do_handshake()
            except ssl.SSLWantReadError:
                self._flush()
                if not self._fill():
                    raise ssl.SSLEOFError("The other end hung up while greeting.") from None
            except ssl.SSLError:
                with suppress(OSError):
                    self._flush()  # reports the reason to the other end
                raise
            else:
                self._flush()
                return

    def _flush(self) -> None:
        if self._outgoing.pending:
            super().sendall(self._outgoing.read())

    def _fill(self) -> bool:
        """False at the end of the stream."""
        n = super().recv_into(self._received)
        self._incoming.write(self._received[:n])
        return n > 0
