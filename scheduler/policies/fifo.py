# SPDX-License-Identifier: Apache-2.0
"""First in, first out: by priority, then submission; no job is preempted, none overtakes for want of GPUs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from scheduler.api.plan import Explanation, Reason
from scheduler.policies.toolkit.policy import Grant, Proposal, View, by_submission, longest_run_first, n_held
from scheduler.quota.budget import Budget


@dataclass(frozen=True)
class Fifo:
    """Leaves running jobs as they are and starts waiting jobs in order, each at its fixed size, until one does not fit.

    A job that its tenant's quota refuses is skipped: it holds up no job of other tenants.
    """

    name: str = "fifo"

    def propose(self, view: View, *, budget: Budget, memory: Mapping[str, Any]) -> Proposal:  # noqa: ARG002
        running = sorted((job for job in view.jobs if n_held(job)), key=longest_run_first)
        waiting = sorted((job for job in view.jobs if not n_held(job)), key=by_submission)
        grants = []
        for job in running:
            if budget.reserve(job, n_held(job)):
                grants.append(Grant(job.id, n_held(job), budget.gpu_type(job), (Explanation(Reason.UNCHANGED),)))
        for job in waiting:
            n_workers = job.fixed_workers
            if budget.reserve(job, n_workers):
                fits = Explanation(Reason.FITS, {"n_workers": n_workers})
                grants.append(Grant(job.id, n_workers, budget.gpu_type(job), (fits,)))
                continue
            refused = budget.refusal(job, n_workers)
            if refused is not None and refused.reason is Reason.TOO_FEW_FREE_GPUS:
                break
        return Proposal(tuple(grants), tuple(job.id for job in (*running, *waiting)), strict_order=True)
