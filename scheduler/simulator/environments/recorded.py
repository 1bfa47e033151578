# SPDX-License-Identifier: Apache-2.0
"""The recorded environment: jobs of a live platform's history, at the speeds that they and their families showed.

A job that ran at a size on a GPU type has the step time that it had there. At other sizes it has that of the
scheduler's speed model, corrected by how far the model is off where the job did run. Gangs do not slow each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from scheduler.api.snapshot import GangAllocation, JobSnapshot, TenantSnapshot
from scheduler.api.topology import NodeSnapshot, RackSnapshot
from scheduler.models.speed.job_speeds import JobSpeeds
from scheduler.simulator.environments.environment import Arrival, Segment, SimulatedGang, SteadyEnvironment
from scheduler.simulator.traces.clusters import Cluster

LEAST_STEP_S = 1e-6


@dataclass(frozen=True)
class RecordedAttempt:
    """Holds how an attempt of the job trained. step_s: seconds of a step at that size and type."""

    n_workers: int
    gpu_type: str
    step_s: float


@dataclass(frozen=True)
class RecordedJob:
    """Holds a job of the history.

    job: as the scheduler saw it when it was submitted, with what is known of its family. at_s: when it could first be
    scheduled. steps: those after which it really ended, which may be fewer than it declared. start_s: seconds from its
    launches to its first steps; None = as its family's. organisation: its name. ended_at_s: when it ended; None = it
    has not. is_counted: whether figures count it; False of a job from before the period, which only holds GPUs.
    """

    job: JobSnapshot
    at_s: float
    steps: float
    attempts: tuple[RecordedAttempt, ...] = ()
    start_s: float | None = None
    organisation: str = ""
    ended_at_s: float | None = None
    is_counted: bool = True
    measured: Mapping[tuple[int, str], float] = field(init=False)

    def __post_init__(self) -> None:
        times: dict[tuple[int, str], list[float]] = {}
        for attempt in self.attempts:
            times.setdefault((attempt.n_workers, attempt.gpu_type), []).append(attempt.step_s)
        object.__setattr__(self, "measured", {key: median(values) for key, values in times.items()})


class RecordedEnvironment(SteadyEnvironment):
    """Simulates the jobs of a history on the nodes that there were."""

    def __init__(self, jobs: Sequence[RecordedJob], cluster: Cluster) -> None:
        self.nodes: Sequence[NodeSnapshot] = cluster.nodes
        self.racks: Sequence[RackSnapshot] = cluster.racks
        self.tenants: Sequence[TenantSnapshot] = cluster.tenants
        self._type_of = {node.name: node.gpu_type for node in cluster.nodes}
        self._jobs = {one.job.id: one for one in jobs}
        self._speeds = JobSpeeds(tuple(cluster.nodes), tuple(cluster.racks), jobs=[one.job for one in jobs])
        self._correction: dict[str, float] = {}
        super().__init__([Arrival(one.at_s, one.job) for one in jobs])
        self._done |= {one.job.id: one.job.steps_done for one in jobs}

    def segment(self, gang: SimulatedGang, others: Mapping[str, SimulatedGang]) -> Segment:
        """Returns the stretch to the step at which the job really ended."""
        step_s, total = self.step_s(gang, others), self._jobs[gang.job.id].steps
        return Segment(max(0.0, total - self._done[gang.job.id]) * step_s, total, 1.0 / step_s, is_last=True)

    def step_s(self, gang: SimulatedGang, others: Mapping[str, SimulatedGang]) -> float:  # noqa: ARG002
        """Returns the measured time of a step at this size, or else the modelled one."""
        one, allocation = self._jobs[gang.job.id], gang.allocation
        measured = one.measured.get((allocation.n_workers, self._gpu_type(allocation)))
        if measured is not None:
            return max(LEAST_STEP_S, measured)
        modelled = self._speeds.step_s_on(one.job, allocation) * self._correction_of(one)
        return max(LEAST_STEP_S, modelled)

    def start_s(self, job: JobSnapshot, allocation: GangAllocation, *, restarts: int) -> float:  # noqa: ARG002
        measured = self._jobs[job.id].start_s
        return job.start_s if measured is None else measured

    def stop_s(self, job: JobSnapshot, allocation: GangAllocation) -> float:  # noqa: ARG002
        return job.checkpoint_s

    def _gpu_type(self, allocation: GangAllocation) -> str:
        return next((self._type_of[share.node] for share in allocation.shares if share.gpus), "")

    def _correction_of(self, one: RecordedJob) -> float:
        """How many times longer its steps were than the model says, at the sizes at which it ran; 1 where it never did.

        The scheduler's own prediction takes the place of layouts, which the record does not have: packed.
        """
        found = self._correction.get(one.job.id)
        if found is None:
            known = set(self._type_of.values())
            ratios = [
                step_s / max(LEAST_STEP_S, self._speeds.plain_step_s(one.job, n, gpu_type=gpu_type))
                for (n, gpu_type), step_s in one.measured.items()
                if gpu_type in known
            ]
            found = self._correction[one.job.id] = median(ratios) if ratios else 1.0
        return found
