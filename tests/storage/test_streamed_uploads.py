# SPDX-License-Identifier: Apache-2.0
"""How one long request becomes pieces: nothing is lost, little is kept for strangers, and none is needlessly small."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mlhub.storage.streamed_uploads import FIRST_PIECE_BYTES, LEAST_PIECE_BYTES, PIECE_BYTES, PIECE_TYPE, SplitUploads

FRAME = 2**16
MIB = 2**20


class Application:
    """Stores what comes, as the platform does. refuses_from: the offset from which on it refuses."""

    def __init__(self, *, refuses_from: int | None = None) -> None:
        self.stored, self.pieces, self.refuses_from = bytearray(), [], refuses_from

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        content = (await receive())["body"]
        headers = dict(scope["headers"])
        assert int(headers[b"content-length"]) == len(content)
        assert scope["method"] == "POST" or int(headers[b"upload-offset"]) == len(self.stored)
        self.pieces.append(len(content))
        is_refused = self.refuses_from is not None and len(self.stored) >= self.refuses_from
        if not is_refused:
            self.stored += content
        found = [(b"upload-offset", b"%d" % len(self.stored)), (b"location", b"/api/v1/uploads/1")]
        await send({"type": "http.response.start", "status": 409 if is_refused else 204, "headers": found})


def sent(application: Application, n_bytes: int, *, method: str = "PATCH", has_length: bool = True, cut_at: int = -1):
    """The status that the client gets for a body of so many bytes, None for one that left; and the body."""
    content = bytes(i * 7 % 251 for i in range(FRAME)) * (n_bytes // FRAME) + b"x" * (n_bytes % FRAME)
    frames = [content[at : at + FRAME] for at in range(0, len(content), FRAME)]
    messages = [{"type": "http.request", "body": frame, "more_body": True} for frame in frames]
    if cut_at >= 0:
        messages[cut_at:] = [{"type": "http.disconnect"}]
    messages.append({"type": "http.request", "body": b"", "more_body": False})
    headers = [(b"content-type", PIECE_TYPE.encode()), (b"upload-offset", b"0")]
    if has_length:
        headers.append((b"content-length", b"%d" % n_bytes))
    scope = {"type": "http", "method": method, "path": "/api/v1/uploads/1", "headers": headers}
    answers: list[Any] = []

    async def receive() -> Any:
        return messages.pop(0)

    async def send(message: Any) -> None:
        answers.append(message)

    asyncio.run(SplitUploads(application)(scope, receive, send))
    return (answers[0]["status"] if answers else None), content


@pytest.mark.parametrize(
    ("n_bytes", "pieces"),
    [
        (0, [0]),
        (1, [1]),
        (FIRST_PIECE_BYTES, [FIRST_PIECE_BYTES]),
        (FIRST_PIECE_BYTES + 1, [0, FIRST_PIECE_BYTES + 1]),
        (8 * MIB, [0, 8 * MIB]),
        (11 * MIB, [0, 11 * MIB]),
        (13 * MIB, [0, 8 * MIB, 5 * MIB]),
        (20 * MIB + 1, [0, 8 * MIB, 12 * MIB + 1]),
    ],
)
def test_no_piece_of_a_long_request_is_smaller_than_a_part_of_a_bucket(n_bytes, pieces):
    application = Application()
    status, content = sent(application, n_bytes)
    assert (status, application.pieces, application.stored == content) == (204, pieces, True)
    assert all(piece >= LEAST_PIECE_BYTES for piece in application.pieces[1:] if n_bytes >= LEAST_PIECE_BYTES)


def test_a_request_whose_length_is_not_given_comes_in_pieces_of_one_size():
    application = Application()
    assert sent(application, 11 * MIB, has_length=False)[0] == 204
    assert application.pieces == [0, PIECE_BYTES, 11 * MIB - PIECE_BYTES]


def test_of_who_is_refused_at_once_little_is_read():
    application = Application(refuses_from=0)
    assert sent(application, 20 * MIB)[0] == 409
    assert application.pieces == [0]


@pytest.mark.parametrize("cut_at", [0, 1, 2, 100, 200])
def test_what_arrived_before_a_cut_is_stored(cut_at):
    application = Application()
    status, content = sent(application, 20 * MIB, cut_at=cut_at)
    assert (status, bytes(application.stored)) == (None, content[: cut_at * FRAME])


def test_a_creation_keeps_its_first_bytes_and_goes_on_at_the_address_that_it_was_given():
    application = Application()
    status, content = sent(application, 9 * MIB, method="POST")
    assert (status, application.stored == content) == (204, True)
    assert application.pieces == [FIRST_PIECE_BYTES, 9 * MIB - FIRST_PIECE_BYTES]
