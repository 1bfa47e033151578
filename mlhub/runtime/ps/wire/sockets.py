# SPDX-License-Identifier: Apache-2.0
"""Connections as gangs use them: large buffers, small frames at once, a vanished peer noticed; tensors as memory.

On one machine bytes go through a unix socket next to the TCP one: half the work for the kernel. It has no file but an
abstract name, which counts within a network namespace, like the port that it is called after; a peer that connects
proves the same as over TCP.
"""

from __future__ import annotations

import socket
import sys
from contextlib import suppress

import torch

FAR_BYTES = 4 * 2**20  # of a connection's buffers: room for some chunks on the way
LOOPBACK_BYTES, UNIX_BYTES = 2**20, 2**19  # on one machine what is under way should stay in the processors' caches
N_WAITING = 64


def bytes_of(tensor: torch.Tensor) -> memoryview:
    """The tensor's own memory, flat; no copy."""
    return tensor.detach().numpy().data.cast("B") if tensor.numel() else memoryview(b"")


def is_near(host: str) -> bool:
    """Whether this address is the machine itself, whatever network it is in."""
    return host.startswith("127.")


def listen(address: tuple[str, int]) -> socket.socket:
    """With large buffers, which connections inherit. Raises OSError when the port is taken."""
    listener = socket.create_server(address, backlog=N_WAITING)
    _size_buffers(listener, LOOPBACK_BYTES if is_near(address[0]) else FAR_BYTES)
    return listener


def listen_near(port: int) -> socket.socket | None:
    """Next to this machine's TCP port; None where there are no such sockets. Raises OSError when it is taken."""
    if sys.platform != "linux":
        return None
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(_name(port))
    listener.listen(N_WAITING)
    return listener


def accept(listener: socket.socket) -> socket.socket:
    connection, _ = listener.accept()
    if connection.family == socket.AF_UNIX:  # inherits no buffers
        _size_buffers(connection, UNIX_BYTES)
    return connection


def call(address: tuple[str, int], *, timeout_s: float) -> socket.socket:
    """A connection to a listener; to one of this machine by its unix socket, if it has one. Raises OSError."""
    if is_near(address[0]):
        near = _call_near(address[1], timeout_s=timeout_s)
        if near is not None:
            return near
    connection = socket.socket()
    try:
        _size_buffers(connection, LOOPBACK_BYTES if is_near(address[0]) else FAR_BYTES)
        connection.settimeout(timeout_s)
        connection.connect(address)
    except OSError:
        connection.close()
        raise
    return connection


def tune(connection: socket.socket) -> None:
    """Small frames at once; a peer that vanished without a word is noticed within half a minute."""
    if connection.family == socket.AF_UNIX:
        return
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 10)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 5)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 4)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 30_000)


def _call_near(port: int, *, timeout_s: float) -> socket.socket | None:
    if sys.platform != "linux":
        return None
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with suppress(OSError):
        _size_buffers(connection, UNIX_BYTES)
        connection.settimeout(timeout_s)
        connection.connect(_name(port))
        return connection
    connection.close()
    return None


def _name(port: int) -> str:
    return f"\0mlhub parameter server {port}"


def _size_buffers(connection: socket.socket, n_bytes: int) -> None:
    """Of TCP before the connection is made, since both ends agree on its window then."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, n_bytes)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, n_bytes)
