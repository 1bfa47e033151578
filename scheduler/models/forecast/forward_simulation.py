# SPDX-License-Identifier: Apache-2.0
"""Simulates a plan forward: when each job starts and ends, if no other job arrived. Counts GPUs and quota only."""

from __future__ import annotations

import heapq
import math
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from scheduler.api.snapshot import JobSnapshot
from scheduler.models.cost import restart_cost_s, start_cost_s
from scheduler.models.forecast.books import Books, BooksChange, LeavingGang, QuotaBooks, newly_refused
from scheduler.models.forecast.waiting_line import WaitingLine
from scheduler.models.progress import steps_left
from scheduler.models.speed.job_speeds import JobSpeeds

MAX_REGROWING = 200  # above so many jobs, running ones keep their size in the forecast: it would cost too much


class Interruption(NamedTuple):
    """Holds that a job gives some of the GPUs that it trains on back after so many seconds, as quota changes then."""

    after_s: float
    n_given: int
    n_held: int


class JobProgress(NamedTuple):
    """Holds when a job starts and ends, in seconds from now. interruption: its first one; finish_s is infinite where it
    leaves then and finds no room again.
    """

    start_s: float
    finish_s: float
    interruption: Interruption | None = None


@dataclass
class _Active:
    job: JobSnapshot
    n_workers: int
    steps: float  # left at time at_s
    at_s: float
    version: int = 0


class ForwardSimulation:
    """Simulates the jobs forward on numbers of GPUs.

    sizes: those that a job may have, ascending (one: it is not elastic). gpu_type: the type that a job trains on; "" =
    the one that its speed is quoted for.

    strict_order: a waiting job for which too few GPUs are free holds up those behind it.

    quota: books in which nothing is booked yet; None = there are no limits. limited_type: the type whose limits count
    for a job; "" = none's do. start_s: seconds from a job's launch to its first step.
    """

    def __init__(
        self,
        speeds: JobSpeeds,
        *,
        sizes: Callable[[JobSnapshot], Sequence[int]],
        gpu_type: Callable[[JobSnapshot], str] = lambda _: "",
        regrow: bool = True,
        strict_order: bool = False,
        quota: QuotaBooks | None = None,
        limited_type: Callable[[JobSnapshot], str] = lambda _: "",
        start_s: Callable[[JobSnapshot], float] = start_cost_s,
    ) -> None:
        self._speeds = _TypedSpeeds(speeds, gpu_type)
        self._limited_type = limited_type
        self._sizes = sizes
        self._regrow = regrow
        self._strict_order = strict_order
        self._quota = quota
        self._start_s = start_s

    def run(
        self,
        running: Iterable[tuple[JobSnapshot, int, float]],
        queue: Sequence[JobSnapshot],
        *,
        free: int,
        leaving: Iterable[LeavingGang] = (),
        awaiting: Collection[str] = (),
        starts_now: bool = True,
        changes: Iterable[BooksChange] = (),
    ) -> dict[str, JobProgress]:
        """Returns start and finish of every job that gets to run.

        running: job, workers, and seconds until it trains (a restart, or making room). queue: waiting jobs, next first.
        leaving: gangs whose GPUs are not among the free ones yet. awaiting: tenants of the jobs for which these leave,
        also where others held the GPUs. starts_now: False = the round has decided what starts now, and what waits
        starts when the next GPUs are released; if none ever are, it counts as starting now. changes: of quota, where
        there is any.
        A job of the queue that finds no room at any time, or that quota never allows, is absent from the answer.

        1. at each end, the freed GPUs go to the queue in order, each job as large as helps, fits and quota allows;
           where a tenant's own GPUs were freed, its jobs within its guarantee come first; the same at each change of
           quota, when they also take back what others borrow, and jobs above a limit that falls give GPUs back: they
           become smaller, if they can, or go to the end of the queue;
        2. what is left when the queue is empty makes the longest running job larger, if that repays a restart.
        """
        books = None if self._quota is None else Books(self._quota, self._limited_type)
        state = _State(
            self._speeds, self._sizes, queue, free, strict_order=self._strict_order, books=books, start_s=self._start_s
        )
        state.awaiting = awaiting
        for job, n_workers, delay_s in running:
            state.launch(job, n_workers, from_s=delay_s, now_s=0.0)
        for gang in leaving:
            state.leave(gang)
        now_s: float | None = 0.0
        awaits_release = not starts_now and bool(state.ends)
        for change in changes:
            state.expect(change)
        if awaits_release:
            now_s = state.next_end()
        while now_s is not None:
            state.fill(now_s)  # 1
            if self._regrow and state.free > 0 and not state.line and len(state.active) <= MAX_REGROWING:
                state.grow(now_s)  # 2
            now_s = state.next_end()
        return state.progress()


class _TypedSpeeds:
    """Step times of jobs, each on the GPU type that it trains on; asked for again and again."""

    def __init__(self, speeds: JobSpeeds, gpu_type: Callable[[JobSnapshot], str]) -> None:
        self._speeds, self._gpu_type = speeds, gpu_type
        self._steps_s: dict[tuple[str, int], float] = {}

    def step_s(self, job: JobSnapshot, n_workers: int) -> float:
        found = self._steps_s.get((job.id, n_workers))
        if found is None:
            found = self._speeds.step_s(job, n_workers, gpu_type=self._gpu_type(job))
            self._steps_s[job.id, n_workers] = found
        return found

    def steps_s(self, job: JobSnapshot, sizes: Sequence[int]) -> tuple[float, ...]:
        """step_s() at each of these sizes."""
        return self._speeds.packed_curve(job, tuple(sizes), gpu_type=self._gpu_type(job))


def _last_to_go(one: _Active) -> tuple[float, float, int]:
    """Jobs keep what they hold in this order: by priority, then those that started first; what the forecast itself
    starts comes last.
    """
    held_since_s = one.job.allocated_at_s
    return -one.job.priority, math.inf if held_since_s is None else held_since_s, one.version


class _State:
    """The state of one forecast: training jobs, waiting jobs, and when the next ones end."""

    def __init__(
        self,
        speeds: _TypedSpeeds,
        sizes: Callable[[JobSnapshot], Sequence[int]],
        queue: Sequence[JobSnapshot],
        free: int,
        *,
        strict_order: bool,
        books: Books | None,
        start_s: Callable[[JobSnapshot], float],
    ) -> None:
        self._speeds, self._sizes, self._books, self._start_s = speeds, sizes, books, start_s
        self.free = free
        self.active: dict[str, _Active] = {}
        self.ends: list[tuple[float, str, int]] = []
        self.done: dict[str, JobProgress] = {}
        kind = None if books is None else books.kind
        self.line = WaitingLine(queue, sizes, strict_order=strict_order, kind=kind)
        self._starts: dict[str, float] = {}
        self._n_launches = 0
        self._leaving: list[LeavingGang | BooksChange] = []  # in the order of the numbers in `ends`
        self._gone: set[int] = set()  # of these
        self._left_steps: dict[str, float] = {}  # of jobs that had to leave
        self._interruptions: dict[str, Interruption] = {}
        self.awaiting: Collection[str] = ()
        self._released_by: set[str] = set()  # tenants whose GPUs were released at the newest instant

    def launch(self, job: JobSnapshot, n_workers: int, *, from_s: float, now_s: float) -> None:
        steps = self._left_steps.pop(job.id, None)
        steps = steps_left(job) if steps is None else steps
        self._n_launches += 1
        self.active[job.id] = _Active(job, n_workers, steps, from_s, self._n_launches)
        self._starts.setdefault(job.id, now_s)
        heapq.heappush(self.ends, (from_s + self._train_s(job, n_workers, steps), job.id, self._n_launches))
        if self._books is not None:
            self._books.book(job, n_workers)

    def leave(self, gang: LeavingGang) -> None:
        """Releases the gang's GPUs later."""
        heapq.heappush(self.ends, (gang.after_s, "", len(self._leaving)))
        self._leaving.append(gang)
        if self._books is not None:
            self._books.book_leaving(gang)

    def expect(self, change: BooksChange) -> None:
        """Exchanges the books later."""
        heapq.heappush(self.ends, (change.after_s, "", len(self._leaving)))
        self._leaving.append(change)

    def progress(self) -> dict[str, JobProgress]:
        """Returns what became of the jobs that got to run."""
        found = self.done
        for job_id, interruption in self._interruptions.items():
            done = found.get(job_id) or JobProgress(self._starts[job_id], math.inf)
            found[job_id] = done._replace(interruption=interruption)
        return found

    def _exchange(self, change: BooksChange, now_s: float) -> None:
        """1. what is held is booked anew, but for jobs above a limit that falls and, where jobs wait that may reclaim,
        those that borrow; 2. of the latter, those within a guarantee take GPUs; 3. the jobs that are not booked go on
        as they may, by priority and then in the order of their starts, or wait.
        """
        if self._books is None:
            return
        holders = sorted(self.active.values(), key=_last_to_go)
        before, self._books = self._books, Books(change.quota, self._books.limited_type)  # 1
        for n, gang in enumerate(self._leaving):
            if isinstance(gang, LeavingGang) and n not in self._gone:
                self._books.book_leaving(gang)
        held = [(one.job, one.n_workers) for one in holders]
        giving = newly_refused(held, before, self._books) if change.lowers else set[str]()
        for one in holders:
            if one.job.id not in giving:
                self._books.book(one.job, one.n_workers)
        is_reclaimed = bool(self.line and change.reclaiming and self._books.quota.has_guarantees)
        if is_reclaimed:
            borrowers = [one for one in holders if one.job.id not in giving and self._borrows(one)]
            for one in borrowers:
                self._books.give_back(one.job, one.n_workers)
                giving.add(one.job.id)
        without = [one for one in holders if one.job.id in giving]
        for one in without:
            self.free += self.active.pop(one.job.id).n_workers
        if is_reclaimed:
            self._start(now_s, is_allowed=self._is_own, tenants=change.reclaiming)  # 2
        for one in without:  # 3
            self._go_on(one, now_s)

    def _borrows(self, one: _Active) -> bool:
        return self._books is not None and self._books.borrows(one.job, one.n_workers)

    def _go_on(self, one: _Active, now_s: float) -> None:
        """With all that it had, or less as far as it can, or at the end of the line."""
        smaller = [n for n in self._sizes(one.job) if n < one.n_workers]
        fitting = (n for n in (one.n_workers, *reversed(smaller)) if n <= self.free)
        n_workers = next((n for n in fitting if self._is_allowed(one.job, n)), 0)
        if n_workers == one.n_workers:
            self.active[one.job.id] = one
            self._take(one.job, n_workers)
            return
        steps = self._steps_left(one, now_s)
        self._interruptions.setdefault(one.job.id, Interruption(now_s, one.n_workers - n_workers, one.n_workers))
        if n_workers:
            self._n_launches += 1
            at_s = now_s + restart_cost_s(one.job)
            self.active[one.job.id] = _Active(one.job, n_workers, steps, at_s, self._n_launches)
            heapq.heappush(self.ends, (at_s + self._train_s(one.job, n_workers, steps), one.job.id, self._n_launches))
            self._take(one.job, n_workers)
            return
        self._left_steps[one.job.id] = steps
        self.line.append(one.job)

    def _take(self, job: JobSnapshot, n_workers: int) -> None:
        self.free -= n_workers
        if self._books is not None:
            self._books.book(job, n_workers)

    def _steps_left(self, one: _Active, now_s: float) -> float:
        passed = max(0.0, now_s - one.at_s) / self._speeds.step_s(one.job, one.n_workers)
        return max(0.0, one.steps - passed)

    def fill(self, now_s: float) -> None:
        """The queue in order, each as large as helps, fits and is allowed; a job that may not start is skipped, or
        holds up all.
        """
        if not self.line:
            return
        if self._books is not None and self._books.quota.has_guarantees and self._released_by:
            self._start(now_s, is_allowed=self._is_own, tenants=self._released_by)
        self._start(now_s, is_allowed=self._is_allowed)

    def _start(
        self, now_s: float, *, is_allowed: Callable[[JobSnapshot, int], bool], tenants: Collection[str] | None = None
    ) -> None:
        for job in self.line.take(lambda: self.free, is_allowed, tenants=tenants):
            n_workers = self._fastest(job, is_allowed)
            self.launch(job, n_workers, from_s=now_s + self._start_s(job), now_s=now_s)
            self.free -= n_workers

    def _fastest(self, job: JobSnapshot, is_allowed: Callable[[JobSnapshot, int], bool]) -> int:
        """The fastest size that fits and is allowed, of equals the least; the line has asked for the least one."""
        sizes = self._sizes(job)
        if len(sizes) == 1 or sizes[1] > self.free:
            return sizes[0]
        for _, n in sorted(zip(self._speeds.steps_s(job, sizes), sizes, strict=True)):
            if n == sizes[0] or (n <= self.free and is_allowed(job, n)):
                return n
        return sizes[0]

    def _is_allowed(self, job: JobSnapshot, n_workers: int) -> bool:
        return self._books is None or self._books.allows(job, n_workers)

    def _is_own(self, job: JobSnapshot, n_workers: int) -> bool:
        """Whether it would run within a guarantee: such jobs come before those that borrow."""
        books = self._books
        return books is not None and books.quota.is_guaranteed(job.tenant, n_workers) and books.allows(job, n_workers)

    def grow(self, now_s: float) -> None:
        able = [one for one in self.active.values() if now_s >= one.at_s and self._larger(one)]
        for one in sorted(able, key=lambda a: (-self._train_s(a.job, a.n_workers, a.steps), a.job.id)):
            if self.free <= 0:
                return
            larger = self._larger(one)
            if not larger:
                continue
            steps = self._steps_left(one, now_s)
            cost_s = restart_cost_s(one.job)
            best = min(larger, key=lambda n: (self._train_s(one.job, n, steps), n))
            if self._train_s(one.job, best, steps) + cost_s >= self._train_s(one.job, one.n_workers, steps):
                continue
            self._resize(one, best, steps=steps, at_s=now_s + cost_s)

    def _larger(self, one: _Active) -> Sequence[int]:
        """The sizes that it could have with what is free."""
        sizes, most = self._sizes(one.job), one.n_workers + self.free
        first = bisect_right(sizes, one.n_workers)
        return sizes[first : bisect_right(sizes, most)] if first < len(sizes) and sizes[first] <= most else ()

    def _resize(self, one: _Active, n_workers: int, *, steps: float, at_s: float) -> None:
        self.free -= n_workers - one.n_workers
        if self._books is not None:
            self._books.give_back(one.job, one.n_workers)
            self._books.book(one.job, n_workers)
        self._n_launches += 1
        one.n_workers, one.steps, one.at_s, one.version = n_workers, steps, at_s, self._n_launches
        heapq.heappush(self.ends, (at_s + self._train_s(one.job, n_workers, steps), one.job.id, one.version))

    def next_end(self) -> float | None:
        """When the next jobs end, all at one instant; their GPUs are free then. None if no job trains any more."""
        end_s: float | None = None
        change: BooksChange | None = None
        self._released_by.clear()
        while self.ends and end_s in (None, self.ends[0][0]):
            at_s, job_id, version = heapq.heappop(self.ends)
            if not job_id:
                gang = self._leaving[version]
                end_s = at_s
                self._gone.add(version)
                if isinstance(gang, BooksChange):
                    change = gang
                    continue
                self.free += gang.n_gpus
                if self._books is not None:
                    self._books.give_back_leaving(gang)
                    self._released_by.update((gang.tenant, *self.awaiting))
                continue
            ended = self.active.get(job_id)
            if ended is None or ended.version != version:  # it grew since
                continue
            end_s = at_s
            del self.active[job_id]
            self.done[job_id] = JobProgress(self._starts[job_id], at_s)
            self.free += ended.n_workers
            if self._books is not None:
                self._books.give_back(ended.job, ended.n_workers)
                self._released_by.add(ended.job.tenant)
        if change is not None and end_s is not None:
            self._exchange(change, end_s)
        return end_s

    def _train_s(self, job: JobSnapshot, n_workers: int, steps: float) -> float:
        return steps * self._speeds.step_s(job, n_workers)
