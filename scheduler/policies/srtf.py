# SPDX-License-Identifier: Apache-2.0
"""Shortest remaining time first, with preemption: the job that ends soonest at its fixed size goes first."""

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
class Srtf:
    """Serves jobs in order of remaining time and skips those that do not fit.

    Running jobs without a turn are preempted.

    A running job's remaining time is counted without its restart cost, a waiting one's with its start: equal jobs do
    not take turns.
    """

    name: str = "srtf"
    order_rule: ClassVar[OrderRule] = OrderRule.REMAINING_TIME

    def propose(self, view: View, *, budget: Budget, memory: Mapping[str, Any]) -> Proposal:  # noqa: ARG002
        def note(leaver: JobSnapshot, comer: JobSnapshot) -> Explanation | None:
            left_s, shorter_s = _left_s(leaver, view), _left_s(comer, view)
            if shorter_s > left_s:
                return None
            facts = {"left_s": left_s, "next_job": comer.id, "shorter_s": shorter_s}
            return Explanation(Reason.SHORTER_FIRST, facts)

        def key(job: JobSnapshot) -> tuple[Any, ...]:
            return -job.priority, _left_s(job, view), not n_held(job), job.submitted_at_s, job.id

        return serve_in_order(in_order(view, name=self.name, key=key), budget=budget, note=note)


def _left_s(job: JobSnapshot, view: View) -> float:
    if job.allocation is not None and n_held(job):
        return remaining_s(job, step_s=view.speeds.step_s_on(job, job.allocation))
    return view.speeds.waiting_s(job)
