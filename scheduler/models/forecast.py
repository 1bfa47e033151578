"""Plays a plan forward: who ends when, and who of the waiting starts when, if nobody else came. Counts GPUs only."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from scheduler.models.cost import restart_cost_s, start_cost_s
from scheduler.models.progress import steps_left
from scheduler.models.speeds import Speeds
from scheduler.snapshot import JobSnapshot

MAX_REGROWING = 200  # above so many jobs, running ones keep their size in the forecast: it would cost too much


@dataclass(frozen=True)
class Course:
    """When a job starts and ends, in seconds from now."""

    start_s: float
    finish_s: float


@dataclass
class _Active:
    job: JobSnapshot
    n_workers: int
    steps: float  # left at time at_s
    at_s: float
    version: int = 0


class Forecast:
    """An event simulation on counts. sizes: the sizes a job may have, ascending (one only: it is not elastic)."""

    def __init__(self, speeds: Speeds, *, sizes: Callable[[JobSnapshot], Sequence[int]], regrow: bool = True) -> None:
        self._speeds = speeds
        self._sizes = sizes
        self._regrow = regrow

    def courses(
        self, running: Iterable[tuple[JobSnapshot, int, float]], queue: Sequence[JobSnapshot], *, free: int
    ) -> dict[str, Course]:
        """Start and finish of every job that gets to run.

        running: job, workers, and seconds until it trains (a restart, or making room). queue: waiting jobs, next first.
        A job of the queue that finds no room at any time is absent from the answer.

        1. at each end, the freed GPUs go to the queue in order, each job as large as helps and fits;
        2. what is left when the queue is empty makes the longest running job larger, if that repays a restart.
        """
        active: dict[str, _Active] = {}
        starts: dict[str, float] = {}
        ends: list[tuple[float, str, int]] = []
        done: dict[str, Course] = {}
        waiting = list(queue)

        def launch(job: JobSnapshot, n_workers: int, *, from_s: float, now_s: float) -> None:
            active[job.id] = _Active(job, n_workers, steps_left(job), from_s)
            starts[job.id] = now_s
            heapq.heappush(ends, (from_s + self._train_s(job, n_workers, steps_left(job)), job.id, 0))

        def fill(now_s: float) -> None:
            nonlocal free, waiting
            still = []
            for i, job in enumerate(waiting):
                if free <= 0:
                    still += waiting[i:]
                    break
                n_workers = self._size_for(job, free)
                if n_workers:
                    launch(job, n_workers, from_s=now_s + start_cost_s(job), now_s=now_s)
                    free -= n_workers
                else:
                    still.append(job)
            waiting = still
            if self._regrow and free > 0 and not waiting and len(active) <= MAX_REGROWING:
                grow(now_s)

        def grow(now_s: float) -> None:
            nonlocal free
            for one in sorted(active.values(), key=lambda a: (-a.steps * self._step_s(a.job, a.n_workers), a.job.id)):
                larger = [n for n in self._sizes(one.job) if one.n_workers < n <= one.n_workers + free]
                if not larger or now_s < one.at_s:
                    continue
                steps = max(0.0, one.steps - (now_s - one.at_s) / self._step_s(one.job, one.n_workers))
                cost_s = restart_cost_s(one.job)
                best = min(larger, key=lambda n: (self._train_s(one.job, n, steps), n))
                if self._train_s(one.job, best, steps) + cost_s >= self._train_s(one.job, one.n_workers, steps):
                    continue
                free -= best - one.n_workers
                one.n_workers, one.steps, one.at_s, one.version = best, steps, now_s + cost_s, one.version + 1
                heapq.heappush(ends, (one.at_s + self._train_s(one.job, best, steps), one.job.id, one.version))

        for job, n_workers, delay_s in running:
            launch(job, n_workers, from_s=delay_s, now_s=0.0)
        fill(0.0)
        while ends:
            end_s, job_id, version = heapq.heappop(ends)
            ended = active.get(job_id)
            if ended is None or ended.version != version:
                continue
            del active[job_id]
            done[job_id] = Course(starts[job_id], end_s)
            free += ended.n_workers
            if not ends or ends[0][0] > end_s:
                fill(end_s)
        return done

    def _size_for(self, job: JobSnapshot, free: int) -> int:
        sizes = [n for n in self._sizes(job) if n <= free]
        return min(sizes, key=lambda n: (self._step_s(job, n), n), default=0)

    def _step_s(self, job: JobSnapshot, n_workers: int) -> float:
        return self._speeds.step_s(job, n_workers)

    def _train_s(self, job: JobSnapshot, n_workers: int, steps: float) -> float:
        return steps * self._step_s(job, n_workers)
