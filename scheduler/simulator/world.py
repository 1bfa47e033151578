"""What a world is: the hidden truth that the simulator asks, and of which the scheduler sees only snapshots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from scheduler.snapshot import Allocation, JobSnapshot, SpeedObservation, TenantSnapshot
from scheduler.topology import Node, Rack


@dataclass(frozen=True)
class Arrival:
    """A job as it is submitted: waiting, nothing done, nothing measured."""

    at_s: float
    job: JobSnapshot


@dataclass(frozen=True)
class Gang:
    """A job that trains, and where."""

    job: JobSnapshot
    allocation: Allocation
    steps_done: float


class World(Protocol):
    """Truths of a simulated cluster.

    is_coupled: the speed of a job depends on where the others are, so that every change asks for all speeds anew.
    """

    @property
    def nodes(self) -> Sequence[Node]: ...

    @property
    def racks(self) -> Sequence[Rack]: ...

    @property
    def tenants(self) -> Sequence[TenantSnapshot]: ...

    @property
    def arrivals(self) -> Sequence[Arrival]: ...

    @property
    def is_coupled(self) -> bool: ...

    def step_s(self, gang: Gang, others: Mapping[str, Gang]) -> float:
        """True seconds a step, now. others: everybody who trains, the gang itself included."""
        ...

    def start_s(self, job: JobSnapshot, allocation: Allocation, *, restarts: int) -> float:
        """True seconds from launch to the first step."""
        ...

    def stop_s(self, job: JobSnapshot, allocation: Allocation) -> float:
        """True seconds from the order to leave until the GPUs are free."""
        ...

    def observe(self, gang: Gang, *, step_s: float, now_s: float) -> SpeedObservation | None:
        """What the job would have reported of its speed; None where the scheduler is to learn nothing."""
        ...
