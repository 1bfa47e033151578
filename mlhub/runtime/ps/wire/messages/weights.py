# SPDX-License-Identifier: Apache-2.0
"""Messages that carry gradients and weights, over the connection or in shared memory."""

from __future__ import annotations

from mlhub.runtime.ps.wire.declaration import Message, Request, Streamed, message
from mlhub.runtime.ps.wire.messages.general import DoneReply
from mlhub.runtime.ps.wire.messages.purposes import TRAINING


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
    clock: the worker's, once the push is finished: the same on every shard.

    stop, checkpoint: what the worker asks for at the next step. value: is summed over workers.
    """

    stop: bool
    checkpoint: bool
    version: int
    value: float
    weight: float
    number: int
    clock: int
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
    clock: int
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
    clock: int


@message(16, purposes=TRAINING)
class ShareMemoryRequest(Request[DoneReply]):
    """Elements [begin, end) of a worker's vectors of n_elements are this shard's; the file's descriptor follows."""

    n_elements: int
    begin: int
    end: int
