# SPDX-License-Identifier: Apache-2.0
"""Muri's environment: jobs that share GPUs interleave their stages, and restarts cost what was measured for each model.

As published (Zhao et al., Muri, SIGCOMM '22, and their simulator) every event costs every job that runs its restart,
and a group the sum of its members' restarts; the clean rule charges a start to the job that starts, and to no other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from scheduler.api.sharing_measurements import Profile
from scheduler.api.snapshot import GangAllocation, JobSnapshot, TenantSnapshot
from scheduler.api.topology import NodeSnapshot, RackSnapshot
from scheduler.models.interference.interleaving import CONTENTION, Stages, joint_step_s
from scheduler.simulator.environments.environment import Arrival, Segment, SimulatedGang, SteadyEnvironment
from scheduler.simulator.environments.muri_antman import opportunistic_step_s
from scheduler.simulator.traces.clusters import Cluster
from scheduler.simulator.traces.trace import Rows, Trace, TraceJob

ALONE = 1.015  # an iteration alone, by the profiled one: what their system costs
UNKNOWN_RESTART_S = 10.0
MOST_JOBS_PER_GPU = 4
_SAME_S = 1e-4  # events so close together are one

Restarts = Mapping[tuple[int, str], float]  # seconds by GPUs and model


def read_restarts(text: str, *, name: str) -> Restarts:
    """Returns restart seconds by model and number of GPUs, from rows of num_gpu, model, restart_s. Raises BadInput."""
    return {
        (row.whole("num_gpu", least=1), row.text("model")): row.number("restart_s")
        for row in Rows(text, name=name, columns=("num_gpu", "model", "restart_s"))
    }


class MuriEnvironment(SteadyEnvironment):
    """Simulates jobs by the stages that Muri measured.

    as_published: restarts are charged as their simulator does. knows_lengths: the scheduler knows the iterations.

    opportunistic: those that share do so as under AntMan: guaranteed jobs (of priority 1; the trace's 0) keep their
    speed, the others get what is left.
    """

    is_coupled = True

    def __init__(
        self,
        trace: Trace,
        cluster: Cluster,
        restarts: Restarts,
        *,
        as_published: bool = True,
        opportunistic: bool = False,
        knows_lengths: bool = True,
        tenants: Sequence[TenantSnapshot] = (),
    ) -> None:
        self.nodes: Sequence[NodeSnapshot] = tuple(
            replace(n, max_jobs_per_gpu=MOST_JOBS_PER_GPU) for n in cluster.nodes
        )
        self.racks: Sequence[RackSnapshot] = cluster.racks
        self.tenants = tuple(tenants) or tuple(TenantSnapshot(t) for t in sorted({job.tenant for job in trace.jobs}))
        self.is_disturbed = as_published
        self._as_published, self._opportunistic = as_published, opportunistic
        self._jobs = {job.id: job for job in trace.jobs}
        self._guaranteed = {job.id for job in trace.jobs if not job.extra.get("is_opportunistic", False)}
        self._restart_s = {job.id: restarts.get((job.n_gpus, job.model), UNKNOWN_RESTART_S) for job in trace.jobs}
        self._stages = {job.id: _stages(job) for job in trace.jobs}
        self._charge_s: dict[str, float] = {}
        self._alone_s = {job.id: float(job.extra["iteration_s"]) * ALONE for job in trace.jobs}
        self._others: Mapping[str, SimulatedGang] = {}
        self._mates: dict[tuple[str, int], list[str]] = {}
        self._groups_of: dict[str, list[tuple[str, ...]]] = {}
        self._is_shared = False  # whether any GPU has two jobs that train
        self._slots: dict[str, tuple[GangAllocation, list[tuple[str, int]]]] = {}
        super().__init__([Arrival(job.submitted_at_s, self._snapshot(job, knows_lengths)) for job in trace.jobs])

    def step_s(self, gang: SimulatedGang, others: Mapping[str, SimulatedGang]) -> float:
        """Returns the seconds of a step: alone, or in the fullest of the groups that its workers are in."""
        alone_s = self._alone_s[gang.job.id]
        if not self._has_shared_gpus(others):
            return alone_s
        groups = self._groups(gang, others)
        if self._opportunistic:
            return self._opportunistic_s(gang.job, groups)
        slowest_s = alone_s
        for group in groups:
            if len(group) > 1:
                together_s = joint_step_s([self._stages[job_id] for job_id in group]) * CONTENTION[len(group) - 1]
                slowest_s = max(slowest_s, together_s) if slowest_s != alone_s else together_s
        return slowest_s

    def segment(self, gang: SimulatedGang, others: Mapping[str, SimulatedGang]) -> Segment:
        job_id = gang.job.id
        if not self._as_published:
            self._charge_s[job_id] = 0.0
        elif self._opportunistic or not self._has_shared_gpus(others):
            self._charge_s[job_id] = self._restart_s[job_id]
        else:
            members = {member for group in self._groups(gang, others) for member in group}
            self._charge_s[job_id] = sum([self._restart_s[member] for member in sorted(members)])
        return super().segment(gang, others)

    def goes_on(
        self,
        segment: Segment,
        gang: SimulatedGang,
        others: Mapping[str, SimulatedGang],
        *,
        elapsed_s: float,
    ) -> bool:
        """Returns whether it would begin anew as it is: where nothing has passed, no GPU is shared, and it is charged
        for this instant already.
        """
        job_id = gang.job.id
        if elapsed_s > 0.0 or segment.seconds <= _SAME_S or self._has_shared_gpus(others):
            return False
        charge_s, alone_s = self._restart_s[job_id] if self._as_published else 0.0, self._alone_s[job_id]
        left = max(0.0, float(gang.job.steps_total) - self._done[job_id])
        is_alone = segment.steps_per_s == 1.0 / alone_s and segment.seconds == left * alone_s
        return is_alone and self._charge_s[job_id] == charge_s

    def advance(self, job_id: str, segment: Segment, *, elapsed_s: float) -> None:
        if elapsed_s >= segment.seconds - _SAME_S:
            super().advance(job_id, segment, elapsed_s=segment.seconds)
        else:
            self._done[job_id] += max(0.0, elapsed_s - self._charge_s[job_id]) * segment.steps_per_s

    def start_s(self, job: JobSnapshot, allocation: GangAllocation, *, restarts: int) -> float:  # noqa: ARG002
        return 0.0 if self._as_published else self._restart_s[job.id]

    def steps_seen(self, job_id: str, steps: float) -> float:
        """Returns the steps as they were at the last event: charges are not seen before."""
        return self._done[job_id] if self._as_published else steps

    def snapshot_of(self, job: JobSnapshot) -> JobSnapshot:
        """Returns the job with the steps that the scheduler is to see."""
        steps = self.steps_seen(job.id, job.steps_done)
        if steps == job.steps_done:
            return job
        return job.progressed(steps_done=steps, executed_gpu_s=job.executed_gpu_s)

    def _opportunistic_s(self, job: JobSnapshot, groups: Sequence[Sequence[str]]) -> float:
        alone_s = self._alone_s[job.id]
        if job.id in self._guaranteed:
            return alone_s
        slowest_s = alone_s
        for other in {other for group in groups for other in group if other != job.id}:
            if other in self._guaranteed:
                shared_s = opportunistic_step_s(
                    self._stages[job.id], self._stages[other], host_step_s=self._alone_s[other]
                )
                slowest_s = max(slowest_s, shared_s)
            else:
                slowest_s = max(slowest_s, 2 * alone_s)
        return slowest_s

    def _groups(self, gang: SimulatedGang, others: Mapping[str, SimulatedGang]) -> list[tuple[str, ...]]:
        """The jobs that train on each of its GPUs; equal groups once."""
        if not self._has_shared_gpus(others):
            return [(gang.job.id,)]
        found = self._groups_of.get(gang.job.id)
        if found is None:
            found = list(dict.fromkeys([tuple(sorted(self._mates[slot])) for slot in self._slots_of(gang)]))
            self._groups_of[gang.job.id] = found
        return found

    def _has_shared_gpus(self, others: Mapping[str, SimulatedGang]) -> bool:
        """Whether any GPU has two jobs that train."""
        if others is not self._others:
            self._others, self._mates, self._groups_of = others, {}, {}
            slots = [self._slots_of(other) for other in others.values()]
            self._is_shared = len(set().union(*slots)) < sum(map(len, slots))
            for job_id, own in zip(others, slots, strict=True) if self._is_shared else ():
                for slot in own:
                    self._mates.setdefault(slot, []).append(job_id)
        return self._is_shared

    def _slots_of(self, gang: SimulatedGang) -> list[tuple[str, int]]:
        """Its GPUs, listed once for each place."""
        known = self._slots.get(gang.job.id)
        if known is None or known[0] is not gang.allocation:
            known = gang.allocation, [(share.node, gpu) for share in gang.allocation.shares for gpu in share.gpus]
            self._slots[gang.job.id] = known
        return known[1]

    def _snapshot(self, job: TraceJob, knows_length: bool) -> JobSnapshot:
        step_s = float(job.extra["iteration_s"]) * ALONE
        cpu_io_s, gpu_s, network_s = self._stages[job.id]
        return JobSnapshot(
            id=job.id,
            tenant=job.tenant,
            study=job.study,
            user=job.user,
            submitted_at_s=job.submitted_at_s,
            steps_total=max(1, int(job.extra["iterations"])),
            batch_size=max(1, int(job.extra["batch_size"])) * job.n_gpus,
            name=job.id,
            family=f"{job.model} on {job.n_gpus}",
            priority=int(self._opportunistic and job.id in self._guaranteed),
            min_workers=job.n_gpus,
            max_workers=job.n_gpus,
            cpus_per_worker=0.0,
            step_overhead_s=step_s,
            example_s=0.0,
            start_s=0.0 if self._as_published else self._restart_s[job.id],
            checkpoint_s=0.0,
            length_is_known=knows_length,
            profile=Profile(cpu_io_s, gpu_s, network_s),
        )


def _stages(job: TraceJob) -> Stages:
    return float(job.extra["cpu_io_s"]), float(job.extra["gpu_s"]), float(job.extra["network_s"])
