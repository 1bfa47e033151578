# SPDX-License-Identifier: Apache-2.0
"""What a simulation gives: every job's way through it, and what the whole came to."""

from __future__ import annotations

from dataclasses import dataclass, field

from scheduler.api.snapshot import GangAllocation, JobSnapshot
from scheduler.simulator.environments.environment import Segment


@dataclass
class JobHistory:
    """Holds a job's way through the simulation. start and end in seconds; spans: (from, to, allocation) that it held.

    steps_done: up to its present segment. segment: what it trains on now, since segment_at_s. version: events scheduled
    for an older one are void.
    """

    job: JobSnapshot
    submitted_at_s: float
    started_at_s: float | None = None
    ended_at_s: float | None = None
    n_restarts: int = 0
    steps_done: float = 0.0
    spans: list[tuple[float, float, GangAllocation]] = field(default_factory=list)
    segment: Segment | None = None
    segment_at_s: float = 0.0
    version: int = 0

    @property
    def jct_s(self) -> float | None:
        """Returns the seconds from submission to the end; None before."""
        return None if self.ended_at_s is None else self.ended_at_s - self.submitted_at_s


@dataclass(frozen=True)
class SimulationOutcome:
    """Holds the result of a simulation. histories by job id, in the order of submission; decision_s: seconds of every
    round.

    n_failures: nodes that were lost; lost_gpu_s: GPU-seconds that jobs on them held since their last checkpoints.
    """

    histories: dict[str, JobHistory]
    n_rounds: int
    decision_s: tuple[float, ...]
    ended_at_s: float
    n_failures: int = 0
    lost_gpu_s: float = 0.0
