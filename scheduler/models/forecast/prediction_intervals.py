# SPDX-License-Identifier: Apache-2.0
"""Prediction intervals of starts and ends, calibrated on how far off the earlier predictions were.

A prediction is a median and a spread (the logarithm of P90 / P50), as the models have them; its score is how many
spreads later than the median the job ended (or started: the same holds for starts). The P90 of the next ones lies
where nine of ten scores lay, and their P50 where half of them lay: conformal prediction (Vovk, Gammerman and Shafer,
2005). Jobs that did not end yet, or that were cancelled, took at least so long: their scores are censored, and the
quantile is the product-limit one (Kaplan and Meier, 1958). As what was learnt of those that ended may not hold for
those that come, the level follows the coverage of the intervals: a little lower for every job that ended within, nine
times as much higher for one that did not (Gibbs and Candes, 2021).

Pure: predictions and outcomes travel in the plan's memory from round to round.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum
from itertools import islice
from typing import Any

import numpy as np

MOST_KEPT = 6  # of a job's predictions; of more, every other one is dropped, and the rest count twice
MOST_ENDED = 400  # of the newest scores count
MOST_OPEN = 1500  # predictions of jobs that are present; of more, every second, third ... counts
PRIOR_JOBS = 20.0  # the weight, in jobs, of what the models predict
LEAST_SPREAD = 0.1
ALPHA, LEAST_ALPHA, MOST_ALPHA = 0.1, 0.01, 0.5
STEP, FIRST_STEP = 0.006, 0.02  # of the level, for each outcome; first predictions are fewer
FORMAT = 3  # of the memory; one of another format is dropped


class ForecastGroup(StrEnum):
    """Names predictions that err alike, and are calibrated together."""

    FIRST_WAITING = "first_waiting"  # of a job that was never predicted before, and does not start now
    FIRST_RUNNING = "first_running"
    WAITING = "waiting"
    RUNNING = "running"


_FIRST = frozenset({ForecastGroup.FIRST_WAITING, ForecastGroup.FIRST_RUNNING})


class TimeForecast:
    """Holds the predicted seconds until a job starts or ends, the P50 (half_s), and its spread: the logarithm of the
    P90 (most_s) over it, at least LEAST_SPREAD.
    """

    __slots__ = ("group", "half_s", "spread")

    def __init__(self, half_s: float, most_s: float, group: ForecastGroup) -> None:
        self.half_s, self.group = half_s, group
        self.spread = max(LEAST_SPREAD, math.log(max(most_s, 1.0) / max(half_s, 1.0)))


class PredictionIntervals:
    """Calibrates prediction intervals on their outcomes, separately for each group of predictions that err alike.

    _open, by job: rounds seen, every how many rounds a prediction is kept, and those:
    [at_s, half_s, spread, group, predicted P90 in seconds, or 0 once its outcome is known].
    """

    def __init__(self, memory: Mapping[str, Any]) -> None:
        if memory.get("format") != FORMAT:
            memory = {}
        self._open: dict[str, list[Any]] = dict(memory.get("open", {}))
        of = {group: memory.get(group.value, {}) for group in ForecastGroup}
        self._ended: dict[str, list[list[float]]] = {g: list(of[g].get("ended", ())) for g in ForecastGroup}
        self._n_jobs: dict[str, int] = {g: of[g].get("n_jobs", 0) for g in ForecastGroup}
        self._alpha: dict[str, float] = {g: of[g].get("alpha", ALPHA) for g in ForecastGroup}
        self._score: dict[str, float] = dict.fromkeys(ForecastGroup, 1.0)
        self._median: dict[str, float] = dict.fromkeys(ForecastGroup, 0.0)

    @property
    def known(self) -> Collection[str]:
        """Returns the jobs that have a prediction."""
        return self._open.keys()

    def close(self, present: Collection[str], *, withdrawn: Collection[str] = (), now_s: float) -> None:
        """Records the end of jobs that are gone; withdrawn ones count as censored."""
        for job_id in [job_id for job_id in self._open if job_id not in present]:
            self._end(job_id, ended=job_id not in withdrawn, now_s=now_s)
        self._outlive(now_s)
        n_points = sum([len(points) for _, _, points in self._open.values()])
        every_point = ((every, point) for _, every, points in self._open.values() for point in points)
        unfinished: dict[str, list[tuple[float, float, float]]] = {group.value: [] for group in ForecastGroup}
        for every, point in islice(every_point, 0, None, 1 + n_points // MOST_OPEN):
            at_s, half_s, spread, group, _ = point
            unfinished[group].append((math.log(max((now_s - at_s) / half_s, 1e-3)) / spread, every, 0.0))
        for one in ForecastGroup:
            self._ended[one] = self._ended[one][-MOST_ENDED:]
            self._alpha[one] = min(max(self._alpha[one], LEAST_ALPHA), MOST_ALPHA)
            self._score[one], self._median[one] = self._calibrated(one, unfinished[one])

    def calibrated(self, forecast: TimeForecast) -> tuple[float, float]:
        """Returns the seconds within which half, and nine of ten, of the jobs with such a forecast ended.

        These are the models' P50 and P90 until that is known; the P50 is never more than the P90.
        """
        spread, half_s, group = forecast.spread, forecast.half_s, forecast.group
        p90_s = max(half_s, 1.0) * _spread_factor(self._score[group] * spread)
        middle = self._median[group]
        return min(half_s * _spread_factor(middle * spread) if middle else half_s, p90_s), p90_s

    def group_of(self, job_id: str, *, waits: bool) -> ForecastGroup:
        """Returns the group of the job's next prediction. waits: the job does not train now."""
        if job_id in self._open:
            return ForecastGroup.WAITING if waits else ForecastGroup.RUNNING
        return ForecastGroup.FIRST_WAITING if waits else ForecastGroup.FIRST_RUNNING

    def record(self, job_id: str, forecast: TimeForecast, *, p90_s: float, now_s: float) -> None:
        """Records a prediction until its outcome is known. p90_s: the P90 that was published.

        Of each job the first prediction stays: it is what its people plan with.
        """
        n, every, points = self._open.get(job_id, (0, 1, ()))
        if n % every == 0:
            points = [*points, [now_s, max(forecast.half_s, 1.0), forecast.spread, forecast.group.value, p90_s]]
            if len(points) > MOST_KEPT:
                every, points = 2 * every, points[::2]
        self._open[job_id] = [n + 1, every, points]

    def to_json(self) -> dict[str, Any]:
        """Returns the state as JSON values, from which the constructor continues."""
        by_group = {
            g.value: {"ended": self._ended[g], "n_jobs": self._n_jobs[g], "alpha": self._alpha[g]}
            for g in ForecastGroup
        }
        return {"format": FORMAT, "open": self._open, **by_group}

    def _end(self, job_id: str, *, ended: bool, now_s: float) -> None:
        _, every, points = self._open.pop(job_id)
        for point in points:
            weight = 1.0 if point[3] in _FIRST else float(every)
            self._ended[point[3]].append([_score(point, now_s), weight, float(ended)])
            if ended and point[4]:
                self._score_interval(point[3], held=now_s - point[0] <= point[4] + 1.0)
        if ended:
            for group in {point[3] for point in points}:
                self._n_jobs[group] += 1

    def _outlive(self, now_s: float) -> None:
        """Scores the predictions whose jobs take longer than predicted, once each."""
        for job_id, (n, every, points) in self._open.items():
            for point in points:
                if point[4] and now_s - point[0] > point[4] + 1.0:
                    self._open[job_id] = [n, every, [self._outlived(point, now_s) for point in points]]
                    break

    def _outlived(self, point: list[Any], now_s: float) -> list[Any]:
        """The point, scored as soon as its job takes longer than predicted."""
        if not point[4] or now_s - point[0] <= point[4] + 1.0:
            return point
        self._score_interval(point[3], held=False)
        return [*point[:4], 0.0]

    def _score_interval(self, group: str, *, held: bool) -> None:
        step = FIRST_STEP if group in _FIRST else STEP
        self._alpha[group] += step * (ALPHA - (not held))

    def _calibrated(self, group: str, unfinished: Sequence[tuple[float, float, float]]) -> tuple[float, float]:
        """Where nine of ten scores lie, and half of them; drawn to the models' own interval, 1 and 0, where few jobs
        ended.
        """
        if not self._n_jobs[group]:
            return 1.0, 0.0
        trust = self._n_jobs[group] / (self._n_jobs[group] + PRIOR_JOBS)
        high, middle = _quantiles([*self._ended[group], *unfinished], (1 - self._alpha[group], 0.5))
        return trust * high + (1 - trust), trust * middle


def _spread_factor(exponent: float) -> float:
    return math.exp(min(max(exponent, -1.4), 6.0))


def _score(point: list[Any], now_s: float) -> float:
    at_s, half_s, spread = point[:3]
    return math.log(max((now_s - at_s) / half_s, 1e-3)) / float(spread)


def _quantiles(scores: Sequence[Sequence[float]], levels: Sequence[float]) -> list[float]:
    """Product-limit. scores: value, weight, and 1 or, where it is at least so much, 0."""
    value, weight, ended = (np.array(column, dtype=np.float64) for column in zip(*scores, strict=True))
    order = np.argsort(value, kind="stable")
    value, weight, ended = value[order], weight[order], ended[order]
    at_risk = weight[::-1].cumsum()[::-1]
    stays = np.cumprod(1 - np.where(ended > 0, weight / at_risk, 0.0))
    return [float(value[min(int(np.searchsorted(-stays, level - 1)), len(value) - 1)]) for level in levels]
