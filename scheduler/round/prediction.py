# SPDX-License-Identifier: Apache-2.0
"""Step 6 of a round: when every job is predicted to start and to end, in intervals that outcomes calibrate."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from scheduler.api.memory import RoundMemory
from scheduler.api.plan import Decision, Explanation, Prediction, Preempt, Wait
from scheduler.api.proposal import Proposal
from scheduler.api.reasons import Reason, date_of
from scheduler.api.snapshot import ClusterSnapshot, JobSnapshot
from scheduler.models.forecast.arrivals import ArrivalEffects
from scheduler.models.forecast.forward_simulation import Interruption
from scheduler.models.forecast.prediction_intervals import PredictionIntervals, TimeForecast
from scheduler.models.speed.job_speeds import JobSpeeds
from scheduler.round.forecast.budgets import BudgetForecast
from scheduler.round.forecast.plan import RoundForecast, TimeSpan
from scheduler.round.state import RoundState


@dataclass(frozen=True)
class LearntErrors:
    """Holds what earlier rounds learnt of their predictions' errors, of starts and of ends.

    arrivals: how jobs that come later delay the present ones; counts_arrivals: False = that is not predicted, as for
    elastic policies.
    """

    starts: PredictionIntervals
    ends: PredictionIntervals
    arrivals: ArrivalEffects
    counts_arrivals: bool

    @classmethod
    def of(cls, memory: RoundMemory, *, counts_arrivals: bool) -> LearntErrors:
        """Returns what a memory holds of them."""
        starts, ends = PredictionIntervals(memory.start_intervals), PredictionIntervals(memory.prediction_intervals)
        return cls(starts, ends, ArrivalEffects(memory.arrival_effects), counts_arrivals)

    def added_to(self, memory: RoundMemory) -> RoundMemory:
        """Returns the memory with what is known now."""
        return replace(
            memory,
            prediction_intervals=self.ends.to_json(),
            start_intervals=self.starts.to_json(),
            arrival_effects=self.arrivals.to_json(),
        )


class RoundPredictions(NamedTuple):
    """Holds the prediction of each job, and of those that hold GPUs why they are to give some back before they end."""

    by_job: Mapping[str, Prediction]
    interrupted: Mapping[str, Explanation]


def predict(
    state: RoundState,
    proposal: Proposal,
    decisions: Mapping[str, Decision],
    speeds: JobSpeeds,
    *,
    learnt: LearntErrors,
    unknown_ends: Collection[str] = (),
) -> RoundPredictions:
    """Returns the predictions by job, in the snapshot's order, and what is known of interruptions.

    1. the plan is simulated forward; jobs that a budget of GPU-hours delays are left at that, as their start is a date
    and no estimate; 2. what may arrive later delays the others' P90; 3. the intervals become as wide as the errors of
    earlier predictions. unknown_ends: jobs whose end is not known at all, and has no prediction.
    """
    forecast, snapshot = RoundForecast(state, proposal, speeds), state.snapshot
    predictions = {  # 1
        job_id: each._replace(finish_p50_s=None, finish_p90_s=None) if job_id in unknown_ends else each
        for job_id, each in forecast.predictions(decisions).items()
    }
    bounded = BudgetForecast(state, decisions, speeds).bounded(predictions) if state.limits else {}
    starts = _starts(snapshot, predictions, decisions, bounded)
    ends = _ends(snapshot, predictions, bounded)
    if learnt.counts_arrivals:  # 2
        starts, ends = forecast.with_arrivals(starts, ends, learnt.arrivals, known=learnt.ends.known)
    _close(snapshot, decisions, learnt, bounded)  # 3
    starts_s = _calibrated(starts, decisions, learnt.starts, now_s=snapshot.now_s)
    ends_s = _calibrated(ends, decisions, learnt.ends, now_s=snapshot.now_s)
    found = {}
    for job_id, predicted in predictions.items():
        start = starts_s.get(job_id) or (predicted.start_p50_s, predicted.start_p90_s)
        end = ends_s.get(job_id) or (predicted.finish_p50_s, predicted.finish_p90_s)
        found[job_id] = Prediction(*start, *end, predicted.step_s)
    interrupted = {job_id: _explained(one, snapshot.now_s) for job_id, one in forecast.interruptions.items()}
    return RoundPredictions(found | bounded, interrupted)


def _explained(interruption: Interruption, now_s: float) -> Explanation:
    facts = {"at": date_of(now_s + interruption.after_s), "given": interruption.n_given, "held": interruption.n_held}
    return Explanation(Reason.RELEASES_AT_QUOTA_CHANGE, facts)


def _starts(
    snapshot: ClusterSnapshot,
    predictions: Mapping[str, Prediction],
    decisions: Mapping[str, Decision],
    bounded: Collection[str],
) -> dict[str, TimeSpan]:
    """Of jobs that wait for their first start; a start of this very round needs no interval."""
    found = {}
    for job in snapshot.jobs:
        predicted = predictions[job.id]
        if predicted.start_p50_s is None or predicted.start_p90_s is None or not _waits_for_first(job, decisions):
            continue
        if job.id in bounded:
            continue
        found[job.id] = TimeSpan(predicted.start_p50_s - snapshot.now_s, predicted.start_p90_s - snapshot.now_s)
    return found


def _ends(
    snapshot: ClusterSnapshot, predictions: Mapping[str, Prediction], bounded: Collection[str]
) -> dict[str, TimeSpan]:
    return {
        job_id: TimeSpan(predicted.finish_p50_s - snapshot.now_s, predicted.finish_p90_s - snapshot.now_s)
        for job_id, predicted in predictions.items()
        if predicted.finish_p50_s is not None and predicted.finish_p90_s is not None and job_id not in bounded
    }


def _waits_for_first(job: JobSnapshot, decisions: Mapping[str, Decision]) -> bool:
    return isinstance(decisions[job.id], Wait) and job.executed_gpu_s <= 0.0


def _close(
    snapshot: ClusterSnapshot, decisions: Mapping[str, Decision], learnt: LearntErrors, bounded: Collection[str]
) -> None:
    """Records the outcomes: jobs that started, and jobs that are gone. What was predicted of a job before a budget or a
    pause of admission delayed it counts as withdrawn: that it comes later is no error of the models.
    """
    delayed = {*bounded, *(job.id for job in snapshot.jobs if job.hold == Reason.ADMISSION_PAUSED)}
    withdrawn = {*snapshot.withdrawn, *delayed}
    present = {job.id for job in snapshot.jobs if job.id not in delayed}
    waiting = {job.id for job in snapshot.jobs if job.id in present and _waits_for_first(job, decisions)}
    learnt.starts.close(waiting, withdrawn=withdrawn, now_s=snapshot.now_s)
    learnt.ends.close(present, withdrawn=withdrawn, now_s=snapshot.now_s)


def _calibrated(
    spans: Mapping[str, TimeSpan], decisions: Mapping[str, Decision], intervals: PredictionIntervals, *, now_s: float
) -> dict[str, tuple[float, float]]:
    """P50 and P90 on the snapshot's clock, by job; the predictions are recorded."""
    forecasts = {job_id: _forecast(decisions[job_id], span, intervals) for job_id, span in spans.items()}
    intervals.prepare(forecasts.values())
    found = {}
    for job_id, forecast in forecasts.items():
        p50_s, p90_s = intervals.calibrated(forecast)
        intervals.record(job_id, forecast, p90_s=p90_s, now_s=now_s)
        found[job_id] = now_s + p50_s, now_s + p90_s
    return found


def _forecast(decision: Decision, span: TimeSpan, intervals: PredictionIntervals) -> TimeForecast:
    waits = isinstance(decision, Wait | Preempt)
    cause = str(decision.explanations[0].reason) if waits and decision.explanations else ""
    return TimeForecast(span.p50_s, span.p90_s, intervals.group_of(decision.job, waits=waits), cause)
