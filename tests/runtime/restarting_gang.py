# SPDX-License-Identifier: Apache-2.0
"""A gang on a virtual clock whose server dies and goes on from a copy: real rules, workers that say where they are."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from mlhub.runtime.ps.rules import ApplyUpdate, Discard, Instruction, Push, Rule, SendReply

Made = tuple[int, int]  # worker, its how-many-th push


@dataclass
class _Worker:
    """n_done: pushes that were answered. waits: for the answer to its last push."""

    n_done: int = 0
    version: int = 0
    clock: int = 0
    waits: bool = False
    is_back: bool = True
    is_idle: bool = False
    due: list[Callable[[], None]] = field(default_factory=list)  # what it wants to say once it is back


class ReturningGang:
    """deaths: (when, how long before it the copy was made) in seconds. ways: how long each worker takes to come back.

    at_risk: pushes that were made after the copy, or waited for their group in it. lost: of all that were answered.
    """

    def __init__(
        self, rule: Callable[[], Rule], n_workers: int, delays: Sequence[float], deaths: Sequence[tuple[float, float]],
        ways: Sequence[float], *, n_pushes: int,
    ) -> None:  # fmt: skip
        self._rule, self.rule, self._delays, self._ways = rule, rule(), delays, ways
        self._n_pushes, self.n_made, self._n_started = n_pushes, 0, 0
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._order, self._now = itertools.count(), 0.0
        self._workers = [_Worker() for _ in range(n_workers)]
        self._pushed: dict[int, Made] = {}  # by serial
        self.used: set[Made] = set()
        self.discarded: set[Made] = set()
        self.answered: set[Made] = set()
        self.at_risk: set[Made] = set()
        self.leads: list[int] = []
        self._copy: tuple[dict[str, Any], set[Made]] = ({}, set())
        for worker in range(n_workers):
            self._carry_out(self.rule.join(worker))
        self._keep()
        for when, before in deaths:
            self._at(max(0.0, when - before), self._keep)
            self._at(when, self._die)

    @property
    def lost(self) -> set[Made]:
        return self.answered - self.used - self.discarded

    def run(self) -> ReturningGang:
        while self._events:
            self._now, _, act = heapq.heappop(self._events)
            act()
        return self

    def _at(self, when: float, act: Callable[[], None]) -> None:
        heapq.heappush(self._events, (when, next(self._order), act))

    def _keep(self) -> None:
        self._copy = (self.rule.state(), set(self.used))

    def _die(self) -> None:
        state, used = self._copy
        self.at_risk |= {*self._pushed.values()} - used - self.discarded
        self.rule, self.used, self._pushed = self._rule(), set(used), {}
        self.rule.restore(state)
        for index, worker in enumerate(self._workers):
            worker.is_back = False
            self._at(self._now + self._ways[index], lambda index=index: self._come_back(index))  # type: ignore[misc]
        self._copy = (self.rule.state(), set(self.used))

    def _come_back(self, index: int) -> None:
        worker = self._workers[index]
        if worker.is_back:
            return
        worker.is_back = True
        effects = self.rule.readmit(index, clock=worker.clock, is_idle=worker.is_idle, version=worker.version)
        self._carry_out(effects)
        if worker.waits:
            self._push_again(index)
        due, worker.due = worker.due, []
        for act in due:
            act()

    def _push_again(self, index: int) -> None:
        made = (index, self._workers[index].n_done)
        if made in self.used:
            self._carry_out(self.rule.repeat(self._push_of(index)))
        else:
            self._send(index)

    def _say(self, index: int, act: Callable[[], None]) -> None:
        worker = self._workers[index]
        if worker.is_back:
            act()
        else:
            worker.due.append(act)

    def _start(self, index: int) -> None:
        worker = self._workers[index]
        if self._n_started >= self._n_pushes:
            worker.is_idle = True
            self._say(index, lambda: self._carry_out(self.rule.idle(index, clock=worker.clock)))
            return
        self._n_started += 1
        self.leads.append(worker.n_done - min(self._n_finished(i) for i in range(len(self._workers))))
        delay_s = self._delays[(index * 13 + worker.n_done) % len(self._delays)]
        self._at(self._now + delay_s, lambda: self._say(index, lambda: self._push(index)))

    def _n_finished(self, index: int) -> int:
        """Pushes that the weights hold, whether or not the worker has heard of it; all, of one that rests."""
        worker = self._workers[index]
        if worker.is_idle:
            return self._n_pushes
        return worker.n_done + (worker.waits and (index, worker.n_done) in self.used)

    def _push(self, index: int) -> None:
        self._workers[index].waits = True
        self.n_made += 1
        self._send(index)

    def _send(self, index: int) -> None:
        self._pushed[self.rule.n_pushes] = (index, self._workers[index].n_done)
        self._carry_out(self.rule.push(self._push_of(index)))

    def _push_of(self, index: int) -> Push:
        """The worker's push that is not answered yet."""
        worker = self._workers[index]
        return Push(index, worker.version, worker.clock + 1)

    def _carry_out(self, instructions: list[Instruction]) -> None:
        for instruction in instructions:
            if isinstance(instruction, ApplyUpdate):
                made = {self._pushed[c.serial] for c in instruction.contributions}
                assert not made & self.used, "applied twice"
                self.used |= made
            elif isinstance(instruction, Discard):
                self.discarded.add(self._pushed[instruction.serial])
            elif isinstance(instruction, SendReply):
                self._answer(instruction)

    def _answer(self, answer: SendReply) -> None:
        worker = self._workers[answer.worker]
        worker.version, worker.clock = max(worker.version, answer.version), self.rule.clock(answer.worker)
        if worker.waits:
            self.answered.add((answer.worker, worker.n_done))
            worker.n_done, worker.waits = worker.n_done + 1, False
        self._at(self._now, lambda: self._start(answer.worker))
