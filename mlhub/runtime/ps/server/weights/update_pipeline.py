# SPDX-License-Identifier: Apache-2.0
"""Pushes of one shard on their way into its weights: received, applied and sent on a chunk at a time.

Which version a push goes into is decided when it is announced (rules.py); its payload then streams through, unless the
rule makes a worker wait. A chunk occupies a buffer only from its first byte to its use, and the buffer released last is
used first: it is still in the cache.
"""

from __future__ import annotations

import torch
from torch import Tensor

from mlhub.runtime.ps.layout import CHUNK_ELEMENTS
from mlhub.runtime.ps.rules import ApplyUpdate, SendReply
from mlhub.runtime.ps.server.phase_timings import PhaseTimings, ServerPhase
from mlhub.runtime.ps.server.waiting import ShardCondition
from mlhub.runtime.ps.server.weights.chunks import Chunk
from mlhub.runtime.ps.server.weights.inflight import InflightPush, PendingVersion


class UpdatePipeline:
    """Shared by the connections' threads. chunks: of the shard, once it is started."""

    def __init__(self, waiting: ShardCondition, timings: PhaseTimings) -> None:
        self.chunks: list[Chunk] = []
        self._timings = timings
        self._waiting, self._changed = waiting, waiting.changed
        self._inflight: dict[int, InflightPush] = {}  # by serial: announced, and in no version yet
        self._pending: dict[int, PendingVersion] = {}
        self._buffers: list[Tensor] = []  # free ones, a chunk each

    # What the rule decides, with the lock held ---------------------------------------------------------------------

    def new_push(self, worker: int, number: int) -> InflightPush:
        """Returns a push that is repeated if all of it was applied before the server died."""
        push = InflightPush(worker, [None] * len(self.chunks), number)
        push.is_repeated = bool(self.chunks) and all(chunk.has_used(worker, number) for chunk in self.chunks)
        return push

    def register(self, serial: int, push: InflightPush) -> None:
        """serial: the rule's number of the push."""
        self._inflight[serial] = push

    def discard(self, serial: int) -> None:
        self._inflight.pop(serial).is_discarded = True

    def begin(self, update: ApplyUpdate) -> None:
        """Begins a version, and applies those of its chunks that are complete."""
        parts = [(c, self._inflight.pop(c.serial)) for c in update.contributions]
        n = len(self.chunks)
        missing = [sum(p.n_arrived <= k and not p.is_over for _, p in parts) for k in range(n)]
        pending = PendingVersion(update.version, parts, missing, n)
        for _, push in parts:
            push.version = update.version
        self._pending[update.version] = pending
        for index in range(n):
            if pending.n_missing[index] == 0:
                self._apply(pending, index)

    def abandon(self, worker: int) -> None:
        """The worker is gone: what it sent of its pushes counts, the rest will not come."""
        begun = [push for pending in self._pending.values() for _, push in pending.parts]
        for push in [*self._inflight.values(), *begun]:
            if push.worker == worker and not push.is_over:
                self._abandon_push(push)

    # Chunks, as a connection's thread receives them ------------------------------------------------------------------

    def buffer(self, push: InflightPush, index: int) -> Tensor:
        """Returns the buffer into which the push's values of that chunk are to be received."""
        try:
            buffer = self._buffers.pop()
        except IndexError:
            buffer = torch.empty(min(CHUNK_ELEMENTS, self.chunks[-1].end))
        push.buffers[index] = buffer
        return self.values(push, index)

    def release_buffer(self, push: InflightPush, index: int) -> None:
        """Makes the buffer of that chunk free, since its values are used up."""
        buffer, push.buffers[index] = push.buffers[index], None
        if buffer is not None and not push.is_shared:
            self._buffers.append(buffer)

    def values(self, push: InflightPush, index: int) -> Tensor:
        """Returns what was received of that chunk."""
        buffer, chunk = push.buffers[index], self.chunks[index]
        assert buffer is not None
        n = chunk.end - chunk.begin
        return buffer if n == buffer.numel() else buffer[:n]

    def receive_chunk(self, push: InflightPush, index: int) -> None:
        """Records that the chunk has arrived, and applies what is complete now."""
        if push.is_repeated:
            self._repeat(push, index)
            return
        with self._changed:
            push.n_arrived = index + 1
            push.is_over = push.n_arrived == len(self.chunks)
            if push.is_discarded:
                self.release_buffer(push, index)
            pending = self._pending.get(push.version) if push.version is not None else None
            if pending is None:
                return
            pending.n_missing[index] -= 1
            is_complete = pending.n_missing[index] == 0
        if is_complete:
            self._apply(pending, index)

    def detach_shared_memory(self, push: InflightPush) -> None:
        """Copies what is not used yet out of the worker's memory, before its reply returns that memory."""
        with self._changed:
            if push.version is not None:
                version = push.version
                self._waiting.wait(lambda: all(chunk.has(version) for chunk in self.chunks))
                return
            shared, push.is_shared = list(push.buffers), False
            for index, values in enumerate(shared):
                if values is not None:
                    self.buffer(push, index).copy_(values)

    def is_ready(self, reply: SendReply, push: InflightPush | None, index: int, *, wait: bool) -> bool:
        """Whether that chunk may be sent. Raises PeerLostError."""
        chunk = self.chunks[index]

        def is_done() -> bool:
            if reply.is_complete:
                return chunk.newest >= reply.version
            return push is None or push.version is None or chunk.has(push.version)

        with self._changed:
            if wait and not is_done():
                with self._timings.span(ServerPhase.WAIT):
                    self._waiting.wait(is_done)
            return is_done()

    def reply_values(self, worker: int, push: InflightPush | None, index: int) -> Tensor:
        """Returns the values of that chunk that the worker is sent, for its push or its pull."""
        chunk = self.chunks[index]
        if push is None or not chunk.returns_pushes:
            return chunk.reply(worker, None)
        return chunk.reply(worker, self.values(push, index))

    # Versions ------------------------------------------------------------------------------------------------------

    def _apply(self, pending: PendingVersion, index: int) -> None:
        """Without the shard's lock where it matters: another connection's chunk may be applied at the same time."""
        chunk = self.chunks[index]
        there = [(c, push) for c, push in pending.parts if push.n_arrived > index]
        values = [(c.worker, c.scale, self.values(p, index), p.number) for c, p in there]
        with self._timings.span(ServerPhase.UPDATE):
            chunk.apply(values, version=pending.version)
        if not chunk.returns_pushes:
            for _, push in there:
                self.release_buffer(push, index)
        self._conclude_chunk(pending, index)

    def _conclude_chunk(self, pending: PendingVersion, index: int) -> None:
        with self._changed:
            self.chunks[index].mark(pending.version)
            pending.n_to_apply -= 1
            if pending.n_to_apply == 0:
                self._conclude_version(pending)
            self._changed.notify_all()

    def _conclude_version(self, pending: PendingVersion) -> None:
        del self._pending[pending.version]
        self._timings.count_update(pending.version)
        self._changed.notify_all()

    def _repeat(self, push: InflightPush, index: int) -> None:
        chunk = self.chunks[index]
        chunk.repeat(push.worker, push.number, self.values(push, index))
        if not chunk.returns_pushes:
            self.release_buffer(push, index)

    def _abandon_push(self, push: InflightPush) -> None:
        push.is_over = True
        pending = self._pending.get(push.version) if push.version is not None else None
        if pending is None:
            return
        for index in range(push.n_arrived, len(self.chunks)):
            pending.n_missing[index] -= 1
            if pending.n_missing[index] == 0:
                self._apply(pending, index)
