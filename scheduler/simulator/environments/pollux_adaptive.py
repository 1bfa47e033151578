# SPDX-License-Identifier: Apache-2.0
"""Pollux' environment with free batches: each job's agent picks the batch with the best goodput, as Pollux' agents do.

The agent and the scheduler see the same: what was measured on places where the family trained, the gradient noise scale
of the job's last minute, and how that of its family's jobs went on; never the tables themselves.
"""

from __future__ import annotations

from collections.abc import Mapping

from scheduler.api.snapshot import JobSnapshot, Mode, SpeedObservation
from scheduler.models.speed.job_speeds import JobSpeeds
from scheduler.simulator.environments.environment import Segment, SimulatedGang
from scheduler.simulator.environments.pollux import (
    PERIOD_S,
    RESTART_S,
    PolluxEnvironment,
    fixed_batch,
    goodput_of,
    placement_of,
    step_and_sync_s,
)
from scheduler.simulator.environments.pollux_tables import Application
from scheduler.simulator.traces.clusters import Cluster
from scheduler.simulator.traces.gpu_speeds import GpuSpeeds
from scheduler.simulator.traces.trace import Trace, TraceJob

PARAMETERS_BYTES = {  # one float32 gradient of the named networks, as their authors publish them
    "bert": 440_000_000,  # BERT-base
    "cifar10": 45_000_000,  # ResNet-18
    "deepspeech2": 152_000_000,
    "imagenet": 102_000_000,  # ResNet-50
    "ncf": 128_000_000,
    "yolov3": 248_000_000,
}
NCF_BATCH = 32768  # the artifact's agent holds it fixed, on one GPU
MOST_WORKERS = 64
NOISE_POINTS = 32  # of a family's noise scale along its jobs' way are kept


class AdaptivePolluxEnvironment(PolluxEnvironment):
    """Simulates jobs that adapt their batch. Steps are iterations at the initial batch, reported as they are made.

    shares_families: a job knows what others of its application measured before; otherwise only what it measured itself.
    """

    def __init__(
        self,
        trace: Trace,
        cluster: Cluster,
        applications: Mapping[str, Application],
        *,
        interference: float = 0.0,
        gpu_speeds: GpuSpeeds | None = None,
        shares_families: bool = True,
    ) -> None:
        self._shares_families = shares_families
        self._speeds = JobSpeeds(tuple(cluster.nodes), tuple(cluster.racks))
        self._seen: dict[str, dict[tuple[str, int, int, int], SpeedObservation]] = {}
        self._tuples: dict[str, tuple[SpeedObservation, ...]] = {}
        self._noise: dict[str, float] = {}
        self._noise_seen: dict[str, dict[int, tuple[float, float]]] = {}
        self._noise_ahead: dict[str, tuple[tuple[float, float], ...]] = {}
        self._batch: dict[str, tuple[int, int]] = {}
        super().__init__(trace, cluster, applications, interference=interference, gpu_speeds=gpu_speeds)
        self.is_learning = True

    def segment(self, gang: SimulatedGang, others: Mapping[str, SimulatedGang]) -> Segment:
        """Returns the segment to the end of the epoch, or for a minute: then the agent looks again."""
        true, job = self._true[gang.job.id], self.snapshot_of(gang.job)
        n_workers, placement = gang.allocation.n_workers, placement_of(gang.allocation)
        if job.max_batch_size is None:
            per_pass, extra = fixed_batch(true.app, job.batch_size, n_workers)
        elif job.noise_scale is None:
            first = max(true.app.init_batch, true.app.min_local_batch * n_workers)
            per_pass, extra = fixed_batch(true.app, first, n_workers)
        else:
            size, passes = self._speeds.best_batch(job, gang.allocation)
            per_pass, extra = round(size / passes / n_workers), passes - 1
        per_pass = max(true.app.min_local_batch, min(per_pass, true.app.max_local_batch))
        per_pass = min(per_pass, true.app.max_batch // (n_workers * (extra + 1)))
        self._batch[job.id] = per_pass, extra
        speed = self.speed_of(true.app, gang.allocation)
        goodput = goodput_of(true.app, placement, (per_pass, extra), true.epoch, speed=speed)
        true.goodput = self._disturbed(goodput, gang, others)
        goal = float(true.app.progress_at_E[true.epoch + 1])
        left_s = (goal - true.progress) / true.goodput
        if left_s > PERIOD_S:
            return Segment(PERIOD_S, true.progress + PERIOD_S * true.goodput, true.goodput, is_last=False)
        seconds = float(round(left_s))
        is_last = true.epoch + 1 >= true.app.n_epochs
        return Segment(seconds, goal, true.goodput, is_last=is_last, is_late=left_s > seconds)

    def advance(self, job_id: str, segment: Segment, *, elapsed_s: float) -> None:
        true = self._true[job_id]
        goal = float(true.app.progress_at_E[true.epoch + 1])
        if elapsed_s >= segment.seconds and segment.steps >= goal:
            true.epoch, true.progress = true.epoch + 1, goal
        else:
            true.progress += elapsed_s * true.goodput

    def observe(self, gang: SimulatedGang, segment: Segment, *, now_s: float) -> SpeedObservation | None:  # noqa: ARG002
        """Records the speed by family; the snapshots carry it."""
        true, placement = self._true[gang.job.id], placement_of(gang.allocation)
        per_pass, extra = self._batch[gang.job.id]
        owner = gang.job.family if self._shares_families else gang.job.id
        seen = self._seen.setdefault(owner, {})
        gpu_type = self.gpu_type_of(gang.allocation)
        key = (gpu_type, len(placement), sum(placement), per_pass)
        if key not in seen:
            speed = self.speed_of(true.app, gang.allocation)
            step_s, sync_s = step_and_sync_s(true.app, placement, per_pass, speed=speed)
            shape = (Mode.ALL_REDUCE, sum(placement), 0, len(placement), 1, gpu_type, per_pass * sum(placement))
            seen[key] = SpeedObservation(*shape, step_s, step_s - sync_s, sync_s, n_steps=100, observed_at_s=now_s)
            self._tuples[owner] = tuple(seen.values())
        batch = sum(placement) * per_pass * (extra + 1)
        sqr, var = true.app.gradients(batch, min(true.epoch, true.app.n_epochs - 1))
        noise = var / max(sqr, 1e-12) * true.app.init_batch
        self._noise[gang.job.id] = noise
        if self._shares_families:
            self._keep_noise(owner, true.progress, noise, total=float(true.app.progress_at_E[-1]))
        return None

    def _keep_noise(self, family: str, steps: float, noise: float, *, total: float) -> None:
        """The first that was measured in each part of the way; parts are equal."""
        seen = self._noise_seen.setdefault(family, {})
        part = int(NOISE_POINTS * steps / total)
        if part not in seen:
            seen[part] = (steps, noise)
            self._noise_ahead[family] = tuple(seen[p] for p in sorted(seen))

    def snapshot_of(self, job: JobSnapshot) -> JobSnapshot:
        observations = self._tuples.get(job.family if self._shares_families else job.id, ())
        ahead = self._noise_ahead.get(job.family, ())
        noise = self._noise.get(job.id, ahead[0][1] if ahead else None)
        if observations is job.observations and noise == job.noise_scale and ahead is job.noise_ahead:
            return job
        return job.moved_on(observations=observations, noise_scale=noise, noise_ahead=ahead)

    def _snapshot(self, job: TraceJob, *, order: int) -> JobSnapshot:
        app = self._true[job.id].app
        fixed_s, example_s = preflight(app)
        is_fixed = job.model == "ncf"
        return JobSnapshot(
            id=job.id,
            tenant="default",
            submitted_at_s=job.submitted_at_s + 1e-6 * order,
            steps_total=round(float(app.progress_at_E[-1])),
            batch_size=NCF_BATCH if is_fixed else app.init_batch,
            max_batch_size=None if is_fixed else app.max_batch,
            min_local_batch=app.min_local_batch,
            max_local_batch=app.max_local_batch,
            name=job.id,
            family=job.model,
            mode=Mode.ALL_REDUCE,
            min_workers=1,
            max_workers=1 if is_fixed else min(MOST_WORKERS, app.max_batch // app.min_local_batch),
            requested_workers=1 if is_fixed else job.n_gpus,
            cpus_per_worker=0.0,
            step_overhead_s=fixed_s,
            example_s=example_s,
            parameters_bytes=PARAMETERS_BYTES[job.model],
            start_s=RESTART_S,
            checkpoint_s=0.0,
        )


def preflight(app: Application) -> tuple[float, float]:
    """Returns what the platform measures before a job first runs: a pass on one GPU at two sizes, as fixed and per
    example.
    """
    small, large = app.min_local_batch, max(app.min_local_batch + 1, app.max_local_batch // 2)
    small_s, large_s = (app.step_and_sync_s((1,), size)[0] for size in (small, large))
    each_s = max(1e-9, (large_s - small_s) / (large - small))
    return max(0.0, small_s - each_s * small), each_s
