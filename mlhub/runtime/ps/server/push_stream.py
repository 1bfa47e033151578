# SPDX-License-Identifier: Apache-2.0
"""One worker's pushes: received, applied and answered chunk by chunk, over its connections or in shared memory."""

from __future__ import annotations

import socket
import time

import torch

from mlhub.runtime.ps.agreement import StepAgreement
from mlhub.runtime.ps.rules import Push, SendReply
from mlhub.runtime.ps.server.phase_timings import ServerPhase
from mlhub.runtime.ps.server.shard import Shard
from mlhub.runtime.ps.server.weights.inflight import InflightPush
from mlhub.runtime.ps.wire import frames
from mlhub.runtime.ps.wire.declaration import encode
from mlhub.runtime.ps.wire.frames import FrameError
from mlhub.runtime.ps.wire.messages import (
    PushAcceptedReply,
    PushOnlyRequest,
    PushRequest,
    SharedPushRequest,
    SharedWeightsReply,
    WeightsReply,
)
from mlhub.runtime.ps.wire.shared_memory import SharedStretch
from mlhub.runtime.ps.wire.sockets import bytes_of
from mlhub.runtime.ps.wire.transfer import send

N_AHEAD = 8  # chunks that may wait for other workers' while more are received


class PushStream:
    """weights_connection: where weights are sent. Its methods raise PeerLostError, FrameError, ValueError."""

    def __init__(self, shard: Shard, connection: socket.socket, weights_connection: socket.socket, worker: int) -> None:
        self._shard, self._worker = shard, worker
        self._connection, self._weights_connection = connection, weights_connection

    def exchange(self, request: PushRequest) -> None:
        """Receives, applies and replies chunk by chunk.

        A worker that is ahead of those whose pushes go into the same version is received from no faster than it can
        be answered: what waits for the others then waits in the worker, not here.
        """
        self._check_length(request.n_bytes)
        shard, worker, pipeline = self._shard, self._worker, self._shard.pipeline
        push = self._announce(request)
        reply: SendReply | None = None
        head, n_sent = b"", 0  # head: goes out with the first chunk
        for index in range(len(shard.chunks)):
            self._receive_chunk(pipeline.buffer(push, index))
            pipeline.receive_chunk(push, index)
            if reply is None:
                reply = shard.reply_for(worker, wait=False)
                head = self._head(reply) if reply is not None else b""
            while reply is not None and n_sent <= index:
                if not pipeline.is_ready(reply, push, n_sent, wait=index - n_sent >= N_AHEAD):
                    break
                self._send_chunk(push, n_sent, head=head)
                head, n_sent = b"", n_sent + 1
        if reply is None:
            reply = shard.reply_for(worker, wait=True)
            assert reply is not None
            head = self._head(reply)
        self._send_chunks(reply, push, head=head, n_sent=n_sent)

    def receive_only(self, request: PushOnlyRequest) -> PushAcceptedReply:
        """Receives and applies a push for which no weights are wanted."""
        self._check_length(request.n_bytes)
        shard = self._shard
        push = shard.announce(
            Push(self._worker, request.version, request.clock, request.weight),
            number=request.number,
            report=StepAgreement(),
        )
        for index in range(len(shard.chunks)):
            self._receive_chunk(shard.pipeline.buffer(push, index))
            shard.pipeline.receive_chunk(push, index)
        shard.reply_for(self._worker, wait=True)
        return PushAcceptedReply(shard.clock(self._worker))

    def exchange_shared(self, request: SharedPushRequest, shared: SharedStretch | None) -> None:
        """Reads the push in the worker's memory and writes the weights there, then reports that they are complete."""
        shard, worker, pipeline = self._shard, self._worker, self._shard.pipeline
        if shared is None or shared.weights.numel() != shard.weights.numel() or shard.codec is not None:
            raise FrameError("A push in memory that is not shared, or not for this shard.")
        began, waited_s = time.perf_counter(), 0.0
        push = self._announce(request)
        push.is_shared = not shard.must_copy_pushes
        reply: SendReply | None = None
        n_answered = 0
        for index, chunk in enumerate(shard.chunks):
            values = shared.gradient[chunk.begin : chunk.end]
            if push.is_shared:
                push.buffers[index] = values
            else:
                with shard.timings.span(ServerPhase.RECEIVE, worker=worker):
                    pipeline.buffer(push, index).copy_(values)
            pipeline.receive_chunk(push, index)
            reply = reply or shard.reply_for(worker, wait=False)
            while reply is not None and n_answered <= index and pipeline.is_ready(reply, push, n_answered, wait=False):
                self._write_chunk(push, n_answered, shared.weights)
                n_answered += 1
        reply = reply or shard.reply_for(worker, wait=True)
        assert reply is not None
        for index in range(n_answered, len(shard.chunks)):
            pipeline.is_ready(reply, push, index, wait=True)
            waited_s = waited_s or time.perf_counter() - began
            self._write_chunk(push, index, shared.weights)
        if push.is_shared:
            pipeline.detach_shared_memory(push)
        agreed, clock = shard.agreement, shard.clock(worker)
        answer = SharedWeightsReply(agreed.stop, agreed.checkpoint, reply.version, agreed.value, clock, waited_s)
        send(self._weights_connection, answer)

    def send_weights(self, reply: SendReply) -> None:
        """Sends all weights, waiting for each chunk."""
        self._send_chunks(reply, None, head=self._head(reply))

    def _announce(self, request: PushRequest | SharedPushRequest) -> InflightPush:
        report = StepAgreement(request.stop, request.checkpoint, request.value)
        push = Push(self._worker, request.version, request.clock, request.weight)
        return self._shard.announce(push, number=request.number, report=report)

    def _check_length(self, n_bytes: int) -> None:
        if n_bytes != self._shard.push_bytes:
            raise FrameError(f"{n_bytes} bytes pushed to a shard that takes {self._shard.push_bytes}.")

    def _receive_chunk(self, buffer: torch.Tensor) -> None:
        with self._shard.timings.span(ServerPhase.RECEIVE, worker=self._worker):
            self._fill(buffer)

    def _fill(self, buffer: torch.Tensor) -> None:
        codec = self._shard.codec
        if codec is None:
            frames.receive_into(self._connection, bytes_of(buffer))
            return
        payload = torch.empty(codec.n_bytes(buffer.numel()), dtype=torch.uint8)
        frames.receive_into(self._connection, bytes_of(payload))
        buffer.copy_(codec.decode(payload, n=buffer.numel()))

    def _write_chunk(self, push: InflightPush, index: int, weights: torch.Tensor) -> None:
        chunk, pipeline = self._shard.chunks[index], self._shard.pipeline
        with self._shard.timings.span(ServerPhase.SEND, worker=self._worker):
            weights[chunk.begin : chunk.end].copy_(pipeline.reply_values(self._worker, push, index))
        if chunk.returns_pushes:
            pipeline.release_buffer(push, index)

    def _send_chunks(self, reply: SendReply, push: InflightPush | None, *, head: bytes, n_sent: int = 0) -> None:
        """Sends the chunks from n_sent on, waiting for each."""
        for index in range(n_sent, len(self._shard.chunks)):
            self._shard.pipeline.is_ready(reply, push, index, wait=True)
            self._send_chunk(push, index, head=head)
            head = b""
        if head:  # a shard that holds nothing
            frames.send_bytes(self._weights_connection, head)

    def _send_chunk(self, push: InflightPush | None, index: int, *, head: bytes) -> None:
        pipeline = self._shard.pipeline
        with self._shard.timings.span(ServerPhase.SEND, worker=self._worker):
            values = bytes_of(pipeline.reply_values(self._worker, push, index))
            frames.send_together(self._weights_connection, head, values)
        if push is not None and self._shard.chunks[index].returns_pushes:
            pipeline.release_buffer(push, index)

    def _head(self, reply: SendReply) -> bytes:
        agreed, clock, n_bytes = self._shard.agreement, self._shard.clock(self._worker), self._shard.weights.nbytes
        return encode(WeightsReply(agreed.stop, agreed.checkpoint, reply.version, agreed.value, clock, n_bytes))
