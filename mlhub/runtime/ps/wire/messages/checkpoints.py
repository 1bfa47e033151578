# SPDX-License-Identifier: Apache-2.0
"""Messages about what a shard starts from, and what it writes into checkpoints."""

from __future__ import annotations

from typing import Any

from mlhub.runtime.ps.wire.declaration import Message, Request, Streamed, message
from mlhub.runtime.ps.wire.messages.general import DoneReply
from mlhub.runtime.ps.wire.messages.purposes import TRAINING, Purpose


@message(7)
class InitialValues(Message):
    """Follows a StartRequest: the shard's weights; then, of each table, its rows. float32."""

    n_bytes: Streamed


@message(8, purposes=(*TRAINING, Purpose.SNAPSHOTS))
class StartRequest(Request[DoneReply]):
    """Rank 0's, or a leaf's first worker's. plan: ShardPlan.to_json()."""

    plan: dict[str, Any]


@message(17, purposes=TRAINING)
class ResidualRequest(Request[DoneReply]):
    """What the worker's compressed pushes left out so far, float32, for the next snapshot."""

    n_bytes: Streamed


@message(31, purposes=(Purpose.SNAPSHOTS,))
class SnapshotRequest(Request[DoneReply]):
    """The shard copies its optimiser's state."""


@message(32, purposes=(Purpose.SNAPSHOTS,))
class WriteSnapshotRequest(Request[DoneReply]):
    """The shard writes what it copied into the folder."""

    folder: str
