# SPDX-License-Identifier: Apache-2.0
"""Messages about rows of embedding tables."""

from __future__ import annotations

from mlhub.runtime.ps.wire.declaration import Message, Request, Streamed, message
from mlhub.runtime.ps.wire.messages.general import DoneReply
from mlhub.runtime.ps.wire.messages.purposes import TRAINING


@message(18)
class RowsReply(Message):
    """The rows that were asked for, float32, in the order of their ids."""

    n_bytes: Streamed


@message(19, purposes=TRAINING)
class RowPullRequest(Request[RowsReply]):
    """table: its place in the plan. The payload is the n_ids ids, int64 in the machine's order."""

    table: int
    n_ids: int
    n_bytes: Streamed


@message(20, purposes=TRAINING)
class RowPushRequest(Request[DoneReply]):
    """The payload is the n_ids ids, int64 in the machine's order, then the gradients of these rows, float32."""

    table: int
    n_ids: int
    number: int
    n_bytes: Streamed
