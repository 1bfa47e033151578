# SPDX-License-Identifier: Apache-2.0
"""ASGI: one request of a resumable upload becomes several, so that what arrived before a cut is stored.

Django reads a request's whole body before it calls the view, and forgets it when the connection ends. Clients of tus
send by default all that is left of a file in one PATCH. Here its body is handed to Django in pieces, each as a PATCH of
its own at the right offset; the client gets the last answer. A piece whose connection ended is handed on, too.

Pieces are as large as a part of S3's multipart uploads must be, where a client sends so much at a time: a bucket then
copies them, and no byte passes through this process again (bucket_joins.py).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
AsgiMessage = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[AsgiMessage]]
Send = Callable[[AsgiMessage], Awaitable[None]]
AsgiApplication = Callable[[Any, Any, Any], Awaitable[None]]  # each framework types its messages in its own way
RawHeaders = list[tuple[bytes, bytes]]

PREFIX = "/api/v1/uploads"
PIECE_TYPE = "application/offset+octet-stream"
FIRST_PIECE_BYTES = 64 * 2**10
SILENT_S = 120.0
PIECE_BYTES = 8 * 2**20
LEAST_PIECE_BYTES = 5 * 2**20  # what would be left of a request is sent with the piece before if it is less
IS_CONTINUED = "mlhub.is_continued"  # in the scope of all pieces but a request's first
OVERRIDE = b"x-http-method-override"
OVERRIDDEN = (b"PATCH", b"DELETE", b"HEAD")


class SplitUploads:
    """Wraps the application; all other requests pass as they are."""

    def __init__(self, application: AsgiApplication, *, piece_bytes: int = PIECE_BYTES) -> None:
        self._application, self._piece_bytes = application, piece_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith(PREFIX):
            await self._application(scope, receive, send)
            return
        scope = _with_own_method(scope)
        if not _is_split(scope):
            await self._application(scope, receive, send)
            return
        await self._in_pieces(scope, _Body(receive, _header(scope, b"content-length")), send)

    async def _in_pieces(self, scope: Scope, body: _Body, send: Send) -> None:
        """1. A piece is gathered. 2. It is answered. 3. Unless that is a refusal or the end, the next one follows at
        the offset of that answer; after a POST, at the address that it names. The answer to a POST stays 201."""
        first: _Answer | None = None
        asked, begun = scope, b""
        while True:
            if first is None:  # until the application has looked at who asks, little is kept in memory
                piece = await body.next_piece(min(FIRST_PIECE_BYTES, self._piece_bytes))
                if scope["method"] == "PATCH" and not body.is_at_end:
                    piece, begun = b"", piece  # asks only; what has come begins the next piece
            else:
                n_bytes = self._length_of_next(body, len(begun))
                piece, begun = begun + await body.next_piece(n_bytes - len(begun)), b""
            answer = await self._answer(_of_piece(asked, piece, is_continued=first is not None), piece)
            first = first or answer
            if not answer.is_success or (body.is_at_end and not begun):
                break
            asked = _continued(scope, first, offset=answer.header(b"upload-offset"))
        if answer.is_success and first is not answer and scope["method"] == "POST":
            first.set_header(b"upload-offset", answer.header(b"upload-offset"))
            answer = first
        if not body.is_cut:
            for message in answer.messages:
                await send(message)

    def _length_of_next(self, body: _Body, n_begun: int) -> int:
        left = None if body.left is None else n_begun + body.left
        whole = self._piece_bytes + min(LEAST_PIECE_BYTES, self._piece_bytes)
        return left if left is not None and left < whole else self._piece_bytes

    async def _answer(self, scope: Scope, piece: bytes) -> _Answer:
        messages: list[AsgiMessage] = []
        waiting: list[AsgiMessage] = [{"type": "http.request", "body": piece, "more_body": False}]

        async def receive() -> AsgiMessage:
            if waiting:
                return waiting.pop()
            await asyncio.Event().wait()  # Django listens for a disconnect until it has answered
            raise AssertionError("nothing sets that event")

        async def collect(message: AsgiMessage) -> None:
            messages.append(message)

        await self._application(scope, receive, collect)
        return _Answer(messages)


class _Body:
    """The body of a request, in pieces. is_cut: the connection ended before the body did, or was silent for long.

    left: how many bytes are to come; None: its length was not given.
    """

    def __init__(self, receive: Receive, length: bytes) -> None:
        self._receive = receive
        self.left = int(length) if length.isdigit() else None
        self.is_at_end = self.is_cut = False

    async def next_piece(self, n_bytes: int) -> bytes:
        gathered = bytearray()
        while len(gathered) < n_bytes and not self.is_at_end:
            try:
                message = await asyncio.wait_for(self._receive(), SILENT_S)
            except TimeoutError:
                message = {"type": "http.disconnect"}
            if message["type"] == "http.disconnect":
                self.is_at_end = self.is_cut = True
            else:
                content = message.get("body", b"")
                gathered += content
                self.left = None if self.left is None else max(0, self.left - len(content))
                # servers may say that nothing follows in a message of its own, for which no client has to wait
                self.is_at_end = not message.get("more_body", False) or self.left == 0
        return bytes(gathered)


class _Answer:
    def __init__(self, messages: list[AsgiMessage]) -> None:
        self.messages = messages

    @property
    def _start(self) -> AsgiMessage:
        return self.messages[0]

    @property
    def is_success(self) -> bool:
        return bool(self.messages) and 200 <= self._start["status"] < 300

    def header(self, name: bytes) -> bytes:
        return next((value for key, value in self._start["headers"] if key.lower() == name), b"")

    def set_header(self, name: bytes, value: bytes) -> None:
        others = [(key, found) for key, found in self._start["headers"] if key.lower() != name]
        self._start["headers"] = [*others, (name, value)]


def _with_own_method(scope: Scope) -> Scope:
    """For clients behind proxies that pass no PATCH: tus lets them name the method in a header of a POST."""
    asked = _header(scope, OVERRIDE).upper()
    if scope["method"] != "POST" or asked not in OVERRIDDEN:
        return scope
    return {**scope, "method": asked.decode()}


def _is_split(scope: Scope) -> bool:
    """Bodies with a checksum are whole or nothing: they stay one request."""
    is_piece = _header(scope, b"content-type").partition(b";")[0].strip().lower() == PIECE_TYPE.encode()
    return scope["method"] in ("PATCH", "POST") and is_piece and not _header(scope, b"upload-checksum")


def _of_piece(scope: Scope, piece: bytes, *, is_continued: bool) -> Scope:
    headers = _without(scope["headers"], b"content-length", b"transfer-encoding", b"expect")
    length = (b"content-length", str(len(piece)).encode())
    return {**scope, "headers": [*headers, length], IS_CONTINUED: is_continued}


def _continued(scope: Scope, first: _Answer, *, offset: bytes) -> Scope:
    """A PATCH to where the first answer says, when that was of a POST."""
    path = first.header(b"location").decode() if scope["method"] == "POST" else scope["path"]
    headers = [*_without(scope["headers"], b"upload-offset"), (b"upload-offset", offset)]
    return {**scope, "method": "PATCH", "path": path, "raw_path": path.encode(), "headers": headers}


def _without(headers: RawHeaders, *names: bytes) -> RawHeaders:
    return [(key, value) for key, value in headers if key.lower() not in names]


def _header(scope: Scope, name: bytes) -> bytes:
    return next((value for key, value in scope["headers"] if key.lower() == name), b"")
