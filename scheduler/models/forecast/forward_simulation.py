# SPDX-License-Identifier: Apache-2.0
"""Simulates a plan forward: when each job starts and ends, if no other job arrived. Counts GPUs only."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from scheduler.api.snapshot import JobSnapshot
from scheduler.models.cost import restart_cost_s, start_cost_s
from scheduler.models.progress import steps_left
from scheduler.models.speed.job_speeds import JobSpeeds

MAX_REGROWING = 200  # above so many jobs, running ones keep their size in the forecast: it would cost too much


@dataclass(frozen=True)
class JobProgress:
    """Holds when a job starts and ends, in seconds from now."""

    start_s: float
    finish_s: float


@dataclass
class _Active:
    job: JobSnapshot
    n_workers: int
    steps: float  # left at time at_s
    at_s: float
    version: int = 0


class ForwardSimulation:
    """Simulates the jobs forward on numbers of GPUs.

    sizes: those that a job may have, ascending (one: it is not elastic).

    strict_order: a waiting job that does not fit holds up those behind it.
    """

    def __init__(
        self,
        speeds: JobSpeeds,
        *,
        sizes: Callable[[JobSnapshot], Sequence[int]],
        regrow: bool = True,
        strict_order: bool = False,
    ) -> None:
        self._speeds = speeds
        self._sizes = sizes
        self._regrow = regrow
        self._strict_order = strict_order

    def run(
        self, running: Iterable[tuple[JobSnapshot, int, float]], queue: Sequence[JobSnapshot], *, free: int
    ) -> dict[str, JobProgress]:
        """Returns start and finish of every job that gets to run.

        running: job, workers, and seconds until it trains (a restart, or making room). queue: waiting jobs, next first.
        A job of the queue that finds no room at any time is absent from the answer.

        1. at each end, the freed GPUs go to the queue in order, each job as large as helps and fits;
        2. what is left when the queue is empty makes the longest running job larger, if that repays a restart.
        """
        state = _State(self._speeds, self._sizes, queue, free, self._strict_order)
        for job, n_workers, delay_s in running:
            state.launch(job, n_workers, from_s=delay_s, now_s=0.0)
        now_s: float | None = 0.0
        while now_s is not None:
            state.fill(now_s)  # 1
            if self._regrow and state.free > 0 and not state.line and len(state.active) <= MAX_REGROWING:
                state.grow(now_s)  # 2
            now_s = state.next_end()
        return state.done


class _State:
    """The state of one forecast: training jobs, waiting jobs, and when the next ones end."""

    def __init__(
        self,
        speeds: JobSpeeds,
        sizes: Callable[[JobSnapshot], Sequence[int]],
        queue: Sequence[JobSnapshot],
        free: int,
        strict_order: bool,
    ) -> None:
        self._speeds, self._sizes = speeds, sizes
        self.free = free
        self.active: dict[str, _Active] = {}
        self.ends: list[tuple[float, str, int]] = []
        self.done: dict[str, JobProgress] = {}
        self.line = _Line(queue, sizes, strict_order=strict_order)
        self._starts: dict[str, float] = {}

    def launch(self, job: JobSnapshot, n_workers: int, *, from_s: float, now_s: float) -> None:
        self.active[job.id] = _Active(job, n_workers, steps_left(job), from_s)
        self._starts[job.id] = now_s
        heapq.heappush(self.ends, (from_s + self._train_s(job, n_workers, steps_left(job)), job.id, 0))

    def fill(self, now_s: float) -> None:
        """The queue in order, each as large as helps and fits; a job that does not fit is skipped, or holds up all."""
        while (job := self.line.next_that_fits(self.free)) is not None:
            n_workers = min(
                (n for n in self._sizes(job) if n <= self.free), key=lambda n: (self._speeds.step_s(job, n), n)
            )
            self.launch(job, n_workers, from_s=now_s + start_cost_s(job), now_s=now_s)
            self.free -= n_workers

    def grow(self, now_s: float) -> None:
        for one in sorted(self.active.values(), key=lambda a: (-self._train_s(a.job, a.n_workers, a.steps), a.job.id)):
            larger = [n for n in self._sizes(one.job) if one.n_workers < n <= one.n_workers + self.free]
            if not larger or now_s < one.at_s:
                continue
            steps = max(0.0, one.steps - (now_s - one.at_s) / self._speeds.step_s(one.job, one.n_workers))
            cost_s = restart_cost_s(one.job)
            best = min(larger, key=lambda n: (self._train_s(one.job, n, steps), n))
            if self._train_s(one.job, best, steps) + cost_s >= self._train_s(one.job, one.n_workers, steps):
                continue
            self.free -= best - one.n_workers
            one.n_workers, one.steps, one.at_s, one.version = best, steps, now_s + cost_s, one.version + 1
            heapq.heappush(self.ends, (one.at_s + self._train_s(one.job, best, steps), one.job.id, one.version))

    def next_end(self) -> float | None:
        """When the next jobs end, all at one instant; their GPUs are free then. None if no job trains any more."""
        end_s: float | None = None
        while self.ends and end_s in (None, self.ends[0][0]):
            at_s, job_id, version = heapq.heappop(self.ends)
            ended = self.active.get(job_id)
            if ended is None or ended.version != version:  # it grew since
                continue
            end_s = at_s
            del self.active[job_id]
            self.done[job_id] = JobProgress(self._starts[job_id], at_s)
            self.free += ended.n_workers
        return end_s

    def _train_s(self, job: JobSnapshot, n_workers: int, steps: float) -> float:
        return steps * self._speeds.step_s(job, n_workers)


class _Line:
    """The waiting jobs in order, by least size, so that the next one that fits is found quickly."""

    def __init__(
        self, queue: Sequence[JobSnapshot], sizes: Callable[[JobSnapshot], Sequence[int]], *, strict_order: bool
    ) -> None:
        self._strict_order = strict_order
        self._by_least: dict[int, deque[tuple[int, JobSnapshot]]] = {}
        for place, job in enumerate(queue):
            self._by_least.setdefault(sizes(job)[0], deque()).append((place, job))

    def __bool__(self) -> bool:
        return bool(self._by_least)

    def next_that_fits(self, free: int) -> JobSnapshot | None:
        """Taken out of the line."""
        fitting = [n for n in self._by_least if n <= free or self._strict_order]
        least = min(fitting, key=lambda n: self._by_least[n][0][0], default=None)
        if least is None or not 0 < free >= least:
            return None
        _, job = self._by_least[least].popleft()
        if not self._by_least[least]:
            del self._by_least[least]
        return job
