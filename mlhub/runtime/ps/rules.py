# SPDX-License-Identifier: Apache-2.0
"""When a shard applies what workers push, and when it replies to them: events in, instructions out.

No sockets, no clock, no tensors: a virtual clock drives it in tests, the TCP server (shard.py) in a pod. One class,
four dials, is every consistency of the field:

    strategy           size of a group   waits for its version   lead         late pushes
    BSP                all workers       yes                     -            none
    ASP                1                 no                      unlimited    counted
    SSP(s)             1                 no                      at most s    counted
    soft-sync(c)       c                 as asked                unlimited    counted
    first K of n       K                 yes                     -            discarded

A worker's clock counts its finished pushes. The worker states it with each push, so that it is the same on every shard:
shards that counted by themselves would let two workers wait for each other, each on another shard. It begins where the
slowest worker is; a barrier lifts all clocks to one above the highest (leases.py), so that a clock above a worker's
last one shows that both have passed a barrier.

Sources: Ho et al., NIPS '13 (SSP); Gupta et al., Rudra, 2015 (soft-sync); Chen et al., 2016 (backup workers).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Push:
    """version: of the weights it was computed on. weight: its part of a batch, in (0, 1].

    clock: the worker's, once this push is finished.
    """

    worker: int
    version: int
    clock: int
    weight: float = 1.0


@dataclass(frozen=True)
class Contribution:
    worker: int
    serial: int  # the how-many-th push of all
    staleness: int  # versions that came between its weights and its use
    scale: float


@dataclass(frozen=True)
class ApplyUpdate:
    """One step of the optimiser with the scaled sum of these; makes that version."""

    version: int
    contributions: tuple[Contribution, ...]


@dataclass(frozen=True)
class Discard:
    serial: int


@dataclass(frozen=True)
class SendReply:
    """Send the worker the weights. is_complete: every version up to this one must be in them, from whichever worker;
    otherwise the worker's own pushes are enough."""

    worker: int
    version: int
    is_complete: bool


@dataclass(frozen=True)
class Fail:
    """The gang cannot go on: it starts anew from its checkpoint."""

    reason: str


Instruction = ApplyUpdate | Discard | SendReply | Fail
Scale = Callable[[int], float]
_COUNTS = ("version", "n_pushes", "n_discarded")


@dataclass
class _Member:
    clock: int = 0  # as it stated last
    is_idle: bool = False
    waits_for_group: bool = False
    waits_for_others: bool = False


@dataclass
class Rule:
    """group_size: pushes that make a version. blocks: a worker waits for the version that its push goes into.
    lead: how many clocks a worker may start ahead of the slowest; None: unlimited. drops_late: pushes computed on an
    older version are discarded. needs_all: a death ends the gang."""

    group_size: int
    blocks: bool = False
    lead: int | None = None
    drops_late: bool = False
    needs_all: bool = False
    scale: Scale = field(default=lambda _: 1.0)
    version: int = 0
    n_pushes: int = 0
    n_discarded: int = 0
    _members: dict[int, _Member] = field(default_factory=dict)
    _group: list[tuple[Push, Contribution]] = field(default_factory=list)

    @property
    def members(self) -> tuple[int, ...]:
        return tuple(sorted(self._members))

    def clock(self, worker: int) -> int:
        return self._members[worker].clock

    def join(self, worker: int) -> list[Instruction]:
        """A worker comes, now or late: it starts where the slowest is, with the newest weights."""
        clocks = [m.clock for m in self._members.values() if not m.is_idle]
        highest = max((m.clock for m in self._members.values()), default=0)
        self._members[worker] = _Member(clock=min(clocks, default=highest))
        return [SendReply(worker, self.version, is_complete=True)]

    def state(self) -> dict[str, Any]:
        """Returns the state as JSON takes it, without pushes that wait for a group to be full."""
        members = [[worker, m.clock, m.is_idle] for worker, m in self._members.items()]
        return {"members": members} | {name: getattr(self, name) for name in _COUNTS}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Until members report their clocks (readmit), no worker may run ahead of where they were."""
        self.version, self.n_pushes, self.n_discarded = (state[name] for name in _COUNTS)
        self._members = {worker: _Member(clock, is_idle) for worker, clock, is_idle in state["members"]}

    def readmit(self, worker: int, *, clock: int, is_idle: bool, version: int) -> list[Instruction]:
        """A member after the server died: what it was answered last. Versions that are lost count as made."""
        self.n_pushes += max(0, version - self.version) * self.group_size
        self.version = max(self.version, version)
        self._members[worker] = _Member(clock, is_idle)
        return self._conclude_leftover_group() + self._release()

    def repeat(self, push: Push) -> list[Instruction]:
        """A push that was used before the server died, and not answered."""
        self._wake(self._members[push.worker], push.clock)
        return self._reply_or_defer(push.worker) + self._release()

    def push(self, push: Push) -> list[Instruction]:
        """Raises ValueError for a worker that is no member, or that has not been answered yet."""
        member = self._members.get(push.worker)
        if member is None or member.waits_for_group or member.waits_for_others:
            raise ValueError(f"worker {push.worker} pushes out of turn")
        self._wake(member, push.clock)
        serial, self.n_pushes = self.n_pushes, self.n_pushes + 1
        if self.drops_late and push.version < self.version:
            self.n_discarded += 1
            return [Discard(serial), SendReply(push.worker, self.version, is_complete=True)]
        staleness = max(0, self.version - push.version)
        self._group.append((push, Contribution(push.worker, serial, staleness, self.scale(staleness))))
        member.waits_for_group = self.blocks
        out = self._conclude_full_group() or self._conclude_leftover_group()
        if not self.blocks:
            out += self._reply_or_defer(push.worker)
        return out + self._release()

    def idle(self, worker: int, *, clock: int) -> list[Instruction]:
        """The worker has nothing to do for now: no other waits for it until it pushes again, or all pass a barrier."""
        member = self._members[worker]
        member.clock, member.is_idle = clock, True
        return self._conclude_leftover_group() + self._release()

    def leave(self, worker: int, *, is_expected: bool) -> list[Instruction]:
        """The worker left, or died. What it pushed counts."""
        if self._members.pop(worker, None) is None:
            return []
        if self.needs_all and not is_expected:
            return [Fail(f"worker {worker} is gone")]
        return self._conclude_full_group() + self._conclude_leftover_group() + self._release()

    def _conclude_full_group(self) -> list[Instruction]:
        return self._conclude(1.0) if len(self._group) >= self.group_size else []

    def _conclude_leftover_group(self) -> list[Instruction]:
        """When no worker is left that could fill the group, what there is counts as a whole batch."""
        could_push = any(not m.is_idle and not m.waits_for_group for m in self._members.values())
        if not self._group or could_push:
            return []
        weight = sum(push.weight for push, _ in self._group)
        return self._conclude(1.0 / weight if weight > 0 else 1.0)

    def _conclude(self, factor: float) -> list[Instruction]:
        """Sums run in the order of workers where everybody waits, so that they do not depend on who came first."""
        parts = sorted((c for _, c in self._group), key=lambda c: c.worker if self.blocks else 0)
        if factor != 1.0:
            parts = [Contribution(c.worker, c.serial, c.staleness, c.scale * factor) for c in parts]
        self._group, self.version = [], self.version + 1
        out: list[Instruction] = [ApplyUpdate(self.version, tuple(parts))]
        for worker in sorted(self._members):
            if self._members[worker].waits_for_group:
                self._members[worker].waits_for_group = False
                out.append(SendReply(worker, self.version, is_complete=True))
        return out

    def _slowest(self) -> int:
        return min((m.clock for m in self._members.values() if not m.is_idle), default=10**18)

    def _may_start(self, member: _Member) -> bool:
        return self.lead is None or member.clock - self._slowest() <= self.lead

    def _reply_or_defer(self, worker: int) -> list[Instruction]:
        member = self._members[worker]
        if not self._may_start(member):
            member.waits_for_others = True
            return []
        return [SendReply(worker, self.version, is_complete=self.lead is not None)]

    def _release(self) -> list[Instruction]:
        """Answers the workers that the slowest no longer holds back."""
        out: list[Instruction] = []
        for worker in sorted(self._members):
            member = self._members[worker]
            if member.waits_for_others and self._may_start(member):
                member.waits_for_others = False
                out.append(SendReply(worker, self.version, is_complete=True))
        return out

    def _wake(self, member: _Member, clock: int) -> None:
        """The member has work. One that passed a barrier while it was idle is further than its clock was, and so are
        all that were idle before the barrier: none runs ahead of them while they compute their first push.
        """
        levelled = clock - 1
        if member.is_idle and levelled > member.clock:
            for other in self._members.values():
                if other.is_idle and other.clock < levelled:
                    other.clock, other.is_idle = levelled, False
        member.clock, member.is_idle = clock, False


def bulk_synchronous(n_workers: int) -> Rule:
    """A version of one push of each; a death ends the gang."""
    return Rule(group_size=n_workers, blocks=True, needs_all=True)


def asynchronous(*, scale: Scale = lambda _: 1.0) -> Rule:
    return Rule(group_size=1, scale=scale)


def stale_synchronous(staleness: int, *, scale: Scale = lambda _: 1.0) -> Rule:
    """A worker may start clock c once every other has finished clock c - staleness - 1."""
    return Rule(group_size=1, lead=staleness, scale=scale)


def soft_synchronous(n_gradients: int, *, blocks: bool = False, scale: Scale = lambda _: 1.0) -> Rule:
    """A version of every n_gradients pushes. Only with blocks does n_gradients = n workers equal BSP."""
    return Rule(group_size=n_gradients, blocks=blocks, scale=scale)


def first_of(k: int) -> Rule:
    """A version of the first k workers that computed on the current one; later pushes are discarded."""
    return Rule(group_size=k, blocks=True, drops_late=True)
