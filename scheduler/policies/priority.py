# SPDX-License-Identifier: Apache-2.0
"""Priority bands: a higher one takes GPUs from lower ones, never from its own; after Borg (EuroSys '15)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scheduler.api.plan import Explanation, Reason
from scheduler.api.snapshot import JobSnapshot
from scheduler.placement.gangs import Packing
from scheduler.policies.toolkit.policy import Grant, Proposal, View, longest_run_first, n_held
from scheduler.quota.budget import Budget


@dataclass(frozen=True)
class Priority:
    """Serves jobs at their fixed size, band by band; in a band those that run stay, the others follow by priority.

    bands: the least priorities of the bands above the lowest, ascending; none = every priority is a band of its own.
    Preemption is between bands only, so that jobs of one band never push each other out in a cascade (sec. 2.5). The
    victims are those of the lowest priority, last started first. Source: Verma et al., EuroSys '15.
    spread: the emptiest GPU type and nodes instead of the best fit, as Borg's earlier worst fit (sec. 3.2).

    1. in a band, those that run are confirmed;
    2. those that wait are scanned by priority, and inside a priority the tenants take turns (sec. 3.2); a tenant over
       quota is not admitted and holds up no other; a job that does not fit lets the next ones pass.
    """

    bands: tuple[float, ...] = ()
    spread: bool = False
    name: str = "priority"

    def propose(self, view: View, *, budget: Budget, memory: Mapping[str, Any]) -> Proposal:  # noqa: ARG002
        grants: list[Grant] = []
        order: list[str] = []
        newcomers: list[JobSnapshot] = []
        notes: dict[str, tuple[Explanation, ...]] = {}
        for band in sorted({self.band(job) for job in view.jobs}, reverse=True):
            members = [job for job in view.jobs if self.band(job) == band]
            running = sorted((job for job in members if n_held(job)), key=longest_run_first)
            waiting = _in_turn([job for job in members if not n_held(job)])
            for job in (*running, *waiting):
                order.append(job.id)
                n_workers = n_held(job) or job.fixed_workers
                if self._take(job, n_workers, budget):
                    grants.append(self._grant(job, n_workers, budget))
                    if not n_held(job):
                        newcomers.append(job)
                elif n_held(job) and newcomers:
                    notes[job.id] = (self._note(job, newcomers[-1]),)
        return Proposal(tuple(grants), tuple(order), notes)

    def band(self, job: JobSnapshot) -> float:
        """Returns the job's band, higher first."""
        return float(sum(job.priority >= least for least in self.bands)) if self.bands else float(job.priority)

    def _take(self, job: JobSnapshot, n_workers: int, budget: Budget) -> bool:
        """On the type that it leaves least of (best fit), or most of; a running job stays on its own."""
        if n_held(job):
            return budget.reserve(job, n_workers)
        left = budget.left_by_type()
        types = sorted(left, key=lambda t: (-left[t] if self.spread else left[t], t))
        return any(budget.reserve(job, n_workers, gpu_type=t) for t in types)

    def _grant(self, job: JobSnapshot, n_workers: int, budget: Budget) -> Grant:
        fits = Explanation(Reason.FITS, {"n_workers": n_workers})
        packing = Packing.ROOMIEST if self.spread else Packing.TIGHT
        return Grant(job.id, n_workers, budget.gpu_type(job), (fits,), packing)

    def _note(self, leaver: JobSnapshot, comer: JobSnapshot) -> Explanation:
        facts = {"priority": leaver.priority, "next_job": comer.id, "next_priority": comer.priority}
        return Explanation(Reason.HIGHER_PRIORITY, facts)


def _in_turn(jobs: Sequence[JobSnapshot]) -> list[JobSnapshot]:
    """By priority; inside a priority one job of each tenant, first submitted first, then the next one of each."""
    turn: dict[tuple[int, str], int] = {}
    place = {}
    for job in sorted(jobs, key=lambda job: (job.submitted_at_s, job.id)):
        key = (job.priority, job.tenant)
        place[job.id] = turn[key] = turn.get(key, 0) + 1
    return sorted(jobs, key=lambda job: (-job.priority, place[job.id], job.submitted_at_s, job.id))
