# SPDX-License-Identifier: Apache-2.0
"""Backfill: in order of submission, but a job that does not fit lets the next ones pass. Three strictnesses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from scheduler.api.plan import Explanation, Reason
from scheduler.api.snapshot import JobSnapshot
from scheduler.models.progress import remaining_s
from scheduler.policies.toolkit.policy import Grant, Proposal, View, by_submission, longest_run_first, n_held
from scheduler.quota.budget import Budget


@dataclass(frozen=True)
class Backfill:
    """Leaves running jobs as they are and starts waiting jobs in order, each at its fixed size; jobs behind may
    overtake.

    reservations: how many of the jobs that do not fit may not be delayed, by predicted ends, by those behind them:
    0 skips and fits; 1 is EASY (Lifka, 1995); all of them (-1) is conservative (Mu'alem and Feitelson, 2001).
    """

    reservations: int = 0
    name: str = "backfill"

    def propose(self, view: View, *, budget: Budget, memory: Mapping[str, Any]) -> Proposal:  # noqa: ARG002
        running = sorted((job for job in view.jobs if n_held(job)), key=longest_run_first)
        waiting = sorted((job for job in view.jobs if not n_held(job)), key=by_submission)
        grants = []
        profile = _Profile()
        for job in running:
            if budget.reserve(job, n_held(job)):
                grants.append(Grant(job.id, n_held(job), budget.gpu_type(job), (Explanation(Reason.UNCHANGED),)))
                profile.end(_left_s(job, view), n_held(job))
        profile.free = budget.n_left()
        n_reserved = 0
        for job in waiting:
            n_workers, length_s = job.fixed_workers, view.speeds.remaining_s(job, job.fixed_workers) + job.start_s
            start_s = profile.earliest(n_workers, length_s)
            if start_s == 0 and budget.reserve(job, n_workers):
                fits = Explanation(Reason.FITS, {"n_workers": n_workers})
                grants.append(Grant(job.id, n_workers, budget.gpu_type(job), (fits,)))
                profile.reserve(0.0, length_s, n_workers)
            elif self.reservations < 0 or n_reserved < self.reservations:
                profile.reserve(start_s, length_s, n_workers)
                n_reserved += 1
        return Proposal(tuple(grants), tuple(job.id for job in (*running, *waiting)))


class _Profile:
    """Free GPUs over time from now: steps that go up when jobs end, and down and up where room is reserved."""

    def __init__(self) -> None:
        self.free = 0
        self._changes: dict[float, int] = {}

    def end(self, at_s: float, n_gpus: int) -> None:
        self._changes[at_s] = self._changes.get(at_s, 0) + n_gpus

    def reserve(self, start_s: float, length_s: float, n_gpus: int) -> None:
        if start_s == float("inf"):
            return
        if start_s == 0:
            self.free -= n_gpus
        else:
            self.end(start_s, -n_gpus)
        self.end(start_s + length_s, n_gpus)

    def earliest(self, n_gpus: int, length_s: float) -> float:
        """The first time from which so many GPUs are free for so long; infinity if there is none."""
        start_s, free = 0.0, self.free
        is_open = free >= n_gpus
        for at_s in sorted(self._changes):
            if is_open and at_s >= start_s + length_s:
                return start_s
            free += self._changes[at_s]
            if free < n_gpus:
                is_open = False
            elif not is_open:
                is_open, start_s = True, at_s
        return start_s if is_open else float("inf")


def _left_s(job: JobSnapshot, view: View) -> float:
    assert job.allocation is not None
    return remaining_s(job, step_s=view.speeds.step_s_on(job, job.allocation))
