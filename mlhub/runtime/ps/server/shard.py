"""One shard: carries out what its rule orders (rules.py), piece by piece, on the threads of its connections.

Whether a push becomes a version, and who is answered, is decided when the push is announced; its payload then streams
through: received, applied and sent on a piece at a time, wherever the rule does not make somebody wait. A piece lies in
a room only from its first byte to its use, and the room that was left last is taken first: it is still in the cache.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from mlhub.runtime.checkpoints.optimizer_state import merge
from mlhub.runtime.checkpoints.step_folders import latest
from mlhub.runtime.compression.codecs import Codec, codec_for
from mlhub.runtime.optimization import learning_rates
from mlhub.runtime.ps.embedding_tables import EmbeddingTable
from mlhub.runtime.ps.layout import ShardPlan
from mlhub.runtime.ps.leases import BatchLease, Leases
from mlhub.runtime.ps.rules import ApplyUpdate, Discard, Fail, Instruction, Push, Rule, SendAnswer
from mlhub.runtime.ps.server.checkpoint_parts import Snapshots
from mlhub.runtime.ps.server.chunks import PIECE_ELEMENTS, Chunk, cut, push_bytes, rule_for
from mlhub.runtime.ps.server.coordination import WorkerCoordination
from mlhub.runtime.ps.server.inflight import InflightPush, PendingVersion
from mlhub.runtime.ps.server.waiting import ShardCondition
from mlhub.runtime.ps.wire.frames import WISHES, Header
from mlhub.wire.report import MAX_STALENESS

if TYPE_CHECKING:
    from mlhub.runtime.ps.server.shard_snapshots import SnapshotWriter


class Shard:
    """Shared by the connections' threads. Every wait ends with fail(), so that nobody hangs on a dead gang."""

    def __init__(self, n_workers: int) -> None:
        self.n_workers = n_workers
        self.waiting = ShardCondition()
        self.assembly = WorkerCoordination(n_workers, self.waiting)
        self.snapshots = Snapshots()
        self.pieces: list[Chunk] = []
        self.stop_flag = 0
        self.agreed, self.value = 0, 0.0  # of the newest version: all workers' flags, and the sum of their values
        self.staleness = [0] * (MAX_STALENESS + 1)  # pushes used, by how many versions late; the last one: or more
        self.rule: Rule | None = None
        self.codec: Codec | None = None
        self.push_bytes = 0  # of one push, as it comes over the wire
        self.bytes_pushed = 0  # by all, so far
        self.tables: list[EmbeddingTable] = []
        self.keeper: SnapshotWriter | None = None  # when this shard may die and come back
        self.n_lost = 0  # versions that were made, and lost when the server died
        self._changed = self.waiting.changed
        self._is_started = False
        self._deliveries: dict[int, InflightPush] = {}
        self._making: dict[int, PendingVersion] = {}
        self._answers: dict[int, SendAnswer] = {}
        self._told: dict[int, tuple[int, float]] = {}  # flags and value by worker, until the next version
        self._rooms: list[Tensor] = []  # free ones, a piece each

    def start(self, plan: ShardPlan, weights: Tensor, tables: Sequence[Tensor] = ()) -> None:
        """Rank 0's: the first weights, and rows of the plan's tables.

        Raises ValueError, KeyError, OSError, torch's errors for a bad plan.
        """
        with self._changed:
            self.plan, self.weights = plan, weights
            self.pieces = cut(plan, weights)
            self.codec = codec_for(plan.strategy)
            self.push_bytes = push_bytes(plan.size, self.codec)
            saved = None
            if plan.resume_from is not None:
                folder = Path(plan.resume_from)
                checkpoint = latest(folder.parent)
                if checkpoint is None or checkpoint.folder != folder:
                    raise ValueError(f"the checkpoint {folder.name} is not there or not whole")
                saved = merge(checkpoint.optimizer())
                for piece in self.pieces:
                    piece.restore(saved)
            self.tables = [EmbeddingTable(t, rows, saved) for t, rows in zip(plan.tables, tables, strict=True)]
            self._rates = learning_rates.from_json(plan.rates)
            # a shard that holds nothing makes nobody wait
            self.rule = rule_for(plan.strategy if plan.size else {"name": "asp"}, n_workers=self.n_workers)
            for worker in range(self.n_workers):
                self.rule.join(worker)
            if plan.work is not None:
                work = BatchLease(**plan.work)
                self.assembly.leases, self.rule.n_alone = Leases(work, self.n_workers), work.n_alone
            self._is_started = True
            self._changed.notify_all()

    @property
    def keeps_pushes(self) -> bool:
        """Whether pushes must stay as they are in workers' memory: they come again when this server dies.

        Those that are used one by one and whole are only read.
        """
        assert self.rule is not None
        is_read = self.rule.group_size == 1 and self.plan.strategy.get("staleness_scaling", "none") == "none"
        return self.keeper is not None and not is_read

    def wait_started(self) -> None:
        with self._changed:
            self.waiting.wait(lambda: self._is_started)

    # Pushes and answers ------------------------------------------------------------------------------------------

    def announce(self, worker: int, header: Header) -> InflightPush:
        """A push is about to come. Raises ValueError when it is not this worker's turn."""
        with self._changed:
            assert self.rule is not None
            self.bytes_pushed += header.length
            delivery = InflightPush(worker, [None] * len(self.pieces), header.number)
            if self.pieces and all(piece.has_used(worker, header.number) for piece in self.pieces):
                delivery.is_repeated = True
                self._carry_out(self.rule.repeat(worker))
                return delivery
            serial = self.rule.n_pushes
            self._deliveries[serial] = delivery
            self._told[worker] = (header.flags, header.value)
            self._answers.pop(worker, None)
            self._carry_out(self.rule.push(Push(worker, header.step, header.weight)))
            return delivery

    def room(self, delivery: InflightPush, index: int) -> Tensor:
        """Where the delivery's values of that piece are to be received."""
        try:
            room = self._rooms.pop()
        except IndexError:
            room = torch.empty(min(PIECE_ELEMENTS, self.weights.numel()))
        delivery.rooms[index] = room
        return self._values(delivery, index)

    def leave_room(self, delivery: InflightPush, index: int) -> None:
        """The delivery's values of that piece are used up."""
        room, delivery.rooms[index] = delivery.rooms[index], None
        if room is not None and not delivery.is_lent:
            self._rooms.append(room)

    def give_back(self, delivery: InflightPush) -> None:
        """Lent memory, before its worker is answered: what is not used yet is kept in rooms of our own."""
        with self._changed:
            if delivery.version is not None:
                version = delivery.version
                self.waiting.wait(lambda: all(piece.has(version) for piece in self.pieces))
                return
            lent, delivery.is_lent = list(delivery.rooms), False
            for index, values in enumerate(lent):
                if values is not None:
                    self.room(delivery, index).copy_(values)

    def answer(self, worker: int, delivery: InflightPush | None, index: int) -> Tensor:
        """What the worker is sent of that piece, for its push, or because it asked."""
        piece = self.pieces[index]
        if delivery is None or not piece.answers_pushes:
            return piece.answer(worker, None)
        return piece.answer(worker, self._values(delivery, index))

    def _values(self, delivery: InflightPush, index: int) -> Tensor:
        room, piece = delivery.rooms[index], self.pieces[index]
        assert room is not None
        n = piece.end - piece.begin
        return room if n == room.numel() else room[:n]

    def arrived(self, delivery: InflightPush, index: int) -> None:
        """That piece of it is received; applies whatever is complete now."""
        if delivery.is_repeated:
            self._repeat(delivery, index)
            return
        with self._changed:
            delivery.n_arrived = index + 1
            delivery.is_over = delivery.n_arrived == len(self.pieces)
            if delivery.is_discarded:
                self.leave_room(delivery, index)
            making = self._making.get(delivery.version) if delivery.version is not None else None
            if making is None:
                return
            making.n_missing[index] -= 1
            is_complete = making.n_missing[index] == 0
        if is_complete:
            self._apply(making, index)

    def _repeat(self, delivery: InflightPush, index: int) -> None:
        piece = self.pieces[index]
        piece.repeat(delivery.worker, delivery.number, self._values(delivery, index))
        if not piece.answers_pushes:
            self.leave_room(delivery, index)

    def answer_for(self, worker: int, *, wait: bool) -> SendAnswer | None:
        """Once the rule answers the worker; None when it does not yet. Raises PeerLostError."""
        with self._changed:
            if wait:
                self.waiting.wait(lambda: worker in self._answers)
            return self._answers.get(worker)

    def ready(self, answer: SendAnswer, delivery: InflightPush | None, index: int, *, wait: bool) -> bool:
        """Whether that piece may be sent. Raises PeerLostError."""
        piece = self.pieces[index]

        def is_ready() -> bool:
            if answer.is_complete:
                return piece.newest >= answer.version
            return delivery is None or delivery.version is None or piece.has(delivery.version)

        with self._changed:
            if wait:
                self.waiting.wait(is_ready)
            return is_ready()

    def rate_factor(self) -> float:
        """Of the learning rate, for rows that are pushed now."""
        assert self.rule is not None
        return self._rates.factor(self.plan.start + self.rule.version)

    def pull(self, worker: int) -> SendAnswer:
        """For a worker that comes, or comes again."""
        with self._changed:
            assert self.rule is not None
            if worker not in self.rule.members:
                self._carry_out(self.rule.join(worker))
            self.assembly.come(worker)
            return SendAnswer(worker, self.rule.version, is_complete=True)

    def clock(self, worker: int) -> int:
        """Pushes of the worker that are finished, as the rule counts; 0 for one that is gone."""
        with self._changed:
            return self.rule.clock(worker) if self.rule is not None and worker in self.rule.members else 0

    def come_back(self, worker: int, *, clock: int, is_resting: bool, version: int) -> None:
        """A worker that was here before the server died says where it is: which versions there were."""
        with self._changed:
            assert self.rule is not None
            for lost in range(self.rule.version + 1, version + 1):
                self.n_lost += 1
                for piece in self.pieces:
                    piece.mark(lost)
            told = self.rule.come_back(worker, clock=clock, is_resting=is_resting, version=version)
            self._carry_out(told)

    def rest(self, worker: int) -> None:
        with self._changed:
            assert self.rule is not None
            self._carry_out(self.rule.rest(worker))

    def leave(self, worker: int, reason: str | None) -> None:
        """reason: None for a goodbye. Under BSP a death is everybody's end."""
        with self._changed:
            begun = [delivery for making in self._making.values() for _, delivery in making.parts]
            for delivery in [*self._deliveries.values(), *begun]:
                if delivery.worker == worker and not delivery.is_over:
                    self._give_up(delivery)
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
            elif isinstance(instruction, SendAnswer):
                self._answers[instruction.worker] = instruction
            elif isinstance(instruction, Discard):
                self._deliveries.pop(instruction.serial).is_discarded = True
            elif isinstance(instruction, Fail):
                self.waiting.fail(reason or instruction.reason)
        if instructions:
            self._changed.notify_all()

    def _begin(self, apply: ApplyUpdate) -> None:
        parts = [(c, self._deliveries.pop(c.serial)) for c in apply.contributions]
        n = len(self.pieces)
        missing = [sum(d.n_arrived <= k and not d.is_over for _, d in parts) for k in range(n)]
        making = PendingVersion(apply.version, parts, missing, n)
        for contribution, delivery in parts:
            self.staleness[min(contribution.staleness, MAX_STALENESS)] += 1
            delivery.version = apply.version
        self._making[apply.version] = making
        told = [self._told[worker] for worker in sorted(self._told)]
        self.agreed, self.value = self.stop_flag, sum(value for _, value in told)
        for flags, _ in told:
            self.agreed |= flags & WISHES
        self._told = {}
        for index in range(n):
            if making.n_missing[index] == 0:
                self._apply(making, index)

    def _apply(self, making: PendingVersion, index: int) -> None:
        """Without the shard's lock where it matters: another connection's piece may be applied at the same time."""
        piece = self.pieces[index]
        there = [(c, d) for c, d in making.parts if d.n_arrived > index]
        piece.apply([(c.worker, c.scale, self._values(d, index), d.number) for c, d in there], version=making.version)
        if not piece.answers_pushes:
            for _, delivery in there:
                self.leave_room(delivery, index)
        self._conclude_piece(making, index)

    def _conclude_piece(self, making: PendingVersion, index: int) -> None:
        with self._changed:
            self.pieces[index].mark(making.version)
            making.n_to_apply -= 1
            if making.n_to_apply == 0:
                self._is_made(making)
            self._changed.notify_all()

    def _is_made(self, making: PendingVersion) -> None:
        del self._making[making.version]
        self._changed.notify_all()

    def _give_up(self, delivery: InflightPush) -> None:
        """Its sender died: what came counts, the rest will not come."""
        delivery.is_over = True
        making = self._making.get(delivery.version) if delivery.version is not None else None
        if making is None:
            return
        for index in range(delivery.n_arrived, len(self.pieces)):
            making.n_missing[index] -= 1
            if making.n_missing[index] == 0:
                self._apply(making, index)

    def take_snapshot(self) -> None:
        """Copies the optimiser's state; call it between steps."""
        version = self.rule.version if self.rule else 0
        self.snapshots.take(self.plan, self.pieces, self.tables, version=version)

    def state(self) -> dict[str, Any]:
        """Beside the pieces and tables, as JSON takes it; take_up() goes on from there."""
        with self._changed:
            assert self.rule is not None
            return {"plan": self.plan.to_json(), "rule": self.rule.state(), "staleness": self.staleness}

    def take_up(self, state: Mapping[str, Any]) -> None:
        """After start() with the state's plan, before anybody is served."""
        assert self.rule is not None
        self.rule.restore(state["rule"])
        self.staleness = list(state["staleness"])

    def keep(self) -> None:
        """Once it is started."""
        if self.keeper is not None:
            self.keeper.begin(self)

    def close(self) -> None:
        """All workers have left, or something failed."""
        if self.keeper is not None:
            self.keeper.end()

    @property
    def failure(self) -> str | None:
        return self.waiting.failure
