# SPDX-License-Identifier: Apache-2.0
"""One shard: carries out what its rule orders (rules.py), chunk by chunk, on the threads of its connections.

Whether a push becomes a version, and which worker gets a reply, is decided when the push is announced; its payload then
streams through: received, applied and sent on a chunk at a time, unless the rule makes a worker wait. A chunk occupies
a buffer only from its first byte to its use, and the buffer released last is used first: it is still in the cache.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor

from mlhub.runtime.checkpoints.optimizer_state import merge
from mlhub.runtime.checkpoints.step_folders import latest
from mlhub.runtime.compression.codecs import Codec, codec_for
from mlhub.runtime.optimization import learning_rates
from mlhub.runtime.ps.embedding_tables import EmbeddingTable
from mlhub.runtime.ps.layout import CHUNK_ELEMENTS, ShardPlan, push_bytes
from mlhub.runtime.ps.leases import BatchLease, Leases
from mlhub.runtime.ps.rules import ApplyUpdate, Discard, Fail, Instruction, Push, Rule, SendReply
from mlhub.runtime.ps.server.checkpoint_parts import Snapshots
from mlhub.runtime.ps.server.chunks import Chunk, cut, rule_for
from mlhub.runtime.ps.server.coordination import WorkerCoordination
from mlhub.runtime.ps.server.inflight import InflightPush, PendingVersion
from mlhub.runtime.ps.server.waiting import ShardCondition
from mlhub.runtime.ps.wire.frames import CONTROL_FLAGS, Header
from mlhub.wire.report import MAX_STALENESS


class ShardObserver(Protocol):
    """Copies a shard to the disk while it is trained on (shard_snapshots.py)."""

    def begin(self, shard: Shard) -> None: ...

    def end(self) -> None: ...


class Shard:
    """Shared by the connections' threads. Every wait ends with fail(), so that no thread waits for a dead gang."""

    def __init__(self, n_workers: int) -> None:
        self.n_workers = n_workers
        self.waiting = ShardCondition()
        self.assembly = WorkerCoordination(n_workers, self.waiting)
        self.snapshots = Snapshots()
        self.chunks: list[Chunk] = []
        self.stop_flag = 0
        self.agreed, self.value = 0, 0.0  # of the newest version: all workers' flags, and the sum of their values
        self.staleness = [0] * (MAX_STALENESS + 1)  # pushes used, by how many versions late; the last one: or more
        self.rule: Rule | None = None
        self.codec: Codec | None = None
        self.push_bytes = 0  # of one push, as it comes over the wire
        self.bytes_pushed = 0  # by all, so far
        self.tables: list[EmbeddingTable] = []
        self.observer: ShardObserver | None = None  # when this shard may die and come back
        self.n_lost = 0  # versions that were made, and lost when the server died
        self._changed = self.waiting.changed
        self._is_started = False
        self._inflight: dict[int, InflightPush] = {}
        self._pending: dict[int, PendingVersion] = {}
        self._replies: dict[int, SendReply] = {}
        self._controls: dict[int, tuple[int, float]] = {}  # flags and value by worker, until the next version
        self._buffers: list[Tensor] = []  # free ones, a chunk each

    def start(self, plan: ShardPlan, weights: Tensor, tables: Sequence[Tensor] = ()) -> None:
        """Rank 0's: the first weights, and rows of the plan's tables.

        Raises ValueError, KeyError, OSError, torch's errors for a bad plan.
        """
        with self._changed:
            self.plan, self.weights = plan, weights
            self.chunks = cut(plan, weights)
            self.codec = codec_for(plan.strategy)
            self.push_bytes = push_bytes(plan.size, self.codec)
            saved = None
            if plan.resume_from is not None:
                folder = Path(plan.resume_from)
                checkpoint = latest(folder.parent)
                if checkpoint is None or checkpoint.folder != folder:
                    raise ValueError(f"the checkpoint {folder.name} is not there or not whole")
                saved = merge(checkpoint.optimizer())
                for chunk in self.chunks:
                    chunk.restore(saved)
            self.tables = [EmbeddingTable(t, rows, saved) for t, rows in zip(plan.tables, tables, strict=True)]
            self._rates = learning_rates.from_json(plan.rates)
            # a shard that holds nothing makes no worker wait
            self.rule = rule_for(plan.strategy if plan.size else {"name": "asp"}, n_workers=self.n_workers)
            for worker in range(self.n_workers):
                self.rule.join(worker)
            if plan.work is not None:
                work = BatchLease(**plan.work)
                self.assembly.leases, self.rule.n_alone = Leases(work, self.n_workers), work.n_alone
            self._is_started = True
            self._changed.notify_all()

    @property
    def must_copy_pushes(self) -> bool:
        """Whether pushes must stay unchanged in workers' memory: they are sent again after this server restarted.

        Those that are used one by one and whole are only read.
        """
        assert self.rule is not None
        is_read = self.rule.group_size == 1 and self.plan.strategy.get("staleness_scaling", "none") == "none"
        return self.observer is not None and not is_read

    def wait_started(self) -> None:
        with self._changed:
            self.waiting.wait(lambda: self._is_started)

    # Pushes and replies ------------------------------------------------------------------------------------------

    def announce(self, worker: int, header: Header) -> InflightPush:
        """Registers a push whose payload follows. Raises ValueError when it is not this worker's turn."""
        with self._changed:
            assert self.rule is not None
            self.bytes_pushed += header.length
            inflight = InflightPush(worker, [None] * len(self.chunks), header.number)
            if self.chunks and all(chunk.has_used(worker, header.number) for chunk in self.chunks):
                inflight.is_repeated = True
                self._carry_out(self.rule.repeat(worker))
                return inflight
            serial = self.rule.n_pushes
            self._inflight[serial] = inflight
            self._controls[worker] = (header.flags, header.value)
            self._replies.pop(worker, None)
            self._carry_out(self.rule.push(Push(worker, header.step, header.weight)))
            return inflight

    def buffer(self, inflight: InflightPush, index: int) -> Tensor:
        """The buffer into which the push's values of that chunk are to be received."""
        try:
            buffer = self._buffers.pop()
        except IndexError:
            buffer = torch.empty(min(CHUNK_ELEMENTS, self.weights.numel()))
        inflight.buffers[index] = buffer
        return self._values(inflight, index)

    def release_buffer(self, inflight: InflightPush, index: int) -> None:
        """Makes the buffer of that chunk free, since its values are used up."""
        buffer, inflight.buffers[index] = inflight.buffers[index], None
        if buffer is not None and not inflight.is_shared:
            self._buffers.append(buffer)

    def detach_shared_memory(self, inflight: InflightPush) -> None:
        """Copies what is not used yet out of the worker's memory, before its reply returns that memory."""
        with self._changed:
            if inflight.version is not None:
                version = inflight.version
                self.waiting.wait(lambda: all(chunk.has(version) for chunk in self.chunks))
                return
            shared, inflight.is_shared = list(inflight.buffers), False
            for index, values in enumerate(shared):
                if values is not None:
                    self.buffer(inflight, index).copy_(values)

    def reply(self, worker: int, inflight: InflightPush | None, index: int) -> Tensor:
        """The values of that chunk that the worker is sent, for its push or its pull."""
        chunk = self.chunks[index]
        if inflight is None or not chunk.returns_pushes:
            return chunk.reply(worker, None)
        return chunk.reply(worker, self._values(inflight, index))

    def _values(self, inflight: InflightPush, index: int) -> Tensor:
        buffer, chunk = inflight.buffers[index], self.chunks[index]
        assert buffer is not None
        n = chunk.end - chunk.begin
        return buffer if n == buffer.numel() else buffer[:n]

    def arrived(self, inflight: InflightPush, index: int) -> None:
        """Records that the chunk is received, and applies what is complete now."""
        if inflight.is_repeated:
            self._repeat(inflight, index)
            return
        with self._changed:
            inflight.n_arrived = index + 1
            inflight.is_over = inflight.n_arrived == len(self.chunks)
            if inflight.is_discarded:
                self.release_buffer(inflight, index)
            pending = self._pending.get(inflight.version) if inflight.version is not None else None
            if pending is None:
                return
            pending.n_missing[index] -= 1
            is_complete = pending.n_missing[index] == 0
        if is_complete:
            self._apply(pending, index)

    def _repeat(self, inflight: InflightPush, index: int) -> None:
        chunk = self.chunks[index]
        chunk.repeat(inflight.worker, inflight.number, self._values(inflight, index))
        if not chunk.returns_pushes:
            self.release_buffer(inflight, index)

    def reply_for(self, worker: int, *, wait: bool) -> SendReply | None:
        """The rule's reply to the worker; None when there is none yet. Raises PeerLostError."""
        with self._changed:
            if wait:
                self.waiting.wait(lambda: worker in self._replies)
            return self._replies.get(worker)

    def ready(self, reply: SendReply, inflight: InflightPush | None, index: int, *, wait: bool) -> bool:
        """Whether that chunk may be sent. Raises PeerLostError."""
        chunk = self.chunks[index]

        def is_ready() -> bool:
            if reply.is_complete:
                return chunk.newest >= reply.version
            return inflight is None or inflight.version is None or chunk.has(inflight.version)

        with self._changed:
            if wait:
                self.waiting.wait(is_ready)
            return is_ready()

    def rate_factor(self) -> float:
        """Returns the factor of the learning rate for rows that are pushed now."""
        assert self.rule is not None
        return self._rates.factor(self.plan.start + self.rule.version)

    def pull(self, worker: int) -> SendReply:
        """Answers a worker that joins, or joins again, with the newest weights."""
        with self._changed:
            assert self.rule is not None
            if worker not in self.rule.members:
                self._carry_out(self.rule.join(worker))
            self.assembly.come(worker)
            return SendReply(worker, self.rule.version, is_complete=True)

    def clock(self, worker: int) -> int:
        """Pushes of the worker that are finished, as the rule counts; 0 for one that is gone."""
        with self._changed:
            return self.rule.clock(worker) if self.rule is not None and worker in self.rule.members else 0

    def come_back(self, worker: int, *, clock: int, is_idle: bool, version: int) -> None:
        """A worker that knew an earlier incarnation reports its clock, and the newest version it received."""
        with self._changed:
            assert self.rule is not None
            for lost in range(self.rule.version + 1, version + 1):
                self.n_lost += 1
                for chunk in self.chunks:
                    chunk.mark(lost)
            instructions = self.rule.come_back(worker, clock=clock, is_idle=is_idle, version=version)
            self._carry_out(instructions)

    def idle(self, worker: int) -> None:
        with self._changed:
            assert self.rule is not None
            self._carry_out(self.rule.idle(worker))

    def leave(self, worker: int, reason: str | None) -> None:
        """reason: None for a goodbye. Under BSP the death of one worker ends the gang."""
        with self._changed:
            begun = [inflight for pending in self._pending.values() for _, inflight in pending.parts]
            for inflight in [*self._inflight.values(), *begun]:
                if inflight.worker == worker and not inflight.is_over:
                    self._give_up(inflight)
            if self.rule is not None:
                self._carry_out(self.rule.leave(worker, is_expected=reason is None), reason)
            if reason is not None and (self.rule is None or worker == 0):
                self.waiting.fail(reason)  # before it began; or who reports and saves for the gang
            self.assembly.leave(worker, is_expected=reason is None)
            self._changed.notify_all()

    def _carry_out(self, instructions: list[Instruction], reason: str | None = None) -> None:
        for instruction in instructions:
            if isinstance(instruction, ApplyUpdate):
                self._begin(instruction)
            elif isinstance(instruction, SendReply):
                self._replies[instruction.worker] = instruction
            elif isinstance(instruction, Discard):
                self._inflight.pop(instruction.serial).is_discarded = True
            elif isinstance(instruction, Fail):
                self.waiting.fail(reason or instruction.reason)
        if instructions:
            self._changed.notify_all()

    def _begin(self, apply: ApplyUpdate) -> None:
        parts = [(c, self._inflight.pop(c.serial)) for c in apply.contributions]
        n = len(self.chunks)
        missing = [sum(d.n_arrived <= k and not d.is_over for _, d in parts) for k in range(n)]
        pending = PendingVersion(apply.version, parts, missing, n)
        for contribution, inflight in parts:
            self.staleness[min(contribution.staleness, MAX_STALENESS)] += 1
            inflight.version = apply.version
        self._pending[apply.version] = pending
        controls = [self._controls[worker] for worker in sorted(self._controls)]
        self.agreed, self.value = self.stop_flag, sum(value for _, value in controls)
        for flags, _ in controls:
            self.agreed |= flags & CONTROL_FLAGS
        self._controls = {}
        for index in range(n):
            if pending.n_missing[index] == 0:
                self._apply(pending, index)

    def _apply(self, pending: PendingVersion, index: int) -> None:
        """Without the shard's lock where it matters: another connection's chunk may be applied at the same time."""
        chunk = self.chunks[index]
        there = [(c, d) for c, d in pending.parts if d.n_arrived > index]
        chunk.apply([(c.worker, c.scale, self._values(d, index), d.number) for c, d in there], version=pending.version)
        if not chunk.returns_pushes:
            for _, inflight in there:
                self.release_buffer(inflight, index)
        self._conclude_chunk(pending, index)

    def _conclude_chunk(self, pending: PendingVersion, index: int) -> None:
        with self._changed:
            self.chunks[index].mark(pending.version)
            pending.n_to_apply -= 1
            if pending.n_to_apply == 0:
                self._is_made(pending)
            self._changed.notify_all()

    def _is_made(self, pending: PendingVersion) -> None:
        del self._pending[pending.version]
        self._changed.notify_all()

    def _give_up(self, inflight: InflightPush) -> None:
        """The push's sender died: the chunks received count, the others will not come."""
        inflight.is_over = True
        pending = self._pending.get(inflight.version) if inflight.version is not None else None
        if pending is None:
            return
        for index in range(inflight.n_arrived, len(self.chunks)):
            pending.n_missing[index] -= 1
            if pending.n_missing[index] == 0:
                self._apply(pending, index)

    def take_snapshot(self) -> None:
        """Copies the optimiser's state; call it between steps."""
        version = self.rule.version if self.rule else 0
        self.snapshots.take(self.plan, self.chunks, self.tables, version=version)

    def state(self) -> dict[str, Any]:
        """The shard's state besides its chunks and tables, as JSON; take_up() continues from it."""
        with self._changed:
            assert self.rule is not None
            return {"plan": self.plan.to_json(), "rule": self.rule.state(), "staleness": self.staleness}

    def take_up(self, state: Mapping[str, Any]) -> None:
        """Restores state() after start() with its plan, before any worker is served."""
        assert self.rule is not None
        self.rule.restore(state["rule"])
        self.staleness = list(state["staleness"])

    def keep(self) -> None:
        """Starts the observer; call it once the shard is started."""
        if self.observer is not None:
            self.observer.begin(self)

    def close(self) -> None:
        """All workers have left, or something failed."""
        if self.observer is not None:
            self.observer.end()

    @property
    def failure(self) -> str | None:
        return self.waiting.failure
