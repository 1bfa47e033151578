# SPDX-License-Identifier: Apache-2.0
"""Every declared message arrives as it was sent, and what no declaration allows is refused by name."""

from __future__ import annotations

import json
import socket
import struct
import zlib
from dataclasses import fields
from typing import Any, get_type_hints

import pytest

from mlhub.runtime.errors import PeerLostError
from mlhub.runtime.ps.server.connection import HANDLERS
from mlhub.runtime.ps.wire.declaration import (
    HEADER_BYTES,
    LAYOUTS,
    Message,
    Request,
    Streamed,
    encode,
    message,
    requests_for,
)
from mlhub.runtime.ps.wire.dispatch import handlers_of
from mlhub.runtime.ps.wire.frames import FrameError
from mlhub.runtime.ps.wire.messages import (
    BarrierReply,
    DoneReply,
    ErrorReply,
    HelloRequest,
    IdleRequest,
    LeaveRequest,
    PullRequest,
    Purpose,
    PushRequest,
    SumReply,
    SumRequest,
    WriteSnapshotRequest,
)
from mlhub.runtime.ps.wire.transfer import call, receive, send

EXAMPLES: dict[Any, Any] = {
    bool: True, int: 2**63 + 1, float: -0.1, str: "ü", bytes: b"\0\1", Streamed: 7, Purpose: Purpose.ORDERS,
    str | None: None, int | None: 3, dict[str, Any]: {"a": [1, None]}, tuple[int, ...]: (3, 1),
    tuple[tuple[str, tuple[int, ...]], ...]: (("float32", (2, 3)), ("int64", ())),
}  # fmt: skip


def example(kind: type[Message]) -> Message:
    hints = get_type_hints(kind, include_extras=True)
    return kind(**{field.name: EXAMPLES[hints[field.name]] for field in fields(kind)})  # type: ignore[arg-type]


def received(raw: bytes, *expected: type[Message]) -> Message:
    here, there = socket.socketpair()
    with here, there:
        here.sendall(raw)
        here.shutdown(socket.SHUT_WR)
        return receive(there, *expected)


@pytest.mark.parametrize("kind", LAYOUTS, ids=lambda kind: kind.__name__)
def test_every_message_arrives_as_it_was_sent(kind: type[Message]) -> None:
    sent = example(kind)
    assert received(encode(sent), kind) == sent


@pytest.mark.parametrize("kind", LAYOUTS, ids=lambda kind: kind.__name__)
def test_a_message_that_is_cut_off_is_a_lost_peer_and_a_damaged_header_is_refused(kind: type[Message]) -> None:
    raw = encode(example(kind))
    with pytest.raises(PeerLostError):
        received(raw[:-1], kind)
    damaged = bytearray(raw)
    damaged[HEADER_BYTES // 2] ^= 1
    with pytest.raises(FrameError, match="no message of the parameter server's protocol"):
        received(bytes(damaged), kind)


def test_another_message_than_the_expected_is_refused_by_name() -> None:
    with pytest.raises(FrameError, match=r"Expected DoneReply, SumReply, got IdleRequest\."):
        received(encode(IdleRequest(0)), DoneReply, SumReply)


def test_a_refusal_is_raised_with_its_reason() -> None:
    with pytest.raises(FrameError, match="there is no room"):
        received(encode(ErrorReply("there is no room")), DoneReply)


def reworded(content: Message, text: bytes) -> bytes:
    """The message with another text."""
    raw = bytearray(encode(content)[:HEADER_BYTES])
    raw[6:10] = struct.pack(">I", len(text))
    raw[-4:] = struct.pack(">I", zlib.crc32(raw[:-4]))
    return bytes(raw) + text


HELLO = HelloRequest("a", 0, "n", Purpose.TRAINING, None)
FIELDS: dict[str, Any] = {"attempt": "a", "nonce": "n", "purpose": "training", "known_incarnation": None}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ({"attempt": "a"}, "HelloRequest has the fields attempt, nonce, purpose, known_incarnation, and attempt came"),
        (FIELDS | {"x": 0}, "and attempt, known_incarnation, nonce, purpose, x came"),
        (FIELDS | {"attempt": 2}, r"HelloRequest\.attempt: 2 is not of type str"),
        (FIELDS | {"known_incarnation": "1"}, r"HelloRequest\.known_incarnation: '1' is not a whole number"),
        (FIELDS | {"known_incarnation": True}, r"HelloRequest\.known_incarnation: True is not a whole number"),
        (FIELDS | {"purpose": "breaking"}, r"HelloRequest\.purpose: 'breaking' is not a valid Purpose"),
        ([1, 2], "and list came"),
        (b"{", "The text of HelloRequest is not JSON"),
        (b"[" * 100_000, "The text of HelloRequest is not JSON"),
        (b"\xff", "The text of HelloRequest is not JSON"),
        (b"", "HelloRequest came with 0 bytes of text"),
    ],
)
def test_a_malformed_text_is_refused_with_the_name_of_message_and_field(text: Any, complaint: str) -> None:
    assert received(reworded(HELLO, json.dumps(FIELDS).encode()), HelloRequest) == HELLO
    with pytest.raises(FrameError, match=complaint):
        received(reworded(HELLO, text if isinstance(text, bytes) else json.dumps(text).encode()), HelloRequest)


def test_an_unknown_code_and_a_payload_that_was_not_declared_are_refused() -> None:
    def altered(place: int, value: int) -> bytes:
        raw = bytearray(encode(PullRequest()))
        raw[place] = value
        raw[-4:] = struct.pack(">I", zlib.crc32(raw[:-4]))
        return bytes(raw)

    with pytest.raises(FrameError, match="code 255 is unknown"):
        received(altered(5, 255), PullRequest)
    with pytest.raises(FrameError, match="PullRequest has no payload, and 9 bytes were announced"):
        received(altered(17, 9), PullRequest)


@pytest.mark.parametrize(
    "content",
    [
        SumRequest(-1, b""),
        WriteSnapshotRequest(b"folder"),  # type: ignore[arg-type]
        BarrierReply(False, False, 2**64, 0, ()),
        PushRequest(False, False, 0, "1", 1.0, 1, 1, 0),  # type: ignore[arg-type]
    ],
    ids=lambda content: type(content).__name__,
)
def test_values_that_do_not_travel_are_refused_where_they_are_sent(content: Message) -> None:
    with pytest.raises(FrameError, match=f"{type(content).__name__} cannot be sent"):
        encode(content)


def test_a_call_returns_the_reply_that_its_request_declares_and_no_other() -> None:
    here, there = socket.socketpair()
    with here, there:
        send(there, SumReply(b"sums"))
        assert call(here, SumRequest(1, b"summands")) == SumReply(b"sums")
        assert receive(there, SumRequest) == SumRequest(1, b"summands")
        send(there, DoneReply())
        with pytest.raises(FrameError, match="Expected SumReply, got DoneReply"):
            call(here, SumRequest(2, b""))


def test_declarations_that_fit_into_no_frame_are_refused() -> None:
    class TooLong(Message):
        a: int
        b: int
        c: int
        d: int
        e: int
        f: int

    class Odd(Message):
        a: complex

    with pytest.raises(TypeError, match="TooLong has too many numbers"):
        message(250)(TooLong)
    with pytest.raises(TypeError, match="cannot be sent as JSON"):
        message(250)(Odd)
    with pytest.raises(TypeError, match="DoneReply have the same code"):
        message(1)(Odd.__mro__[1])


def test_the_server_has_one_method_for_each_request_of_its_connections() -> None:
    purposes = (Purpose.TRAINING, Purpose.PUSHES_ONLY, Purpose.ORDERS, Purpose.SNAPSHOTS)
    declared = {kind for purpose in purposes for kind in requests_for(purpose)}
    assert declared == {*HANDLERS, LeaveRequest}
    assert all(issubclass(kind, Request) and LAYOUTS[kind].replies for kind in declared)


def test_a_server_without_a_method_for_a_request_or_with_another_reply_cannot_be_declared() -> None:
    class Deaf:
        def leave(self, request: LeaveRequest) -> DoneReply: ...  # type: ignore[empty-body]

    class Wrong:
        def leave(self, request: LeaveRequest) -> SumReply: ...  # type: ignore[empty-body]

    with pytest.raises(TypeError, match="Deaf has no method for TableRequest"):
        handlers_of(Deaf, [Purpose.TABLES])
    with pytest.raises(TypeError, match="is no reply to LeaveRequest"):
        handlers_of(Wrong, [Purpose.TABLES])
