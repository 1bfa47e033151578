# SPDX-License-Identifier: Apache-2.0
"""Every message between workers and parameter servers, with its fields and the replies to it.

How bytes follow from these declarations is in declaration.py, how messages are sent and received in transfer.py.
number: of a request, by which a server that restarted recognises one that is repeated (request_numbers.py).
version: of the weights. clock: finished pushes of the worker, as the server's rule counts them.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from mlhub.runtime.ps.wire.declaration import Message, Request, Streamed, message


class Purpose(StrEnum):
    """What a connection is for."""

    TRAINING = "training"
    PUSHES_ONLY = "pushes only"  # weights are received on another connection, which was made before
    WEIGHTS_ONLY = "weights only"  # that other connection
    ORDERS = "orders"  # requests for batches, while an exchange is under way
    SNAPSHOTS = "snapshots"
    TABLES = "tables"  # of scripts: mlhub.runtime.compat.tables

    @property
    def is_training(self) -> bool:
        return self in (Purpose.TRAINING, Purpose.PUSHES_ONLY)


TRAINING = (Purpose.TRAINING, Purpose.PUSHES_ONLY)


@message(1)
class DoneReply(Message):
    """The request is carried out."""


@message(2)
class ErrorReply(Message):
    """The request is refused."""

    reason: str


# The handshake, before which a connection has no purpose (handshake.py) ----------------------------------------------


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


# Weights and gradients -----------------------------------------------------------------------------------------------


@message(7)
class InitialValues(Message):
    """Follows a StartRequest: the shard's weights; then, of each table, its rows. float32."""

    n_bytes: Streamed


@message(8, purposes=(*TRAINING, Purpose.SNAPSHOTS))
class StartRequest(Request[DoneReply]):
    """Rank 0's, or a leaf's first worker's. plan: ShardPlan.to_json()."""

    plan: dict[str, Any]


@message(9)
class WeightsReply(Message):
    """The shard's weights, float32. stop, checkpoint, value: what all workers' pushes reported together."""

    stop: bool
    checkpoint: bool
    version: int
    value: float
    clock: int
    n_bytes: Streamed


@message(10, purposes=TRAINING)
class PullRequest(Request[WeightsReply]):
    """Waits until the shard is started; later it is answered with the newest weights."""


@message(11, purposes=TRAINING)
class PushRequest(Request[WeightsReply]):
    """A gradient, float32 or encoded. weight: its part of a batch. version: of the weights it was computed on.

    stop, checkpoint: what the worker asks for at the next step. value: is summed over workers.
    """

    stop: bool
    checkpoint: bool
    version: int
    value: float
    weight: float
    number: int
    n_bytes: Streamed


@message(12)
class PushAcceptedReply(Message):
    """The rule allows the worker to go on."""

    clock: int


@message(13, purposes=TRAINING)
class PushOnlyRequest(Request[PushAcceptedReply]):
    """A gradient for which no weights are wanted back."""

    version: int
    weight: float
    number: int
    n_bytes: Streamed


@message(14)
class SharedWeightsReply(Message):
    """The weights are in the worker's memory. waited_s: seconds before the first of them was written."""

    stop: bool
    checkpoint: bool
    version: int
    value: float
    clock: int
    waited_s: float


@message(15, purposes=TRAINING)
class SharedPushRequest(Request[SharedWeightsReply]):
    """The gradient is in the worker's memory, where the weights are wanted, too (shared_memory.py)."""

    stop: bool
    checkpoint: bool
    version: int
    value: float
    weight: float
    number: int


@message(16, purposes=TRAINING)
class ShareMemoryRequest(Request[DoneReply]):
    """Elements [begin, end) of a worker's vectors of n_elements are this shard's; the file's descriptor follows."""

    n_elements: int
    begin: int
    end: int


@message(17, purposes=TRAINING)
class ResidualRequest(Request[DoneReply]):
    """What the worker's compressed pushes left out so far, float32, for the next snapshot."""

    n_bytes: Streamed


# Rows of embedding tables --------------------------------------------------------------------------------------------


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


# What workers do together --------------------------------------------------------------------------------------------


@message(21)
class LeaseReply(Message):
    """The worker is to train on this part of the batch of this step."""

    step: int
    part: int


@message(22)
class BackoffReply(Message):
    """There is no batch for now: the worker flushes what it has, and waits at the barrier."""


@message(23, purposes=(*TRAINING, Purpose.ORDERS))
class LeaseRequest(Request[LeaseReply | BackoffReply]):
    """A worker wants a batch; all of its batches but the last n_under_way are done.

    stop, checkpoint: what it asks for at the next barrier.
    """

    stop: bool
    checkpoint: bool
    n_under_way: int
    number: int


@message(24)
class BarrierReply(Message):
    """All members are at the barrier, and every step below `step` is done."""

    stop: bool
    checkpoint: bool
    step: int
    members: tuple[int, ...]


@message(25, purposes=(*TRAINING, Purpose.ORDERS))
class BarrierRequest(Request[LeaseReply | BarrierReply]):
    """An idle worker waits for a batch or for all others."""

    number: int


@message(26, purposes=TRAINING)
class IdleRequest(Request[DoneReply]):
    """No other worker needs to wait for this one until it pushes again."""


@message(27, purposes=TRAINING)
class ReturnRequest(Request[DoneReply]):
    """A worker reports to a server that restarted what it received last."""

    is_idle: bool
    version: int
    clock: int


@message(28)
class SumReply(Message):
    """The sums over all workers, float64 in the machine's order."""

    values: bytes


@message(29, purposes=TRAINING)
class SumRequest(Request[SumReply]):
    """A worker's summands, float64 in the machine's order."""

    number: int
    values: bytes


@message(30, purposes=(*TRAINING, Purpose.ORDERS, Purpose.SNAPSHOTS, Purpose.TABLES))
class LeaveRequest(Request[DoneReply]):
    """The worker is done. Only on a connection for training is it answered: then the server has recorded it."""


# Checkpoints ---------------------------------------------------------------------------------------------------------


@message(31, purposes=(Purpose.SNAPSHOTS,))
class SnapshotRequest(Request[DoneReply]):
    """The shard copies its optimiser's state."""


@message(32, purposes=(Purpose.SNAPSHOTS,))
class WriteSnapshotRequest(Request[DoneReply]):
    """The shard writes what it copied into the folder."""

    folder: str


# Tables of scripts (mlhub.runtime.compat.tables) ---------------------------------------------------------------------


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
