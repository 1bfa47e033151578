# SPDX-License-Identifier: Apache-2.0
"""Messages about what workers do together: they lease batches, wait at barriers, and sum numbers."""

from __future__ import annotations

from mlhub.runtime.ps.wire.declaration import Message, Request, message
from mlhub.runtime.ps.wire.messages.general import DoneReply
from mlhub.runtime.ps.wire.messages.purposes import TRAINING, Purpose


@message(21)
class LeaseReply(Message):
    """The worker is to train on this part of the batch of this step. clock: no worker's is lower since the barrier."""

    step: int
    part: int
    clock: int


@message(22)
class BackoffReply(Message):
    """There is no batch for now: the worker flushes what it has, and waits at the barrier. clock: as LeaseReply."""

    clock: int


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
    """All members are at the barrier, and every step below `step` is done. clock: with which each of them goes on."""

    stop: bool
    checkpoint: bool
    step: int
    clock: int
    members: tuple[int, ...]


@message(25, purposes=(*TRAINING, Purpose.ORDERS))
class BarrierRequest(Request[LeaseReply | BarrierReply]):
    """An idle worker waits for a batch or for all others. clock: the worker's own."""

    number: int
    clock: int


@message(26, purposes=TRAINING)
class IdleRequest(Request[DoneReply]):
    """No other worker needs to wait for this one until it pushes again. clock: the worker's own."""

    clock: int


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
