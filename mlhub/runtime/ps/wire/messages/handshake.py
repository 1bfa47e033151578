# SPDX-License-Identifier: Apache-2.0
"""Messages of the handshake, before which a connection has no purpose (wire/handshake.py)."""

from __future__ import annotations

from mlhub.runtime.ps.wire.declaration import Message, Request, message
from mlhub.runtime.ps.wire.messages.purposes import Purpose


@message(3)
class WelcomeReply(Message):
    """refusal: why the worker is sent away, or None. incarnation: how often the server died before."""

    incarnation: int
    refusal: str | None


@message(4)
class ProofRequest(Request[WelcomeReply]):
    """The worker proves that it holds the gang's secret."""

    proof: str


@message(5)
class ChallengeReply(Message):
    """The server proves that it holds the gang's secret, and asks for the worker's proof."""

    nonce: str
    proof: str


@message(6)
class HelloRequest(Request[ChallengeReply]):
    """known_incarnation: of the server, when the worker was connected before."""

    attempt: str
    index: int
    nonce: str
    purpose: Purpose
    known_incarnation: int | None
