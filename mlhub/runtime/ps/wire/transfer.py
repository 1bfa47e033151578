# SPDX-License-Identifier: Apache-2.0
"""Sends and receives messages; what is not expected is refused by name."""

from __future__ import annotations

import socket
from typing import Any, TypeVar, cast

from mlhub.runtime.ps.wire import frames
from mlhub.runtime.ps.wire.declaration import HEADER_BYTES, LAYOUTS, Message, Request, decode, decode_header, encode
from mlhub.runtime.ps.wire.frames import FrameError
from mlhub.runtime.ps.wire.messages import ErrorReply

M = TypeVar("M", bound=Message)
R = TypeVar("R", bound=Message)
NOTHING = memoryview(b"")


def send(connection: socket.socket, content: Message, payload: memoryview = NOTHING) -> None:
    """payload: of a message that streams it, or its beginning. Raises PeerLostError, FrameError."""
    if payload:
        frames.send_together(connection, encode(content), payload)
    else:
        frames.send_bytes(connection, encode(content))


def receive(connection: socket.socket, *expected: type[M]) -> M:
    """Receives one of the expected messages. A streamed payload is left on the connection.

    Raises PeerLostError at the end of the stream, FrameError for anything else, with the reason of an ErrorReply.
    """
    raw = bytearray(HEADER_BYTES)
    frames.receive_into(connection, memoryview(raw))
    layout, n_text, n_payload = decode_header(raw)
    is_expected = layout.kind in expected
    if not is_expected and layout.kind is not ErrorReply:
        raise FrameError(f"Expected {', '.join(kind.__name__ for kind in expected)}, got {layout.name}.")
    text = frames.receive_bytes(connection, n_text) if n_text else b""
    is_read = layout.payload is not None and not layout.is_streamed
    found = decode(layout, raw, text, frames.receive_bytes(connection, n_payload) if is_read else n_payload)
    if isinstance(found, ErrorReply) and not is_expected:
        raise FrameError(found.reason)
    return cast(M, found)


def receive_reply(connection: socket.socket, request: type[Request[R]]) -> R:
    """Receives one of the replies that are declared for the request. Raises PeerLostError, FrameError."""
    return cast(R, receive(connection, *LAYOUTS[request].replies))


def call(connection: socket.socket, request: Request[R], payload: memoryview = NOTHING) -> R:
    """Sends a request and waits for its reply. Raises PeerLostError, FrameError."""
    send(connection, request, payload)
    kind: type[Request[Any]] = type(request)
    return cast(R, receive_reply(connection, kind))
