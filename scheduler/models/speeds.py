"""The speed of every job of a round, at any size, computed once: what policies ask."""

from __future__ import annotations

from scheduler.models.layout import Layout, Terrain
from scheduler.models.progress import remaining_s
from scheduler.models.speed import SpeedModel
from scheduler.snapshot import Allocation, JobSnapshot, Mode

UNTRIED_GAIN = 0.9  # until two workers were measured, they are taken to need at most this part of one worker's time


class Speeds:
    """Memoised SpeedModels on one cluster."""

    def __init__(self, terrain: Terrain) -> None:
        self.terrain = terrain
        self._types = terrain.gpu_types()
        self._models: dict[str, SpeedModel] = {}
        self._step_s: dict[tuple[str, int, str], float] = {}

    def model(self, job: JobSnapshot) -> SpeedModel:
        if job.id not in self._models:
            self._models[job.id] = SpeedModel(job)
        return self._models[job.id]

    def step_s(self, job: JobSnapshot, n_workers: int, *, gpu_type: str = "") -> float:
        """On a typical layout of n workers, in the better mode. Two workers get the benefit of the doubt."""
        gpu_type = gpu_type or self.usual_type(job)
        key = (job.id, n_workers, gpu_type)
        if key not in self._step_s:
            step_s = self._typical_step_s(job, n_workers, gpu_type)
            if n_workers == 2 > job.min_workers and not self.model(job).is_measured_on_several:
                step_s = min(step_s, UNTRIED_GAIN * self.step_s(job, 1, gpu_type=gpu_type))
            self._step_s[key] = step_s
        return self._step_s[key]

    def remaining_s(self, job: JobSnapshot, n_workers: int, *, gpu_type: str = "") -> float:
        return remaining_s(job, step_s=self.step_s(job, n_workers, gpu_type=gpu_type))

    def step_s_on(self, job: JobSnapshot, allocation: Allocation) -> float:
        """On this very allocation."""
        return self.model(job).step_s(self.terrain.layout_of(allocation), allocation.mode)

    def error_on(self, job: JobSnapshot, allocation: Allocation) -> float:
        return self.model(job).error(self.terrain.layout_of(allocation), allocation.mode)

    def best_mode(self, job: JobSnapshot, layout: Layout) -> tuple[Mode, int]:
        return self.model(job).best_mode(layout, pinned=job.mode)

    def usual_type(self, job: JobSnapshot) -> str:
        """The GPU type that a job's speed is quoted for where none is said: the first that it may use."""
        return next((t for t in self._types if not job.gpu_types or t in job.gpu_types), "")

    def _typical_step_s(self, job: JobSnapshot, n_workers: int, gpu_type: str) -> float:
        layout = self.terrain.typical(gpu_type, n_workers)
        model = self.model(job)
        mode, n_servers = model.best_mode(layout, pinned=job.mode)
        return model.step_s(layout.with_servers(n_servers) if n_servers else layout, mode)
