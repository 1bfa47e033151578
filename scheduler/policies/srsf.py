# SPDX-License-Identifier: Apache-2.0
"""Shortest remaining service first, with preemption: the least remaining time times GPUs goes first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from scheduler.api.plan import Explanation, Reason
from scheduler.api.snapshot import JobSnapshot
from scheduler.models.progress import remaining_s
from scheduler.policies.abilities import OrderRule
from scheduler.policies.toolkit.policy import Proposal, View, n_held
from scheduler.policies.toolkit.strict_order import in_order, serve_in_order
from scheduler.quota.budget import Budget


@dataclass(frozen=True)
class Srsf:
    """Serves the least remaining GPU-seconds first; of equals, the job with fewer GPUs. It is preemptive like srtf.

    Source: Gu et al., Tiresias (NSDI '19), sec. 3.
    """

    name: str = "srsf"
    order_rule: ClassVar[OrderRule] = OrderRule.REMAINING_SERVICE

    def propose(self, view: View, *, budget: Budget, memory: Mapping[str, Any]) -> Proposal:  # noqa: ARG002
        def note(leaver: JobSnapshot, comer: JobSnapshot) -> Explanation | None:
            left, smaller = _service_s(leaver, view), _service_s(comer, view)
            if smaller > left:
                return None
            facts = {"left": left, "next_job": comer.id, "smaller": smaller}
            return Explanation(Reason.SMALLER_FIRST, facts)

        def key(job: JobSnapshot) -> tuple[Any, ...]:
            return -job.priority, _service_s(job, view), job.fixed_workers, job.submitted_at_s, job.id

        return serve_in_order(in_order(view, name=self.name, key=key), budget=budget, note=note)


def _service_s(job: JobSnapshot, view: View) -> float:
    """GPU-seconds to go; a waiting job's restart included, so that equal jobs do not take turns."""
    if job.allocation is not None and n_held(job):
        return remaining_s(job, step_s=view.speeds.step_s_on(job, job.allocation)) * n_held(job)
    n_workers = job.fixed_workers
    return (view.speeds.remaining_s(job, n_workers) + job.start_s + job.checkpoint_s) * n_workers
