# SPDX-License-Identifier: Apache-2.0
"""Step 6 of a round: predictions of jobs that budgets of GPU-hours keep from running until the next period."""

from __future__ import annotations

from collections.abc import Mapping

from scheduler.api.gpu_budgets import OnExhausted
from scheduler.api.plan import Decision, Launch, Prediction, Preempt, Reason, Resize, Wait
from scheduler.api.snapshot import JobSnapshot
from scheduler.models.cost import restart_cost_s
from scheduler.models.progress import remaining_s
from scheduler.models.speed.job_speeds import JobSpeeds
from scheduler.quota.demand import SharedGpuCounter
from scheduler.quota.gpu_hours import OwnedBudget
from scheduler.round.state import RoundState


def budgeted_gpus(state: RoundState, decisions: Mapping[str, Decision]) -> dict[OwnedBudget, float]:
    """Returns the GPUs that count against each hard budget once the plan is carried out; one that jobs share counts
    once.
    """
    found: dict[OwnedBudget, float] = {}
    counter = SharedGpuCounter()
    for job in state.snapshot.jobs:
        decision, held = decisions[job.id], job.held
        if isinstance(decision, Launch | Resize):
            held = decision.allocation
        if held is None or isinstance(decision, Wait | Preempt):
            continue
        n_gpus = held.n_workers - counter.n_shared(held)
        node = next((share.node for share in held.shares if share.gpus), "")
        for owned in state.limits.binding(job, state.limits.gpu_type_of(node)):
            found[owned] = found.get(owned, 0.0) + n_gpus
    return found


class BudgetForecast:
    """Moves what is predicted beyond the end of a budget into the next period.

    How fast a budget is used up follows from what the plan lets its tenant hold; what starts later is not foreseen.
    """

    def __init__(self, state: RoundState, decisions: Mapping[str, Decision], speeds: JobSpeeds) -> None:
        self._decisions, self._speeds, self._limits = decisions, speeds, state.limits
        self._startup = state.startup
        self._now_s = state.snapshot.now_s
        self._jobs = state.snapshot.by_id
        held = budgeted_gpus(state, decisions)
        self._ends = {owned: self._limits.exhausted_at_s(owned, n) for owned, n in held.items()}

    def bounded(self, predictions: Mapping[str, Prediction]) -> dict[str, Prediction]:
        """Returns new predictions of the jobs that a budget delays, by id; the others' stay as they are."""
        found = {}
        for job_id, prediction in predictions.items():
            job = self._jobs[job_id]
            if self._is_stopped(job_id):
                found[job_id] = self._from(job, self._limits.full_again_at_s(job))
            elif (delayed := self._delayed(job, prediction)) is not None:
                found[job_id] = delayed
        return found

    def _is_stopped(self, job_id: str) -> bool:
        """Its budget is used up now."""
        decision = self._decisions[job_id]
        reasons = [e.reason for e in decision.explanations[:1]]
        return isinstance(decision, Wait | Preempt) and reasons in (
            [Reason.BUDGET_EXHAUSTED],
            [Reason.USER_BUDGET_EXHAUSTED],
        )

    def _from(self, job: JobSnapshot, start_s: float | None) -> Prediction:
        """It starts when the period does; None = no one knows when."""
        if start_s is None:
            return Prediction()
        delay_s = self._startup.start_s(job) if job.executed_gpu_s <= 0.0 else self._startup.restart_s(job)
        end_s = start_s + delay_s + remaining_s(job, step_s=self._speeds.step_s(job, job.fixed_workers, gpu_type=""))
        return Prediction(start_s, start_s, end_s, end_s)

    def _delayed(self, job: JobSnapshot, prediction: Prediction) -> Prediction | None:
        start_s, finish_s = prediction.start_p50_s, prediction.finish_p50_s
        waits = isinstance(self._decisions[job.id], Wait | Preempt)
        for owned in self._limits.binding_everywhere(job):
            end_s = self._ends.get(owned)
            if end_s is None:
                continue
            again_s = owned.budget.ends_at_s
            if waits and start_s is not None and start_s >= end_s:
                return self._from(job, again_s)
            stops = owned.budget.on_exhausted is OnExhausted.STOP_ALL
            if stops and finish_s is not None and finish_s > end_s:
                return self._paused(job, prediction, end_s, again_s)
        return None

    def _paused(self, job: JobSnapshot, prediction: Prediction, end_s: float, again_s: float | None) -> Prediction:
        """It is stopped when the budget is used up, and goes on in the next period."""
        if again_s is None:
            return prediction._replace(finish_p50_s=None, finish_p90_s=None)
        more_s = again_s - end_s + restart_cost_s(job)
        p50_s, p90_s = prediction.finish_p50_s, prediction.finish_p90_s
        return prediction._replace(
            finish_p50_s=None if p50_s is None else p50_s + more_s,
            finish_p90_s=None if p90_s is None else p90_s + more_s,
        )
