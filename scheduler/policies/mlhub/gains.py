# SPDX-License-Identifier: Apache-2.0
"""What others gain when a job gives GPUs back: two plans, simulated forward and compared. For explanations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

from scheduler.api.snapshot import JobSnapshot
from scheduler.models.cost import restart_cost_s, start_cost_s
from scheduler.models.forecast.forward_simulation import ForwardSimulation, JobProgress
from scheduler.policies.toolkit.policy import View, n_held

MOST_JOBS = 60  # above so many jobs the forward simulation costs more than the explanation is worth


class ResizeGains:
    """Says what a plan gains over leaving all jobs as they are.

    Both plans of a round are simulated forward once, when they are first needed. plan: workers by job. types: GPU types
    by job, before and after.
    """

    def __init__(
        self,
        plan: Mapping[str, int],
        *,
        view: View,
        sizes: Mapping[str, Sequence[int]],
        capacity: int,
        types: Callable[[], tuple[Mapping[str, str], Mapping[str, str]]],
    ) -> None:
        self._plan, self._view, self._sizes, self._capacity, self._types = plan, view, sizes, capacity, types

    def of_others(self, leaver: JobSnapshot) -> float | None:
        """Returns the seconds by which all other jobs end earlier in sum under the plan.

        It is None if there are too many jobs, or some would never run.
        """
        if len(self._view.jobs) > MOST_JOBS:
            return None
        before, after = self._both
        if set(before) != set(after):
            return None
        return sum(before[j].finish_s - after[j].finish_s for j in before if j != leaver.id)

    @cached_property
    def _both(self) -> tuple[dict[str, JobProgress], dict[str, JobProgress]]:
        before, after = self._types()
        unchanged = {job.id: n_held(job) for job in self._view.jobs}
        return self._simulated(unchanged, before), self._simulated(self._plan, after)

    def _simulated(self, plan: Mapping[str, int], types: Mapping[str, str]) -> dict[str, JobProgress]:
        jobs = self._view.jobs
        room_s = max((job.checkpoint_s for job in jobs if plan[job.id] < n_held(job)), default=0.0)
        running = []
        for job in jobs:
            n, had = plan[job.id], n_held(job)
            if n:
                delay_s = 0.0 if n == had else restart_cost_s(job) if had else room_s + start_cost_s(job)
                running.append((job, n, delay_s))
        queue = sorted(
            (job for job in jobs if not plan[job.id]),
            key=lambda job: (self._least_gpu_s(job, types[job.id]), job.id),
        )
        forecast = ForwardSimulation(
            self._view.speeds, sizes=lambda job: self._sizes[job.id], gpu_type=lambda job: types[job.id]
        )
        return forecast.run(running, queue, free=self._capacity - sum(plan.values()))

    def _least_gpu_s(self, job: JobSnapshot, gpu_type: str) -> float:
        return self._view.speeds.remaining_s(job, job.min_workers, gpu_type=gpu_type) * job.min_workers
