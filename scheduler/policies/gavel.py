"""Gavel: parts of the time on each type of GPU by a linear program, kept by rounds; after OSDI '20."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from scheduler.budget import Budget
from scheduler.decisions import Explanation, Reason
from scheduler.models.progress import steps_left
from scheduler.policies.gavel_programs import OBJECTIVES, Column, Demand, Floats, time_shares
from scheduler.policies.policy import Grant, Proposal, View, n_held
from scheduler.snapshot import JobSnapshot

Shares = dict[str, dict[str, float]]  # by job, by type of GPU: part of the time, or seconds


@dataclass(frozen=True)
class Gavel:
    """Heterogeneity-aware sharing (Narayanan et al., OSDI '20): jobs at their fixed size take turns on types of GPU.

    objective: max_min_fairness, makespan, min_total_jct or finish_time_fairness, see gavel_programs.py. The last three
    know the lengths of jobs, the first only their speeds.
    round_s: between the ends of two rounds nobody who runs is disturbed. At the end of one, the program is solved again
    if jobs came or went, and GPUs go to the jobs and types that had least of what they were to have (sec. 5.2):
    priority = time due / time had. Who has no part on a type comes last there, so that no GPU idles.
    Deviation: time due is summed up over all programs since the job came, where Gavel starts anew with each program;
    what was missed under an earlier one is not lost.
    """

    objective: str = "max_min_fairness"
    round_s: float = 360.0
    name: str = "gavel"

    def __post_init__(self) -> None:
        if self.objective not in OBJECTIVES:
            raise ValueError(f"parameter 'objective' of policy 'gavel' must be one of {', '.join(OBJECTIVES)}")

    def propose(self, view: View, *, budget: Budget, memory: Mapping[str, Any]) -> Proposal:
        """1. book the time had and due; 2. at a round's end solve; 3. confirm inside a round; 4. serve by priority."""
        jobs = sorted(view.jobs, key=lambda job: (job.submitted_at_s, job.id))
        rounds = _Rounds(view, memory)  # 1
        is_end = view.now_s >= rounds.ends_s - 1e-6
        if is_end:
            rounds.ends_s = view.now_s + self.round_s
            rounds.solve(self.objective, jobs)  # 2
        else:
            for job in jobs:
                if n_held(job):
                    budget.take(job, n_held(job))  # 3
        line = sorted(
            ((job, t) for job in jobs for t in rounds.types if not job.gpu_types or t in job.gpu_types),
            key=lambda entry: rounds.turn(*entry),
        )
        for job, gpu_type in line:  # 4
            if not budget.granted(job):
                budget.take(job, job.fixed_workers, gpu_type=gpu_type)
        order = list(dict.fromkeys(job for job, _ in line))
        granted = [job for job in order if budget.granted(job)]
        is_wanted = len(granted) < len(jobs) or len(rounds.types) > 1
        return Proposal(
            tuple(self._grant(job, rounds, budget) for job in granted),
            tuple(job.id for job in order),
            {job.id: (rounds.ended(job),) for job in order if n_held(job) and not budget.granted(job)},
            rounds.memory(),
            wake_at_s=rounds.ends_s if is_wanted and jobs else None,
        )

    def _grant(self, job: JobSnapshot, rounds: _Rounds, budget: Budget) -> Grant:
        gpu_type, n_workers = budget.gpu_type(job), budget.granted(job)
        return Grant(job.id, n_workers, gpu_type, (rounds.why(job, gpu_type),))


class _Rounds:
    """Parts of the time, time due and time had, by job and type; carried from round to round."""

    def __init__(self, view: View, memory: Mapping[str, Any]) -> None:
        self.view = view
        open_nodes = [node for node in view.nodes if node.is_schedulable]
        self.types = sorted({node.gpu_type for node in open_nodes if node.n_gpus})
        self.capacity_T = np.array([float(sum(n.n_gpus for n in open_nodes if n.gpu_type == t)) for t in self.types])
        self.ends_s = float(memory.get("ends_s", view.now_s))
        self.solved_for: list[str] = memory.get("solved_for", [])
        present = {job.id: job for job in (*view.jobs, *view.settled)}
        self.shares = _kept(memory.get("shares", {}), present)
        self.due, self.had = _kept(memory.get("due", {}), present), _kept(memory.get("had", {}), present)
        self.isolated: dict[str, list[float]] = {j: v for j, v in memory.get("isolated", {}).items() if j in present}
        passed_s = view.now_s - float(memory.get("at_s", view.now_s))
        executed: Mapping[str, float] = memory.get("executed", {})
        on: Mapping[str, str] = memory.get("on", {})
        self.executed = {job_id: job.executed_gpu_s for job_id, job in present.items()}
        type_of = {node.name: node.gpu_type for node in view.nodes}
        self.on = {
            job.id: type_of.get(job.allocation.shares[0].node, "")
            for job in present.values()
            if n_held(job) and job.allocation is not None
        }
        for job_id, job in present.items():
            for gpu_type, share in self.shares.get(job_id, {}).items():
                _add(self.due, job_id, gpu_type, share * passed_s)
            served_s = (job.executed_gpu_s - executed.get(job_id, 0.0)) / max(1, n_held(job) or job.fixed_workers)
            where = on.get(job_id) or self.on.get(job_id)
            if served_s > 0 and where:
                _add(self.had, job_id, where, served_s)

    def solve(self, objective: str, jobs: list[JobSnapshot]) -> None:
        """New parts of the time, where jobs came or went, or remaining work counts and the old ones had their round."""
        jobs = [job for job in jobs if self._has_a_type(job)]
        ids = [job.id for job in jobs]
        rate_JT = np.array([[self._rate(job, t) for t in self.types] for job in jobs]).reshape(
            len(jobs), len(self.types)
        )
        n_J = np.array([float(job.fixed_workers) for job in jobs])
        fair_rate = self._fair_rates(rate_JT, n_J)
        self._book_isolated(jobs, fair_rate)
        if ids == self.solved_for or not self.types:
            return
        columns = [
            Column((j,), t, job.fixed_workers, (float(rate_JT[j, t]),))
            for j, job in enumerate(jobs)
            for t in range(len(self.types))
            if rate_JT[j, t] > 0 and job.fixed_workers <= self.capacity_T[t]
        ]
        weights = {tenant.id: tenant.weight for tenant in self.view.tenants}
        demand = Demand(
            left=np.array([steps_left(job) for job in jobs]),
            weight=np.array([max(weights[job.tenant], 1e-6) * 2.0 ** max(-8, min(8, job.priority)) for job in jobs]),
            n_gpus=n_J,
            fair_rate=fair_rate,
            waited_s=np.array([max(0.0, self.view.now_s - job.submitted_at_s) for job in jobs]),
            isolated_s=np.array([self.isolated[job.id][0] for job in jobs]),
        )
        share_C = time_shares(objective, columns, demand, self.capacity_T)
        self.shares = {job_id: {} for job_id in ids}
        for column, share in zip(columns, share_C, strict=True):
            if share > 1e-6:
                self.shares[ids[column.members[0]]][self.types[column.gpu_type]] = round(float(share), 9)
        self.solved_for = ids

    def turn(self, job: JobSnapshot, gpu_type: str) -> tuple[float, float, float, bool, float, str]:
        """Whose turn it is on a type: least of its due first; then the larger part, the faster type, who is there."""
        share = self.shares.get(job.id, {}).get(gpu_type, 0.0)
        due_s, had_s = (b.get(job.id, {}).get(gpu_type, 0.0) for b in (self.due, self.had))
        priority = 0.0 if share <= 0 else (due_s + share) / had_s if had_s > 0 else float("inf")
        is_there = self.on.get(job.id) == gpu_type
        return (-priority, -share, -self._rate(job, gpu_type), not is_there, job.submitted_at_s, job.id)

    def why(self, job: JobSnapshot, gpu_type: str) -> Explanation:
        facts = {"gpu_type": gpu_type or "any", "percent": 100 * self._share(job, gpu_type), "had": self._had(job)}
        return Explanation(Reason.OPTIMAL_SHARE, facts)

    def ended(self, job: JobSnapshot) -> Explanation:
        return Explanation(Reason.ROUND_ENDED, {"percent": self._had(job)})

    def memory(self) -> dict[str, Any]:
        return {
            "at_s": self.view.now_s,
            "ends_s": self.ends_s,
            "solved_for": self.solved_for,
            "shares": self.shares,
            "due": self.due,
            "had": self.had,
            "isolated": self.isolated,
            "executed": self.executed,
            "on": self.on,
        }

    def _share(self, job: JobSnapshot, gpu_type: str) -> float:
        return self.shares.get(job.id, {}).get(gpu_type, 0.0)

    def _had(self, job: JobSnapshot) -> float:
        """Per cent of its life in which it ran."""
        life_s = max(self.view.now_s - job.submitted_at_s, 1e-9)
        return min(100.0, 100 * sum(self.had.get(job.id, {}).values()) / life_s)

    def _has_a_type(self, job: JobSnapshot) -> bool:
        """Is there a type with room for all of it?"""
        sizes = dict(zip(self.types, self.capacity_T, strict=True))
        return any(job.fixed_workers <= n and (not job.gpu_types or t in job.gpu_types) for t, n in sizes.items())

    def _rate(self, job: JobSnapshot, gpu_type: str) -> float:
        """Steps a second at its size on that type; 0 where it may not go."""
        if job.gpu_types and gpu_type not in job.gpu_types:
            return 0.0
        return 1 / self.view.speeds.step_s(job, job.fixed_workers, gpu_type=gpu_type)

    def _fair_rates(self, rate_JT: Floats, n_J: Floats) -> Floats:
        """Steps a second of each job if all had an equal part of every type, shape (J,)."""
        part_JT = self.capacity_T / max(1, len(rate_JT)) / n_J[:, None] * (rate_JT > 0)
        part_JT /= np.maximum(part_JT.sum(axis=1, keepdims=True), 1.0)
        return np.asarray(np.maximum((rate_JT * part_JT).sum(axis=1), 1e-12))

    def _book_isolated(self, jobs: list[JobSnapshot], fair_rate: Floats) -> None:
        """By job: what its work so far would have taken on equal shares, how far it was, and the rate there."""
        for job, rate in zip(jobs, fair_rate, strict=True):
            spent_s, done, old_rate = self.isolated.get(job.id, [0.0, job.steps_done, float(rate)])
            spent_s += max(0.0, job.steps_done - done) / old_rate
            self.isolated[job.id] = [spent_s, job.steps_done, float(rate)]


def _kept(book: Mapping[str, Mapping[str, float]], present: Mapping[str, JobSnapshot]) -> Shares:
    return {job_id: dict(by_type) for job_id, by_type in book.items() if job_id in present}


def _add(book: Shares, job_id: str, gpu_type: str, seconds: float) -> None:
    by_type = book.setdefault(job_id, {})
    by_type[gpu_type] = by_type.get(gpu_type, 0.0) + seconds
