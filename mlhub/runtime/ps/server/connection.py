# SPDX-License-Identifier: Apache-2.0
"""One connection to a shard after the handshake: a method for each request that a worker may send on it."""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import torch

from mlhub.runtime.ps.layout import ShardPlan
from mlhub.runtime.ps.leases import Backoff, LeasedWork
from mlhub.runtime.ps.server.phase_timings import ServerPhase
from mlhub.runtime.ps.server.push_stream import PushStream
from mlhub.runtime.ps.server.rows import pull_rows, push_rows
from mlhub.runtime.ps.server.shard import Shard
from mlhub.runtime.ps.wire import frames
from mlhub.runtime.ps.wire.declaration import requests_for
from mlhub.runtime.ps.wire.dispatch import handlers_of
from mlhub.runtime.ps.wire.frames import FrameError
from mlhub.runtime.ps.wire.messages import (
    BackoffReply,
    BarrierReply,
    BarrierRequest,
    DoneReply,
    IdleRequest,
    InitialValues,
    LeaseReply,
    LeaseRequest,
    LeaveRequest,
    PullRequest,
    Purpose,
    PushAcceptedReply,
    PushOnlyRequest,
    PushRequest,
    ResidualRequest,
    ReturnRequest,
    RowPullRequest,
    RowPushRequest,
    SharedPushRequest,
    ShareMemoryRequest,
    SnapshotRequest,
    StartRequest,
    SumReply,
    SumRequest,
    WriteSnapshotRequest,
)
from mlhub.runtime.ps.wire.shared_memory import SharedStretch, map_shared
from mlhub.runtime.ps.wire.sockets import bytes_of
from mlhub.runtime.ps.wire.transfer import receive, send


class ServerConnection:
    """Serves one worker. weights_connection: where weights are sent, if not where they are asked for.
    snapshot_file: the name of this shard's part of a checkpoint. on_return: called when the worker has reconnected.
    """

    def __init__(
        self, shard: Shard, connection: socket.socket, worker: int, *, snapshot_file: str,
        weights_connection: socket.socket | None = None, on_return: Callable[[], object] = lambda: None,
    ) -> None:  # fmt: skip
        self._shard, self._connection, self._worker = shard, connection, worker
        self._pushes = PushStream(shard, connection, weights_connection or connection, worker)
        self._snapshot_file, self._on_return = snapshot_file, on_return
        self._shared: SharedStretch | None = None

    def serve(self, purpose: Purpose) -> None:
        """Answers requests until the worker leaves.

        Raises PeerLostError, FrameError, and whatever error the values of a request lead to.
        """
        accepted = requests_for(purpose)
        while True:
            with self._idle_span(purpose):
                request = receive(self._connection, *accepted)
            if isinstance(request, LeaveRequest):
                return
            reply = HANDLERS[type(request)](self, request)
            if reply is not None:
                send(self._connection, reply)

    def _idle_span(self, purpose: Purpose) -> AbstractContextManager[None]:
        """Waits of a connection for orders or snapshots say nothing of the training."""
        if not purpose.is_training:
            return nullcontext()
        return self._shard.timings.span(ServerPhase.IDLE, worker=self._worker)

    # Weights and gradients -----------------------------------------------------------------------------------------

    def _start(self, request: StartRequest) -> DoneReply:
        plan = ShardPlan.from_json(request.plan)
        weights = self._receive_initial(plan.size)
        tables = [self._receive_initial(t.n_rows * t.width).view(t.n_rows, t.width) for t in plan.tables]
        self._shard.start(plan, weights, tables)
        self._shard.begin_observing()
        return DoneReply()

    def _pull(self, request: PullRequest) -> None:  # noqa: ARG002 (it has no fields)
        self._shard.wait_started()
        self._pushes.send_weights(self._shard.join(self._worker))

    def _push(self, request: PushRequest) -> None:
        self._pushes.exchange(request)

    def _push_only(self, request: PushOnlyRequest) -> PushAcceptedReply:
        return self._pushes.receive_only(request)

    def _push_shared(self, request: SharedPushRequest) -> None:
        self._pushes.exchange_shared(request, self._shared)

    def _share_memory(self, request: ShareMemoryRequest) -> DoneReply:
        self._shared = map_shared(self._connection, request)
        return DoneReply()

    def _record_residual(self, request: ResidualRequest) -> DoneReply:
        size = self._shard.weights.numel()
        self._shard.snapshots.residuals[self._worker] = self._receive_vector(request.n_bytes, size=size)
        return DoneReply()

    def _pull_rows(self, request: RowPullRequest) -> None:
        pull_rows(self._connection, request, self._shard.tables)

    def _push_rows(self, request: RowPushRequest) -> DoneReply:
        factor = self._shard.rate_factor()
        push_rows(self._connection, request, self._shard.tables, worker=self._worker, factor=factor)
        return DoneReply()

    # What workers do together --------------------------------------------------------------------------------------

    def _lease(self, request: LeaseRequest) -> LeaseReply | BackoffReply:
        order = self._shard.coordination.lease(
            self._worker,
            request.number,
            stop=request.stop or self._shard.is_asked_to_stop,
            checkpoint=request.checkpoint,
            n_under_way=request.n_under_way,
        )
        clock = self._shard.coordination.clock
        return BackoffReply(clock) if isinstance(order, Backoff) else LeaseReply(order.step, order.part, clock)

    def _wait_at_barrier(self, request: BarrierRequest) -> LeaseReply | BarrierReply:
        coordination = self._shard.coordination
        order = coordination.wait_at_barrier(self._worker, request.number, clock=request.clock)
        if isinstance(order, LeasedWork):
            return LeaseReply(order.step, order.part, coordination.clock)
        return BarrierReply(order.stop, order.checkpoint, order.step, coordination.clock, order.members)

    def _idle(self, request: IdleRequest) -> DoneReply:
        self._shard.idle(self._worker, clock=request.clock)
        return DoneReply()

    def _return(self, request: ReturnRequest) -> DoneReply:
        self._shard.readmit(self._worker, clock=request.clock, is_idle=request.is_idle, version=request.version)
        self._on_return()
        return DoneReply()

    def _sum(self, request: SumRequest) -> SumReply:
        return SumReply(self._shard.coordination.total(self._worker, request.values, request.number))

    # Checkpoints ---------------------------------------------------------------------------------------------------

    def _take_snapshot(self, request: SnapshotRequest) -> DoneReply:  # noqa: ARG002 (it has no fields)
        self._shard.take_snapshot()
        return DoneReply()

    def _write_snapshot(self, request: WriteSnapshotRequest) -> DoneReply:
        self._shard.snapshots.write(Path(request.folder) / self._snapshot_file)
        return DoneReply()

    def _receive_initial(self, size: int) -> torch.Tensor:
        return self._receive_vector(receive(self._connection, InitialValues).n_bytes, size=size)

    def _receive_vector(self, n_bytes: int, *, size: int) -> torch.Tensor:
        vector = torch.empty(size)
        if n_bytes != vector.nbytes:
            raise FrameError(f"{n_bytes} bytes for a shard of {vector.nbytes}.")
        frames.receive_into(self._connection, bytes_of(vector))
        return vector


PURPOSES = (Purpose.TRAINING, Purpose.PUSHES_ONLY, Purpose.ORDERS, Purpose.SNAPSHOTS)
HANDLERS = handlers_of(ServerConnection, PURPOSES, besides=(LeaveRequest,))
