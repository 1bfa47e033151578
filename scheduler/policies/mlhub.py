"""The default policy: elastic sizes that minimise the sum of completion times, with restarts charged.

Each round it works out two plans and takes the bolder only if that repays its restarts with a margin:
the modest one leaves running jobs as they are, starts waiting ones on what is free and lets running ones grow into
GPUs that would stand idle; the bold one shares everything out anew. A job's claim is its speed-up times a weight
that rises with its rank from the longest to the shortest remaining work, which for concave speed-ups lies between
shortest-first and equal shares (heSRPT: Berg et al., 2020).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from scheduler.budget import Budget
from scheduler.decisions import Explanation, Reason
from scheduler.models.cost import restart_cost_s
from scheduler.models.forecast import Course, Forecast
from scheduler.models.progress import remaining_s
from scheduler.policies.policy import Grant, Proposal, View, by_submission, longest_run_first, n_held
from scheduler.policies.waterfill import waterfill
from scheduler.snapshot import JobSnapshot


@dataclass(frozen=True)
class Mlhub:
    """margin: a change must gain its cost times (1 + margin). cooldown_s: least time between two changes of a job.

    patience_s: a job that waited longer gets its least size before all others. rank_power: 0 = equal shares, large =
    shortest first. min_gain: least relative speed-up for which a job is given more workers. horizon_s: how far ahead a
    restart is weighed.
    """

    margin: float = 0.3
    cooldown_s: float = 30.0
    patience_s: float = 3600.0
    rank_power: float = 0.75
    min_gain: float = 0.03
    horizon_s: float = 300.0
    name: str = "mlhub"

    def propose(self, view: View, *, budget: Budget, memory: Mapping[str, Any]) -> Proposal:
        """1. rank; 2. the modest plan; 3. the bold plan; 4. compare; 5. grants and notes."""
        case = _Case(self, view, budget.n_left(), memory)
        modest = case.modest(budget.copy())
        chosen = modest
        gains: Mapping[str, float] = {}
        if case.waiting:
            bold = case.bold(budget.copy())
            bold_plan, modest_plan = case.sizes_in(bold), case.sizes_in(modest)
            bold_gains = case.gains_of(bold_plan, over=modest_plan)
            if bold_gains is not None and case.is_worth_it(bold_plan, bold_gains, over=modest_plan):
                chosen, gains = bold, bold_gains
        budget.adopt(chosen)
        return case.proposal(case.sizes_in(chosen), budget, gains)


class _Case:
    """One round's scratch board."""

    def __init__(self, policy: Mlhub, view: View, capacity: int, memory: Mapping[str, Any]) -> None:
        self.policy, self.view, self.capacity = policy, view, capacity
        self.running = sorted((job for job in view.jobs if n_held(job)), key=longest_run_first)
        self.waiting = sorted((job for job in view.jobs if not n_held(job)), key=by_submission)
        self.running_first = [*self.running, *self.waiting]
        self.sizes = {job.id: self._sizes(job) for job in view.jobs}
        before = memory.get("waiting_since", {})
        self.waiting_since = {job.id: float(before.get(job.id, view.now_s)) for job in self.waiting}
        self.weights = self._weights()
        self.starved = [job for job in self.waiting if view.now_s - self.waiting_since[job.id] >= policy.patience_s]
        self.notes: dict[str, Explanation] = {}

    # sizes, speeds and claims

    def _sizes(self, job: JobSnapshot) -> tuple[int, ...]:
        """Doubling up to a node's GPUs, then in whole nodes: 1, 2, 3, 4, 6, 8, 12, ... of them."""
        top = min(job.max_workers, max(self.capacity, job.min_workers))
        per_node = self.view.speeds.terrain.gpus_per_node(self.view.speeds.usual_type(job))
        inside = [1 << i for i in range(per_node.bit_length()) if 1 << i < per_node]
        nodes = [k for i in range(20) for k in (1 << i, 3 << i)]
        steps = {*inside, *(k * per_node for k in nodes)}
        own = [n_held(job)] if n_held(job) else []
        return tuple(sorted({*(n for n in steps if job.min_workers <= n <= top), job.min_workers, *own}))

    def left_s(self, job: JobSnapshot, n_workers: int) -> float:
        """Remaining time at a size; at the present size on the present nodes, as measured."""
        if job.allocation is not None and n_workers == n_held(job):
            return remaining_s(job, step_s=self.view.speeds.step_s_on(job, job.allocation))
        return remaining_s(job, step_s=self.view.speeds.best_step_s(job, n_workers))

    def _weights(self) -> dict[str, float]:
        ordered = sorted(
            self.view.jobs,
            key=lambda job: (-self.left_s(job, job.min_workers) * job.min_workers, -job.submitted_at_s, job.id),
        )
        return {
            job.id: rank**self.policy.rank_power * 4.0 ** max(-8, min(8, job.priority))
            for rank, job in enumerate(ordered, start=1)
        }

    def value(self, job: JobSnapshot, n_workers: int) -> float:
        """Weighted speed-up over the least size; a changed size of a running job is worth less by its restart."""
        left_s = self.left_s(job, n_workers)
        speedup = job.min_workers * self.left_s(job, job.min_workers) / max(left_s, 1e-9)
        if n_held(job) and n_workers != n_held(job):
            cost_s = restart_cost_s(job)
            speedup *= 1 - cost_s / max(min(self.policy.horizon_s, left_s + cost_s), cost_s + 1e-9)
        return self.weights[job.id] * speedup

    def is_cooling(self, job: JobSnapshot) -> bool:
        since_s = max(job.allocated_at_s or 0.0, job.last_resized_at_s or 0.0, job.training_since_s or 0.0)
        return self.view.now_s - since_s < max(self.policy.cooldown_s, 2 * restart_cost_s(job))

    # plans: what is granted out of a copy of the budget

    def sizes_in(self, budget: Budget) -> dict[str, int]:
        return {job.id: n for job in self.view.jobs if (n := budget.granted(job))}

    def modest(self, budget: Budget) -> Budget:
        self._confirm(self.running, budget)
        self._serve_starved(budget)
        self._fill(self.waiting, budget)
        for job in sorted(self.running, key=lambda job: (-self.left_s(job, n_held(job)), job.id)):
            self._grow(job, budget)
        return budget

    def bold(self, budget: Budget) -> Budget:
        """Jobs on cool-down stay; so does one whose new size would not repay its restart (tried again without it)."""
        pinned = [job for job in self.running if self.is_cooling(job)]
        for _ in range(4):
            trial = budget.copy()
            self._confirm(pinned, trial)
            self._serve_starved(trial)
            self._fill([job for job in self.running_first if job not in pinned], trial)
            vain = [
                job
                for job in self.running
                if job not in pinned and trial.granted(job) > n_held(job) and not self._repays(job, trial.granted(job))
            ]
            if not vain:
                break
            pinned += vain
        return trial

    def _confirm(self, jobs: list[JobSnapshot], budget: Budget) -> None:
        """Each keeps its size; where quota was cut, the largest size that is still allowed, or nothing."""
        for job in jobs:
            for n in (n_held(job), *(n for n in reversed(self.sizes[job.id]) if n < n_held(job))):
                if budget.take(job, n):
                    break

    def _serve_starved(self, budget: Budget) -> None:
        for job in self.starved:
            budget.take(job, job.min_workers)

    def _fill(self, jobs: list[JobSnapshot], budget: Budget) -> None:
        waterfill(jobs, budget=budget, sizes=self.sizes, value=self.value, min_gain=self.policy.min_gain)

    def _grow(self, job: JobSnapshot, budget: Budget) -> None:
        """Let a running job have idle GPUs, if the larger size repays the restart with the margin."""
        n_now = n_held(job)
        if budget.granted(job) != n_now:
            return
        larger = [n for n in self.sizes[job.id] if n > n_now and budget.refusal(job, n) is None]
        best = min(larger, key=lambda n: (self.left_s(job, n), n), default=n_now)
        gain_s = self.left_s(job, n_now) - self.left_s(job, best)
        if best == n_now or gain_s <= 0:
            return
        cost_s = restart_cost_s(job)
        if not self._repays(job, best):
            self.notes[job.id] = Explanation(Reason.RESTART_NOT_WORTH_IT, {"gain_s": gain_s, "cost_s": cost_s})
        elif not self.is_cooling(job) and budget.take(job, best):
            facts = {"extra": best - n_now, "gain_s": gain_s - cost_s, "n_workers": best}
            self.notes[job.id] = Explanation(Reason.IDLE_GPUS, facts)

    def _repays(self, job: JobSnapshot, n_workers: int) -> bool:
        now_s, then_s = self.left_s(job, n_held(job)), self.left_s(job, n_workers)
        return now_s - then_s > restart_cost_s(job) * (1 + self.policy.margin) and then_s < now_s * (
            1 - self.policy.min_gain
        )

    # comparing plans

    def gains_of(self, bold: Mapping[str, int], *, over: Mapping[str, int]) -> dict[str, float] | None:
        """Seconds by which each job ends earlier (negative: later) under the bold plan; None if some never end."""
        before, after = self._courses(over), self._courses(bold)
        if set(before) != set(after):
            return {} if set(before) < set(after) else None
        return {job_id: before[job_id].finish_s - after[job_id].finish_s for job_id in before}

    def is_worth_it(self, bold: Mapping[str, int], gains: Mapping[str, float], *, over: Mapping[str, int]) -> bool:
        disturbed = [job for job in self.running if bold.get(job.id, 0) != n_held(job)]
        if any(job.id in bold and job.id not in over for job in self.starved):
            return True
        shrunk = [job for job in disturbed if bold.get(job.id, 0) < n_held(job)]
        cost_s = sum(restart_cost_s(job) for job in disturbed)
        return bool(shrunk) and sum(gains.values()) > self.policy.margin * cost_s

    def _courses(self, plan: Mapping[str, int]) -> dict[str, Course]:
        room_s = max((job.checkpoint_s for job in self.running if plan.get(job.id, 0) < n_held(job)), default=0.0)
        running = []
        for job in self.running_first:
            n = plan.get(job.id, 0)
            if not n:
                continue
            delay_s = 0.0 if n == n_held(job) else restart_cost_s(job) if n_held(job) else room_s + job.start_s
            running.append((job, n, delay_s))
        queue = sorted(
            (job for job in self.view.jobs if not plan.get(job.id)),
            key=lambda job: (self.left_s(job, job.min_workers) * job.min_workers, job.id),
        )
        free = self.capacity - sum(plan.values())
        return Forecast(self.view.speeds, sizes=lambda job: self.sizes[job.id]).courses(running, queue, free=free)

    # the answer

    def proposal(self, chosen: Mapping[str, int], budget: Budget, gains: Mapping[str, float]) -> Proposal:
        is_crowded = len(chosen) < len(self.view.jobs) or budget.n_left() == 0
        grants, notes = [], {}
        by_claim = sorted(self.waiting, key=lambda job: (-self.weights[job.id], job.submitted_at_s, job.id))
        by_claim = [*self.starved, *(job for job in by_claim if job not in self.starved)]
        for job in [*self.running, *by_claim]:
            n, had = chosen.get(job.id, 0), n_held(job)
            others_s = sum(gain for job_id, gain in gains.items() if job_id != job.id)
            note = self.notes.get(job.id, Explanation(Reason.UNCHANGED))
            if n < had and others_s > 0:
                note = Explanation(Reason.MAKES_ROOM, {"given": had - n, "gain_s": others_s})
            elif (n > had > 0 and note.reason is not Reason.IDLE_GPUS) or (n and not had and is_crowded):
                note = Explanation(Reason.SHORTENS_AVERAGE, {"n_workers": n})
            elif n and not had:
                note = Explanation(Reason.FITS, {"n_workers": n})
            if n:
                gpu_type = budget.gpu_type(job)
                n_nodes = self.view.speeds.best_spread(job, n, gpu_type=gpu_type)
                grants.append(Grant(job.id, n, gpu_type, (note,), n_nodes=n_nodes))
            if had:
                notes[job.id] = (note,)
        order = tuple(job.id for job in [*self.running, *by_claim])
        memory = {"waiting_since": {job.id: self.waiting_since[job.id] for job in self.waiting}}
        return Proposal(tuple(grants), order, notes, memory, self.sizes)
