"""Shortest remaining time first, with preemption: whoever is done soonest at its fixed size goes first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from scheduler.budget import Budget
from scheduler.decisions import Explanation, Reason
from scheduler.models.cost import restart_cost_s
from scheduler.models.progress import remaining_s
from scheduler.policies.policy import Grant, Proposal, View, n_held
from scheduler.snapshot import JobSnapshot


@dataclass(frozen=True)
class Srtf:
    """Jobs in order of remaining time; who does not fit is passed over. Running jobs without a turn are preempted.

    A running job's remaining time is counted without its restart cost, a waiting one's with its start: equal jobs do
    not take turns.
    """

    name: str = "srtf"

    def propose(self, view: View, *, budget: Budget, memory: Mapping[str, Any]) -> Proposal:  # noqa: ARG002
        left_s = {job.id: _left_s(job, view) for job in view.jobs}
        order = sorted(
            view.jobs, key=lambda job: (-job.priority, left_s[job.id], not n_held(job), job.submitted_at_s, job.id)
        )
        grants = []
        last = None
        notes = {}
        for job in order:
            n_workers = n_held(job) or job.fixed_workers
            if budget.take(job, n_workers):
                fits = Explanation(Reason.FITS, {"n_workers": n_workers})
                grants.append(Grant(job.id, n_workers, budget.gpu_type(job), (fits,)))
                last = job if not n_held(job) else last
            elif n_held(job) and last is not None and left_s[last.id] <= left_s[job.id]:
                facts = {"left_s": left_s[job.id], "next_job": last.id, "shorter_s": left_s[last.id]}
                notes[job.id] = (Explanation(Reason.SHORTER_FIRST, facts),)
        return Proposal(tuple(grants), tuple(job.id for job in order), notes)


def _left_s(job: JobSnapshot, view: View) -> float:
    if job.allocation is not None and n_held(job):
        return remaining_s(job, step_s=view.speeds.step_s_on(job, job.allocation))
    return view.speeds.remaining_s(job, job.fixed_workers) + restart_cost_s(job)
