# SPDX-License-Identifier: Apache-2.0
"""Bytes on the wire, as the kernel counts them on this process's TCP connections. Linux; standard library only.

No process can read the counters of another one's connections, so the training process leaves its own in a file.
"""

from __future__ import annotations

import os
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

RECEIVED_AT, SENT_AT = 128, 200  # tcpi_bytes_received, tcpi_bytes_sent in the kernel's struct tcp_info
SIZE = 256
RECORD_EVERY_S = 2.0


class Traffic:
    """Counts bytes sent and received, retransmissions included.

    A connection that was closed in between counts up to the previous call.
    """

    def __init__(self) -> None:
        self._seen: dict[str, tuple[int, int]] = {}
        self.since_last_call()

    def since_last_call(self) -> tuple[int, int]:
        """Returns the bytes sent and received since the last call."""
        sent, received, now = 0, 0, dict[str, tuple[int, int]]()
        for name, counted in _connections():
            before = self._seen.get(name, (0, 0))
            sent += max(0, counted[0] - before[0])
            received += max(0, counted[1] - before[1])
            now[name] = counted
        self._seen = now
        return sent, received


@contextmanager
def recorded(path: Path) -> Iterator[None]:
    """Keeps what this process has sent and received so far in that file, until the block ends."""
    is_over = threading.Event()
    thread = threading.Thread(target=_record, args=(path, is_over), name="traffic", daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()


def recorded_bytes(path: Path) -> tuple[int, int] | None:
    """What the process that records there has sent and received; None before its first record."""
    with suppress(OSError, ValueError):
        sent, received = path.read_text().split()
        return int(sent), int(received)
    return None


def _record(path: Path, is_over: threading.Event) -> None:
    traffic, new = Traffic(), path.with_suffix(".new")
    sent = received = 0
    with suppress(OSError):  # a full disk ends the record, not the training
        while not is_over.wait(RECORD_EVERY_S):
            more_sent, more_received = traffic.since_last_call()
            sent, received = sent + more_sent, received + more_received
            new.write_text(f"{sent} {received}")
            new.rename(path)


def _connections() -> list[tuple[str, tuple[int, int]]]:
    """The kernel's name of each TCP connection of this process, with its bytes sent and received."""
    found = []
    for entry in os.listdir("/proc/self/fd"):
        with suppress(OSError, struct.error):
            name = os.readlink(f"/proc/self/fd/{entry}")
            if not name.startswith("socket:"):
                continue
            # getsockopt needs a socket object; it gets a duplicate, so the descriptor stays open
            with socket.socket(fileno=os.dup(int(entry))) as line:
                if line.family not in (socket.AF_INET, socket.AF_INET6) or line.type != socket.SOCK_STREAM:
                    continue
                info = line.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, SIZE)
            (received,) = struct.unpack_from("Q", info, RECEIVED_AT)
            (sent,) = struct.unpack_from("Q", info, SENT_AT)
            found.append((name, (sent, received)))
    return found
