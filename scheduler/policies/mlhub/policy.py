# SPDX-License-Identifier: Apache-2.0
"""The default policy: elastic sizes that minimise the sum of completion times, with restarts charged.

All GPUs are shared out anew in every round, by marginal gain: a second at a size is worth the job's price, divided by
its remaining time there, and its price is what finishing it costs all present jobs (prices.py). What keeps it calm: a
changed size is worth less by its restart, weighed over the time in which it can pay; a job is left alone for a while
after a change, and near its end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, ClassVar

from scheduler.api.plan import Explanation, Reason
from scheduler.api.snapshot import JobSnapshot
from scheduler.models.cost import restart_cost_s
from scheduler.models.progress import remaining_s, steps_left
from scheduler.placement.gangs import Packing
from scheduler.policies.mlhub.gains import ResizeGains
from scheduler.policies.mlhub.packing import PackingSearch
from scheduler.policies.toolkit.policy import Grant, Proposal, View, by_submission, longest_run_first, n_held
from scheduler.policies.toolkit.prices import SpeedCurve, prices, prices_in_line
from scheduler.policies.toolkit.waterfill import waterfill
from scheduler.quota.budget import Budget


@dataclass(frozen=True)
class Mlhub:
    """Shares all GPUs out anew in every round, by marginal gain (policies/toolkit/prices.py), with restarts charged.

    margin: a change is charged (1 + margin) times its restart, since it disturbs other jobs, too. horizon_s: the time
    in which a change has to pay; about that until the next one. cooldown_s: the least time between two changes of a
    job. last_stretch: a job whose end is nearer than so many restarts is not made smaller. patience_s: a job that
    waited longer, and more than patience times as long as it still has to train, gets its least size before all others.
    min_gain: the least relative gain for which a job is given more workers. stickiness: what holding a size is worth by
    itself, since predictions are not exact; where all jobs have one size, only restarts count. prices_places: places
    are compared by what their links give, and take from others, where there are several racks. shares: jobs may be put
    on the same GPUs, where nodes allow it.
    """

    margin: float = 1.0
    horizon_s: float = 1200.0
    cooldown_s: float = 30.0
    last_stretch: float = 10.0
    patience_s: float = 3600.0
    patience: float = 10.0
    min_gain: float = 0.03
    stickiness: float = 0.05
    prices_places: bool = True
    shares: bool = True
    name: str = "mlhub"
    is_elastic: ClassVar[bool] = True
    adapts_batch_size: ClassVar[bool] = True

    def propose(self, view: View, *, budget: Budget, memory: Mapping[str, Any]) -> Proposal:
        """Returns the proposal, in five steps.

        1. sizes and weights; 2. jobs that stay unchanged; 3. starved jobs; 4. the rest by marginal gain;
        5. where nodes allow it, those that gain by it share GPUs.
        """
        case = _Case(self, view, budget.n_left(), memory)  # 1
        pairing = PackingSearch(view, left_s=case.left_s, memory=memory.get("pairing", {}), is_on=self.shares)
        for job in case.running:
            if job.id in pairing.guests:
                continue
            if case.is_cooling(job) or case.is_near_its_end(job):  # 2
                case.confirm(job, budget)
        for job in case.starved:  # 3
            budget.reserve(job, job.min_workers)
        movable = [
            job for job in case.jobs if not (n_held(job) and case.is_cooling(job)) and job.id not in pairing.guests
        ]
        waterfill(movable, budget=budget, sizes=case.sizes, value=case.value, min_gain=self.min_gain)  # 4
        pairing.join(budget)  # 5
        return pairing.applied(case.proposal(budget))


class _Case:
    """One round's scratch board."""

    def __init__(self, policy: Mlhub, view: View, capacity: int, memory: Mapping[str, Any]) -> None:
        self.policy, self.view, self.capacity = policy, view, capacity
        self.running = sorted((job for job in view.jobs if n_held(job)), key=longest_run_first)
        self.waiting = sorted((job for job in view.jobs if not n_held(job)), key=by_submission)
        self.jobs = [*self.running, *self.waiting]
        self.standard_sizes = {job.id: self._standard_sizes(job) for job in self.jobs}
        self.sizes = {j.id: tuple(sorted({*self.standard_sizes[j.id], *filter(None, [n_held(j)])})) for j in self.jobs}
        view.speeds.prepare(self.jobs, self.sizes)
        self.is_rigid = all(len(sizes) == 1 for sizes in self.standard_sizes.values())
        self._left_s = {job.id: self._times(job) for job in self.jobs}
        self.curves = {job.id: self._curve(job) for job in self.jobs}
        self._values: dict[str, dict[int, float]] = {job.id: {} for job in self.jobs}
        self.weights = self._weights()
        before = memory.get("waiting_since", {})
        self.waiting_since = {job.id: float(before.get(job.id, view.now_s)) for job in self.waiting}
        self.starved = [job for job in self.waiting if self._is_starved(job)]

    def _is_starved(self, job: JobSnapshot) -> bool:
        waited_s = self.view.now_s - self.waiting_since[job.id]
        return waited_s >= max(self.policy.patience_s, self.policy.patience * self.left_s(job, job.min_workers))

    def _standard_sizes(self, job: JobSnapshot) -> tuple[int, ...]:
        """Doubling up to a node's GPUs, then in whole nodes: 1, 2, 3, 4, 6, 8, 12, ... of them."""
        top = min(job.max_workers, max(self.capacity, job.min_workers))
        per_node = self.view.speeds.topology.gpus_per_node(self.view.speeds.standard_type(job))
        return _doubling(job.min_workers, top, per_node)

    def left_s(self, job: JobSnapshot, n_workers: int) -> float:
        """Remaining time at a size; at the present size on the present nodes."""
        times = self._left_s[job.id]
        if n_workers not in times:
            times[n_workers] = remaining_s(job, step_s=self.view.speeds.best_step_s(job, n_workers))
        return times[n_workers]

    def _times(self, job: JobSnapshot) -> dict[int, float]:
        """Remaining times by size.

        Sizes that were not measured count as slower by their error, but never by more than finding out costs: a restart
        there, and one back.
        """
        sizes, left, speeds = self.sizes[job.id], steps_left(job), self.view.speeds
        trial_s = 2 * restart_cost_s(job)
        steps = zip(sizes, speeds.best_curve(job, sizes), speeds.curve(job, sizes), strict=True)
        times = {n: min(left * cautious_s, left * step_s + trial_s) for n, cautious_s, step_s in steps}
        if n_held(job):
            times[n_held(job)] = left * self.view.speeds.present_step_s(job)
        return times

    def _weights(self) -> dict[str, float]:
        """Prices of the jobs (see prices.py); four times as much for each step of priority.

        They do not depend on what a job holds: else they would change with every change, and bring the next one.
        """
        if self.is_rigid:
            ordered = self._by_work()
            found = prices_in_line([self.curves[job.id] for job in ordered], n_gpus=self.capacity)
        else:
            ordered = sorted(self.jobs, key=lambda job: (-job.submitted_at_s, job.id))
            found = prices([self.curves[job.id] for job in ordered], n_gpus=self.capacity)
        return {job.id: price * job.priority_weight for job, price in zip(ordered, found, strict=True)}

    def _by_work(self) -> list[JobSnapshot]:
        """Most GPU-seconds first; a waiting job's restart counts, so that equal jobs do not take turns."""
        work = {job_id: curve.least_gpu_s for job_id, curve in self.curves.items()}
        work |= {job.id: work[job.id] + restart_cost_s(job) * job.min_workers for job in self.waiting}
        return sorted(self.jobs, key=lambda job: (-work[job.id], -job.submitted_at_s, job.id))

    def _curve(self, job: JobSnapshot) -> SpeedCurve:
        sizes, left = self.standard_sizes[job.id], steps_left(job)
        return SpeedCurve(sizes, [left * step_s for step_s in self.view.speeds.curve(job, sizes)])

    def value(self, job: JobSnapshot, n_workers: int) -> float:
        """Price by remaining time: what a second at that size is worth; a changed size is worth less by its restart."""
        values = self._values[job.id]
        if n_workers not in values:
            values[n_workers] = self._value(job, n_workers)
        return values[n_workers]

    def _value(self, job: JobSnapshot, n_workers: int) -> float:
        if self.is_rigid:  # whatever its placement: a badly placed job is defragmented, not preempted
            return self.weights[job.id] / max(self.curves[job.id].left_s[0], 1e-9)
        left_s = max(self.left_s(job, n_workers), 1e-9)
        worth = self.weights[job.id] / left_s
        if n_workers == n_held(job):
            worth *= 1 + self.policy.stickiness
        elif n_held(job):
            cost_s = restart_cost_s(job) * (1 + self.policy.margin)
            worth *= 1 - cost_s / max(min(self.policy.horizon_s, left_s + cost_s), cost_s + 1e-9)
        return worth

    def is_cooling(self, job: JobSnapshot) -> bool:
        return self.view.now_s < self._calm_until_s(job)

    def _calm_until_s(self, job: JobSnapshot) -> float:
        """It has trained for about as long by then as its last change cost."""
        since_s = max(job.allocated_at_s or 0.0, job.last_resized_at_s or 0.0)
        return since_s + max(self.policy.cooldown_s, 2 * restart_cost_s(job))

    def is_near_its_end(self, job: JobSnapshot) -> bool:
        return self.left_s(job, n_held(job)) < self.policy.last_stretch * restart_cost_s(job)

    def confirm(self, job: JobSnapshot, budget: Budget) -> None:
        """It keeps its size; where quota was cut, the largest size that is still allowed, or nothing."""
        for n in (n_held(job), *(n for n in reversed(self.sizes[job.id]) if n < n_held(job))):
            if budget.reserve(job, n):
                return

    # the answer

    def proposal(self, budget: Budget) -> Proposal:
        by_claim = sorted(self.waiting, key=lambda job: (-self.weights[job.id], job.submitted_at_s, job.id))
        starved = {job.id for job in self.starved}
        by_claim = [*self.starved, *(job for job in by_claim if job.id not in starved)]
        plan = {job.id: budget.granted(job) for job in self.jobs}
        reasons = _Reasons(self, plan, budget)
        notes = {job.id: (reasons.why(job),) for job in self.jobs}
        granted = [job for job in self.jobs if plan[job.id]]
        types = {job.id: budget.gpu_type(job) for job in granted}
        self.view.speeds.prepare(granted, {job.id: (plan[job.id],) for job in granted}, types=types)
        return Proposal(
            tuple(self._grant(job, budget, notes[job.id]) for job in [*self.running, *by_claim] if plan[job.id]),
            tuple(job.id for job in [*self.running, *by_claim]),
            {job.id: notes[job.id] for job in self.running},
            {"waiting_since": self.waiting_since},
            self.sizes,
            self._wake_at_s(budget),
            backfills=True,
        )

    def _grant(self, job: JobSnapshot, budget: Budget, why: tuple[Explanation, ...]) -> Grant:
        n, gpu_type = budget.granted(job), budget.gpu_type(job)
        n_nodes = self.view.speeds.best_spread(job, n, gpu_type=gpu_type)
        is_priced = self.policy.prices_places and self.view.speeds.topology.shares_links
        packing = Packing.PRICED if is_priced else Packing.TIGHT
        defragments = 1 < n == job.min_workers == job.max_workers and packing is Packing.TIGHT and n_nodes < 2
        least = job.min_workers
        return Grant(job.id, n, gpu_type, why, packing, n_nodes=n_nodes, least_workers=least, defragments=defragments)

    def _wake_at_s(self, budget: Budget) -> float | None:
        """When the next cool-down ends, if somebody waits or GPUs stand idle."""
        if not self.waiting and budget.n_left() == 0:
            return None
        return min((self._calm_until_s(job) for job in self.running if self.is_cooling(job)), default=None)


@lru_cache(maxsize=1 << 12)
def _doubling(least: int, top: int, per_node: int) -> tuple[int, ...]:
    steps = set()
    n = 1
    while n <= top:
        steps.add(n)
        if n >= per_node and n % per_node == 0 and n % 2 == 0:
            steps.add(n * 3 // 2)
        n = min(n * 2, per_node) if n < per_node else n * 2
    return tuple(sorted({n for n in steps if least <= n <= top} | {least}))


class _Reasons:
    """Why each job gets what the plan (workers by job) gives it. What is the same for all is worked out once."""

    def __init__(self, case: _Case, plan: Mapping[str, int], budget: Budget) -> None:
        self._case, self._plan, self._budget = case, plan, budget
        self._all_run = all(plan.values())
        self._is_crowded = budget.n_left() == 0 or not self._all_run
        self._gains = ResizeGains(plan, view=case.view, sizes=case.sizes, capacity=case.capacity)

    def why(self, job: JobSnapshot) -> Explanation:
        n, had = self._plan[job.id], n_held(job)
        if n < had:
            gain_s = self._gains.of_others(job) if self._case.view.explains else None
            if gain_s is not None and gain_s > 0:
                return Explanation(Reason.SHRINKS_FOR_OTHERS, {"given": had - n, "gain_s": gain_s})
            return Explanation(Reason.MORE_GAIN_ELSEWHERE, {"given": had - n, "times": self._times_worth(job)})
        if n > had > 0 and self._all_run:
            gain_s = self._case.left_s(job, had) - self._case.left_s(job, n) - restart_cost_s(job)
            return Explanation(Reason.IDLE_GPUS, {"extra": n - had, "gain_s": gain_s, "n_workers": n})
        if n == had == 0:
            return Explanation(Reason.UNCHANGED)
        if n == had:
            return self._why_not_larger(job)
        return Explanation(Reason.SHORTENS_AVERAGE if self._is_crowded else Reason.FITS, {"n_workers": n})

    def _why_not_larger(self, job: JobSnapshot) -> Explanation:
        case, had = self._case, n_held(job)
        larger = [n for n in case.sizes[job.id] if n > had and self._budget.refusal(job, n, is_request=False) is None]
        best = min(larger, key=lambda n: (case.left_s(job, n), n), default=had)
        gain_s = case.left_s(job, had) - case.left_s(job, best)
        cost_s = restart_cost_s(job)
        if 0 < gain_s < cost_s:
            return Explanation(Reason.RESTART_NOT_WORTH_IT, {"gain_s": gain_s, "cost_s": cost_s})
        return Explanation(Reason.UNCHANGED)

    def _times_worth(self, job: JobSnapshot) -> float:
        """How much more a GPU is worth to jobs that grow than to the one that shrinks."""
        had, n = n_held(job), self._plan[job.id]
        lost = (self._case.value(job, had) - (self._case.value(job, n) if n else 0.0)) / (had - n)
        return self._gained_by_gpu / lost if lost > 0 and self._gained_by_gpu else 1.0

    @cached_property
    def _gained_by_gpu(self) -> float:
        """What a GPU is worth to jobs that grow; 0 if none does."""
        gained, gpus = 0.0, 0
        for job in self._case.jobs:
            n, had = self._plan[job.id], n_held(job)
            if n > had:
                gained += self._case.value(job, n) - (self._case.value(job, had) if had else 0.0)
                gpus += n - had
        return gained / gpus if gpus else 0.0
