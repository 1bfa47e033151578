# SPDX-License-Identifier: Apache-2.0
"""Which waiting jobs a policy serves before a job, and why, in the terms by which the policy orders them."""

from __future__ import annotations

from dataclasses import dataclass

from scheduler.api.plan import Explanation, Plan, Reason, Wait
from scheduler.api.snapshot import ClusterSnapshot, JobSnapshot
from scheduler.models.speed.job_speeds import JobSpeeds
from scheduler.policies.abilities import OrderRule, order_rule_of
from scheduler.policies.toolkit.policy import Policy
from scheduler.round.cache import RoundCache


@dataclass(frozen=True)
class AheadJob:
    """Describes a waiting job that is served before another one. n_workers: with which it starts at least."""

    job: str
    n_workers: int
    explanation: Explanation
    predicted_start_s: float | None


def jobs_ahead(
    snapshot: ClusterSnapshot,
    plan: Plan,
    job_id: str,
    *,
    policy: Policy,
    cache: RoundCache | None = None,
) -> tuple[AheadJob, ...]:
    """Returns the waiting jobs before the job in the plan's order, the one that is served first at the front.

    cache: of the round that made the plan. A job that the policy did not decide on has none ahead.
    """
    if job_id not in plan.order:
        return ()
    decisions = {decision.job: decision for decision in plan.decisions}
    line = [j for j in plan.order[: plan.order.index(job_id)] if isinstance(decisions.get(j), Wait)]
    jobs = {job.id: job for job in snapshot.jobs}
    step_times = cache.step_times if cache is not None else None
    comparison = _Comparison(policy, JobSpeeds(snapshot.nodes, snapshot.racks, cache=step_times, jobs=snapshot.jobs))
    return tuple(
        AheadJob(
            ahead,
            jobs[ahead].fixed_workers,
            comparison.explain(jobs[job_id], jobs[ahead]),
            decisions[ahead].prediction.start_p50_s,
        )
        for ahead in line
    )


@dataclass(frozen=True)
class _Comparison:
    policy: Policy
    speeds: JobSpeeds

    def explain(self, later: JobSnapshot, earlier: JobSnapshot) -> Explanation:
        """Returns why the policy serves the earlier one first; a comparison is stated only where it holds."""
        if earlier.priority > later.priority:
            facts = {"priority": later.priority, "next_job": earlier.id, "next_priority": earlier.priority}
            return Explanation(Reason.HIGHER_PRIORITY, facts)
        found = self._by_rule(later, earlier) if earlier.priority == later.priority else None
        return found or Explanation(Reason.ORDERED_BEFORE, {"policy": self.policy.name, "next_job": earlier.id})

    def _by_rule(self, later: JobSnapshot, earlier: JobSnapshot) -> Explanation | None:
        rule, name = order_rule_of(self.policy), {"next_job": earlier.id}
        if rule is OrderRule.REMAINING_TIME:
            left_s, shorter_s = self.speeds.waiting_s(later), self.speeds.waiting_s(earlier)
            if shorter_s < left_s:
                return Explanation(Reason.SHORTER_FIRST, {**name, "left_s": left_s, "shorter_s": shorter_s})
        if rule is OrderRule.REMAINING_SERVICE:
            left, smaller = self._service(later), self._service(earlier)
            if smaller < left:
                return Explanation(Reason.SMALLER_FIRST, {**name, "left": left, "smaller": smaller})
        if rule is OrderRule.ATTAINED_SERVICE and earlier.executed_gpu_s < later.executed_gpu_s:
            facts = {"served": later.executed_gpu_s, "less": earlier.executed_gpu_s}
            return Explanation(Reason.LESS_ATTAINED_SERVICE, {**name, **facts})
        if rule is not OrderRule.OTHER and earlier.submitted_at_s < later.submitted_at_s:
            earlier_s = later.submitted_at_s - earlier.submitted_at_s
            return Explanation(Reason.SUBMITTED_EARLIER, {**name, "earlier_s": earlier_s})
        return None

    def _service(self, job: JobSnapshot) -> float:
        """GPU-seconds to go, with the cost of a start."""
        return self.speeds.waiting_s(job) * job.fixed_workers
