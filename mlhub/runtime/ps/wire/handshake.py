# SPDX-License-Identifier: Apache-2.0
"""Both ends prove that they hold the gang's secret before any other message; a stranger learns nothing.

worker: HelloRequest -> server: ChallengeReply -> worker: ProofRequest -> server: WelcomeReply

A server that restarted is in its next incarnation, and a worker that knew an earlier one names it. A worker whose
connection broke while the server lived was counted out, and is refused when it returns.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from mlhub.runtime.errors import PeerLostError
from mlhub.runtime.ps.wire.frames import FrameError
from mlhub.runtime.ps.wire.messages import (
    ChallengeReply,
    ErrorReply,
    HelloRequest,
    ProofRequest,
    Purpose,
    WelcomeReply,
)
from mlhub.runtime.ps.wire.transfer import call, receive, send

TIMEOUT_S = 20.0  # a process that has just been started may wait for a processor on a busy node


class StrangerError(Exception):
    """The other end does not know the gang's secret, or belongs to another attempt."""


class NoWayBackError(PeerLostError):
    """The server is there, and refuses this worker for good."""


@dataclass(frozen=True)
class HandshakeCaller:
    """known_incarnation: of the server, when the worker comes back."""

    index: int
    purpose: Purpose
    known_incarnation: int | None


def greet(
    connection: socket.socket, *, secret: bytes, attempt: str, index: int, purpose: Purpose,
    known_incarnation: int | None = None,
) -> int:  # fmt: skip
    """The worker's side; returns which incarnation the server is in. Raises StrangerError, PeerLostError."""
    nonce = secrets.token_hex(16)
    try:
        challenge = call(connection, HelloRequest(attempt, index, nonce, purpose, known_incarnation))
        if not _is_right(secret, "server", attempt, nonce, challenge.nonce, challenge.proof):
            raise StrangerError("The parameter server does not know the gang's secret.")
        welcome = call(connection, ProofRequest(_proof(secret, "worker", attempt, challenge.nonce, nonce)))
    except FrameError as error:
        raise StrangerError(f"The parameter server did not accept this worker: {error}") from error
    if welcome.refusal is not None:
        raise NoWayBackError(f"The parameter server refuses this worker: {welcome.refusal}")
    return welcome.incarnation


def admit(
    connection: socket.socket, *, secret: bytes, attempt: str, incarnation: int = 0,
    why_not: Callable[[HandshakeCaller], str | None] = lambda _: None,
) -> HandshakeCaller:  # fmt: skip
    """The server's side: who the worker is, and what the connection is for. why_not: a reason to send it away.

    Raises StrangerError, NoWayBackError.
    """
    connection.settimeout(TIMEOUT_S)
    try:
        hello = receive(connection, HelloRequest)
        if hello.attempt != attempt:
            raise StrangerError("It belongs to another attempt.")
        nonce = secrets.token_hex(16)
        send(connection, ChallengeReply(nonce, _proof(secret, "server", attempt, hello.nonce, nonce)))
        answer = receive(connection, ProofRequest)
        if not _is_right(secret, "worker", attempt, nonce, hello.nonce, answer.proof):
            raise StrangerError("It does not know the gang's secret.")
        caller = HandshakeCaller(hello.index, hello.purpose, hello.known_incarnation)
        refusal = why_not(caller)
        send(connection, WelcomeReply(incarnation, refusal))
        if refusal is not None:
            raise NoWayBackError(refusal)
    except NoWayBackError:
        raise
    except (FrameError, PeerLostError, StrangerError) as error:
        with suppress(PeerLostError):
            send(connection, ErrorReply("refused"))
        raise StrangerError(str(error)) from error
    connection.settimeout(None)
    return caller


def _proof(secret: bytes, side: str, attempt: str, first: str, second: str) -> str:
    return hmac.new(secret, f"{side}|{attempt}|{first}|{second}".encode(), hashlib.sha256).hexdigest()


def _is_right(secret: bytes, side: str, attempt: str, first: str, second: str, proof: str) -> bool:
    expected = _proof(secret, side, attempt, first, second)
    return hmac.compare_digest(expected.encode(), proof.encode(errors="surrogatepass"))
