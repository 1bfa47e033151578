# SPDX-License-Identifier: Apache-2.0
"""Messages that belong to no single topic: what answers many requests, and leaving."""

from __future__ import annotations

from mlhub.runtime.ps.wire.declaration import Message, Request, message
from mlhub.runtime.ps.wire.messages.purposes import TRAINING, Purpose


@message(1)
class DoneReply(Message):
    """The request is carried out."""


@message(2)
class ErrorReply(Message):
    """The request is refused."""

    reason: str


@message(30, purposes=(*TRAINING, Purpose.ORDERS, Purpose.SNAPSHOTS, Purpose.TABLES))
class LeaveRequest(Request[DoneReply]):
    """The worker is done. Only on a connection for training is it answered: then the server has recorded it."""
