# SPDX-License-Identifier: Apache-2.0
"""What an environment is: the hidden truth that the simulator asks, and of which the scheduler sees only snapshots."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from scheduler.api.snapshot import GangAllocation, JobSnapshot, PairObservation, SpeedObservation, TenantSnapshot
from scheduler.api.topology import NodeSnapshot, RackSnapshot


@dataclass(frozen=True)
class Arrival:
    """A job as it is submitted: waiting, nothing done, nothing measured."""

    at_s: float
    job: JobSnapshot


class SimulatedGang(NamedTuple):
    """A job that trains, and where."""

    job: JobSnapshot
    allocation: GangAllocation


class Segment(NamedTuple):
    """A stretch of training at one speed, to an epoch's end or the job's.

    steps: what will have been done at its end; steps_per_s: what is reported in between. is_late: it ends just after
    that time, so that a round at that time does not see it yet.
    """

    seconds: float
    steps: float
    steps_per_s: float
    is_last: bool
    is_late: bool = False


class Environment(Protocol):
    """Truths of a simulated cluster.

    is_coupled: the speed of a job depends on where the others are, so that every change asks for all speeds anew.
    is_disturbed: every event does, even if it changes nothing. is_learning: what is shown of a job may change while it
    waits, for others are measured. pairs: what was measured of jobs that shared GPUs.
    """

    @property
    def nodes(self) -> Sequence[NodeSnapshot]: ...

    @property
    def racks(self) -> Sequence[RackSnapshot]: ...

    @property
    def tenants(self) -> Sequence[TenantSnapshot]: ...

    @property
    def arrivals(self) -> Sequence[Arrival]: ...

    @property
    def is_coupled(self) -> bool: ...

    @property
    def is_disturbed(self) -> bool: ...

    @property
    def is_learning(self) -> bool: ...

    @property
    def pairs(self) -> Sequence[PairObservation]: ...

    def segment(self, gang: SimulatedGang, others: Mapping[str, SimulatedGang]) -> Segment:
        """The next segment, from the job's true progress. others: all training gangs, this one included."""
        ...

    def goes_on(self, segment: Segment, gang: SimulatedGang, others: Mapping[str, SimulatedGang]) -> bool:
        """Whether the present segment goes on unchanged, after a change somewhere."""
        ...

    def advance(self, job_id: str, segment: Segment, *, elapsed_s: float) -> None:
        """The job truly went so far on that segment; all of it if elapsed_s is segment.seconds."""
        ...

    def start_s(self, job: JobSnapshot, allocation: GangAllocation, *, restarts: int) -> float:
        """True seconds from launch to the first step."""
        ...

    def stop_s(self, job: JobSnapshot, allocation: GangAllocation) -> float:
        """True seconds from the order to leave until the GPUs are free."""
        ...

    def observe(self, gang: SimulatedGang, segment: Segment, *, now_s: float) -> SpeedObservation | None:
        """What the job would have reported of its speed; None where the scheduler is to learn nothing."""
        ...

    def snapshot_of(self, job: JobSnapshot) -> JobSnapshot:
        """The job as the scheduler is to see it now: an environment may add what the platform would have learnt."""
        ...


class SteadyEnvironment(ABC):
    """Base of environments where a job has one speed as long as nothing changes: one segment to the end."""

    is_coupled = False
    is_disturbed = False
    is_learning = False
    pairs: Sequence[PairObservation] = ()

    def __init__(self, arrivals: Sequence[Arrival]) -> None:
        self.arrivals: Sequence[Arrival] = tuple(arrivals)
        self._done = {arrival.job.id: 0.0 for arrival in self.arrivals}

    @abstractmethod
    def step_s(self, gang: SimulatedGang, others: Mapping[str, SimulatedGang]) -> float:
        """True seconds a step, now."""

    def segment(self, gang: SimulatedGang, others: Mapping[str, SimulatedGang]) -> Segment:
        step_s = self.step_s(gang, others)
        total = float(gang.job.steps_total)
        return Segment(max(0.0, total - self._done[gang.job.id]) * step_s, total, 1.0 / step_s, is_last=True)

    def goes_on(self, segment: Segment, gang: SimulatedGang, others: Mapping[str, SimulatedGang]) -> bool:  # noqa: ARG002
        return False

    def advance(self, job_id: str, segment: Segment, *, elapsed_s: float) -> None:
        if elapsed_s >= segment.seconds:
            self._done[job_id] = segment.steps
        else:
            self._done[job_id] += elapsed_s * segment.steps_per_s

    def rewind(self, job_id: str, *, steps: float) -> None:
        """So many steps are lost: what was done since a checkpoint."""
        self._done[job_id] = max(0.0, self._done[job_id] - steps)

    def start_s(self, job: JobSnapshot, allocation: GangAllocation, *, restarts: int) -> float:  # noqa: ARG002
        return 0.0

    def stop_s(self, job: JobSnapshot, allocation: GangAllocation) -> float:  # noqa: ARG002
        return 0.0

    def observe(self, gang: SimulatedGang, segment: Segment, *, now_s: float) -> SpeedObservation | None:  # noqa: ARG002
        return None

    def snapshot_of(self, job: JobSnapshot) -> JobSnapshot:
        return job
