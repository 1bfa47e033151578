# SPDX-License-Identifier: Apache-2.0
"""What an environment is: the hidden truth that the simulator asks, and of which the scheduler sees only snapshots."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from scheduler.api.sharing_measurements import PairObservation
from scheduler.api.snapshot import GangAllocation, JobSnapshot, SpeedObservation, TenantSnapshot
from scheduler.api.topology import InputSet, NodeSnapshot, RackSnapshot


@dataclass(frozen=True)
class Arrival:
    """Holds a job as it is submitted: waiting, nothing done, nothing measured."""

    at_s: float
    job: JobSnapshot


class SimulatedGang(NamedTuple):
    """Holds a job that trains, and where."""

    job: JobSnapshot
    allocation: GangAllocation


class Segment(NamedTuple):
    """Holds a stretch of training at one speed, to an epoch's end or the job's.

    steps: what will have been done at its end; steps_per_s: what is reported in between. is_late: it ends just after
    that time, so that a round at that time does not see it yet.
    """

    seconds: float
    steps: float
    steps_per_s: float
    is_last: bool
    is_late: bool = False


class Environment(Protocol):
    """Knows the truth of a simulated cluster, which the scheduler does not see."""

    @property
    def nodes(self) -> Sequence[NodeSnapshot]:
        """Returns the nodes that are there now."""

    @property
    def racks(self) -> Sequence[RackSnapshot]:
        """Returns the racks."""

    @property
    def tenants(self) -> Sequence[TenantSnapshot]:
        """Returns the tenants with their quota."""

    @property
    def arrivals(self) -> Sequence[Arrival]:
        """Returns all jobs as they are submitted, in order of time."""

    @property
    def is_coupled(self) -> bool:
        """Returns whether the speed of a job depends on where the others are, so that every change asks for all speeds
        anew.
        """

    @property
    def is_disturbed(self) -> bool:
        """Returns whether every event changes all speeds, even one that changes no allocation."""

    @property
    def is_learning(self) -> bool:
        """Returns whether what is shown of a waiting job may change, because others are measured."""

    @property
    def pairs(self) -> Sequence[PairObservation]:
        """Returns what was measured of jobs that shared GPUs."""

    @property
    def input_sets(self) -> Sequence[InputSet]:
        """Returns what jobs read, and what nodes hold of it now."""

    def segment(self, gang: SimulatedGang, others: Mapping[str, SimulatedGang]) -> Segment:
        """Returns the next segment, from the job's true progress. others: all training gangs, this one included."""
        ...

    def goes_on(
        self,
        segment: Segment,
        gang: SimulatedGang,
        others: Mapping[str, SimulatedGang],
        *,
        elapsed_s: float,
    ) -> bool:
        """Returns whether the segment, of which so much has passed, goes on unchanged, after a change somewhere."""
        ...

    def advance(self, job_id: str, segment: Segment, *, elapsed_s: float) -> None:
        """Records that the job truly went so far on that segment; all of it if elapsed_s is segment.seconds."""
        ...

    def start_s(self, job: JobSnapshot, allocation: GangAllocation, *, restarts: int) -> float:
        """Returns the true seconds from launch to the first step."""
        ...

    def stop_s(self, job: JobSnapshot, allocation: GangAllocation) -> float:
        """Returns the true seconds from the order to leave until the GPUs are free."""
        ...

    def observe(self, gang: SimulatedGang, segment: Segment, *, now_s: float) -> SpeedObservation | None:
        """Returns what the job would have reported of its speed; None where the scheduler is to learn nothing."""
        ...

    def steps_seen(self, job_id: str, steps: float) -> float:
        """Returns the steps of a job with GPUs that the scheduler is to see now, when so many are done."""
        ...

    def snapshot_of(self, job: JobSnapshot) -> JobSnapshot:
        """Returns the job as the scheduler is to see it now: an environment may add what the platform would have
        learnt.
        """
        ...


class SteadyEnvironment(ABC):
    """Serves as the base of environments where a job has one speed as long as nothing changes: one segment to the
    end.
    """

    is_coupled = False
    is_disturbed = False
    is_learning = False
    pairs: Sequence[PairObservation] = ()
    input_sets: Sequence[InputSet] = ()

    def __init__(self, arrivals: Sequence[Arrival]) -> None:
        self.arrivals: Sequence[Arrival] = tuple(arrivals)
        self._done = {arrival.job.id: 0.0 for arrival in self.arrivals}

    @abstractmethod
    def step_s(self, gang: SimulatedGang, others: Mapping[str, SimulatedGang]) -> float:
        """Returns the true seconds of a step now."""

    def segment(self, gang: SimulatedGang, others: Mapping[str, SimulatedGang]) -> Segment:
        step_s = self.step_s(gang, others)
        total = float(gang.job.steps_total)
        return Segment(max(0.0, total - self._done[gang.job.id]) * step_s, total, 1.0 / step_s, is_last=True)

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
        if elapsed_s >= segment.seconds:
            self._done[job_id] = segment.steps
        else:
            self._done[job_id] += elapsed_s * segment.steps_per_s

    def rewind(self, job_id: str, *, steps: float) -> None:
        """Takes so many steps back: what was done since a checkpoint is lost."""
        self._done[job_id] = max(0.0, self._done[job_id] - steps)

    def start_s(self, job: JobSnapshot, allocation: GangAllocation, *, restarts: int) -> float:  # noqa: ARG002
        return 0.0

    def stop_s(self, job: JobSnapshot, allocation: GangAllocation) -> float:  # noqa: ARG002
        return 0.0

    def observe(self, gang: SimulatedGang, segment: Segment, *, now_s: float) -> SpeedObservation | None:  # noqa: ARG002
        return None

    def steps_seen(self, job_id: str, steps: float) -> float:  # noqa: ARG002
        return steps

    def snapshot_of(self, job: JobSnapshot) -> JobSnapshot:
        return job
