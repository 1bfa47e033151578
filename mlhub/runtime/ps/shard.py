"""One shard: carries out what its rule orders (rules.py), piece by piece, on the threads of its connections.

Whether a push becomes a version, and who is answered, is decided when the push is announced; its payload then streams
through: received, applied and sent on a piece at a time, wherever the rule does not make somebody wait.
"""

from __future__ import annotations

import struct
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from torch import Tensor

from mlhub.runtime import rates
from mlhub.runtime.checkpoints import latest, write_tensors
from mlhub.runtime.compression import Codec, codec_for
from mlhub.runtime.errors import PeerLostError
from mlhub.runtime.optimizer_state import NOTHING, OWED, join
from mlhub.runtime.ps.deliveries import Delivery, Gathering, Making
from mlhub.runtime.ps.frames import QUIET, Header
from mlhub.runtime.ps.layout import ShardPlan
from mlhub.runtime.ps.leases import Grant, Hold, Leases, Meet, Work
from mlhub.runtime.ps.pieces import PIECE_ELEMENTS, Piece, cut, push_bytes, rule_for
from mlhub.runtime.ps.rules import Answer, Apply, Discard, Fail, Instruction, Push, Rule
from mlhub.runtime.ps.tables import Table
from mlhub.wire.report import MAX_STALENESS


class Shard:
    """Shared by the connections' threads. Every wait ends with fail(), so that nobody hangs on a dead gang."""

    def __init__(self, n_workers: int) -> None:
        self.n_workers = n_workers
        self.pieces: list[Piece] = []
        self.stop_flag = 0
        self.agreed, self.value = 0, 0.0  # of the newest version: all workers' flags, and the sum of their values
        self.snapshot: dict[str, Tensor] = {}
        self.staleness = [0] * (MAX_STALENESS + 1)  # pushes used, by how many versions late; the last one: or more
        self.rule: Rule | None = None
        self.leases: Leases | None = None
        self.codec: Codec | None = None
        self.push_bytes = 0  # of one push, as it comes over the wire
        self.bytes_pushed = 0  # by all, so far
        self.tables: list[Table] = []
        self.owed: dict[int, Tensor] = {}  # by worker, for the next snapshot
        self._is_started = False
        self._failure: str | None = None
        self._changed = threading.Condition()
        self._deliveries: dict[int, Delivery] = {}
        self._making: dict[int, Making] = {}
        self._answers: dict[int, Answer] = {}
        self._orders: dict[int, Grant | Meet] = {}
        self._told: dict[int, tuple[int, float]] = {}  # flags and value by worker, until the next version
        self._free: list[Tensor] = []
        self._participants = set(range(n_workers))
        self._totals = Gathering()

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
                saved = join(checkpoint.optimizer())
                for piece in self.pieces:
                    piece.restore(saved)
            self.tables = [Table(t, rows, saved) for t, rows in zip(plan.tables, tables, strict=True)]
            self._rates = rates.from_json(plan.rates)
            # a shard that holds nothing makes nobody wait
            self.rule = rule_for(plan.strategy if plan.size else {"name": "asp"}, n_workers=self.n_workers)
            for worker in range(self.n_workers):
                self.rule.join(worker)
            if plan.work is not None:
                self.leases = Leases(Work(**plan.work), self.n_workers)
            self._is_started = True
            self._changed.notify_all()

    def wait_started(self) -> None:
        with self._changed:
            self._wait(lambda: self._is_started)

    # Pushes and answers ------------------------------------------------------------------------------------------

    def announce(self, worker: int, header: Header) -> Delivery:
        """A push is about to come. Raises ValueError when it is not this worker's turn."""
        with self._changed:
            assert self.rule is not None
            self.bytes_pushed += header.length
            delivery = Delivery(worker, torch.empty(0))
            serial = self.rule.n_pushes
            self._deliveries[serial] = delivery
            self._told[worker] = (header.flags, header.value)
            self._answers.pop(worker, None)
            self._carry_out(self.rule.push(Push(worker, header.step, header.weight)))
            making = self._making.get(delivery.version or 0)
            if making is not None and len(making.parts) == 1:
                delivery.buffer = torch.empty(min(PIECE_ELEMENTS, self.weights.numel()))
            else:
                delivery.buffer = self._free.pop() if self._free else torch.empty_like(self.weights)
                delivery.is_whole = True
            return delivery

    def room(self, delivery: Delivery, piece: Piece) -> Tensor:
        """Where the delivery's values of a piece are to be received."""
        if delivery.is_whole:
            return delivery.buffer[piece.begin : piece.end]
        return delivery.buffer if len(self.pieces) == 1 else delivery.buffer[: piece.end - piece.begin]

    def arrived(self, delivery: Delivery, index: int) -> None:
        """That piece of it is received; applies whatever is complete now."""
        with self._changed:
            delivery.n_arrived = index + 1
            delivery.is_over = delivery.n_arrived == len(self.pieces)
            making = self._making.get(delivery.version) if delivery.version is not None else None
            if making is None:
                return
            making.n_missing[index] -= 1
            is_complete = making.n_missing[index] == 0
        if is_complete:
            self._apply(making, index)

    def answer_for(self, worker: int, *, wait: bool) -> Answer | None:
        """Once the rule answers the worker; None when it does not yet. Raises PeerLostError."""
        with self._changed:
            if wait:
                self._wait(lambda: worker in self._answers)
            return self._answers.get(worker)

    def ready(self, answer: Answer, delivery: Delivery | None, index: int, *, wait: bool) -> bool:
        """Whether that piece may be sent. Raises PeerLostError."""
        piece = self.pieces[index]

        def is_ready() -> bool:
            if answer.is_complete:
                return piece.newest >= answer.version
            return delivery is None or delivery.version is None or piece.has(delivery.version)

        with self._changed:
            if wait:
                self._wait(is_ready)
            return is_ready()

    def rate_factor(self) -> float:
        """Of the learning rate, for rows that are pushed now."""
        assert self.rule is not None
        return self._rates.factor(self.plan.start + self.rule.version)

    def pull(self, worker: int) -> Answer:
        """For a worker that comes, or comes again."""
        with self._changed:
            assert self.rule is not None
            if worker not in self.rule.members:
                self._carry_out(self.rule.join(worker))
            return Answer(worker, self.rule.version, is_complete=True)

    def rest(self, worker: int) -> None:
        with self._changed:
            assert self.rule is not None
            self._carry_out(self.rule.rest(worker))

    def leave(self, worker: int, reason: str | None) -> None:
        """reason: None for a goodbye. Under BSP a death is everybody's end."""
        with self._changed:
            self._participants.discard(worker)
            begun = [delivery for making in self._making.values() for _, delivery in making.parts]
            for delivery in [*self._deliveries.values(), *begun]:
                if delivery.worker == worker and not delivery.is_over:
                    self._give_up(delivery)
            if self.rule is not None:
                self._carry_out(self.rule.leave(worker, is_expected=reason is None), reason)
            if reason is not None and (self.rule is None or worker == 0):
                self._failure = self._failure or reason  # before it began; or who reports and saves for the gang
            if self.leases is not None:
                self._orders |= self._meeting(self.leases.leave(worker))
            self._conclude_total()
            self._changed.notify_all()

    def _carry_out(self, instructions: list[Instruction], reason: str | None = None) -> None:
        for instruction in instructions:
            if isinstance(instruction, Apply):
                self._begin(instruction)
            elif isinstance(instruction, Answer):
                self._answers[instruction.worker] = instruction
            elif isinstance(instruction, Discard):
                self._deliveries.pop(instruction.serial)
            elif isinstance(instruction, Fail):
                self._failure = self._failure or reason or instruction.reason
        if instructions:
            self._changed.notify_all()

    def _begin(self, apply: Apply) -> None:
        parts = [(c, self._deliveries.pop(c.serial)) for c in apply.contributions]
        n = len(self.pieces)
        missing = [sum(d.n_arrived <= k and not d.is_over for _, d in parts) for k in range(n)]
        making = Making(apply.version, parts, missing, n)
        for contribution, delivery in parts:
            self.staleness[min(contribution.staleness, MAX_STALENESS)] += 1
            delivery.version = apply.version
        self._making[apply.version] = making
        told = [self._told[worker] for worker in sorted(self._told)]
        self.agreed, self.value = self.stop_flag, sum(value for _, value in told)
        for flags, _ in told:
            self.agreed |= flags & ~QUIET
        self._told = {}
        for index in range(n):
            if making.n_missing[index] == 0:
                self._apply(making, index)

    def _apply(self, making: Making, index: int) -> None:
        """Without the shard's lock where it matters: another connection's piece may be applied at the same time."""
        piece = self.pieces[index]
        there = [(c, d) for c, d in making.parts if d.n_arrived > index]
        piece.apply([(c.worker, c.scale, self.room(d, piece)) for c, d in there], version=making.version)
        self._conclude_piece(making, index)

    def _conclude_piece(self, making: Making, index: int) -> None:
        with self._changed:
            self.pieces[index].mark(making.version)
            making.n_to_apply -= 1
            if making.n_to_apply == 0:
                self._is_made(making)
            self._changed.notify_all()

    def _is_made(self, making: Making) -> None:
        del self._making[making.version]
        whole = [d.buffer for _, d in making.parts if d.is_whole]
        self._free += whole[: self.n_workers]
        self._changed.notify_all()

    def _give_up(self, delivery: Delivery) -> None:
        """Its sender died: what came counts, the rest will not come."""
        delivery.is_over = True
        making = self._making.get(delivery.version) if delivery.version is not None else None
        if making is None:
            return
        for index in range(delivery.n_arrived, len(self.pieces)):
            making.n_missing[index] -= 1
            if making.n_missing[index] == 0:
                self._apply(making, index)

    # Work, totals, snapshots --------------------------------------------------------------------------------------

    def ask(self, worker: int, *, stop: bool, checkpoint: bool, n_under_way: int) -> Grant | Hold:
        with self._changed:
            assert self.leases is not None
            stop = stop or bool(self.stop_flag)
            return self.leases.ask(worker, stop=stop, checkpoint=checkpoint, n_under_way=n_under_way)

    def attend(self, worker: int) -> Grant | Meet:
        with self._changed:
            assert self.leases is not None
            self._orders |= self._meeting(self.leases.attend(worker))
            self._changed.notify_all()
            self._wait(lambda: worker in self._orders)
            return self._orders.pop(worker)

    def total(self, worker: int, values: bytes) -> bytes:
        """Sums float64 vectors over all who take part, in the order of ranks."""
        with self._changed:
            generation = self._totals.generation
            self._totals.rows[worker] = struct.unpack(f"{len(values) // 8}d", values)
            self._conclude_total()
            self._wait(lambda: self._totals.generation > generation)
            return struct.pack(f"{len(self._totals.answer)}d", *self._totals.answer)

    def take_snapshot(self) -> None:
        """Copies the optimiser's state; call it between steps."""
        self.snapshot = {}
        for piece in self.pieces:
            self.snapshot |= piece.collect()
        for table in self.tables:
            self.snapshot |= table.collect(n_steps=self.rule.version if self.rule else 0)
        for worker, values in self.owed.items():
            for s in self.plan.segments:
                self.snapshot[f"{s.parameter}|{OWED}{worker}|{s.start}"] = values[s.offset : s.offset + s.length]
        self.owed = {}

    def write_snapshot(self, path: Path) -> None:
        tensors, self.snapshot = self.snapshot, {}
        write_tensors(path, tensors or {NOTHING: torch.zeros(1)})

    def close(self) -> None:
        """All workers have left, or something failed."""

    def fail(self, reason: str) -> None:
        """Whoever waits, now or later, gets PeerLostError."""
        with self._changed:
            self._failure = self._failure or reason
            self._changed.notify_all()

    @property
    def failure(self) -> str | None:
        return self._failure

    def _meeting(self, orders: dict[int, Grant | Meet]) -> dict[int, Grant | Meet]:
        for order in orders.values():
            if isinstance(order, Meet):
                self._participants = set(order.members)
        return orders

    def _conclude_total(self) -> None:
        rows = self._totals.rows
        if rows and self._participants <= rows.keys():
            columns = zip(*(rows[worker] for worker in sorted(rows)), strict=True)
            self._totals = Gathering({}, self._totals.generation + 1, tuple(sum(column) for column in columns))
            self._changed.notify_all()

    def _wait(self, is_done: Callable[[], bool]) -> None:
        """Raises PeerLostError."""
        self._changed.wait_for(lambda: is_done() or self._failure is not None)
        if not is_done():
            raise PeerLostError(self._failure)
