# SPDX-License-Identifier: Apache-2.0
"""The process that connects a gang's network with the web server: it passes on requests to the ingest API, no others.

One request a connection: what ingest_requests.py accepted is sent on in its own words, with as many bytes of a body as
were announced; whatever else the pod sends is thrown away. Standard library only.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Sequence
from typing import Any

from mlhub.runtime.sandbox.gang_network.ingest_requests import IngestRequest, RequestRefusedError, read_request

Target = tuple[int, Any]  # an address family, and an address of it
# Relays come from this address of the host's loopback. People and proxies of the machine come from 127.0.0.1, whose
# X-Forwarded-For may be trusted and which is shown /metrics.
SOURCE = "127.0.0.2"
MAX_CONNECTIONS, BUFFER_BYTES, CONNECT_S, HEAD_S = 256, 2**16, 10.0, 30.0
RESET_ON_CLOSE = struct.pack("ii", 1, 0)  # SO_LINGER: the peer learns at once that there is no connection


def serve(channel: socket.socket, targets: Sequence[Target], *, paths: str) -> None:
    """For ever, on the listening socket that comes over the channel.

    targets: where the web server is found, in order of preference. paths: how those begin that are passed on; "" passes
    on all bytes, for a server that speaks TLS.
    """
    _, descriptors, _, _ = socket.recv_fds(channel, 1, 1)
    listening, room = socket.socket(fileno=descriptors[0]), threading.BoundedSemaphore(MAX_CONNECTIONS)
    while True:
        inside, _ = listening.accept()
        room.acquire()
        threading.Thread(target=_serve_connection, args=(inside, targets, paths, room), daemon=True).start()


def _serve_connection(
    inside: socket.socket, targets: Sequence[Target], paths: str, room: threading.BoundedSemaphore
) -> None:
    with contextlib.ExitStack() as held, contextlib.suppress(OSError):
        held.callback(room.release)
        held.enter_context(inside)
        request = None
        if paths:
            inside.settimeout(HEAD_S)
            try:
                request = read_request(inside, paths=paths)
            except RequestRefusedError as refused:
                inside.sendall(refused.answer())
                inside.shutdown(socket.SHUT_WR)
                _throw_away(inside)  # closed with bytes unread, the connection would be reset, and the answer lost
                return
            inside.settimeout(None)
        outside = _connect(targets)
        if outside is None:
            inside.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
            return
        with outside:
            back = threading.Thread(target=copy, args=(outside, inside), daemon=True)
            back.start()
            if request is None:
                copy(inside, outside)
            else:
                _send(request, inside, outside)
            back.join()


def _send(request: IngestRequest, inside: socket.socket, outside: socket.socket) -> None:
    """Passes the request on, then waits until the pod or the server closes the connection."""
    left = request.n_body_bytes - len(request.body)
    with contextlib.suppress(OSError):
        outside.sendall(request.head + request.body)
        while left and (data := inside.recv(min(left, BUFFER_BYTES))):
            outside.sendall(data)
            left -= len(data)
        _throw_away(inside)  # what follows the request
    with contextlib.suppress(OSError):
        outside.shutdown(socket.SHUT_RDWR)


def _throw_away(inside: socket.socket) -> None:
    """All that the pod still sends, until it closes the connection. Raises OSError."""
    while inside.recv(BUFFER_BYTES):
        pass


def _connect(targets: Sequence[Target]) -> socket.socket | None:
    for family, address in targets:
        outside = socket.socket(family, socket.SOCK_STREAM)
        outside.settimeout(CONNECT_S)
        try:
            if family == socket.AF_INET and address[0].startswith("127."):
                outside.bind((SOURCE, 0))
            outside.connect(address)
        except OSError:
            outside.close()
            continue
        outside.settimeout(None)
        return outside
    return None


def copy(source: socket.socket, sink: socket.socket) -> None:
    """Passes bytes on until one of them closes, then tells the other one that no more come."""
    with contextlib.suppress(OSError):
        while data := source.recv(BUFFER_BYTES):
            sink.sendall(data)
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_WR)
