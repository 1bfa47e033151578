# SPDX-License-Identifier: Apache-2.0
"""Frames between workers and parameter servers: a 56-byte header, then the payload. Nothing is ever unpickled.

Header, big-endian: magic 4s, version B, operation B, flags H, sender I, step Q, length Q, value d, weight d, number Q,
CRC-32 of it all I. step: the version of the weights, or a step of training. weight: of a push, its part of a batch; of
weights in shared memory, the seconds before they began to come. number: of a request, by which a repeated one is known
(request_numbers.py); of an answer to a push, the worker's clock.
"""

from __future__ import annotations

import json
import socket
import struct
import zlib
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from mlhub.runtime.errors import PeerLostError

MAGIC = b"MLPS"
VERSION = 3
_HEADER = struct.Struct(">4sBBHIQQddQ")
_CHECK = struct.Struct(">I")
HEADER_BYTES = _HEADER.size + _CHECK.size
CHUNK_BYTES = 2**20
SMALL_BYTES = 64 * 2**10  # sent together with its header
MAX_JSON_BYTES = 64 * 2**20
STOP, CHECKPOINT = 1, 2  # flags of PUSH, WEIGHTS and LEASE
CONTROL_FLAGS = STOP | CHECKPOINT
WITHOUT_REPLY = 4  # flag of PUSH: no weights are wanted back
SHARED = 8  # flag of PUSH: nothing follows; it is, and weights are wanted, in the worker's memory (shared_memory.py)
IS_IDLE = 16  # flag of RETURN: no other worker needs to wait for this one


class Operation(IntEnum):
    HELLO = 1
    CHALLENGE = 2
    PROOF = 3
    WELCOME = 4
    START = 5  # rank 0: how weights and optimiser look, then the weights
    PULL = 6
    WEIGHTS = 7
    PUSH = 8
    TOTAL = 9
    SNAPSHOT = 10
    WRITE = 11
    OK = 12
    BYE = 13
    ERROR = 14
    LEASE = 15  # a worker requests a batch; the reply is GRANT or BACKOFF
    WAIT_AT_BARRIER = 16  # an idle worker waits; the reply is GRANT or BARRIER in due time
    GRANT = 17
    BACKOFF = 18
    BARRIER = 19
    IDLE = 20  # no other worker needs to wait for this one until it pushes again
    ROWS_PULL = 22  # rows.py
    ROWS_PUSH = 23
    CALL = 24  # tables/calls.py
    REPLY = 25
    SHARE = 26  # sharing.py
    RETURN = 27  # a worker reports its clock to a server that came back
    RESIDUAL = 21  # what a worker's compressed pushes left out so far, for the next snapshot


class FrameError(Exception):
    """What came is no frame of this protocol, or not the one that was expected."""


@dataclass(frozen=True)
class Header:
    operation: Operation
    length: int
    flags: int = 0
    sender: int = 0
    step: int = 0
    value: float = 0.0
    weight: float = 1.0
    number: int = 0

    def pack(self) -> bytes:
        numbers = (self.flags, self.sender, self.step, self.length, self.value, self.weight, self.number)
        head = _HEADER.pack(MAGIC, VERSION, self.operation, *numbers)
        return head + _CHECK.pack(zlib.crc32(head))


def send(connection: socket.socket, header: Header, payload: memoryview | bytes = b"") -> None:
    """Raises PeerLostError."""
    send_together(connection, header.pack(), memoryview(payload).cast("B") if len(payload) else memoryview(b""))


def send_together(connection: socket.socket, head: bytes, view: memoryview) -> None:
    """Small things in one go: the receiver wakes up once. Raises PeerLostError."""
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


def send_json(connection: socket.socket, operation: Operation, content: Any, *, sender: int = 0) -> None:
    payload = json.dumps(content).encode()
    send(connection, Header(operation, len(payload), sender=sender), payload)


def receive_header(connection: socket.socket, *expected: Operation) -> Header:
    """Raises PeerLostError at the end of the stream, FrameError for anything but what is expected."""
    raw = bytearray(HEADER_BYTES)
    receive_into(connection, memoryview(raw))
    magic, version, operation, flags, sender, step, length, value, weight, number = _HEADER.unpack_from(raw)
    if (
        magic != MAGIC
        or version != VERSION
        or _CHECK.unpack_from(raw, _HEADER.size)[0] != zlib.crc32(raw[: _HEADER.size])
    ):
        raise FrameError("This is no frame of the parameter server's protocol.")
    try:
        found = Operation(operation)
    except ValueError as error:
        raise FrameError(f"The operation {operation} is unknown.") from error
    if found is Operation.ERROR and Operation.ERROR not in expected:
        raise FrameError(receive_bytes(connection, min(length, MAX_JSON_BYTES)).decode(errors="replace"))
    if expected and found not in expected:
        raise FrameError(f"Expected {', '.join(e.name for e in expected)}, got {found.name}.")
    return Header(found, length, flags, sender, step, value, weight, number)


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
    if length > MAX_JSON_BYTES:
        raise FrameError(f"A message of {length:,} bytes is larger than {MAX_JSON_BYTES:,}.")
    raw = bytearray(length)
    receive_into(connection, memoryview(raw))
    return bytes(raw)


def receive_json(connection: socket.socket, operation: Operation) -> Any:
    return receive_json_of(connection, receive_header(connection, operation))


def receive_json_of(connection: socket.socket, header: Header) -> Any:
    return json.loads(receive_bytes(connection, header.length))
