# SPDX-License-Identifier: Apache-2.0
"""Servers as simple as they can be: one sends back what it gets, one receives a gradient, then updates, then sends.

Both on one TCP connection, for messages whose first four bytes are their length; the second takes them for a number,
like the rest.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable
from multiprocessing.connection import Connection

import torch

from mlhub.runtime.ps.wire.sockets import bytes_of, listen, tune

LENGTH_BYTES = 4


def echo(out: Connection) -> None:
    _serve(out, lambda received, _: received)


def push_update_pull(out: Connection) -> None:
    torch.set_num_threads(1)
    _serve(out, lambda received, weights: weights.add_(received, alpha=-0.1))


def _serve(out: Connection, answer: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]) -> None:
    """answer(received, weights), float32, is sent for every message."""
    with listen(("127.0.0.1", 0)) as listener:
        out.send(listener.getsockname()[1])
        connection, _ = listener.accept()
    tune(connection)
    first = memoryview(bytearray(LENGTH_BYTES))
    received = weights = torch.zeros(0)
    while receive(connection, first):
        (n_bytes,) = struct.unpack(">I", first)
        if received.nbytes != n_bytes:
            received, weights = torch.zeros(n_bytes // 4), torch.zeros(n_bytes // 4)
        content = bytes_of(received)
        content[:LENGTH_BYTES] = first
        receive(connection, content[LENGTH_BYTES:])
        connection.sendall(bytes_of(answer(received, weights)))


def receive(connection: socket.socket, target: memoryview) -> bool:
    """Fills target; False at the end of the stream."""
    done = 0
    while done < len(target):
        n = connection.recv_into(target[done:], 0, socket.MSG_WAITALL)
        if n == 0:
            return False
        done += n
    return True
