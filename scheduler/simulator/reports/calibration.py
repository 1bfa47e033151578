# SPDX-License-Identifier: Apache-2.0
"""Do predictions hold? P50 and P90 of jobs' starts and ends, compared with when they did start and end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from scheduler.api.plan import Decision, Plan, Prediction, Wait
from scheduler.api.snapshot import ClusterSnapshot, Phase
from scheduler.simulator.outcome import JobHistory, SimulationOutcome

GRAIN_S = 1.0  # a prediction that is wrong by less is right


@dataclass(frozen=True)
class Calibration:
    """Holds how well predictions held. held_p50, held_p90: shares of jobs that were no later than predicted.

    median_error: of the seconds that were left, relative to what they came to. median_p90: of the seconds until the
    P90, relative to the same: how much later than it happened a person had to plan for. median_width: of the seconds
    until the P90, of those until the P50.
    """

    n: int
    held_p50: float
    held_p90: float
    median_error: float
    median_p90: float
    median_width: float


class PredictedEvent(StrEnum):
    """Names what is predicted: the first start of a job that has to wait for it, or a job's end."""

    START = "start"
    END = "end"


@dataclass(frozen=True)
class PredictionRecord:
    """Holds one prediction of one job by one round. cause: the first reason for which it waited; "" while it ran.

    is_first: no earlier round had predicted this of the job.
    """

    event: PredictedEvent
    job: str
    tenant: str
    cause: str
    at_s: float
    p50_s: float
    p90_s: float
    waits: bool
    is_first: bool


class Calibrator:
    """Collects predictions: give it to simulate() as on_round, and ask it when the simulation is over."""

    def __init__(self) -> None:
        self._predicted: list[PredictionRecord] = []
        self._seen: set[tuple[PredictedEvent, str]] = set()
        self._started: set[str] = set()

    def __call__(self, snapshot: ClusterSnapshot, plan: Plan) -> None:
        jobs = {job.id: job for job in snapshot.jobs}
        for decision in plan.decisions:
            job = jobs[decision.job]
            waits, predicted = job.phase is Phase.WAITING, decision.prediction
            cause = _cause(decision)
            if not waits:
                self._started.add(job.id)
            if isinstance(decision, Wait) and job.id not in self._started:
                start_s = (predicted.start_p50_s, predicted.start_p90_s)
                self._add(PredictedEvent.START, job.id, job.tenant, cause, snapshot.now_s, start_s, waits=waits)
            end_s = _end_of(predicted)
            self._add(PredictedEvent.END, job.id, job.tenant, cause, snapshot.now_s, end_s, waits=waits)

    def result(
        self,
        outcome: SimulationOutcome,
        *,
        waiting: bool | None = None,
        event: PredictedEvent = PredictedEvent.END,
        only_first: bool = False,
        since_s: float = 0.0,
    ) -> Calibration:
        """Returns the calibration of all predictions of that event, or of those made while the job waited (or did not).

        only_first: of each job, its first prediction alone. since_s: of predictions made from then on. Raises
        ValueError for none.
        """
        chosen = [
            one
            for one in self._predicted
            if one.event is event
            and waiting in (None, one.waits)
            and (one.is_first or not only_first)
            and one.at_s >= since_s
        ]
        return _judged(chosen, outcome)

    def by(
        self,
        key: Callable[[PredictionRecord], str],
        outcome: SimulationOutcome,
        *,
        event: PredictedEvent,
        since_s: float = 0.0,
    ) -> dict[str, Calibration]:
        """Returns the calibration of first predictions of that event by what key returns: a tenant, or a cause."""
        groups: dict[str, list[PredictionRecord]] = {}
        for one in self._predicted:
            is_asked = one.event is event and one.is_first and one.at_s >= since_s
            if is_asked and _happened_s(one, outcome.histories[one.job]) is not None:
                groups.setdefault(key(one), []).append(one)
        return {name: _judged(groups[name], outcome) for name in sorted(groups)}

    def _add(
        self,
        event: PredictedEvent,
        job: str,
        tenant: str,
        cause: str,
        at_s: float,
        times_s: tuple[float | None, float | None],
        *,
        waits: bool,
    ) -> None:
        p50_s, p90_s = times_s
        if p50_s is None or p90_s is None:
            return
        is_first = (event, job) not in self._seen
        self._seen.add((event, job))
        self._predicted.append(PredictionRecord(event, job, tenant, cause, at_s, p50_s, p90_s, waits, is_first))


def _cause(decision: Decision) -> str:
    return str(decision.explanations[0].reason) if isinstance(decision, Wait) and decision.explanations else ""


def _end_of(predicted: Prediction) -> tuple[float | None, float | None]:
    return predicted.finish_p50_s, predicted.finish_p90_s


def _happened_s(one: PredictionRecord, history: JobHistory) -> float | None:
    return history.started_at_s if one.event is PredictedEvent.START else history.ended_at_s


def _judged(chosen: list[PredictionRecord], outcome: SimulationOutcome) -> Calibration:
    rows = [
        (one.at_s, one.p50_s, one.p90_s, happened_s)
        for one in chosen
        if (happened_s := _happened_s(one, outcome.histories[one.job])) is not None
    ]
    if not rows:
        raise ValueError("there were no predictions to compare")
    now_P, half_P, most_P, happened_P = np.array(rows).T
    left_P = np.maximum(happened_P - now_P, GRAIN_S)
    return Calibration(
        n=len(rows),
        held_p50=float(np.mean(happened_P <= half_P + GRAIN_S)),
        held_p90=float(np.mean(happened_P <= most_P + GRAIN_S)),
        median_error=float(np.median(np.abs(half_P - happened_P) / left_P)),
        median_p90=float(np.median((most_P - now_P) / left_P)),
        median_width=float(np.median(np.maximum(most_P - now_P, GRAIN_S) / np.maximum(half_P - now_P, GRAIN_S))),
    )
