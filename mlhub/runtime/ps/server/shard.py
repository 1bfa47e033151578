# SPDX-License-Identifier: Apache-2.0
"""One shard: carries out what its rule orders (rules.py), on the threads of its connections.

Whether a push becomes a version, and which worker gets a reply, is decided when the push is announced; how its values
get into the weights is in update_pipeline.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from torch import Tensor

from mlhub.runtime.checkpoints.optimizer_state import MergedState, merge
from mlhub.runtime.checkpoints.step_folders import latest
from mlhub.runtime.compression.codecs import Codec, codec_for
from mlhub.runtime.optimization import learning_rates
from mlhub.runtime.ps.agreement import StepAgreement
from mlhub.runtime.ps.embedding_tables import EmbeddingTable
from mlhub.runtime.ps.layout import ShardPlan, push_bytes
from mlhub.runtime.ps.leases import BatchLease, Leases
from mlhub.runtime.ps.rules import ApplyUpdate, Discard, Fail, Instruction, Push, Rule, SendReply
from mlhub.runtime.ps.server.checkpoint_parts import Snapshots
from mlhub.runtime.ps.server.coordination import WorkerCoordination
from mlhub.runtime.ps.server.phase_timings import PhaseTimings, ServerPhase
from mlhub.runtime.ps.server.waiting import ShardCondition
from mlhub.runtime.ps.server.weights.chunks import Chunk, cut, rule_for
from mlhub.runtime.ps.server.weights.inflight import InflightPush
from mlhub.runtime.ps.server.weights.update_pipeline import UpdatePipeline
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
        self.coordination = WorkerCoordination(n_workers, self.waiting)
        self.timings = PhaseTimings()
        self.pipeline = UpdatePipeline(self.waiting, self.timings)
        self.snapshots = Snapshots()
        self.is_asked_to_stop = False
        self.agreement = StepAgreement()  # of the newest version: what all workers reported
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
        self._replies: dict[int, SendReply] = {}
        self._reports: dict[int, StepAgreement] = {}  # by worker, until the next version

    @property
    def chunks(self) -> list[Chunk]:
        return self.pipeline.chunks

    def start(self, plan: ShardPlan, weights: Tensor, tables: Sequence[Tensor] = ()) -> None:
        """Rank 0's: the first weights, and rows of the plan's tables.

        Raises ValueError, KeyError, OSError, torch's errors for a bad plan.
        """
        with self._changed:
            chunks, saved = cut(plan, weights), _saved_state(plan)
            if saved is not None:
                for chunk in chunks:
                    chunk.restore(saved)
            self.tables = [EmbeddingTable(t, rows, saved) for t, rows in zip(plan.tables, tables, strict=True)]
            self._rates = learning_rates.from_json(plan.rates)
            # a shard that holds nothing makes no worker wait
            rule = rule_for(plan.strategy if plan.size else {"name": "asp"}, n_workers=self.n_workers)
            if plan.work is not None:
                self.coordination.leases = Leases(BatchLease(**plan.work), self.n_workers)
            self._begin(plan, weights, chunks, rule)

    def _begin(self, plan: ShardPlan, weights: Tensor, chunks: list[Chunk], rule: Rule) -> None:
        """With the lock held: from here on workers are served."""
        self.plan, self.weights, self.pipeline.chunks, self.rule = plan, weights, chunks, rule
        self.codec = codec_for(plan.strategy)
        self.push_bytes = push_bytes(plan.size, self.codec)
        for worker in range(self.n_workers):
            rule.join(worker)
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

    def announce(self, push: Push, *, number: int, report: StepAgreement) -> InflightPush:
        """Registers a push whose payload follows. Raises ValueError when it is not this worker's turn."""
        with self._changed:
            assert self.rule is not None
            self.bytes_pushed += self.push_bytes
            inflight = self.pipeline.new_push(push.worker, number)
            if inflight.is_repeated:
                self._carry_out(self.rule.repeat(push))
                return inflight
            self.pipeline.register(self.rule.n_pushes, inflight)
            self._reports[push.worker] = report
            self._replies.pop(push.worker, None)
            self._carry_out(self.rule.push(push))
            return inflight

    def reply_for(self, worker: int, *, wait: bool) -> SendReply | None:
        """The rule's reply to the worker; None when there is none yet. Raises PeerLostError."""
        with self._changed:
            if wait and worker not in self._replies:
                with self.timings.span(ServerPhase.WAIT, worker=worker):
                    self.waiting.wait(lambda: worker in self._replies)
            return self._replies.get(worker)

    def rate_factor(self) -> float:
        """Returns the factor of the learning rate for rows that are pushed now."""
        assert self.rule is not None
        return self._rates.factor(self.plan.start + self.rule.version)

    @property
    def first_step(self) -> int:
        """How many updates the weights had when this gang began with them."""
        return self.plan.start if self._is_started else 0

    # Workers -----------------------------------------------------------------------------------------------------

    def join(self, worker: int) -> SendReply:
        """Answers a worker that joins, or joins again, with the newest weights."""
        with self._changed:
            assert self.rule is not None
            if worker not in self.rule.members:
                self._carry_out(self.rule.join(worker))
            self.coordination.rejoin(worker)
            return SendReply(worker, self.rule.version, is_complete=True)

    def clock(self, worker: int) -> int:
        """The worker's clock, as the rule knows it; 0 for one that is gone."""
        with self._changed:
            return self.rule.clock(worker) if self.rule is not None and worker in self.rule.members else 0

    def readmit(self, worker: int, *, clock: int, is_idle: bool, version: int) -> None:
        """A worker that knew an earlier incarnation reports its clock, and the newest version it received."""
        with self._changed:
            assert self.rule is not None
            for lost in range(self.rule.version + 1, version + 1):
                self.n_lost += 1
                for chunk in self.chunks:
                    chunk.mark(lost)
            self._carry_out(self.rule.readmit(worker, clock=clock, is_idle=is_idle, version=version))

    def idle(self, worker: int, *, clock: int) -> None:
        with self._changed:
            assert self.rule is not None
            self._carry_out(self.rule.idle(worker, clock=clock))

    def leave(self, worker: int, reason: str | None) -> None:
        """reason: why it is lost; None when it is done. Under BSP the death of one worker ends the gang."""
        with self._changed:
            self.pipeline.abandon(worker)
            if self.rule is not None:
                self._carry_out(self.rule.leave(worker, is_expected=reason is None), reason)
            if reason is not None and (self.rule is None or worker == 0):
                self.waiting.fail(reason)  # before it began; or who reports and saves for the gang
            self.coordination.leave(worker, is_expected=reason is None)
            self._changed.notify_all()

    def _carry_out(self, instructions: list[Instruction], reason: str | None = None) -> None:
        for instruction in instructions:
            if isinstance(instruction, ApplyUpdate):
                self._agree(instruction)
                self.pipeline.begin(instruction)
            elif isinstance(instruction, SendReply):
                self._replies[instruction.worker] = instruction
            elif isinstance(instruction, Discard):
                self.pipeline.discard(instruction.serial)
            elif isinstance(instruction, Fail):
                self.waiting.fail(reason or instruction.reason)
        if instructions:
            self._changed.notify_all()

    def _agree(self, update: ApplyUpdate) -> None:
        for contribution in update.contributions:
            self.staleness[min(contribution.staleness, MAX_STALENESS)] += 1
        stop, checkpoint, value = self.is_asked_to_stop, False, 0.0
        for worker in sorted(self._reports):
            report = self._reports[worker]
            stop, checkpoint, value = stop or report.stop, checkpoint or report.checkpoint, value + report.value
        self._reports, self.agreement = {}, StepAgreement(stop, checkpoint, value)

    # Checkpoints and restarts ------------------------------------------------------------------------------------

    def take_snapshot(self) -> None:
        """Copies the optimiser's state; call it between steps."""
        version = self.rule.version if self.rule else 0
        self.snapshots.take(self.plan, self.chunks, self.tables, version=version)

    def state(self) -> dict[str, Any]:
        """The shard's state besides its chunks and tables, as JSON; restore() continues from it."""
        with self._changed:
            assert self.rule is not None
            return {"plan": self.plan.to_json(), "rule": self.rule.state(), "staleness": self.staleness}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restores state() after start() with its plan, before any worker is served."""
        assert self.rule is not None
        self.rule.restore(state["rule"])
        self.staleness = list(state["staleness"])

    def begin_observing(self) -> None:
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


def _saved_state(plan: ShardPlan) -> MergedState | None:
    """Returns the optimiser's state to resume from. Raises ValueError, OSError."""
    if plan.resume_from is None:
        return None
    folder = Path(plan.resume_from)
    checkpoint = latest(folder.parent)
    if checkpoint is None or checkpoint.folder != folder:
        raise ValueError(f"the checkpoint {folder.name} is not there or not whole")
    return merge(checkpoint.optimizer())
