# SPDX-License-Identifier: Apache-2.0
"""Optimus: workers one by one to the job whose completion time falls most by one more; after Peng et al., EuroSys
'18.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from scheduler.api.plan import Explanation, Reason
from scheduler.api.snapshot import JobSnapshot
from scheduler.models.progress import steps_left
from scheduler.placement.gangs import Packing
from scheduler.policies.toolkit.policy import Grant, Proposal, View, by_submission, n_held
from scheduler.quota.budget import Budget


@dataclass(frozen=True)
class Optimus:
    """Gives every job its least size first, in order of submission; then each next worker where it saves most time.

    The gain of a worker is (step time now - step time with it) x remaining steps. Fewest workers are placed first, on
    the emptiest nodes; jobs that change are placed anew, at once with moves_at_once.
    Source: sec. 4.1, 4.2. Deviation: the speed model is MLHub's, which chooses mode and number of servers, too.
    """

    moves_at_once: bool = False
    name: str = "optimus"
    is_elastic: ClassVar[bool] = True
    knows_true_speeds: ClassVar[bool] = True

    def propose(self, view: View, *, budget: Budget, memory: Mapping[str, Any]) -> Proposal:  # noqa: ARG002
        order = sorted(view.jobs, key=by_submission)
        line = sorted(order, key=lambda job: job.min_workers)
        for job in line:
            budget.reserve(job, job.min_workers)
        gains: list[tuple[float, int, int]] = []
        for place, job in enumerate(line):
            self._push(gains, place, job, view, budget)
        while gains and budget.n_left() > 0:
            _, place, n_workers = heapq.heappop(gains)
            if budget.reserve(line[place], n_workers):
                self._push(gains, place, line[place], view, budget)
        granted = [job for job in order if budget.granted(job)]
        return Proposal(
            tuple(_grant(job, budget) for job in sorted(granted, key=budget.granted)),
            tuple(job.id for job in order),
            {job.id: (Explanation(Reason.UNCHANGED),) for job in granted if n_held(job) == budget.granted(job)},
            sizes={job.id: tuple(range(job.min_workers, job.max_workers + 1)) for job in order},
            places_after_preemption=self.moves_at_once,
        )

    def _push(
        self, gains: list[tuple[float, int, int]], place: int, job: JobSnapshot, view: View, budget: Budget
    ) -> None:
        n = budget.granted(job)
        if n and n < job.max_workers:
            gain_s = (view.speeds.step_s(job, n) - view.speeds.step_s(job, n + 1)) * steps_left(job)
            if gain_s > 0:
                heapq.heappush(gains, (-gain_s, place, n + 1))


def _grant(job: JobSnapshot, budget: Budget) -> Grant:
    n_workers = budget.granted(job)
    why = Explanation(Reason.SHORTENS_AVERAGE, {"n_workers": n_workers})
    return Grant(job.id, n_workers, budget.gpu_type(job), (why,), Packing.ROOMIEST)
