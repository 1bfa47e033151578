# SPDX-License-Identifier: Apache-2.0
"""The counting environment: a job of n GPUs is done after its duration on any n GPUs; starts and stops cost what is
said.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from scheduler.api.snapshot import GangAllocation, JobSnapshot, Mode, SpeedObservation, TenantSnapshot
from scheduler.api.topology import InputSet, NodeSnapshot, RackSnapshot
from scheduler.simulator.environments.environment import Arrival, SimulatedGang, SteadyEnvironment
from scheduler.simulator.environments.node_caches import CACHE_BYTES, NodeCaches
from scheduler.simulator.traces.clusters import Cluster
from scheduler.simulator.traces.gpu_speeds import GpuSpeeds
from scheduler.simulator.traces.trace import Trace, TraceJob


class CountingEnvironment(SteadyEnvironment):
    """Simulates jobs whose step is about a second at their own size. Elastic jobs speed up perfectly with their GPUs.

    knows_durations: the scheduler knows how long jobs are; otherwise only how far they are. gpu_speeds: of the
    cluster's GPU types, relative to those on which durations were measured; the scheduler knows them. None = all are
    alike. cache_bytes: of each node's cache, in which it finds inputs that a job on it used before; other starts take
    longer by fetching them.
    """

    def __init__(
        self,
        trace: Trace,
        cluster: Cluster,
        *,
        start_s: float = 0.0,
        stop_s: float = 0.0,
        tenants: Sequence[TenantSnapshot] = (),
        knows_durations: bool = True,
        gpu_speeds: GpuSpeeds | None = None,
        cache_bytes: int = CACHE_BYTES,
    ) -> None:
        self._gpu_speeds = gpu_speeds
        self._type_of = {node.name: node.gpu_type for node in cluster.nodes}
        self.nodes: Sequence[NodeSnapshot] = cluster.nodes
        self.racks: Sequence[RackSnapshot] = cluster.racks
        self.tenants = tuple(tenants) or tuple(TenantSnapshot(t) for t in sorted({job.tenant for job in trace.jobs}))
        self._start_s, self._stop_s = start_s, stop_s
        self._knows_durations = knows_durations
        self._jobs = {job.id: job for job in trace.jobs}
        sizes = {job.inputs: job.inputs_bytes for job in trace.jobs if job.inputs}
        self._caches = NodeCaches(sizes, cache_bytes=cache_bytes)
        super().__init__([Arrival(job.submitted_at_s, self._snapshot(job)) for job in trace.jobs])

    def step_s(self, gang: SimulatedGang, others: Mapping[str, SimulatedGang]) -> float:  # noqa: ARG002
        job = self._jobs[gang.job.id]
        gpu_type = next(self._type_of[share.node] for share in gang.allocation.shares if share.gpus)
        speed = 1.0 if self._gpu_speeds is None else self._gpu_speeds.of(gpu_type, job.model)
        return job.duration_s / gang.job.steps_total * job.n_gpus / gang.allocation.n_workers / speed

    @property
    def input_sets(self) -> Sequence[InputSet]:  # type: ignore[override]
        return self._caches.input_sets

    def start_s(self, job: JobSnapshot, allocation: GangAllocation, *, restarts: int) -> float:  # noqa: ARG002
        return self._start_s + self._caches.fetch_s(job.inputs, allocation)

    def stop_s(self, job: JobSnapshot, allocation: GangAllocation) -> float:  # noqa: ARG002
        return self._stop_s

    def _snapshot(self, job: TraceJob) -> JobSnapshot:
        steps = max(1, math.ceil(job.duration_s))
        least, most = job.min_gpus or job.n_gpus, job.max_gpus or job.n_gpus
        is_elastic = least < most
        step_s = job.duration_s / steps
        return JobSnapshot(
            id=job.id,
            tenant=job.tenant,
            study=job.study,
            user=job.user,
            inputs=job.inputs,
            submitted_at_s=job.submitted_at_s,
            steps_total=steps,
            batch_size=1000,
            name=job.id,
            family=job.model,
            priority=job.priority,
            min_workers=least,
            max_workers=most,
            requested_workers=job.n_gpus,
            cpus_per_worker=0.0,
            step_overhead_s=0.0 if is_elastic else step_s,
            example_s=step_s * job.n_gpus / 1000 if is_elastic else 0.0,
            start_s=self._start_s,
            checkpoint_s=self._stop_s,
            length_is_known=self._knows_durations,
            observations=self._observations(job, step_s),
        )

    def _observations(self, job: TraceJob, step_s: float) -> tuple[SpeedObservation, ...]:
        """Its step on each GPU type was measured beforehand, at its own size."""
        if self._gpu_speeds is None:
            return ()
        times = {t: step_s / self._gpu_speeds.of(t, job.model) for t in sorted(set(self._type_of.values()))}
        return tuple(
            SpeedObservation(Mode.ALL_REDUCE, job.n_gpus, 0, 1, 1, gpu_type, 1000, each_s, each_s, 0.0, n_steps=1000)
            for gpu_type, each_s in times.items()
        )
