# SPDX-License-Identifier: Apache-2.0
"""An environment whose nodes are lost, come back and are slow at times, around any environment that can be rewound.

Jobs on a lost node go back to their last checkpoints; jobs that are stopped lose nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from scheduler.api.sharing_measurements import PairObservation
from scheduler.api.snapshot import GangAllocation, JobSnapshot, SpeedObservation, TenantSnapshot
from scheduler.api.topology import InputSet, NodeSnapshot, RackSnapshot
from scheduler.simulator.environments.environment import Arrival, Environment, Segment, SimulatedGang
from scheduler.simulator.failures import Failure, FailureKind

CHECKPOINT_EVERY_S = 600.0


class Rewindable(Environment, Protocol):
    """Declares an environment that can take progress back."""

    def rewind(self, job_id: str, *, steps: float) -> None:
        """Takes so many steps of the job back."""
        ...


@dataclass(frozen=True)
class NodeChanges:
    """Holds the nodes that were lost, and those whose pace changed."""

    lost: frozenset[str]
    changed: frozenset[str]


@dataclass
class _Unsaved:
    """What a job has done since its last checkpoint."""

    steps: float = 0.0
    seconds: float = 0.0


class FailingEnvironment:
    """Adds failures of nodes to an environment. checkpoint_every_s: of training; a checkpoint itself takes no time."""

    def __init__(
        self, inner: Rewindable, failures: Iterable[Failure], *, checkpoint_every_s: float = CHECKPOINT_EVERY_S
    ) -> None:
        self._inner, self._failures, self._every_s = inner, iter(failures), checkpoint_every_s
        self._next = next(self._failures, None)
        self._lost: set[str] = set()
        self._pace: dict[str, float] = {}
        self._nodes = tuple(inner.nodes)
        self._segments: dict[str, tuple[Segment, float]] = {}
        self._unsaved: dict[str, _Unsaved] = {}
        self.racks: Sequence[RackSnapshot] = inner.racks
        self.tenants: Sequence[TenantSnapshot] = inner.tenants
        self.arrivals: Sequence[Arrival] = inner.arrivals
        self.is_coupled, self.is_disturbed = inner.is_coupled, inner.is_disturbed
        self.is_learning = inner.is_learning

    @property
    def nodes(self) -> Sequence[NodeSnapshot]:
        """Returns the nodes that are there now."""
        return self._nodes

    @property
    def pairs(self) -> Sequence[PairObservation]:
        return self._inner.pairs

    @property
    def input_sets(self) -> Sequence[InputSet]:
        return self._inner.input_sets

    @property
    def next_at_s(self) -> float | None:
        """Returns when the next failure is; None if there is none any more."""
        return None if self._next is None else self._next.at_s

    def apply_due(self, now_s: float) -> NodeChanges:
        """Applies all failures up to now, and returns the nodes that they change."""
        lost, changed = set(), set()
        while self._next is not None and self._next.at_s <= now_s:
            node, kind = self._next.node, self._next.kind
            if kind is FailureKind.LOST:
                self._lost.add(node)
                lost.add(node)
            elif kind is FailureKind.BACK:
                self._lost.discard(node)
            else:
                self._pace[node] = self._next.pace if kind is FailureKind.SLOW else 1.0
                changed.add(node)
            self._next = next(self._failures, None)
        self._nodes = tuple(node for node in self._inner.nodes if node.name not in self._lost)
        return NodeChanges(frozenset(lost), frozenset(changed))

    def lose(self, job_id: str) -> tuple[float, float]:
        """Takes the job back to its last checkpoint, and returns the steps and the seconds of training that are
        lost.
        """
        unsaved = self._unsaved.pop(job_id, _Unsaved())
        self._inner.rewind(job_id, steps=unsaved.steps)
        return unsaved.steps, unsaved.seconds

    def segment(self, gang: SimulatedGang, others: Mapping[str, SimulatedGang]) -> Segment:
        """Returns the next segment, as slow as the slowest node of the gang."""
        segment = self._inner.segment(gang, others)
        pace = max((self._pace.get(share.node, 1.0) for share in gang.allocation.shares), default=1.0)
        self._segments[gang.job.id] = segment, pace
        return (
            segment
            if pace == 1.0
            else segment._replace(seconds=segment.seconds * pace, steps_per_s=segment.steps_per_s / pace)
        )

    def goes_on(
        self,
        segment: Segment,  # noqa: ARG002
        gang: SimulatedGang,  # noqa: ARG002
        others: Mapping[str, SimulatedGang],  # noqa: ARG002
        *,
        elapsed_s: float,  # noqa: ARG002
    ) -> bool:
        return False

    def advance(self, job_id: str, segment: Segment, *, elapsed_s: float) -> None:
        inner, pace = self._segments[job_id]
        is_whole = elapsed_s >= segment.seconds
        self._inner.advance(job_id, inner, elapsed_s=inner.seconds if is_whole else elapsed_s / pace)
        unsaved = self._unsaved.setdefault(job_id, _Unsaved())
        seconds = unsaved.seconds + elapsed_s
        if seconds < self._every_s:
            unsaved.seconds, unsaved.steps = seconds, unsaved.steps + elapsed_s * segment.steps_per_s
            return
        unsaved.seconds = seconds % self._every_s
        unsaved.steps = min(unsaved.seconds, elapsed_s) * segment.steps_per_s

    def start_s(self, job: JobSnapshot, allocation: GangAllocation, *, restarts: int) -> float:
        self._unsaved.pop(job.id, None)
        return self._inner.start_s(job, allocation, restarts=restarts)

    def stop_s(self, job: JobSnapshot, allocation: GangAllocation) -> float:
        self._unsaved.pop(job.id, None)
        return self._inner.stop_s(job, allocation)

    def observe(self, gang: SimulatedGang, segment: Segment, *, now_s: float) -> SpeedObservation | None:  # noqa: ARG002
        """Returns what the job would have reported without slow nodes: what a slow node adds is the node's, not the
        job's.
        """
        return self._inner.observe(gang, self._segments[gang.job.id][0], now_s=now_s)

    def steps_seen(self, job_id: str, steps: float) -> float:
        return self._inner.steps_seen(job_id, steps)

    def snapshot_of(self, job: JobSnapshot) -> JobSnapshot:
        return self._inner.snapshot_of(job)
