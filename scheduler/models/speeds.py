"""The speed of every job of a round, at any size and spread, worked out once: what policies ask."""

from __future__ import annotations

from typing import cast

import numpy as np

from scheduler.models.goodput import batches_of, gain_B
from scheduler.models.layout import Layout, Terrain
from scheduler.models.progress import remaining_s
from scheduler.models.speed import MEASURED_ERROR, PRIOR_ERROR, SpeedModel, speed_model
from scheduler.snapshot import Allocation, JobSnapshot, Mode

SPREAD_MUST_GAIN = 0.03  # a gang is spread over more nodes than it needs if that is faster by this share
UNTRIED_GAIN = 0.9  # until two workers were measured, they are taken to need at most this part of one worker's time


class Speeds:
    """Step times of jobs on one cluster. A step is always one at the job's declared batch size.

    Where the batch may change, it is that of the batch with the highest goodput, divided by what that batch is worth.
    """

    def __init__(self, terrain: Terrain) -> None:
        self.terrain = terrain
        self._types = terrain.gpu_types()
        self._step_s: dict[tuple[str, int, str, int], float] = {}

    def model(self, job: JobSnapshot) -> SpeedModel:
        return speed_model(job, nic_bps=self.terrain.nic_bps)

    def best_spread(self, job: JobSnapshot, n_workers: int, *, gpu_type: str = "") -> int:
        """Over how many nodes n workers are best spread; packed (0), unless another spread gains clearly."""
        gpu_type = gpu_type or self.usual_type(job)
        best_s = self.cautious_step_s(job, n_workers, gpu_type=gpu_type) * (1 - SPREAD_MUST_GAIN)
        best = 0
        for n_nodes in self.terrain.spreads(gpu_type, n_workers):
            step_s = self.cautious_step_s(job, n_workers, gpu_type=gpu_type, n_nodes=n_nodes)
            if step_s < best_s:
                best_s, best = step_s, n_nodes
        return best

    def best_step_s(self, job: JobSnapshot, n_workers: int, *, gpu_type: str = "") -> float:
        """On n workers at their best spread, cautiously."""
        n_nodes = self.best_spread(job, n_workers, gpu_type=gpu_type)
        return self.cautious_step_s(job, n_workers, gpu_type=gpu_type, n_nodes=n_nodes)

    def cautious_step_s(self, job: JobSnapshot, n_workers: int, *, gpu_type: str = "", n_nodes: int = 0) -> float:
        """As step_s, but a shape that was not measured counts as slower by its error: finding out costs a restart."""
        gpu_type = gpu_type or self.usual_type(job)
        step_s = self.step_s(job, n_workers, gpu_type=gpu_type, n_nodes=n_nodes)
        layout, mode = self._typical(job, n_workers, gpu_type, n_nodes)
        error = self.model(job).error(layout, mode)
        return step_s * (1 + error) if MEASURED_ERROR < error < PRIOR_ERROR else step_s

    def step_s(self, job: JobSnapshot, n_workers: int, *, gpu_type: str = "", n_nodes: int = 0) -> float:
        """On n workers in the better mode; packed, or spread evenly over n_nodes.

        Two workers get the benefit of the doubt, where the job may have one.
        """
        gpu_type = gpu_type or self.usual_type(job)
        key = (job.id, n_workers, gpu_type, n_nodes)
        found = self._step_s.get(key)
        if found is None:
            found = self.plain_step_s(job, n_workers, gpu_type=gpu_type, n_nodes=n_nodes)
            self._step_s[key] = found = self._doubted(job, found, n_workers, gpu_type)
        return found

    def plain_step_s(self, job: JobSnapshot, n_workers: int, *, gpu_type: str, n_nodes: int = 0) -> float:
        """As step_s, without any benefit of the doubt."""
        return self._worth(job, *self._typical(job, n_workers, gpu_type, n_nodes))

    def remaining_s(self, job: JobSnapshot, n_workers: int, *, gpu_type: str = "") -> float:
        """At that size, packed."""
        return remaining_s(job, step_s=self.step_s(job, n_workers, gpu_type=gpu_type))

    def step_s_on(self, job: JobSnapshot, allocation: Allocation) -> float:
        """On this very allocation."""
        return self._worth(job, self.terrain.layout_of(allocation), allocation.mode)

    def step_and_pass_s(self, job: JobSnapshot, allocation: Allocation) -> tuple[float, float]:
        """Seconds of an optimiser step on this very allocation, at its batch, and of the computation of one pass."""
        layout, mode, model = self.terrain.layout_of(allocation), allocation.mode, self.model(job)
        key = ("pass", layout, mode, job.batch_size, job.max_local_batch, job.max_batch_size, job.noise_scale)
        if key not in model.memo:
            if job.max_batch_size is not None and job.noise_scale is not None:
                batch, passes = self.best_batch(job, allocation)
            else:
                batches = batches_of(job, layout.n_workers)
                batch, passes = round(float(batches.size_B[0])), round(float(batches.passes_B[0]))
            examples = np.array([batch / layout.n_workers / passes])
            step_s = model.step_s(layout, mode, batch_size=batch, passes=passes)
            model.memo[key] = (step_s, float(model.compute_s(examples, layout, mode)[0]))
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

    def error_on(self, job: JobSnapshot, allocation: Allocation) -> float:
        return self.model(job).error(self.terrain.layout_of(allocation), allocation.mode)

    def best_mode(self, job: JobSnapshot, layout: Layout) -> tuple[Mode, int]:
        batches = batches_of(job, layout.n_workers)
        batch, passes = int(batches.size_B[0]), int(batches.passes_B[0])
        return self.model(job).best_mode(layout, pinned=job.mode, batch_size=batch, passes=passes)

    def usual_type(self, job: JobSnapshot) -> str:
        """The GPU type that a job's speed is quoted for where none is said: the first that it may use."""
        return next((t for t in self._types if not job.gpu_types or t in job.gpu_types), "")

    def best_batch(self, job: JobSnapshot, allocation: Allocation) -> tuple[int, int]:
        """Global batch size and passes a step with the highest goodput on this allocation."""
        goodput_B, size_B, passes_B = self._goodputs(job, self.terrain.layout_of(allocation), allocation.mode)
        best = int(np.argmax(goodput_B))
        return round(float(size_B[best])), round(float(passes_B[best]))

    def _typical(self, job: JobSnapshot, n_workers: int, gpu_type: str, n_nodes: int) -> tuple[Layout, Mode]:
        """Layout with servers, and mode; remembered with the model, over jobs and rounds."""
        memo = self.model(job).memo
        key = (self.terrain.serial, n_workers, gpu_type, n_nodes, job.mode, job.batch_size, job.max_batch_size)
        if key not in memo:
            layout = self.terrain.typical(gpu_type, n_workers, n_nodes=n_nodes)
            mode, n_servers = self.best_mode(job, layout)
            memo[key] = (layout.with_servers(n_servers) if n_servers else layout, mode)
        return cast("tuple[Layout, Mode]", memo[key])

    def _worth(self, job: JobSnapshot, layout: Layout, mode: Mode) -> float:
        if job.max_batch_size is not None and job.noise_scale is not None:
            goodput_B, _, _ = self._goodputs(job, layout, mode)
            return 1.0 / float(goodput_B.max())
        memo = self.model(job).memo
        key = (layout, mode, job.batch_size, job.max_local_batch, job.max_batch_size)
        if key not in memo:
            batches = batches_of(job, layout.n_workers)
            batch, passes = round(float(batches.size_B[0])), round(float(batches.passes_B[0]))
            memo[key] = self.model(job).step_s(layout, mode, batch_size=batch, passes=passes)
        return cast("float", memo[key])

    def _goodputs(self, job: JobSnapshot, layout: Layout, mode: Mode) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Declared steps a second by batch, shape (B,); the batch sizes and their passes."""
        model = self.model(job)
        key = (layout, mode, job.batch_size, job.max_batch_size, job.min_local_batch, job.max_local_batch)
        if key not in model.memo:
            batches = batches_of(job, layout.n_workers)
            step_s_B = model.step_s_B(layout, mode, batch_B=batches.size_B, passes_B=batches.passes_B)
            model.memo[key] = (step_s_B, batches.size_B, batches.passes_B)
        step_s_B, size_B, passes_B = cast("tuple[np.ndarray, np.ndarray, np.ndarray]", model.memo[key])
        gains_B = gain_B(size_B, batch_size=job.batch_size, noise_scale=job.noise_scale or 0.0)
        return gains_B / step_s_B, size_B, passes_B
