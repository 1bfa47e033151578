# SPDX-License-Identifier: Apache-2.0
"""Step 6 of a round: when every job is predicted to start and to end."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np

from scheduler.api.plan import Decision, Keep, Launch, Prediction, Preempt, Resize, Wait
from scheduler.api.proposal import Proposal
from scheduler.api.snapshot import ClusterSnapshot, GangAllocation, JobSnapshot, Phase
from scheduler.models.cost import restart_cost_s, start_cost_s
from scheduler.models.forecast.arrivals import ArrivalEffects
from scheduler.models.forecast.forward_simulation import ForwardSimulation
from scheduler.models.forecast.prediction_intervals import FinishForecast, PredictionIntervals
from scheduler.models.progress import p90_s, remaining_s, steps_left
from scheduler.models.speed.job_speeds import JobSpeeds
from scheduler.round.state import RoundState

QUEUE_ERROR = 0.6  # relative error of a time that depends on the ends of others


def predict(
    state: RoundState,
    proposal: Proposal,
    decisions: Mapping[str, Decision],
    speeds: JobSpeeds,
    *,
    intervals: PredictionIntervals,
    arrivals: ArrivalEffects | None,
) -> dict[str, Prediction]:
    """Returns the predictions by job, in the snapshot's order.

    arrivals: how jobs that come later delay the present ones; None = that is not predicted, as for elastic policies.
    """
    forecast = RoundForecast(state, proposal, speeds)
    plain = forecast.predictions(decisions)
    delayed: dict[str, FinishForecast] = {}
    if arrivals is not None:
        delayed = forecast.with_arrivals(plain, decisions, arrivals, known=intervals.known)
    return _with_intervals(state.snapshot, decisions, plain, intervals, delayed)


def _with_intervals(
    snapshot: ClusterSnapshot,
    decisions: Mapping[str, Decision],
    predictions: Mapping[str, Prediction],
    intervals: PredictionIntervals,
    delayed: Mapping[str, FinishForecast],
) -> dict[str, Prediction]:
    """The predictions with intervals as wide as the errors of earlier ones. delayed: with later arrivals, if known."""
    now_s, found = snapshot.now_s, dict(predictions)
    intervals.close(predictions.keys(), withdrawn=snapshot.withdrawn, now_s=now_s)
    for job_id, plain in predictions.items():
        if plain.finish_p50_s is None or plain.finish_p90_s is None:
            continue
        forecast = delayed.get(job_id)
        if forecast is None:
            waits = isinstance(decisions[job_id], Wait | Preempt)
            forecast = FinishForecast(plain.finish_p50_s - now_s, plain.finish_p90_s - now_s, waits)
        p90_s = intervals.p90_s(forecast)
        finish_p50_s = min(plain.finish_p50_s, now_s + p90_s)
        found[job_id] = replace(plain, finish_p50_s=finish_p50_s, finish_p90_s=now_s + p90_s)
        intervals.record(job_id, forecast, p90_s=p90_s, now_s=now_s)
    return found


class RoundForecast:
    """Makes the predictions for one round's decisions; times are on the snapshot's clock."""

    def __init__(self, state: RoundState, proposal: Proposal, speeds: JobSpeeds) -> None:
        self._state, self._proposal, self._speeds = state, proposal, speeds
        self._now_s = state.snapshot.now_s

    def predictions(self, decisions: Mapping[str, Decision]) -> dict[str, Prediction]:
        """Returns the prediction of every job by its id, without jobs that arrive later."""
        found = {}
        for job in self._state.snapshot.jobs:
            decision = decisions[job.id]
            if isinstance(decision, Launch | Resize):
                delay_s = start_cost_s(job) if isinstance(decision, Launch) else restart_cost_s(job)
                found[job.id] = self._on(
                    job, decision.allocation, delay_s=delay_s, started=isinstance(decision, Resize)
                )
            elif isinstance(decision, Keep) and job.phase is not Phase.STOPPING and (held := job.held) is not None:
                found[job.id] = self._on(job, held, delay_s=self._still_starting_s(job), started=True)
        queued = self._queued(decisions, found)
        return {job.id: found.get(job.id) or queued.get(job.id, Prediction()) for job in self._state.snapshot.jobs}

    def with_arrivals(
        self,
        predictions: Mapping[str, Prediction],
        decisions: Mapping[str, Decision],
        arrivals: ArrivalEffects,
        *,
        known: Collection[str],
    ) -> dict[str, FinishForecast]:
        """Returns, for each job with a predicted end, how far later arrivals will push that end back.

        known: jobs of earlier rounds; all others are recorded as arrivals at their places in the policy's order.
        """
        depths = self._depths()
        plain_s = {
            job_id: (prediction.finish_p50_s - self._now_s, prediction.finish_p90_s - self._now_s)
            for job_id, prediction in predictions.items()
            if prediction.finish_p50_s is not None and prediction.finish_p90_s is not None
        }
        arrivals.record((depths[job_id] for job_id in plain_s if job_id not in known), now_s=self._now_s)
        if not plain_s:
            return {}
        left_J, most_J = np.array(list(plain_s.values())).T
        before_J, own_J = np.array([depths[job_id] for job_id in plain_s]).T
        half_J, late_J = arrivals.delayed(left_J, most_J, before_J + own_J / 2, n_gpus=self._n_gpus, now_s=self._now_s)
        return {
            job_id: FinishForecast(half_s, late_s, isinstance(decisions[job_id], Wait | Preempt))
            for job_id, half_s, late_s in zip(plain_s, half_J.tolist(), late_J.tolist(), strict=True)
        }

    def _depths(self) -> dict[str, tuple[float, float]]:
        """By job: GPU-seconds of those before it, and its own; who is not the policy's to order comes first."""
        jobs = {job.id: job for job in self._state.snapshot.jobs}
        order = dict.fromkeys(job_id for job_id in self._proposal.order if job_id in jobs)
        found, before = {}, 0.0
        for job_id in (*(job_id for job_id in jobs if job_id not in order), *order):
            job = jobs[job_id]
            n_workers = job.allocation.n_workers if job.allocation is not None else job.fixed_workers
            own = steps_left(job) * self._speeds.step_s(job, n_workers) * n_workers
            found[job_id] = (before, own)
            before += own
        return found

    @property
    def _n_gpus(self) -> int:
        return sum(node.n_gpus for node in self._state.snapshot.nodes if node.is_schedulable)

    def _on(self, job: JobSnapshot, allocation: GangAllocation, *, delay_s: float, started: bool) -> Prediction:
        step_s = self._speeds.step_s_on(job, allocation)
        left_s = remaining_s(job, step_s=step_s)
        error = self._speeds.error_on(job, allocation)
        return Prediction(
            start_p50_s=None if started else self._now_s,
            finish_p50_s=self._now_s + delay_s + left_s,
            finish_p90_s=self._now_s + p90_s(delay_s + left_s, error=error),
            step_s=step_s,
        )

    def _still_starting_s(self, job: JobSnapshot) -> float:
        if job.phase is not Phase.STARTING:
            return 0.0
        return max(0.0, start_cost_s(job) - (self._now_s - (job.allocated_at_s or self._now_s)))

    def _queued(self, decisions: Mapping[str, Decision], found: Mapping[str, Prediction]) -> dict[str, Prediction]:
        """Waiting and preempted candidates, by playing the ends of the others forward in the policy's order."""
        jobs = {job.id: job for job in self._state.snapshot.jobs}
        running = []
        held = 0
        for job_id, prediction in found.items():
            decision, job = decisions[job_id], jobs[job_id]
            allocation = decision.allocation if isinstance(decision, Launch | Resize) else job.held
            if allocation is None or prediction.finish_p50_s is None:
                continue
            held += allocation.n_workers
            left_s = remaining_s(job, step_s=self._speeds.step_s(job, allocation.n_workers))
            running.append((job, allocation.n_workers, prediction.finish_p50_s - self._now_s - left_s))
        in_line = [j for j in self._proposal.order if isinstance(decisions.get(j), Wait | Preempt)]
        if not in_line:
            return {}
        sizes = {j: self._proposal.sizes.get(j) or (jobs[j].fixed_workers,) for j in jobs}
        strict_order = self._proposal.strict_order
        forecast = ForwardSimulation(
            self._speeds, sizes=lambda job: sizes[job.id], regrow=False, strict_order=strict_order
        )
        progress = forecast.run(running, [jobs[j] for j in in_line], free=max(0, self._n_gpus - held))
        return {
            j: Prediction(
                start_p50_s=self._now_s + progress[j].start_s,
                finish_p50_s=self._now_s + progress[j].finish_s,
                finish_p90_s=self._now_s + p90_s(progress[j].finish_s, error=QUEUE_ERROR),
            )
            for j in in_line
            if j in progress
        }
