# SPDX-License-Identifier: Apache-2.0
"""Messages about tables of scripts (mlhub.runtime.compat.tables)."""

from __future__ import annotations

from typing import Any

from mlhub.runtime.ps.wire.declaration import Message, Request, Streamed, message
from mlhub.runtime.ps.wire.messages.purposes import Purpose


@message(33)
class TableReply(Message):
    """tensors: type of number and shape of each, whose values follow one after the other."""

    fields: dict[str, Any]
    tensors: tuple[tuple[str, tuple[int, ...]], ...]
    n_bytes: Streamed


@message(34)
class TableErrorReply(Message):
    """The call failed. is_peer_lost: because another worker is gone."""

    reason: str
    is_peer_lost: bool


@message(35, purposes=(Purpose.TABLES,))
class TableRequest(Request[TableReply | TableErrorReply]):
    """fields: the verb and its arguments. tensors: as in TableReply."""

    fields: dict[str, Any]
    tensors: tuple[tuple[str, tuple[int, ...]], ...]
    n_bytes: Streamed
