# SPDX-License-Identifier: Apache-2.0
"""Bytes between workers and parameter servers: sends and receives them whole, and names what broke."""

from __future__ import annotations

import socket

from mlhub.runtime.errors import PeerLostError

CHUNK_BYTES = 2**20
SMALL_BYTES = 64 * 2**10  # sent together with its header
MAX_MESSAGE_BYTES = 64 * 2**20  # of what is read as a whole; tensors are not


class FrameError(Exception):
    """What came is no message of this protocol, or not the one that was expected."""


def send_together(connection: socket.socket, head: bytes, view: memoryview) -> None:
    """Sends small things in one go: the receiver wakes up once. Raises PeerLostError."""
    if len(view) <= SMALL_BYTES:
        send_bytes(connection, b"".join((head, view)))
        return
    if head:
        send_bytes(connection, head)
    for start in range(0, len(view), CHUNK_BYTES):
        send_bytes(connection, view[start : start + CHUNK_BYTES])


def send_bytes(connection: socket.socket, content: memoryview | bytes) -> None:
    """Raises PeerLostError."""
    try:
        connection.sendall(content)
    except OSError as error:
        raise PeerLostError(f"The connection to a peer broke: {error}") from error


def receive_into(connection: socket.socket, target: memoryview) -> None:
    """Fills target. Raises PeerLostError."""
    view = target.cast("B")
    done = 0
    while done < len(view):
        try:
            n = connection.recv_into(view[done : done + CHUNK_BYTES], 0, socket.MSG_WAITALL)  # wakes up once
        except OSError as error:
            raise PeerLostError(f"The connection to a peer broke: {error}") from error
        if n == 0:
            raise PeerLostError("A peer closed the connection.")
        done += n


def receive_bytes(connection: socket.socket, length: int) -> bytes:
    """Raises PeerLostError, FrameError for more than a message may hold."""
    if length > MAX_MESSAGE_BYTES:
        raise FrameError(f"A message of {length:,} bytes is larger than {MAX_MESSAGE_BYTES:,}.")
    raw = bytearray(length)
    receive_into(connection, memoryview(raw))
    return bytes(raw)
