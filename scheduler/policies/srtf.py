"""Shortest remaining time first, with preemption: whoever is done soonest at its fixed size goes first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from scheduler.budget import Budget
from scheduler.decisions import Explanation, Reason
from scheduler.models.progress import remaining_s
from scheduler.policies.ordered import serve_in_order
from scheduler.policies.policy import Proposal, View, n_held
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

        def note(leaver: JobSnapshot, comer: JobSnapshot) -> Explanation | None:
            if left_s[comer.id] > left_s[leaver.id]:
                return None
            facts = {"left_s": left_s[leaver.id], "next_job": comer.id, "shorter_s": left_s[comer.id]}
            return Explanation(Reason.SHORTER_FIRST, facts)

        order = sorted(
            view.jobs, key=lambda job: (-job.priority, left_s[job.id], not n_held(job), job.submitted_at_s, job.id)
        )
        return serve_in_order(order, budget=budget, note=note)


def _left_s(job: JobSnapshot, view: View) -> float:
    if job.allocation is not None and n_held(job):
        return remaining_s(job, step_s=view.speeds.step_s_on(job, job.allocation))
    return view.speeds.waiting_s(job)
