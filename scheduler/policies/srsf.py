"""Shortest remaining service first, with preemption: remaining time times GPUs decides who goes first."""

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
class Srsf:
    """As srtf, but by GPU-seconds; of equals, the one with fewer GPUs first.

    Source: Gu et al., Tiresias (NSDI '19), sec. 3.
    """

    name: str = "srsf"

    def propose(self, view: View, *, budget: Budget, memory: Mapping[str, Any]) -> Proposal:  # noqa: ARG002
        service = {job.id: _service_s(job, view) for job in view.jobs}

        def note(leaver: JobSnapshot, comer: JobSnapshot) -> Explanation | None:
            if service[comer.id] > service[leaver.id]:
                return None
            facts = {"left": service[leaver.id], "next_job": comer.id, "smaller": service[comer.id]}
            return Explanation(Reason.SMALLER_FIRST, facts)

        order = sorted(
            view.jobs, key=lambda job: (-job.priority, service[job.id], job.fixed_workers, job.submitted_at_s, job.id)
        )
        return serve_in_order(order, budget=budget, note=note)


def _service_s(job: JobSnapshot, view: View) -> float:
    """GPU-seconds to go; a waiting job's restart included, so that equal jobs do not take turns."""
    if job.allocation is not None and n_held(job):
        return remaining_s(job, step_s=view.speeds.step_s_on(job, job.allocation)) * n_held(job)
    n_workers = job.fixed_workers
    return (view.speeds.remaining_s(job, n_workers) + job.start_s + job.checkpoint_s) * n_workers
