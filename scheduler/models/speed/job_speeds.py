"""The speed of every job of a round, at any size and spread, worked out once: what policies ask."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import cast

import numpy as np

from scheduler.api.arrays import Floats
from scheduler.api.snapshot import GangAllocation, JobSnapshot, Mode
from scheduler.models.cost import restart_cost_s
from scheduler.models.goodput import BatchSchedule, batches_of, course_of, gain_B
from scheduler.models.layout import ClusterTopology, Layout
from scheduler.models.progress import remaining_s, steps_left
from scheduler.models.speed.candidate_layouts import Gang
from scheduler.models.speed.job_classes import UNTRIED_GAIN, JobClass, StepTimes, price
from scheduler.models.speed.model import SpeedModel, speed_model

MOST_WAITING = 20_000  # jobs whose time is remembered
MOST_RUNNING = 20_000  # likewise


class JobSpeeds:
    """Step times of jobs on one cluster. A step is always one at the job's declared batch size.

    Where the batch may change, it is that of the batch with the highest goodput, divided by what that batch is worth;
    and where it is known how that will change, the mean over the rest of the job.
    """

    def __init__(self, terrain: ClusterTopology) -> None:
        self.terrain = terrain
        self._types = terrain.gpu_types()
        self._kinds: dict[tuple[str, str], JobClass] = {}
        self._models: dict[str, tuple[object, SpeedModel]] = {}
        self._steps_s: dict[tuple[str, int, str, int], float] = {}

    def model(self, job: JobSnapshot) -> SpeedModel:
        found = self._models.get(job.id)
        if found is None or found[0] is not job.observations:
            found = job.observations, speed_model(job, nic_bps=self.terrain.nic_bps)
            self._models[job.id] = found
        return found[1]

    def prepare(
        self, jobs: Iterable[JobSnapshot], sizes: Mapping[str, Iterable[int]], *, types: Mapping[str, str] | None = None
    ) -> None:
        """Work out at once what is going to be asked of these jobs, each at its sizes; what is alike, together.

        types: of GPUs, by job; those that speeds are quoted for if not said.
        """
        asked: dict[tuple[object, ...], set[int]] = {}
        kinds: dict[JobClass, set[int]] = {}
        for job in jobs:
            batch = (job.mode, job.batch_size, job.max_batch_size, job.min_local_batch, job.max_local_batch)
            gpu_type = types[job.id] if types is not None else self.usual_type(job)
            alike = asked.setdefault((self.model(job), gpu_type, *batch), set())
            alike.update(sizes[job.id])
            kinds[self._kind(job, gpu_type)] = alike
        for kind, all_sizes in kinds.items():
            kind.prepare(all_sizes)

    def curve(self, job: JobSnapshot, sizes: tuple[int, ...]) -> tuple[float, ...]:
        """As step_s, at each of these sizes, at its best spread."""
        return self._kind(job, "").curve(sizes)

    def best_curve(self, job: JobSnapshot, sizes: tuple[int, ...]) -> tuple[float, ...]:
        """As best_step_s, at each of these sizes."""
        return self._kind(job, "").best_curve(sizes)

    def best_spread(self, job: JobSnapshot, n_workers: int, *, gpu_type: str = "") -> int:
        """Over how many nodes n workers are best spread; packed (0), unless another spread gains clearly."""
        return self._kind(job, gpu_type).best(n_workers)[1]

    def best_step_s(self, job: JobSnapshot, n_workers: int, *, gpu_type: str = "") -> float:
        """On n workers at their best spread, cautiously."""
        return self._kind(job, gpu_type).best(n_workers)[0]

    def cautious_step_s(self, job: JobSnapshot, n_workers: int, *, gpu_type: str = "", n_nodes: int = 0) -> float:
        """As step_s, but a shape that was not measured counts as slower by its error: finding out costs a restart."""
        return self._kind(job, gpu_type).usual(n_workers, n_nodes).cautious_s

    def step_s(self, job: JobSnapshot, n_workers: int, *, gpu_type: str = "", n_nodes: int = 0) -> float:
        """On n workers in the better mode; packed, or spread evenly over n_nodes.

        Two workers get the benefit of the doubt, where the job may have one.
        """
        key = (job.id, n_workers, gpu_type, n_nodes)
        found = self._steps_s.get(key)
        if found is None:
            found = self._steps_s[key] = self._kind(job, gpu_type).usual(n_workers, n_nodes).step_s
        return found

    def plain_step_s(self, job: JobSnapshot, n_workers: int, *, gpu_type: str, n_nodes: int = 0) -> float:
        """As step_s, without any benefit of the doubt."""
        return self._kind(job, gpu_type).usual(n_workers, n_nodes).plain_s

    def remaining_s(self, job: JobSnapshot, n_workers: int, *, gpu_type: str = "") -> float:
        """At that size, packed."""
        return remaining_s(job, step_s=self.step_s(job, n_workers, gpu_type=gpu_type))

    def waiting_s(self, job: JobSnapshot) -> float:
        """Of a waiting job, from its start to its end at its fixed size, packed, with the cost of a restart.

        Remembered with the terrain as long as the snapshot is the same object: in a simulation a long queue is seen
        again in every round.
        """
        found = self.terrain.waiting_s.get(id(job))
        if found is None or found[0] is not job:
            if len(self.terrain.waiting_s) >= MOST_WAITING:
                self.terrain.waiting_s.clear()
            found = job, self.remaining_s(job, job.fixed_workers) + restart_cost_s(job)
            self.terrain.waiting_s[id(job)] = found
        return found[1]

    def step_s_on(self, job: JobSnapshot, allocation: GangAllocation) -> float:
        """On this very allocation.

        Remembered with the terrain as long as allocation and observations are the same objects, of jobs whose batch is
        fixed: in a simulation, who runs is seen again in every round.
        """
        if job.max_batch_size is not None:
            return self._worth(job, self.terrain.layout_of(allocation), allocation.mode)
        known = self.terrain.on_place.get(job.id)
        if known is None or known[0] is not allocation or known[1] is not job.observations:
            if len(self.terrain.on_place) >= MOST_RUNNING:
                self.terrain.on_place.clear()
            step_s = self._worth(job, self.terrain.layout_of(allocation), allocation.mode)
            known = self.terrain.on_place[job.id] = (allocation, job.observations, step_s)
        return known[2]

    def step_and_pass_s(self, job: JobSnapshot, allocation: GangAllocation) -> tuple[float, float]:
        """Seconds of an optimiser step on this very allocation, at its batch, and of the computation of one pass."""
        layout, mode, model = self.terrain.layout_of(allocation), allocation.mode, self.model(job)
        key = ("pass", layout, mode, job.batch_size, job.max_local_batch, job.max_batch_size, job.noise_scale)
        if key not in model.memo:
            if job.max_batch_size is not None and job.noise_scale is not None:
                batch, passes = self.best_batch(job, allocation)
            else:
                batches = batches_of(job, layout.n_workers)
                batch, passes = round(float(batches.size_B[0])), round(float(batches.passes_B[0]))
            step_s = model.step_s(layout, mode, batch_size=batch, passes=passes)
            model.memo[key] = (step_s, model.pass_s(batch / layout.n_workers / passes, layout, mode))
        return cast("tuple[float, float]", model.memo[key])

    def present_step_s(self, job: JobSnapshot) -> float:
        """On what the job holds, with the benefit of the doubt as in step_s. Raises ValueError if that is nothing."""
        if job.allocation is None:
            raise ValueError(f"job {job.id!r} holds nothing")
        layout = self.terrain.layout_of(job.allocation)
        found = self._worth(job, layout, job.allocation.mode)
        return self._doubted(job, found, layout.n_workers, layout.gpu_type)

    def _doubted(self, job: JobSnapshot, step_s: float, n_workers: int, gpu_type: str) -> float:
        if n_workers == 2 > job.min_workers and not self.model(job).is_measured_on_several:
            return min(step_s, UNTRIED_GAIN * self.step_s(job, 1, gpu_type=gpu_type))
        return step_s

    def error_on(self, job: JobSnapshot, allocation: GangAllocation) -> float:
        return self.model(job).error(self.terrain.layout_of(allocation), allocation.mode)

    def best_mode(self, job: JobSnapshot, layout: Layout) -> tuple[Mode, int]:
        """Mode and number of servers on such a layout; remembered with the model."""
        model = self.model(job)
        adapts = job.max_batch_size is not None and job.noise_scale is not None
        key = ("mode", layout, job.mode, job.batch_size, job.max_batch_size, job.min_local_batch, job.max_local_batch)
        if (*key, adapts) not in model.memo:
            batches = batches_of(job, layout.n_workers)
            batch, passes = int(batches.size_B[0]), int(batches.passes_B[0])
            found = model.best_mode(layout, pinned=job.mode, batch_size=batch, passes=passes)
            model.memo[*key, adapts] = found
        mode, n_servers = cast("tuple[Mode, int]", model.memo[*key, adapts])
        if mode is Mode.PARAMETER_SERVER and job.requested_servers:
            n_servers = job.requested_servers
        return mode, n_servers

    def usual_type(self, job: JobSnapshot) -> str:
        """The GPU type that a job's speed is quoted for where none is said: the first that it may use."""
        return next((t for t in self._types if not job.gpu_types or t in job.gpu_types), "")

    def best_batch(self, job: JobSnapshot, allocation: GangAllocation) -> tuple[int, int]:
        """Global batch size and passes a step with the highest goodput on this allocation."""
        goodput_B, size_B, passes_B = self._goodputs(job, self.terrain.layout_of(allocation), allocation.mode)
        best = int(np.argmax(goodput_B))
        return round(float(size_B[best])), round(float(passes_B[best]))

    def _kind(self, job: JobSnapshot, gpu_type: str) -> JobClass:
        """Shared by all jobs that are priced alike, over rounds; a job with its own noise scale has its own."""
        found = self._kinds.get((job.id, gpu_type))
        if found is None:
            own_type = gpu_type or self.usual_type(job)
            found = self._kinds.get((job.id, own_type)) or self._new_kind(job, own_type)
            self._kinds[job.id, gpu_type] = self._kinds[job.id, own_type] = found
        return found

    def _new_kind(self, job: JobSnapshot, gpu_type: str) -> JobClass:
        model, terrain = self.model(job), self.terrain
        is_doubted = job.min_workers < 2 and not model.is_measured_on_several

        def priced(gangs: tuple[Gang, ...]) -> StepTimes:
            return price(job, model, terrain, gpu_type, gangs)

        def spreads(n_workers: int) -> tuple[int, ...]:
            return terrain.spreads(gpu_type, n_workers)

        if job.max_batch_size is not None and job.noise_scale is not None:
            return JobClass(priced, lambda gangs: self._worth_G(job, gangs), spreads, is_doubted=is_doubted)
        batch = (job.batch_size, job.max_batch_size, job.min_local_batch, job.max_local_batch)
        key = ("kind", terrain.serial, gpu_type, job.mode, *batch, is_doubted)
        if key not in model.memo:
            model.memo[key] = JobClass(priced, lambda gangs: gangs.step_GB[:, 0], spreads, is_doubted=is_doubted)
        return cast("JobClass", model.memo[key])

    def _worth_G(self, job: JobSnapshot, gangs: StepTimes) -> Floats:  # noqa: N802 (arrays wear their axes)
        """As _worth, of a job whose batch may change."""
        if job.noise_ahead:
            memo, key = self.model(job).memo, ("courses", id(gangs), job.batch_size, job.noise_ahead)
            if key not in memo:
                each = zip(gangs.size_GB, gangs.step_GB, strict=True)
                memo[key] = gangs, [_course(job, size_B, step_s_B) for size_B, step_s_B in each]  # it keeps its id
            _, courses = cast("tuple[StepTimes, list[BatchSchedule]]", memo[key])
            until = job.steps_done + steps_left(job)
            return np.array([course.mean_step_s(job.steps_done, until) for course in courses])
        gains_GB = gain_B(gangs.size_GB, batch_size=job.batch_size, noise_scale=job.noise_scale or 0.0)
        return np.asarray(1.0 / (gains_GB / gangs.step_GB).max(axis=1), dtype=np.float64)

    def _worth(self, job: JobSnapshot, layout: Layout, mode: Mode) -> float:
        if job.max_batch_size is not None and job.noise_scale is not None:
            if job.noise_ahead:
                return self._mean_ahead_s(job, layout, mode)
            goodput_B, _, _ = self._goodputs(job, layout, mode)
            return 1.0 / float(goodput_B.max())
        memo = self.model(job).memo
        key = (layout, mode, job.batch_size, job.max_local_batch, job.max_batch_size)
        if key not in memo:
            batches = batches_of(job, layout.n_workers)
            batch, passes = round(float(batches.size_B[0])), round(float(batches.passes_B[0]))
            memo[key] = self.model(job).step_s(layout, mode, batch_size=batch, passes=passes)
        return cast("float", memo[key])

    def _mean_ahead_s(self, job: JobSnapshot, layout: Layout, mode: Mode) -> float:
        """Over the rest of the job, as its noise scale is expected to go on."""
        memo = self.model(job).memo
        batch = (job.batch_size, job.max_batch_size, job.min_local_batch, job.max_local_batch)
        key = ("course", layout, mode, *batch, job.noise_ahead)
        if key not in memo:
            step_s_B, size_B, _ = self._batches(job, layout, mode)
            memo[key] = _course(job, size_B, step_s_B)
        return cast("BatchSchedule", memo[key]).mean_step_s(job.steps_done, job.steps_done + steps_left(job))

    def _goodputs(self, job: JobSnapshot, layout: Layout, mode: Mode) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Declared steps a second by batch, shape (B,); the batch sizes and their passes."""
        step_s_B, size_B, passes_B = self._batches(job, layout, mode)
        gains_B = gain_B(size_B, batch_size=job.batch_size, noise_scale=job.noise_scale or 0.0)
        return gains_B / step_s_B, size_B, passes_B

    def _batches(self, job: JobSnapshot, layout: Layout, mode: Mode) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Step times by batch, shape (B,); the batch sizes and their passes."""
        model = self.model(job)
        key = (layout, mode, job.batch_size, job.max_batch_size, job.min_local_batch, job.max_local_batch)
        if key not in model.memo:
            batches = batches_of(job, layout.n_workers)
            step_s_B = model.step_s_B(layout, mode, batch_B=batches.size_B, passes_B=batches.passes_B)
            model.memo[key] = (step_s_B, batches.size_B, batches.passes_B)
        return cast("tuple[np.ndarray, np.ndarray, np.ndarray]", model.memo[key])


def _course(job: JobSnapshot, size_B: Floats, step_s_B: Floats) -> BatchSchedule:
    return course_of(job.noise_ahead, size_B=size_B, step_s_B=step_s_B, batch_size=job.batch_size)
