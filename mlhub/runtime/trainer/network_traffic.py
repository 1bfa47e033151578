"""Bytes on the wire: what the kernel counted on this process's own TCP connections. Linux; standard library only."""

from __future__ import annotations

import os
import socket
import struct
from contextlib import suppress

RECEIVED_AT, SENT_AT = 128, 200  # tcpi_bytes_received, tcpi_bytes_sent in the kernel's struct tcp_info
SIZE = 256


class Traffic:
    """Bytes sent and received since the last look, retransmissions included. A connection that was closed in between
    is counted up to the look before."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[int, int]] = {}
        self.look()

    def look(self) -> tuple[int, int]:
        sent, received, now = 0, 0, dict[str, tuple[int, int]]()
        for name, counted in _connections():
            before = self._seen.get(name, (0, 0))
            sent += max(0, counted[0] - before[0])
            received += max(0, counted[1] - before[1])
            now[name] = counted
        self._seen = now
        return sent, received


def _connections() -> list[tuple[str, tuple[int, int]]]:
    """The kernel's name for each TCP connection, with its bytes sent and received."""
    found = []
    for entry in os.listdir("/proc/self/fd"):
        with suppress(OSError, struct.error):
            name = os.readlink(f"/proc/self/fd/{entry}")
            if not name.startswith("socket:"):
                continue
            # getsockopt wants a socket object; the descriptor stays its owner's
            with socket.socket(fileno=os.dup(int(entry))) as line:
                if line.family not in (socket.AF_INET, socket.AF_INET6) or line.type != socket.SOCK_STREAM:
                    continue
                told = line.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, SIZE)
            (received,) = struct.unpack_from("Q", told, RECEIVED_AT)
            (sent,) = struct.unpack_from("Q", told, SENT_AT)
            found.append((name, (sent, received)))
    return found
