# SPDX-License-Identifier: Apache-2.0
"""Finish-time fairness by leases and auctions among the jobs that are worst off; after Mahajan et al., Themis, NSDI
'20.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from scheduler.api.plan import Explanation, Reason
from scheduler.api.snapshot import JobSnapshot
from scheduler.models.cost import restart_cost_s
from scheduler.models.progress import steps_left
from scheduler.policies.toolkit.policy import Grant, Proposal, View, n_held
from scheduler.policies.toolkit.waterfill import waterfill
from scheduler.quota.budget import Budget


@dataclass(frozen=True)
class Themis:
    """Auctions GPUs that are free or whose lease has ended; winners hold them on a lease.

    rho of a job = its finish time here over that on an equal share of the cluster (sec. 3.1). fairness: only the share
    1 - fairness of the jobs, those with the worst rho, may bid. lease_s: how long a winner keeps what it won.

    1. jobs whose lease goes on are confirmed;
    2. the worst-off bid 1 / rho for every size they may have; the GPUs are split so that the product of the winners'
       bids is largest, and each winner leaves a part of it, by which it lowered the others' product, as the price of
       telling the truth (partial allocation, sec. 4.2);
    3. what is left goes to the others, holders first, so that nothing idles and few move (sec. 5).
    Knows the lengths of jobs. Deviations: the split is greedy, by gain a GPU, not solved as an integer program; no job
    pays below its least size, so that gangs stay whole; the equal share is taken from the mean number of jobs
    over the job's life, and a gang larger than it takes turns on it.
    """

    slices_time: ClassVar[bool] = True

    fairness: float = 0.8
    lease_s: float = 1200.0
    name: str = "themis"

    def propose(self, view: View, *, budget: Budget, memory: Mapping[str, Any]) -> Proposal:
        books = _Books(self, view, memory)
        order = sorted(view.jobs, key=lambda job: (-job.priority, -books.rho[job.id], not n_held(job), *_age(job)))
        for job in order:
            if books.has_lease(job):  # 1
                budget.reserve(job, n_held(job))
        others = [job for job in order if not budget.granted(job)]
        bidders = others[: max(1, math.ceil((1 - min(1.0, self.fairness)) * len(view.jobs)))]
        self._auction(bidders, books, budget)  # 2
        for job in sorted(others, key=lambda job: not n_held(job)):  # 3
            if not budget.granted(job) and not budget.reserve(job, n_held(job) or job.fixed_workers):
                budget.reserve(job, job.min_workers)
        granted = [job for job in order if budget.granted(job)]
        worst = max((books.rho[job.id] for job in granted if not n_held(job)), default=None)
        return Proposal(
            tuple(books.grant(job, budget) for job in granted),
            tuple(job.id for job in order),
            {} if worst is None else {j.id: (books.lost(j, worst),) for j in order if not budget.granted(j)},
            books.memory(granted),
            {job.id: books.sizes(job) for job in order},
            books.wake_at_s(granted, is_wanted=len(granted) < len(order)),
        )

    def _auction(self, bidders: list[JobSnapshot], books: _Books, budget: Budget) -> None:
        """The greedy split, then each job's price: both of the budget that is left."""
        sizes = {job.id: books.sizes(job) for job in bidders}
        won = budget.copy()
        waterfill(bidders, budget=won, sizes=sizes, values=books.bids, min_gain=0.0)
        for job in bidders:
            n_workers = won.granted(job)
            if not n_workers:
                continue
            if len(sizes[job.id]) > 1:
                without = budget.copy()
                rivals = [other for other in bidders if other.id != job.id]
                waterfill(rivals, budget=without, sizes=sizes, values=books.bids, min_gain=0.0)
                lost = sum(books.bid(o, without.granted(o)) - books.bid(o, won.granted(o)) for o in rivals)
                paid = n_workers * math.exp(-max(0.0, lost))
                n_workers = max((n for n in sizes[job.id] if n <= paid + 1e-9), default=sizes[job.id][0])
            budget.reserve(job, n_workers)


class _Books:
    """Leases, the mean number of jobs over every job's life, and rho."""

    def __init__(self, policy: Themis, view: View, memory: Mapping[str, Any]) -> None:
        self.policy, self.view = policy, view
        self.leases: Mapping[str, float] = memory.get("leases", {})
        self.n_jobs = len(view.jobs) + sum(n_held(job) > 0 for job in view.settled)
        self.n_gpus = max(1, sum(node.n_gpus for node in view.nodes if node.is_schedulable))
        before_s = float(memory.get("at_s", view.now_s))
        crowds: Mapping[str, float] = memory.get("crowds", {})
        passed = (view.now_s - before_s) * float(memory.get("n_jobs", self.n_jobs))
        jobs = (*view.jobs, *view.settled)
        self.crowds = {job.id: crowds[job.id] + passed if job.id in crowds else 0.0 for job in jobs}
        since: Mapping[str, float] = memory.get("since", {})
        self.since = {job.id: float(since.get(job.id, view.now_s)) for job in jobs}
        self.rho = {job.id: self.rho_at(job, n_held(job) if self.has_lease(job) else 0) for job in view.jobs}

    def has_lease(self, job: JobSnapshot) -> bool:
        return n_held(job) > 0 and self.leases.get(job.id, 0.0) > self.view.now_s + 1e-6

    def sizes(self, job: JobSnapshot) -> tuple[int, ...]:
        """Doubling from the least to the most; of a gang of one size, that."""
        found = {job.fixed_workers, n_held(job) or job.fixed_workers}
        n = job.min_workers
        while n <= min(job.max_workers, self.n_gpus):
            found.add(n)
            n *= 2
        return tuple(sorted(found))

    def rho_at(self, job: JobSnapshot, n_workers: int) -> float:
        """Finish time with so many GPUs over the fair one. Without any, it waits for one lease more."""
        waited_s = max(0.0, self.view.now_s - job.submitted_at_s)
        speeds = self.view.speeds
        fixed_s = speeds.step_s(job, job.fixed_workers)
        if n_workers == 0:
            left_s = self.policy.lease_s + restart_cost_s(job) + steps_left(job) * fixed_s
        elif n_workers == n_held(job):
            left_s = steps_left(job) * speeds.present_step_s(job)
        else:
            left_s = steps_left(job) * speeds.step_s(job, n_workers) + restart_cost_s(job)
        alone_s = (job.steps_done + steps_left(job)) * fixed_s
        return (waited_s + left_s) / max(1e-9, alone_s * max(1.0, job.fixed_workers * self._crowd(job) / self.n_gpus))

    def bid(self, job: JobSnapshot, n_workers: int) -> float:
        """log(1 / rho) above that of nothing: sums of it are products of bids."""
        if n_workers == 0:
            return 0.0
        return max(0.0, math.log(self.rho_at(job, 0) / self.rho_at(job, n_workers)))

    def bids(self, job: JobSnapshot, sizes: Sequence[int]) -> list[float]:
        """bid() of each of these sizes."""
        return [self.bid(job, n_workers) for n_workers in sizes]

    def grant(self, job: JobSnapshot, budget: Budget) -> Grant:
        n_workers = budget.granted(job)
        why = Explanation(Reason.FINISH_TIME_FAIR, {"n_workers": n_workers, "rho": self.rho_at(job, 0)})
        least = min(self.sizes(job)[0], n_workers)
        return Grant(job.id, n_workers, budget.gpu_type(job), (why,), least_workers=least)

    def lost(self, job: JobSnapshot, worst: float) -> Explanation:
        return Explanation(Reason.LEASE_ENDED, {"rho": self.rho[job.id], "worst": worst})

    def memory(self, granted: list[JobSnapshot]) -> dict[str, Any]:
        """Jobs that are granted GPUs without a running lease get one now."""
        new_s = self.view.now_s + self.policy.lease_s
        leases = {job.id: self.leases[job.id] if self.has_lease(job) else new_s for job in granted}
        kept = {job.id: self.leases[job.id] for job in self.view.settled if job.id in self.leases}
        return {
            "at_s": self.view.now_s,
            "n_jobs": self.n_jobs,
            "crowds": self.crowds,
            "since": self.since,
            "leases": kept | leases,
        }

    def wake_at_s(self, granted: list[JobSnapshot], *, is_wanted: bool) -> float | None:
        """The next end of a lease, if somebody waits for it."""
        if not is_wanted:
            return None
        ends = [self.leases[job.id] for job in granted if self.has_lease(job)]
        return min(ends, default=self.view.now_s + self.policy.lease_s)

    def _crowd(self, job: JobSnapshot) -> float:
        """The mean number of jobs since the job came."""
        life_s = self.view.now_s - self.since[job.id]
        return self.crowds[job.id] / life_s if life_s > 0 else float(self.n_jobs)


def _age(job: JobSnapshot) -> tuple[float, str]:
    return job.submitted_at_s, job.id
