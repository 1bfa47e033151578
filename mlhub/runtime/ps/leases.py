# SPDX-License-Identifier: Apache-2.0
"""Who trains on which batch when workers go at their own pace: every unit of work is done once, in every epoch.

A unit is a part of a step's batch. Workers ask for one after the other; before anything that concerns all of them (an
evaluation, a checkpoint, the end) they meet at a barrier: a worker that is asked to hold flushes what it has, becomes
idle, and waits there. Each goes on with the same clock (rules.py), above all clocks before.
Pure: no sockets, no clock. The first shard drives it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class BatchLease:
    """steps: in all. parts: units a step, at most one batch's worth. start: steps that are done already. warmup_steps:
    of the first ones, which one worker does alone, while the others wait at the barrier."""

    steps: int
    steps_per_epoch: int
    parts: int = 1
    start: int = 0
    warmup_steps: int = 0


@dataclass(frozen=True)
class LeasedWork:
    """Train on part `part` of the batch of step `step`."""

    step: int
    part: int


@dataclass(frozen=True)
class Backoff:
    """Nothing to do for now: flush, report idle, wait at the barrier."""


@dataclass(frozen=True)
class WaitAtBarrier:
    """All members are here, and every step below `step` is done."""

    step: int
    stop: bool
    checkpoint: bool
    members: tuple[int, ...]


@dataclass
class Leases:
    """n_expected: workers that must be there, or gone, before the first unit is given out. clock: with which all went
    on from the last barrier."""

    work: BatchLease
    n_expected: int
    members: set[int] = field(default_factory=set)
    clock: int = 0
    is_begun: bool = False

    def __post_init__(self) -> None:
        self._next = self.work.start * self.work.parts
        self._returned: deque[int] = deque()
        self._held_by: dict[int, deque[int]] = {}
        self._at_barrier: set[int] = set()
        self._gone: set[int] = set()  # before the beginning
        self._highest_clock = 0
        self._stop = self._checkpoint = False
        self._met_at = self._next
        self._barrier: int | None = None

    def arrive(self, worker: int) -> None:
        """The worker is ready for its first unit. All begin once the last of those who live has arrived."""
        self.members.add(worker)
        self._gone.discard(worker)
        self._begin()

    def ask(
        self, worker: int, *, stop: bool = False, checkpoint: bool = False, n_under_way: int = 0
    ) -> LeasedWork | Backoff:
        """All the worker's units but the last n_under_way are done; it wants another. Call it once all have begun.

        stop and checkpoint are requests for the next barrier.
        """
        self.members.add(worker)
        self._are_done(worker, all_but=n_under_way)
        self._stop |= stop
        self._checkpoint |= checkpoint
        return self._grant(worker) or Backoff()

    def wait_at_barrier(self, worker: int, *, clock: int) -> dict[int, LeasedWork | WaitAtBarrier]:
        """The worker waits at the barrier; nothing of it is under way. Returns who is answered now, and what."""
        self._highest_clock = max(self._highest_clock, clock)
        self._are_done(worker, all_but=0)
        self._at_barrier.add(worker)
        return self._settle()

    def leave(self, worker: int) -> dict[int, LeasedWork | WaitAtBarrier]:
        """What the worker had taken is given to others."""
        self._returned.extend(self._held_by.pop(worker, ()))
        self.members.discard(worker)
        self._at_barrier.discard(worker)
        if not self.is_begun:
            self._gone.add(worker)
            self._begin()
            return {}
        if not self.members:
            return {}
        return self._settle()

    def ask_to_stop(self) -> None:
        """The platform's request: the next barrier is the last."""
        self._stop = True

    def state(self) -> dict[str, Any]:
        """Returns the state as JSON takes it; restore() goes on from there."""
        return {
            "members": sorted(self.members),
            "next": self._next,
            "returned": list(self._returned),
            "held_by": [[worker, list(units)] for worker, units in self._held_by.items()],
            "attending": sorted(self._at_barrier),
            "is_begun": self.is_begun,
            "gone": sorted(self._gone),
            "clock": self.clock,
            "highest_clock": self._highest_clock,
            "stop": self._stop,
            "checkpoint": self._checkpoint,
            "met_at": self._met_at,
            "barrier": self._barrier,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        self.members, self._at_barrier = set(state["members"]), set(state["attending"])
        self._next, self._met_at, self._barrier = state["next"], state["met_at"], state["barrier"]
        self._returned = deque(state["returned"])
        self._held_by = {worker: deque(units) for worker, units in state["held_by"]}
        self.is_begun, self._stop, self._checkpoint = state["is_begun"], state["stop"], state["checkpoint"]
        self._gone, self.clock, self._highest_clock = set(state["gone"]), state["clock"], state["highest_clock"]

    def _begin(self) -> None:
        self.is_begun |= bool(self.members) and len(self.members | self._gone) >= self.n_expected

    def _settle(self) -> dict[int, LeasedWork | WaitAtBarrier]:
        out: dict[int, LeasedWork | WaitAtBarrier] = {}
        for worker in sorted(self._at_barrier):
            grant = self._grant(worker)
            if grant is not None:
                out[worker] = grant
        self._at_barrier -= out.keys()
        if out or self._held_by or self._at_barrier != self.members:
            return out
        barrier = WaitAtBarrier(
            step=self._next // self.work.parts,
            stop=self._stop,
            checkpoint=self._checkpoint,
            members=tuple(sorted(self.members)),
        )
        self._met_at, self._barrier = self._next, None
        self.clock = self._highest_clock = self._highest_clock + 1
        self._at_barrier.clear()
        self._checkpoint = False
        return dict.fromkeys(barrier.members, barrier)

    def _grant(self, worker: int) -> LeasedWork | None:
        if self._is_warming_up and worker != min(self.members):
            return None
        if self._returned:
            unit = self._returned.popleft()
        elif self._next < self._limit():
            unit, self._next = self._next, self._next + 1
        else:
            return None
        self._held_by.setdefault(worker, deque()).append(unit)
        return LeasedWork(*divmod(unit, self.work.parts))

    @property
    def _is_warming_up(self) -> bool:
        """Until the barrier that ends it, where the others take the weights."""
        return self._met_at < self.work.warmup_steps * self.work.parts

    def _are_done(self, worker: int, *, all_but: int) -> None:
        held = self._held_by.get(worker, deque())
        while len(held) > all_but:
            held.popleft()
        if not held:
            self._held_by.pop(worker, None)

    def _limit(self) -> int:
        """Units that may be given out before the next barrier: to the end of the epoch, or of a begun step."""
        parts, per_epoch = self.work.parts, self.work.steps_per_epoch * self.work.parts
        end = min((self._met_at // per_epoch + 1) * per_epoch, self.work.steps * parts)
        if self._is_warming_up:
            end = min(end, self.work.warmup_steps * parts)
        if self._stop or self._checkpoint:
            if self._barrier is None:
                self._barrier = -(-self._next // parts) * parts
            return min(end, self._barrier)
        return end
