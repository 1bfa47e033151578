# SPDX-License-Identifier: Apache-2.0
"""The testbed's simulated twin: the same jobs on the same nodes, at the speeds and start-up times of the calibration.

What the scheduler is shown develops as on the platform: dry runs before anything was measured, then what jobs of the
same family measured, and what their starts took.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean

from benchmarks.testbed_calibration import MeasuredGang, NodeCalibration
from benchmarks.testbed_trace import NIC_BPS, RACKS, UPLINK_BPS, TestbedJob
from scheduler.api.snapshot import GangAllocation, JobSnapshot, Mode, SpeedObservation, TenantSnapshot
from scheduler.api.topology import NodeSnapshot, RackSnapshot
from scheduler.models.cost import CostKind, CostModel, CostObservation
from scheduler.models.layout import ClusterTopology
from scheduler.models.speed.model import SpeedModel
from scheduler.policies import policy_named
from scheduler.simulator.engine import simulate
from scheduler.simulator.environments.environment import Arrival, Segment, SimulatedGang, SteadyEnvironment

STOP_S = 3.0  # from the order to leave until its GPUs are free
GIB = 2**30
MOST_WORKERS = 64


class TestbedTwin(SteadyEnvironment):
    """Simulates the testbed's jobs. is_elastic: the policy chooses sizes; else each job has its guess."""

    __test__ = False  # no test, whatever pytest makes of its name
    is_learning = True

    def __init__(self, jobs: Sequence[TestbedJob], calibration: NodeCalibration, *, is_elastic: bool) -> None:
        self.nodes: Sequence[NodeSnapshot] = twin_nodes()
        self.racks: Sequence[RackSnapshot] = [RackSnapshot(f"rack-{r}", UPLINK_BPS) for r in range(len(RACKS))]
        self.tenants: Sequence[TenantSnapshot] = [
            TenantSnapshot(f"organisation-{n}") for n in sorted({job.organisation for job in jobs})
        ]
        self._calibration = calibration
        self._jobs = {job.name: job for job in jobs}
        self._topology = ClusterTopology(tuple(self.nodes), tuple(self.racks))
        self._types = {node.name: node.gpu_type for node in self.nodes}
        self._models = {job.kind.name: speed_model_of(calibration.of(job.kind.name)) for job in jobs}
        self._seen: dict[str, dict[tuple[object, ...], SpeedObservation]] = {}
        self._costs: list[CostObservation] = []
        self._model = CostModel([])
        super().__init__([Arrival(job.at_s, self._submission(job, is_elastic=is_elastic)) for job in jobs])

    def step_s(self, gang: SimulatedGang, others: Mapping[str, SimulatedGang]) -> float:  # noqa: ARG002
        model = self._models[self._jobs[gang.job.id].kind.name]
        layout = self._topology.layout_of(gang.allocation)
        return model.step_s(layout, gang.allocation.mode, batch_size=gang.job.batch_size)

    def start_s(self, job: JobSnapshot, allocation: GangAllocation, *, restarts: int) -> float:  # noqa: ARG002
        gpu_type = self._types[allocation.shares[0].node]
        seconds = self._calibration.start_s(self._jobs[job.id].kind.name, gpu_type, allocation.n_workers)
        self._costs.insert(0, CostObservation(job.family, CostKind.START, seconds))
        self._model = CostModel(self._costs)
        return seconds

    def stop_s(self, job: JobSnapshot, allocation: GangAllocation) -> float:  # noqa: ARG002
        return STOP_S

    def observe(self, gang: SimulatedGang, segment: Segment, *, now_s: float) -> SpeedObservation | None:
        """Records the speed for all jobs of the family; their snapshots carry it."""
        job, allocation = gang.job, gang.allocation
        model, layout = self._models[self._jobs[job.id].kind.name], self._topology.layout_of(allocation)
        step_s = 1.0 / segment.steps_per_s
        pass_s = min(step_s, model.pass_s(job.batch_size / layout.n_workers, layout, allocation.mode))
        shape = (allocation.mode, layout.n_workers, layout.n_servers, layout.n_nodes, layout.n_racks, layout.gpu_type)
        seen = SpeedObservation(*shape, job.batch_size, step_s, pass_s, step_s - pass_s, 100, now_s)
        self._seen.setdefault(job.family, {}).setdefault((*shape, job.batch_size), seen)
        return None

    def snapshot_of(self, job: JobSnapshot) -> JobSnapshot:
        observations = tuple(self._seen.get(job.family, {}).values())
        if len(observations) == len(job.observations):
            observations = job.observations
        start = self._model.of(job.family).start
        return replace(job, observations=observations, start_s=start.seconds, start_error=start.log_error)

    def _submission(self, job: TestbedJob, *, is_elastic: bool) -> JobSnapshot:
        """The job as the platform shows it to the scheduler when it is submitted."""
        kind = job.kind
        measured = self._calibration.of(kind.name)
        profile = {
            name: fmean(float(gang.profile[name]) for gang in measured)
            for name in ("example_s", "step_overhead_s", "parameters_bytes")
        }
        family = f"{job.organisation} {kind.model} {kind.dataset} {sorted(kind.hyperparameters.items())}"
        return JobSnapshot(
            id=job.name,
            name=job.name,
            tenant=f"organisation-{job.organisation}",
            submitted_at_s=job.at_s,
            steps_total=job.epochs * measured[0].steps_per_epoch,
            batch_size=kind.batch_size,
            family=family,
            mode=None if kind.mode is None else Mode(kind.mode),
            min_workers=1 if is_elastic else job.guess,
            max_workers=min(kind.batch_size, MOST_WORKERS) if is_elastic else job.guess,
            cpus_per_worker=1.0,
            cpus_per_server=0.5,
            example_s=profile["example_s"],
            step_overhead_s=profile["step_overhead_s"],
            parameters_bytes=round(profile["parameters_bytes"]),
            counts_examples=True,
        )


def twin_nodes() -> tuple[NodeSnapshot, ...]:
    """Returns the testbed's nodes as the platform shows them to the scheduler."""
    kinds = [(r, kind) for r, rack in enumerate(RACKS) for kind in rack]
    return tuple(
        NodeSnapshot(f"node-{i}", f"rack-{r}", kind.gpu_type, 1, 2.0, 2 * GIB, NIC_BPS)
        for i, (r, kind) in enumerate(kinds)
    )


def speed_model_of(measured: Sequence[MeasuredGang]) -> SpeedModel:
    """Returns the truth of a kind: what was measured, and the scheduler's own model fitted to it in between."""
    observations = [
        SpeedObservation(**{**gang.sample, "mode": Mode(gang.sample["mode"])}, observed_at_s=float(i))
        for i, gang in enumerate(measured)
    ]
    profile = measured[0].profile
    return SpeedModel(
        tuple(observations),
        example_s=float(profile["example_s"]),
        overhead_s=float(profile["step_overhead_s"]),
        parameters_bytes=int(profile["parameters_bytes"]),
        nic_bps=NIC_BPS,
    )


def simulated_jct_s(
    jobs: Sequence[TestbedJob], calibration: NodeCalibration, policy: str, *, is_elastic: bool
) -> list[float]:
    """Returns the completion times of the jobs under the policy in the simulator, in their order."""
    twin = TestbedTwin(jobs, calibration, is_elastic=is_elastic)
    outcome = simulate(twin, policy=policy_named(policy, {}))
    found = [outcome.histories[job.name].jct_s for job in jobs]
    return [jct_s for jct_s in found if jct_s is not None]
