# SPDX-License-Identifier: Apache-2.0
"""Both ends prove that they hold the gang's secret before any other message; a stranger learns nothing.

worker: HELLO {attempt, index, nonce} -> server: CHALLENGE {nonce, proof} -> worker: PROOF {proof} -> server: WELCOME

A server that restarted is in its next incarnation, and a worker that knew an earlier one names it. A worker whose
connection broke while the server lived was counted out, and is refused when it returns.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from mlhub.runtime.errors import PeerLostError
from mlhub.runtime.ps.wire.frames import FrameError, Header, Operation, receive_json, send, send_json

TIMEOUT_S = 5.0


class Purpose(StrEnum):
    """What a connection is for."""

    TRAINING = "training"
    PUSHES_ONLY = "pushes only"  # weights are received on another connection, which was made before
    WEIGHTS_ONLY = "weights only"  # that other connection
    ORDERS = "orders"  # work, while an exchange is under way
    SNAPSHOTS = "snapshots"
    TABLES = "tables"  # of scripts: mlhub.runtime.compat.tables

    @property
    def is_training(self) -> bool:
        return self in (Purpose.TRAINING, Purpose.PUSHES_ONLY)


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
    hello = {
        "attempt": attempt,
        "index": index,
        "nonce": nonce,
        "purpose": purpose,
        "known_incarnation": known_incarnation,
    }
    send_json(connection, Operation.HELLO, hello, sender=index)
    try:
        challenge = receive_json(connection, Operation.CHALLENGE)
        if not _is_right(secret, "server", attempt, nonce, challenge["nonce"], challenge["proof"]):
            raise StrangerError("The parameter server does not know the gang's secret.")
        send_json(connection, Operation.PROOF, {"proof": _proof(secret, "worker", attempt, challenge["nonce"], nonce)})
        welcome = receive_json(connection, Operation.WELCOME)
        if welcome["refusal"] is not None:
            raise NoWayBackError(f"The parameter server refuses this worker: {welcome['refusal']}")
        return int(welcome["incarnation"])
    except (FrameError, KeyError, TypeError, ValueError) as error:
        raise StrangerError(f"The parameter server did not accept this worker: {error}") from error


def admit(
    connection: socket.socket, *, secret: bytes, attempt: str, incarnation: int = 0,
    why_not: Callable[[HandshakeCaller], str | None] = lambda _: None,
) -> HandshakeCaller:  # fmt: skip
    """The server's side: who the worker is, and what the connection is for. why_not: a reason to send it away.

    Raises StrangerError, NoWayBackError.
    """
    connection.settimeout(TIMEOUT_S)
    try:
        hello = receive_json(connection, Operation.HELLO)
        caller, theirs = _caller(hello), str(hello["nonce"])
        if hello["attempt"] != attempt:
            raise StrangerError("It belongs to another attempt.")
        nonce = secrets.token_hex(16)
        proof = _proof(secret, "server", attempt, theirs, nonce)
        send_json(connection, Operation.CHALLENGE, {"nonce": nonce, "proof": proof})
        reply = receive_json(connection, Operation.PROOF)
        if not _is_right(secret, "worker", attempt, nonce, theirs, reply["proof"]):
            raise StrangerError("It does not know the gang's secret.")
        refusal = why_not(caller)
        send_json(connection, Operation.WELCOME, {"incarnation": incarnation, "refusal": refusal})
        if refusal is not None:
            raise NoWayBackError(refusal)
    except NoWayBackError:
        raise
    except (FrameError, PeerLostError, KeyError, TypeError, ValueError, StrangerError) as error:
        with suppress(PeerLostError):
            send(connection, Header(Operation.ERROR, 7), b"refused")
        raise StrangerError(str(error)) from error
    connection.settimeout(None)
    return caller


def _caller(hello: Mapping[str, Any]) -> HandshakeCaller:
    known = hello["known_incarnation"]
    return HandshakeCaller(int(hello["index"]), Purpose(hello["purpose"]), None if known is None else int(known))


def _proof(secret: bytes, side: str, attempt: str, first: str, second: str) -> str:
    return hmac.new(secret, f"{side}|{attempt}|{first}|{second}".encode(), hashlib.sha256).hexdigest()


def _is_right(secret: bytes, side: str, attempt: str, first: str, second: str, proof: str) -> bool:
    return hmac.compare_digest(_proof(secret, side, attempt, first, second), str(proof))
