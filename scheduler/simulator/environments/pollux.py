# SPDX-License-Identifier: Apache-2.0
"""Pollux' environment: measured step times by placement, epochs of measured progress, 30 s for every change of place.

As in Qiao et al., Pollux (OSDI '21), and its artifact: rounds of 60 s, completion at the exact second in between.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from scheduler.api.sharing_measurements import PairObservation
from scheduler.api.snapshot import GangAllocation, JobSnapshot, Mode, SpeedObservation, TenantSnapshot
from scheduler.api.topology import InputSet
from scheduler.simulator.environments.environment import Arrival, Segment, SimulatedGang
from scheduler.simulator.environments.pollux_tables import Application
from scheduler.simulator.traces.clusters import Cluster
from scheduler.simulator.traces.gpu_speeds import GpuSpeeds
from scheduler.simulator.traces.trace import BadInput, Trace, TraceJob

RESTART_S = 30.0
PERIOD_S = 60.0
_GRAIN = 1e-8


@dataclass
class _True:
    """Where a job truly stands. goodput: initial-batch iterations a second, on its present place."""

    app: Application
    batch_size: int
    epoch: int = 0
    progress: float = 0.0
    goodput: float = 0.0


class PolluxEnvironment:
    """Simulates jobs by tables of measured step times, at the batch that was asked for.

    Steps are reported at epoch ends.

    knows_table: the scheduler knows the true step times of packed layouts (what Optimus was given).
    gpu_speeds: of the cluster's GPU types, relative to that of the tables; None = there is one type.
    interference: the share of its speed that a job on several nodes loses where it meets another such job.
    """

    def __init__(
        self,
        trace: Trace,
        cluster: Cluster,
        applications: Mapping[str, Application],
        *,
        knows_table: bool = False,
        interference: float = 0.0,
        gpu_speeds: GpuSpeeds | None = None,
    ) -> None:
        self._gpu_speeds = gpu_speeds
        self._type_of = {node.name: node.gpu_type for node in cluster.nodes}
        self.nodes, self.racks = cluster.nodes, cluster.racks
        self.tenants: Sequence[TenantSnapshot] = (TenantSnapshot("default"),)
        self.is_coupled, self.is_disturbed, self.is_learning = interference > 0, False, False
        self.pairs: Sequence[PairObservation] = ()
        self.input_sets: Sequence[InputSet] = ()
        self._interference = interference
        self._true = {}
        for i, job in enumerate(trace.jobs):
            if job.model not in applications:
                known = ", ".join(applications)
                raise BadInput(trace.name, i + 2, f"the application {job.model!r} was not measured; known: {known}")
            self._true[job.id] = _True(applications[job.model], int(job.extra["batch_size"]))
        self._packed_times = _PackedTimes(cluster, gpu_speeds) if knows_table else None
        self.arrivals: Sequence[Arrival] = tuple(
            Arrival(job.submitted_at_s, self._snapshot(job, order=i)) for i, job in enumerate(trace.jobs)
        )

    def segment(self, gang: SimulatedGang, others: Mapping[str, SimulatedGang]) -> Segment:
        """Returns the segment to the end of the epoch, in whole seconds."""
        true = self._true[gang.job.id]
        batch = fixed_batch(true.app, true.batch_size, gang.allocation.n_workers)
        speed = self.speed_of(true.app, gang.allocation)
        goodput = goodput_of(true.app, placement_of(gang.allocation), batch, true.epoch, speed=speed)
        true.goodput = self._disturbed(goodput, gang, others)
        left_s = (true.app.progress_at_E[true.epoch + 1] - true.progress) / true.goodput
        seconds = float(round(left_s))
        epoch = true.epoch + 1
        is_last = epoch >= true.app.n_epochs
        return Segment(max(0.0, seconds), _steps_at(true, epoch), 0.0, is_last=is_last, is_late=left_s > seconds)

    def gpu_type_of(self, allocation: GangAllocation) -> str:
        """Returns the type of a gang's GPUs."""
        return next(self._type_of[share.node] for share in allocation.shares if share.gpus)

    def speed_of(self, app: Application, allocation: GangAllocation) -> float:
        """Returns how many times faster than in the tables the gang computes."""
        return 1.0 if self._gpu_speeds is None else self._gpu_speeds.of(self.gpu_type_of(allocation), app.name)

    def _disturbed(self, goodput: float, gang: SimulatedGang, others: Mapping[str, SimulatedGang]) -> float:
        meets = self._interference > 0 and _is_disturbed(gang, others)
        return goodput * (1 - self._interference) if meets else goodput

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
        true = self._true[job_id]
        if elapsed_s >= segment.seconds:
            true.epoch += 1
            true.progress = float(true.app.progress_at_E[true.epoch])
        else:
            true.progress += elapsed_s * true.goodput

    def start_s(self, job: JobSnapshot, allocation: GangAllocation, *, restarts: int) -> float:  # noqa: ARG002
        return RESTART_S

    def stop_s(self, job: JobSnapshot, allocation: GangAllocation) -> float:  # noqa: ARG002
        return 0.0

    def observe(self, gang: SimulatedGang, segment: Segment, *, now_s: float) -> SpeedObservation | None:  # noqa: ARG002
        return None

    def steps_seen(self, job_id: str, steps: float) -> float:  # noqa: ARG002
        return steps

    def snapshot_of(self, job: JobSnapshot) -> JobSnapshot:
        return job

    def _snapshot(self, job: TraceJob, *, order: int) -> JobSnapshot:
        true = self._true[job.id]
        most = 1 if job.model == "ncf" else max(1, true.batch_size // true.app.min_local_batch)
        snapshot = JobSnapshot(
            id=job.id,
            tenant="default",
            submitted_at_s=job.submitted_at_s
            + 1e-6 * order,  # of two at the same second, the first in the file is first
            steps_total=int(_steps_at(true, true.app.n_epochs)),
            steps_done=_steps_at(true, 0),
            batch_size=true.batch_size,
            name=job.id,
            family=job.model,
            mode=Mode.ALL_REDUCE,
            min_workers=1,
            max_workers=max(job.n_gpus, most),
            requested_workers=job.n_gpus,
            cpus_per_worker=0.0,
            start_s=RESTART_S,
            checkpoint_s=0.0,
        )
        if self._packed_times is None:
            return snapshot
        times = self._packed_times.of(true.app, true.batch_size, most)
        return replace(snapshot, max_workers=most, observations=times)


class _PackedTimes:
    """True step times at a fixed batch on each GPU type, on nodes that are filled one after the other."""

    def __init__(self, cluster: Cluster, gpu_speeds: GpuSpeeds | None) -> None:
        self._gpu_speeds = gpu_speeds
        self._per_node: dict[str, int] = {}
        self._n_gpus: dict[str, int] = {}
        for node in cluster.nodes:
            self._per_node[node.gpu_type] = max(self._per_node.get(node.gpu_type, 0), node.n_gpus)
            self._n_gpus[node.gpu_type] = self._n_gpus.get(node.gpu_type, 0) + node.n_gpus
        self._found: dict[tuple[str, int, int], tuple[SpeedObservation, ...]] = {}

    def of(self, app: Application, batch_size: int, most: int) -> tuple[SpeedObservation, ...]:
        key = (app.name, batch_size, most)
        if key not in self._found:
            self._found[key] = tuple(
                self._time(app, batch_size, n, gpu_type)
                for gpu_type, n_gpus in self._n_gpus.items()
                for n in range(1, min(most, n_gpus) + 1)
            )
        return self._found[key]

    def _time(self, app: Application, batch_size: int, n: int, gpu_type: str) -> SpeedObservation:
        per_node = self._per_node[gpu_type]
        placement = (per_node,) * (n // per_node) + ((n % per_node,) if n % per_node else ())
        local_batch, extra = fixed_batch(app, batch_size, n, always_extra_alone=True)
        speed = 1.0 if self._gpu_speeds is None else self._gpu_speeds.of(gpu_type, app.name)
        step_s, sync_s = step_and_sync_s(app, placement, local_batch, speed=speed)
        compute_s = step_s - sync_s
        total_s = step_s + compute_s * extra
        shape = (Mode.ALL_REDUCE, n, 0, len(placement), 1, gpu_type, batch_size)
        return SpeedObservation(*shape, total_s, total_s - sync_s, sync_s, n_steps=1000)


def placement_of(allocation: GangAllocation) -> tuple[int, ...]:
    """Returns the workers on each node, in the order of the allocation."""
    return tuple(len(share.gpus) for share in allocation.shares if share.gpus)


def fixed_batch(
    app: Application, batch_size: int, n_workers: int, *, always_extra_alone: bool = False
) -> tuple[int, int]:
    """Returns (examples per GPU and pass, extra passes per step) for a global batch on n workers.

    A lone worker with more than the initial batch makes two passes at least: gradient statistics need two samples.
    always_extra_alone: at any batch, as Optimus predicts it.
    """
    local = math.ceil(batch_size / n_workers - _GRAIN)
    extra = math.ceil(local / app.max_local_batch - _GRAIN) - 1
    if n_workers == 1 and (always_extra_alone or batch_size > app.init_batch):
        extra = max(1, extra)
    per_pass = math.ceil(local / (extra + 1) - _GRAIN)
    return min(per_pass, app.max_batch // (n_workers * (extra + 1))), extra


def step_and_sync_s(
    app: Application, placement: tuple[int, ...], local_batch: int, *, speed: float
) -> tuple[float, float]:
    """Returns the true seconds of a step and of its synchronisation on GPUs that compute so many times faster."""
    step_s, sync_s = app.step_and_sync_s(placement, local_batch)
    return (step_s, sync_s) if speed == 1.0 else ((step_s - sync_s) / speed + sync_s, sync_s)


def goodput_of(
    app: Application, placement: tuple[int, ...], batch: tuple[int, int], epoch: int, *, speed: float = 1.0
) -> float:
    """Returns the true progress per second, in iterations at the initial batch; speed as in step_and_sync_s()."""
    per_pass, extra = batch
    step_s, sync_s = step_and_sync_s(app, placement, per_pass, speed=speed)
    total_s = step_s + (step_s - sync_s) * extra
    return app.gain(sum(placement) * per_pass * (extra + 1), epoch) / total_s


def _steps_at(true: _True, epoch: int) -> float:
    """Real iterations that are reported at the end of so many epochs.

    The artifact counts one epoch ahead; the remaining work, which is what matters, is never less than one iteration.
    """
    return true.app.iterations(true.batch_size, min(epoch, true.app.n_epochs - 1))


def _is_disturbed(gang: SimulatedGang, others: Mapping[str, SimulatedGang]) -> bool:
    mine = {share.node for share in gang.allocation.shares}
    if len(mine) < 2:
        return False
    return any(
        job_id != gang.job.id and len(nodes := {s.node for s in other.allocation.shares}) > 1 and mine & nodes
        for job_id, other in others.items()
    )
