# SPDX-License-Identifier: Apache-2.0
"""First in, first out: by priority, then submission; no job is preempted, none overtakes for want of GPUs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from scheduler.api.plan import Explanation, Reason
from scheduler.api.snapshot import JobSnapshot
from scheduler.policies.abilities import OrderRule
from scheduler.policies.toolkit.policy import Grant, Proposal, View, by_submission, longest_run_first, n_held
from scheduler.quota.budget import Budget


@dataclass(frozen=True)
class Fifo:
    """Leaves running jobs as they are and starts waiting jobs in order, each at its fixed size, until one does not fit.

    A job that its tenant's quota refuses is skipped: it holds up no job of other tenants. Where all that wait have
    started, elastic jobs that asked for no size of their own get what is left, one GPU each in turn; they keep that
    size for as long as they run.
    """

    name: str = "fifo"
    order_rule: ClassVar[OrderRule] = OrderRule.SUBMISSION

    def propose(self, view: View, *, budget: Budget, memory: Mapping[str, Any]) -> Proposal:  # noqa: ARG002
        running = sorted((job for job in view.jobs if n_held(job)), key=longest_run_first)
        waiting = sorted((job for job in view.jobs if not n_held(job)), key=by_submission)
        grants: list[Grant] = []
        starting: list[JobSnapshot] = []
        for job in running:
            if budget.reserve(job, n_held(job)):
                grants.append(Grant(job.id, n_held(job), budget.gpu_type(job), (Explanation(Reason.UNCHANGED),)))
        is_blocked = False
        for job in waiting:
            if budget.reserve(job, job.fixed_workers):
                starting.append(job)
                continue
            refused = budget.refusal(job, job.fixed_workers)
            is_blocked = refused is not None and refused.reason is Reason.TOO_FEW_FREE_GPUS
            if is_blocked:
                break
        if not is_blocked:
            _share_what_is_left(starting, budget)
        for job in starting:
            n_workers = budget.granted(job)
            fits = Explanation(Reason.FITS, {"n_workers": n_workers})
            grants.append(
                Grant(job.id, n_workers, budget.gpu_type(job), (fits,), least_workers=min(n_workers, job.fixed_workers))
            )
        return Proposal(tuple(grants), tuple(job.id for job in (*running, *waiting)), strict_order=True)


def _share_what_is_left(starting: Sequence[JobSnapshot], budget: Budget) -> None:
    """One more worker for each in turn, until none of them can have more."""
    growing = [job for job in starting if job.requested_workers is None]
    while growing:
        growing = [
            job
            for job in growing
            if budget.granted(job) < job.max_workers and budget.reserve(job, budget.granted(job) + 1)
        ]
