# SPDX-License-Identifier: Apache-2.0
"""Every message between workers and parameter servers, with its fields and the replies to it. Nothing else lives here.

How bytes follow from a declaration is in wire/declaration.py, how messages are sent and received in wire/transfer.py.
number: of a request, by which a server that restarted recognises one that is repeated (wire/request_numbers.py).
version: of the weights. clock: finished pushes of the worker, as the server's rule counts them.
"""

from mlhub.runtime.ps.wire.messages.checkpoints import (
    InitialValues,
    ResidualRequest,
    SnapshotRequest,
    StartRequest,
    WriteSnapshotRequest,
)
from mlhub.runtime.ps.wire.messages.coordination import (
    BackoffReply,
    BarrierReply,
    BarrierRequest,
    IdleRequest,
    LeaseReply,
    LeaseRequest,
    ReturnRequest,
    SumReply,
    SumRequest,
)
from mlhub.runtime.ps.wire.messages.general import DoneReply, ErrorReply, LeaveRequest
from mlhub.runtime.ps.wire.messages.handshake import ChallengeReply, HelloRequest, ProofRequest, WelcomeReply
from mlhub.runtime.ps.wire.messages.purposes import Purpose
from mlhub.runtime.ps.wire.messages.rows import RowPullRequest, RowPushRequest, RowsReply
from mlhub.runtime.ps.wire.messages.tables import TableErrorReply, TableReply, TableRequest
from mlhub.runtime.ps.wire.messages.weights import (
    PullRequest,
    PushAcceptedReply,
    PushOnlyRequest,
    PushRequest,
    SharedPushRequest,
    SharedWeightsReply,
    ShareMemoryRequest,
    WeightsReply,
)

__all__ = [
    "BackoffReply",
    "BarrierReply",
    "BarrierRequest",
    "ChallengeReply",
    "DoneReply",
    "ErrorReply",
    "HelloRequest",
    "IdleRequest",
    "InitialValues",
    "LeaseReply",
    "LeaseRequest",
    "LeaveRequest",
    "ProofRequest",
    "PullRequest",
    "Purpose",
    "PushAcceptedReply",
    "PushOnlyRequest",
    "PushRequest",
    "ResidualRequest",
    "ReturnRequest",
    "RowPullRequest",
    "RowPushRequest",
    "RowsReply",
    "ShareMemoryRequest",
    "SharedPushRequest",
    "SharedWeightsReply",
    "SnapshotRequest",
    "StartRequest",
    "SumReply",
    "SumRequest",
    "TableErrorReply",
    "TableReply",
    "TableRequest",
    "WeightsReply",
    "WelcomeReply",
    "WriteSnapshotRequest",
]
