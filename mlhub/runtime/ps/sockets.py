"""TCP sockets as gangs use them: large buffers, small frames at once, a vanished peer noticed; tensors as memory."""

from __future__ import annotations

import socket

import torch

BUFFER_BYTES = 4 * 2**20
NEAR_BUFFER_BYTES = 2**20  # on one machine what is under way should stay in the processors' caches


def bytes_of(tensor: torch.Tensor) -> memoryview:
    """The tensor's own memory, flat; no copy."""
    return tensor.detach().numpy().data.cast("B") if tensor.numel() else memoryview(b"")


def size_buffers(connection: socket.socket, *, host: str = "") -> None:
    """Room for some pieces on the way; before the connection is made, since TCP agrees on its window then.

    host: the other end's address, if known.
    """
    size = NEAR_BUFFER_BYTES if host.startswith("127.") else BUFFER_BYTES
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, size)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, size)


def tune(connection: socket.socket) -> None:
    """Small frames at once; a peer that vanished without a word is noticed within half a minute."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 10)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 5)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 4)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 30_000)
