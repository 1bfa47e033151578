# SPDX-License-Identifier: Apache-2.0
"""A gang on a virtual clock: the real rules and updates, workers that take as long as a test declares, no processes."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from mlhub.runtime.ps.rules import ApplyUpdate, Fail, Instruction, Push, Rule, SendReply
from mlhub.runtime.ps.server.weights.staleness import compensate

Gradient = Callable[[int, int, Tensor], Tensor]  # worker, its how-many-th push, weights
Delay = Callable[[int, int], float]  # worker, its how-many-th push -> seconds of computing


@dataclass
class Read:
    """An answer as a worker saw it: its clock then, and the clocks of all pushes that were in the weights."""

    worker: int
    clock: int
    contained: dict[int, int]


@dataclass
class VirtualGang:
    rule: Rule
    gradient: Gradient
    delay: Delay
    rate: float = 0.1
    n_features: int = 4
    dc_strength: float | None = None
    max_pushes: int = 40
    now: float = 0.0
    applied: list[ApplyUpdate] = field(default_factory=list)
    reads: list[Read] = field(default_factory=list)
    leads: list[int] = field(default_factory=list)
    failure: str | None = None
    trace: list[Tensor] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.weights = torch.zeros(self.n_features, dtype=torch.float64)
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._order = itertools.count()
        self.pushed: dict[int, Tensor] = {}
        self._held: dict[int, tuple[Tensor, int]] = {}  # what each worker holds: weights and their version
        self._n_pushes: dict[int, int] = {}
        self._n_applied: dict[int, int] = {}
        self.alive: set[int] = set()
        self._n_started = 0

    def at(self, time: float, act: Callable[[], None]) -> None:
        heapq.heappush(self._events, (time, next(self._order), act))

    def run(self) -> VirtualGang:
        while self._events and self.failure is None:
            self.now, _, act = heapq.heappop(self._events)
            act()
        return self

    def join(self, worker: int) -> None:
        self.alive.add(worker)
        self._carry_out(self.rule.join(worker))

    def die(self, worker: int) -> None:
        if worker in self.alive:
            self.alive.remove(worker)
            self._carry_out(self.rule.leave(worker, is_expected=False))

    def n_pushes(self, worker: int) -> int:
        return self._n_pushes.get(worker, 0)

    def _start(self, worker: int) -> None:
        if self._n_started >= self.max_pushes:
            self._carry_out(self.rule.idle(worker, clock=self.rule.clock(worker)))
            return
        self._n_started += 1
        clocks = [clock for _, clock, is_idle in self.rule.state()["members"] if not is_idle]
        self.leads.append(self.rule.clock(worker) - min(clocks, default=self.rule.clock(worker)))
        self.at(self.now + self.delay(worker, self.n_pushes(worker)), lambda: self._push(worker))

    def _push(self, worker: int) -> None:
        if worker not in self.alive:
            return
        weights, version = self._held[worker]
        number = self.n_pushes(worker)
        self._n_pushes[worker] = number + 1
        self.pushed[self.rule.n_pushes] = self.gradient(worker, number, weights)
        self._carry_out(self.rule.push(Push(worker, version, self.rule.clock(worker) + 1)))

    def _carry_out(self, instructions: list[Instruction]) -> None:
        for instruction in instructions:
            if isinstance(instruction, ApplyUpdate):
                self._apply(instruction)
            elif isinstance(instruction, SendReply):
                self._answer(instruction)
            elif isinstance(instruction, Fail):
                self.failure = instruction.reason

    def _apply(self, apply: ApplyUpdate) -> None:
        self.applied.append(apply)
        total = torch.zeros_like(self.weights)
        for part in apply.contributions:
            gradient = self.pushed[part.serial].clone()
            if self.dc_strength is not None:
                backup = self._held[part.worker][0]
                compensate(gradient, weights=self.weights, backup=backup, strength=self.dc_strength)
            total += part.scale * gradient
            self._n_applied[part.worker] = self._n_applied.get(part.worker, 0) + 1
        self.weights = self.weights - self.rate * total
        self.trace.append(self.weights)

    def _answer(self, answer: SendReply) -> None:
        if answer.worker not in self.alive:
            return
        self._held[answer.worker] = (self.weights.clone(), answer.version)
        contained = {w: self._n_applied.get(w, 0) for w in self.alive}
        self.reads.append(Read(answer.worker, self.rule.clock(answer.worker), contained))
        self.at(self.now, lambda: self._start(answer.worker))


def targets(n: int, n_features: int = 4, seed: int = 0) -> Tensor:
    """Where each worker's examples pull the weights to; shape (n, n_features)."""
    return torch.randn(n, n_features, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def pull_to(points: Tensor) -> Gradient:
    """The gradient of half the squared distance to the worker's point."""
    return lambda worker, number, weights: weights - points[worker]
