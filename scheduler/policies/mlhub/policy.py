# SPDX-License-Identifier: Apache-2.0
"""The default policy: elastic sizes that minimise the sum of completion times, with restarts charged.

All GPUs are shared out anew in every round, by marginal gain: a second at a size is worth the job's price, divided by
its remaining time there, and its price is what finishing it costs all present jobs (prices.py). Where there are several
GPU types, each job is assigned to one of them first (gpu_types.py), and the GPUs of each type are shared out among its
jobs. What keeps it calm: a changed size is worth less by its restart, weighed over the time in which it can pay; a job
is left alone for a while after a change, and near its end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from scheduler.api.plan import Explanation
from scheduler.api.snapshot import JobSnapshot
from scheduler.placement.gangs import Packing
from scheduler.policies.abilities import OrderRule
from scheduler.policies.mlhub.job_values import JobValues
from scheduler.policies.mlhub.reasons import SizeReasons
from scheduler.policies.mlhub.typed_packing import packing_searches, sharers
from scheduler.policies.toolkit.policy import Grant, Proposal, View, n_held
from scheduler.policies.toolkit.waterfill import waterfill
from scheduler.quota.budget import Budget


@dataclass(frozen=True)
class Mlhub:
    """Shares all GPUs out anew in every round, by marginal gain (policies/toolkit/prices.py), with restarts charged.

    margin: a change is charged (1 + margin) times its restart, since it disturbs other jobs, too. horizon_s: the time
    in which a change has to pay; about that until the next one. cooldown_s: the least time between two changes of a
    job. last_stretch: a job whose end is nearer than so many restarts is left alone. least_training: a job is
    started on more GPUs than its least size if it trains there for so many times its start. patience_s: a job that
    waited longer, and more than patience times as long as it still has to train, gets its least size before all others.
    min_gain: the least relative gain for which a job is given more workers. stickiness: what holding a size is worth by
    itself, since predictions are not exact; where all jobs have one size, only restarts count. prices_places: places
    are compared by what their links give, and take from others, where there are several racks. shares: jobs may be put
    on the same GPUs, where nodes allow it.

    Measured on the testbed's twin (benchmarks/testbed_twin.py, 20 jobs of one to three minutes): mean completion times
    of 211 s without least_training, 181 with 1, 176 with 2, and no better with 3 or 5 (8 draws, last_stretch 2). 188 s
    with a last_stretch of 2, 185 with 3, 181 with 4 and 182 with 6 (16 draws). The latter changes
    nothing in workloads 1 and 2 of Pollux at loads 0.5 and 1, the former nothing at load 1.
    """

    margin: float = 1.0
    horizon_s: float = 1200.0
    cooldown_s: float = 30.0
    last_stretch: float = 4.0
    least_training: float = 2.0
    patience_s: float = 3600.0
    patience: float = 10.0
    min_gain: float = 0.03
    stickiness: float = 0.05
    prices_places: bool = True
    shares: bool = True
    name: str = "mlhub"
    order_rule: ClassVar[OrderRule] = OrderRule.REMAINING_SERVICE
    is_elastic: ClassVar[bool] = True
    adapts_batch_size: ClassVar[bool] = True

    def propose(self, view: View, *, budget: Budget, memory: Mapping[str, Any]) -> Proposal:
        """Returns the proposal, in six steps.

        1. types, sizes and prices; 2. jobs that stay unchanged; 3. starved jobs; 4. the rest by marginal gain;
        5. where nodes allow it, those that gain by it share GPUs; 6. jobs without GPUs get what is left of other types.
        """
        searches = packing_searches(view, memory=memory, is_on=self.shares)
        guests = {job_id for search in searches for job_id in search.guests}
        values = JobValues(self, view, budget, memory, guests)  # 1
        for job in values.running:
            if job.id not in guests and job.id in values.settled:  # 2
                _confirm(values, job, budget)
        for job in values.starved:  # 3
            _ = _reserve(values, job, job.min_workers, budget) or budget.reserve(job, job.min_workers)
        movable = [job for job in values.jobs if job.id not in values.cooling_until_s and job.id not in guests]
        self._share_out(movable, values, budget)  # 4
        for search in searches:  # 5
            search.join(budget, sharers(search, values, budget), left_s=values.left_s)
        if values.is_mixed:
            self._share_out(_left_out(values, budget), values, budget)  # 6
        proposal = self._proposal(values, budget)
        for search in searches:
            proposal = search.applied(proposal)
        return proposal

    def _share_out(self, jobs: Sequence[JobSnapshot], values: JobValues, budget: Budget) -> None:
        values.prepare(jobs)
        types = values.gpu_type if values.is_mixed else None
        waterfill(jobs, budget=budget, sizes=values.sizes, values=values.values, min_gain=self.min_gain, types=types)

    # the answer

    def _proposal(self, values: JobValues, budget: Budget) -> Proposal:
        by_price = sorted(values.waiting, key=lambda job: (-values.weights[job.id], job.submitted_at_s, job.id))
        starved = {job.id for job in values.starved}
        line = [*values.running, *values.starved, *(job for job in by_price if job.id not in starved)]
        plan = {job.id: budget.granted(job) for job in values.jobs}
        reasons = SizeReasons(values, plan, budget)
        notes = {job.id: (reasons.why(job),) for job in values.jobs}
        granted = [job for job in values.jobs if plan[job.id]]
        types = [budget.gpu_type(job) for job in granted]
        values.view.speeds.classes(granted, [(plan[job.id],) for job in granted], types=types)
        return Proposal(
            tuple(self._grant(job, values, budget, notes[job.id]) for job in line if plan[job.id]),
            tuple(job.id for job in line),
            {job.id: notes[job.id] for job in values.running},
            {"waiting_since": values.waiting_since},
            values.sizes,
            _wake_at_s(values, budget),
            backfills=True,
            gpu_types=values.gpu_type if values.is_mixed else {},
        )

    def _grant(self, job: JobSnapshot, values: JobValues, budget: Budget, why: tuple[Explanation, ...]) -> Grant:
        n, gpu_type, speeds = budget.granted(job), budget.gpu_type(job), values.view.speeds
        n_nodes = speeds.best_spread(job, n, gpu_type=gpu_type)
        packing = Packing.PRICED if self.prices_places and speeds.topology.shares_links else Packing.TIGHT
        defragments = 1 < n == job.min_workers == job.max_workers and packing is Packing.TIGHT and n_nodes < 2
        least = job.min_workers
        return Grant(job.id, n, gpu_type, why, packing, n_nodes=n_nodes, least_workers=least, defragments=defragments)


def _reserve(values: JobValues, job: JobSnapshot, n_workers: int, budget: Budget) -> bool:
    """Reserves GPUs of the type that the job was assigned to; of any where there is one type only."""
    return budget.reserve(job, n_workers, gpu_type=values.gpu_type[job.id] or None)


def _confirm(values: JobValues, job: JobSnapshot, budget: Budget) -> None:
    """It keeps its size; where quota was cut, the largest size that is still allowed, or nothing."""
    for n in (n_held(job), *(n for n in reversed(values.sizes[job.id]) if n < n_held(job))):
        if _reserve(values, job, n, budget):
            return


def _left_out(values: JobValues, budget: Budget) -> list[JobSnapshot]:
    """Jobs without GPUs, valued on the type of which enough is left where they are fastest.

    Running jobs are valued on their own type, where enough of it is left.
    """
    left = budget.left_by_type()
    found: dict[str, str] = {}
    for job in values.jobs:
        fitting = [t for t in values.types_of(job) if left.get(t, 0) >= job.min_workers]
        if not budget.granted(job) and fitting:
            own = values.held_type(job)
            found[job.id] = own if own in fitting else max(fitting, key=lambda t: (values.worth_on(job, t), t))
    values.revalue_on(found)
    return [job for job in values.jobs if job.id in found]


def _wake_at_s(values: JobValues, budget: Budget) -> float | None:
    """When the next cool-down ends, if jobs wait or GPUs are idle."""
    if not values.waiting and budget.n_left() == 0:
        return None
    return min(values.cooling_until_s.values(), default=None)
