"""AntMan: guaranteed jobs have GPUs of their own, opportunistic ones run beside them on what is left; nobody is moved.

Source: Xiao et al., AntMan (OSDI '20), sec. 4, as simplified in the simulator of Muri (SIGCOMM '22).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from scheduler.budget import Budget
from scheduler.decisions import Explanation, Reason
from scheduler.placement.gangs import Packing
from scheduler.policies.policy import Grant, Proposal, View, longest_run_first, n_held
from scheduler.snapshot import JobSnapshot


@dataclass(frozen=True)
class Antman:
    """Jobs of a priority above 0 are guaranteed, the others opportunistic; inside a class in order of submission.

    1. those that run stay; 2. guaranteed jobs get GPUs without a guaranteed job, opportunistic ones get GPUs without an
    opportunistic one: with nobody at all if there are enough, else beside those of the other class.
    reserves: guaranteed jobs that do not fit keep those behind them from passing.
    """

    reserves: bool = False
    name: str = "antman"

    def propose(self, view: View, *, budget: Budget, memory: Mapping[str, Any]) -> Proposal:  # noqa: ARG002
        case = _Case(view, budget)
        for job in case.running:
            case.confirm(job)
        is_open = True
        for job in case.waiting:
            if not is_open and _is_guaranteed(job):
                continue
            if not case.admit(job) and _is_guaranteed(job) and self.reserves:
                is_open = False
        return Proposal(tuple(case.grants), tuple(job.id for job in (*case.running, *case.waiting)))


class _Case:
    """One round's scratch board. free: GPUs without a job of that class; n_empty: without any."""

    def __init__(self, view: View, budget: Budget) -> None:
        self.view, self.budget = view, budget
        self.may_share = view.max_jobs_per_gpu > 1
        self.running = sorted((job for job in view.jobs if n_held(job)), key=longest_run_first)
        self.waiting = sorted(
            (job for job in view.jobs if not n_held(job)),
            key=lambda job: (not _is_guaranteed(job), job.submitted_at_s, job.id),
        )
        holding = [job for job in (*view.jobs, *view.settled) if n_held(job)]
        spots = {
            (share.node, gpu)
            for job in holding
            if job.allocation
            for share in job.allocation.shares
            for gpu in share.gpus
        }
        total = sum(node.n_gpus for node in view.nodes if node.is_schedulable)
        self.n_empty = total - len(spots)
        self.free, self.there = {}, {}
        for kind in (True, False):
            alike = [job for job in holding if _is_guaranteed(job) is kind]
            self.free[kind] = total - sum(n_held(job) for job in alike)
            self.there[kind] = [job.id for job in alike]
        self.grants: list[Grant] = []

    def confirm(self, job: JobSnapshot) -> None:
        """It stays where it is, beside whoever of the other class is there."""
        n, why = n_held(job), (Explanation(Reason.UNCHANGED),)
        others = tuple(self.there[not _is_guaranteed(job)]) if self.may_share else ()
        if not others and self.budget.take(job, n):
            self.grants.append(Grant(job.id, n, self.budget.gpu_type(job), why))
        elif others and self.budget.take_beside(job, n, gpu_type=""):
            self.grants.append(Grant(job.id, n, "", why, beside=others, only_beside=False))

    def admit(self, job: JobSnapshot) -> bool:
        kind, n = _is_guaranteed(job), job.fixed_workers
        packing = Packing.TIGHT if kind else Packing.ROOMIEST
        others = tuple(self.there[not kind])
        is_alone = not others or not self.may_share or (n <= self.n_empty and not kind)
        if is_alone and self.budget.take(job, n):
            fits = (Explanation(Reason.FITS, {"n_workers": n}),)
            self.grants.append(Grant(job.id, n, self.budget.gpu_type(job), fits, packing))
            self.n_empty -= n
        elif others and self.may_share and n <= self.free[kind] and job.profile is not None:
            gpu_type = self.view.speeds.usual_type(job)
            if not self.budget.take_beside(job, n, gpu_type=gpu_type):
                return False
            partners = f"{len(others)} {'opportunistic' if kind else 'guaranteed'} jobs"
            why = (Explanation(Reason.SHARES_WHAT_IS_LEFT, {"n_workers": n, "partners": partners}),)
            self.grants.append(Grant(job.id, n, gpu_type, why, packing, beside=others, only_beside=False))
            self.n_empty = max(0, self.n_empty - n)
        else:
            return False
        self.free[kind] -= n
        self.there[kind].append(job.id)
        return True


def _is_guaranteed(job: JobSnapshot) -> bool:
    return job.priority > 0
