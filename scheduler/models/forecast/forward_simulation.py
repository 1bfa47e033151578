# SPDX-License-Identifier: Apache-2.0
"""Simulates a plan forward: when each job starts and ends, if no other job arrived. Counts GPUs and quota only."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from scheduler.api.snapshot import JobSnapshot
from scheduler.models.cost import restart_cost_s, start_cost_s
from scheduler.models.forecast.waiting_line import WaitingLine
from scheduler.models.progress import steps_left
from scheduler.models.speed.job_speeds import JobSpeeds

MAX_REGROWING = 200  # above so many jobs, running ones keep their size in the forecast: it would cost too much


class JobProgress(NamedTuple):
    """Holds when a job starts and ends, in seconds from now."""

    start_s: float
    finish_s: float


@dataclass(frozen=True)
class LeavingGang:
    """Describes the GPUs that a job on its way out releases after so many seconds. tenant: whose quota they use."""

    tenant: str
    n_gpus: int
    after_s: float
    user: str = ""


class QuotaBooks(Protocol):
    """Counts what tenants hold, as scheduler.quota.ledger does."""

    def allows(self, tenant_id: str, *, gpus: int, jobs: int = 1, user: str = "") -> bool:
        """Returns whether the tenant may take so much more."""

    @property
    def has_guarantees(self) -> bool:
        """Returns whether any tenant has a guarantee."""

    def is_guaranteed(self, tenant_id: str, gpus: int) -> bool:
        """Returns whether so many more are within a guarantee of the tenant, or of one above it."""

    def reserve(self, tenant_id: str, *, gpus: int, jobs: int = 1, user: str = "") -> None:
        """Books a job."""

    def release(self, tenant_id: str, *, gpus: int, jobs: int = 1, user: str = "") -> None:
        """Takes a job out of the books."""


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

    quota: books in which nothing is booked yet; None = there are no limits.
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
    ) -> None:
        self._speeds = _TypedSpeeds(speeds, gpu_type)
        self._sizes = sizes
        self._regrow = regrow
        self._strict_order = strict_order
        self._quota = quota

    def run(
        self,
        running: Iterable[tuple[JobSnapshot, int, float]],
        queue: Sequence[JobSnapshot],
        *,
        free: int,
        leaving: Iterable[LeavingGang] = (),
        starts_now: bool = True,
    ) -> dict[str, JobProgress]:
        """Returns start and finish of every job that gets to run.

        running: job, workers, and seconds until it trains (a restart, or making room). queue: waiting jobs, next first.
        leaving: gangs whose GPUs are not among the free ones yet. starts_now: False = the round has decided what starts
        now, and what waits starts when the next GPUs are released; if none ever are, it counts as starting now.
        A job of the queue that finds no room at any time, or that quota never allows, is absent from the answer.

        1. at each end, the freed GPUs go to the queue in order, each job as large as helps, fits and quota allows;
           where a tenant's own GPUs were freed, its jobs within its guarantee come first;
        2. what is left when the queue is empty makes the longest running job larger, if that repays a restart.
        """
        state = _State(self._speeds, self._sizes, queue, free, strict_order=self._strict_order, quota=self._quota)
        for job, n_workers, delay_s in running:
            state.launch(job, n_workers, from_s=delay_s, now_s=0.0)
        for gang in leaving:
            state.leave(gang)
        now_s: float | None = 0.0
        if not starts_now and state.ends:
            now_s = state.next_end()
        while now_s is not None:
            state.fill(now_s)  # 1
            if self._regrow and state.free > 0 and not state.line and len(state.active) <= MAX_REGROWING:
                state.grow(now_s)  # 2
            now_s = state.next_end()
        return state.done


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
        quota: QuotaBooks | None,
    ) -> None:
        self._speeds, self._sizes, self._quota = speeds, sizes, quota
        self.free = free
        self.active: dict[str, _Active] = {}
        self.ends: list[tuple[float, str, int]] = []
        self.done: dict[str, JobProgress] = {}
        self.line = WaitingLine(queue, sizes, strict_order=strict_order, by_tenant=quota is not None)
        self._starts: dict[str, float] = {}
        self._leaving: list[LeavingGang] = []
        self._released_by: set[str] = set()  # tenants whose GPUs were released at the newest instant

    def launch(self, job: JobSnapshot, n_workers: int, *, from_s: float, now_s: float) -> None:
        steps = steps_left(job)
        self.active[job.id] = _Active(job, n_workers, steps, from_s)
        self._starts[job.id] = now_s
        heapq.heappush(self.ends, (from_s + steps * self._speeds.step_s(job, n_workers), job.id, 0))
        if self._quota is not None:
            self._quota.reserve(job.tenant, gpus=n_workers, user=job.user)

    def leave(self, gang: LeavingGang) -> None:
        """Releases the gang's GPUs later."""
        heapq.heappush(self.ends, (gang.after_s, "", len(self._leaving)))
        self._leaving.append(gang)
        if self._quota is not None:
            self._quota.reserve(gang.tenant, gpus=gang.n_gpus, user=gang.user)

    def fill(self, now_s: float) -> None:
        """The queue in order, each as large as helps, fits and is allowed; a job that may not start is skipped, or
        holds up all.
        """
        if not self.line:
            return
        if self._quota is not None and self._quota.has_guarantees and self._released_by:
            self._start(now_s, is_allowed=self._is_own, tenants=self._released_by)
        self._start(now_s, is_allowed=self._is_allowed)

    def _start(
        self, now_s: float, *, is_allowed: Callable[[JobSnapshot, int], bool], tenants: Collection[str] | None = None
    ) -> None:
        for job in self.line.take(lambda: self.free, is_allowed, tenants=tenants):
            least, *larger = self._sizes(job)  # the line has asked for the least
            fitting = [least, *(n for n in larger if n <= self.free and is_allowed(job, n))]
            n_workers = least
            if len(fitting) > 1:
                n_workers = min(fitting, key=lambda n: (self._speeds.step_s(job, n), n))
            self.launch(job, n_workers, from_s=now_s + start_cost_s(job), now_s=now_s)
            self.free -= n_workers

    def _is_allowed(self, job: JobSnapshot, n_workers: int) -> bool:
        return self._quota is None or self._quota.allows(job.tenant, gpus=n_workers, user=job.user)

    def _is_own(self, job: JobSnapshot, n_workers: int) -> bool:
        """Whether it would run within a guarantee: such jobs come before those that borrow."""
        quota = self._quota
        return quota is not None and quota.is_guaranteed(job.tenant, n_workers) and self._is_allowed(job, n_workers)

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
            self._resize(one, best, steps=steps, at_s=now_s + cost_s)

    def _resize(self, one: _Active, n_workers: int, *, steps: float, at_s: float) -> None:
        more = n_workers - one.n_workers
        self.free -= more
        if self._quota is not None:
            self._quota.reserve(one.job.tenant, gpus=more, jobs=0, user=one.job.user)
        one.n_workers, one.steps, one.at_s, one.version = n_workers, steps, at_s, one.version + 1
        heapq.heappush(self.ends, (at_s + self._train_s(one.job, n_workers, steps), one.job.id, one.version))

    def next_end(self) -> float | None:
        """When the next jobs end, all at one instant; their GPUs are free then. None if no job trains any more."""
        end_s: float | None = None
        self._released_by.clear()
        while self.ends and end_s in (None, self.ends[0][0]):
            at_s, job_id, version = heapq.heappop(self.ends)
            if not job_id:
                gang = self._leaving[version]
                end_s = at_s
                self._release(gang.tenant, gang.n_gpus, user=gang.user)
                continue
            ended = self.active.get(job_id)
            if ended is None or ended.version != version:  # it grew since
                continue
            end_s = at_s
            del self.active[job_id]
            self.done[job_id] = JobProgress(self._starts[job_id], at_s)
            self._release(ended.job.tenant, ended.n_workers, user=ended.job.user)
        return end_s

    def _release(self, tenant: str, n_gpus: int, *, user: str) -> None:
        self.free += n_gpus
        if self._quota is not None:
            self._quota.release(tenant, gpus=n_gpus, user=user)
            self._released_by.add(tenant)

    def _train_s(self, job: JobSnapshot, n_workers: int, steps: float) -> float:
        return steps * self._speeds.step_s(job, n_workers)
