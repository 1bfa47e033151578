# SPDX-License-Identifier: Apache-2.0
"""A busy cluster that never comes to rest, made by seed: what rounds are measured on.

As many live jobs as asked for, which together need twice the GPUs that there are: some run, start or stop, others wait.
Between two rounds jobs advance, end and are replaced by new ones, report their speed and noise, and plans are carried
out. Families share measurements; some tenants have quotas; racks differ in GPUs.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from scheduler.api.arrays import Floats
from scheduler.api.plan import Keep, Launch, Plan, Preempt, Resize, Wait
from scheduler.api.snapshot import ClusterSnapshot, JobSnapshot, Phase, SpeedObservation
from scheduler.models.layout import ClusterTopology
from scheduler.models.speed.fitting import exposed_s
from scheduler.models.speed.sync_terms import sync_terms
from scheduler.simulator.busy_cluster.mix import Mix, busy_nodes, busy_tenants

REPORT_EVERY_S = 600.0  # a training job reports when it begins, and then so often
MAX_OBSERVATIONS = 40  # of a family: the newest, as on the live platform


class BusyCluster:
    """Holds the truth of a busy cluster between rounds. shares_fairly: its tenants share fairly above their guarantees.

    Raises ValueError for less than 8 GPUs or less than one job.
    """

    def __init__(self, *, n_gpus: int, n_jobs: int, seed: int = 0, shares_fairly: bool = False) -> None:
        if n_gpus < 8 or n_jobs < 1:
            raise ValueError(f"a busy cluster needs 8 GPUs and a job at least, not {n_gpus} and {n_jobs}")
        self.now_s = 0.0
        self.nodes, self.racks = busy_nodes(n_gpus)
        self.tenants = busy_tenants(n_gpus, n_jobs, shares_fairly=shares_fairly)
        self._topology = ClusterTopology(self.nodes, self.racks)
        self._random = np.random.default_rng(seed)
        self._mix = Mix(n_gpus=n_gpus, n_jobs=n_jobs, tenants=self.tenants, nodes=self.nodes, random=self._random)
        self._n_jobs, self._n_rounds = n_jobs, 0
        self._jobs: dict[str, JobSnapshot] = {}
        self._reports: dict[str, tuple[SpeedObservation, ...]] = {}
        self._reported_at_s: dict[str, float] = {}
        self._arrive(are_old=True)

    def snapshot(self) -> ClusterSnapshot:
        """Returns what the scheduler sees now; jobs of a family share its measurements."""
        jobs = tuple(replace(job, observations=self._reports.get(job.family, ())) for job in self._jobs.values())
        self._n_rounds += 1
        return ClusterSnapshot(self.now_s, self.nodes, self.racks, jobs, self.tenants, 0, self._n_rounds)

    def carry_out(self, plan: Plan) -> None:
        """Carries out a plan: launches start; preempted and resized jobs stop, and have left by the next round."""
        for decision in plan.decisions:
            if isinstance(decision, Keep | Wait):
                continue
            job = self._jobs[decision.job]
            if isinstance(decision, Launch):
                phase = {"phase": Phase.STARTING, "allocation": decision.allocation, "allocated_at_s": self.now_s}
                self._jobs[job.id] = replace(job, **phase)  # type: ignore[arg-type]
            elif isinstance(decision, Resize):
                self._jobs[job.id] = replace(job, phase=Phase.STOPPING, last_resized_at_s=self.now_s)
            elif isinstance(decision, Preempt):
                self._jobs[job.id] = replace(job, phase=Phase.STOPPING, n_preemptions=job.n_preemptions + 1)

    def advance(self, seconds: float) -> None:
        """Lets time pass: jobs train, report and end, and as many new ones are submitted."""
        self.now_s += seconds
        for job in list(self._jobs.values()):
            if job.phase is Phase.STOPPING:
                self._leave(job)
            elif job.phase is not Phase.WAITING:
                self._train(job, seconds)
            elif job.hold is not None:
                self._jobs[job.id] = replace(job, hold=None)
        self._arrive()

    def _arrive(self, *, are_old: bool = False) -> None:
        """are_old: somewhere on their way already, for the first ones."""
        while len(self._jobs) < self._n_jobs:
            job = self._mix.job(submitted_at_s=self.now_s)
            if are_old:
                job = replace(job, hold=None, steps_done=float(self._random.uniform(0, job.steps_total)))
            self._jobs[job.id] = job

    def _leave(self, job: JobSnapshot) -> None:
        assert job.allocation is not None
        held_s = self.now_s - (job.allocated_at_s or 0.0)
        self._jobs[job.id] = replace(
            job,
            phase=Phase.WAITING,
            allocation=None,
            allocated_at_s=None,
            training_since_s=None,
            executed_gpu_s=job.executed_gpu_s + held_s * job.allocation.n_workers,
        )

    def _train(self, job: JobSnapshot, seconds: float) -> None:
        if job.phase is Phase.STARTING:
            began_s = (job.allocated_at_s or 0.0) + job.start_s
            if began_s > self.now_s:
                return
            job = replace(job, phase=Phase.RUNNING, training_since_s=began_s)
            seconds = self.now_s - began_s
        compute_s, sync_s = self._true_s(job)
        steps = job.steps_done + seconds / (compute_s + sync_s)
        if steps >= job.steps_total:
            del self._jobs[job.id]
            return
        if self.now_s - self._reported_at_s.get(job.id, -REPORT_EVERY_S) >= REPORT_EVERY_S:
            job = self._report(job, compute_s, sync_s)
        self._jobs[job.id] = replace(job, steps_done=steps)

    def _true_s(self, job: JobSnapshot) -> tuple[float, float]:
        """A step's computation and exposed synchronisation at the declared batch: the prior's, times the family's."""
        assert job.allocation is not None
        layout = self._topology.layout_of(job.allocation)
        compute_factor, sync_factor = self._mix.truth_of(job, layout.gpu_type)
        examples = job.batch_size / layout.n_workers
        compute_s: Floats = np.array([(job.step_overhead_s + (job.example_s or 0.0) * examples) * compute_factor])
        terms = sync_terms(layout, job.allocation.mode, parameters_bytes=job.parameters_bytes)
        sync_s = exposed_s((terms[0] + terms[1]) * sync_factor, compute_s, job.allocation.mode)
        return float(compute_s[0]), float(sync_s[0])

    def _report(self, job: JobSnapshot, compute_s: float, sync_s: float) -> JobSnapshot:
        assert job.allocation is not None
        layout = self._topology.layout_of(job.allocation)
        slip = float(self._random.lognormal(0.0, 0.02))
        seen = SpeedObservation(
            mode=job.allocation.mode,
            n_workers=layout.n_workers,
            n_servers=layout.n_servers,
            n_nodes=sum(k > 0 for k in layout.workers),
            n_racks=layout.n_racks,
            gpu_type=layout.gpu_type,
            batch_size=job.batch_size,
            step_s=(compute_s + sync_s) * slip,
            compute_s=compute_s * slip,
            sync_s=sync_s * slip,
            n_steps=200,
            observed_at_s=self.now_s,
        )
        self._reports[job.family] = (*self._reports.get(job.family, ()), seen)[-MAX_OBSERVATIONS:]
        self._reported_at_s[job.id] = self.now_s
        return job if job.noise_scale is None else replace(job, noise_scale=job.noise_scale * slip * 1.01)
