# SPDX-License-Identifier: Apache-2.0
"""Prediction intervals of starts and ends, calibrated on how far off the earlier predictions were.

A prediction is a median and a spread (the logarithm of P90 / P50), as the models have them; its score is how many
spreads later than the median the job ended (or started: the same holds for starts). The P90 of the next ones lies
where nine of ten scores lay, and their P50 where half of them lay: split conformal prediction (Vovk, Gammerman and
Shafer, 2005). Scores count in full for predictions of jobs that waited for the same cause (Mondrian, or
label-conditional, conformal prediction), all others together as POOLED_JOBS, so that a cause seen rarely borrows from
the rest, and the less, the longer or shorter the predicted time was (localised conformal prediction; Guan, 2023): a
short job is overtaken, preempted or demoted less than a long one. What the models say themselves counts as PRIOR_JOBS.
Jobs that did not end yet, or that were cancelled, took at least so long: their scores are censored, and the quantile is
the product-limit one (Kaplan and Meier, 1958). As what was learnt of those that ended may not hold for those that come,
the level follows the coverage of the intervals: a little lower for every job that ended within, nine times as much
higher for one that did not (Gibbs and Candes, 2021).

Pure: predictions and outcomes travel in the plan's memory from round to round. Axes: S scores.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any

from scheduler.models.forecast.censored_scores import CensoredScores, Score

MOST_KEPT = 6  # of a job's predictions; of more, every other one is dropped, and the rest count twice
MOST_ENDED = 400  # of the newest scores count
MOST_OPEN = 500  # predictions of jobs that are present, in each group; of more, every second, third ... counts
PRIOR_JOBS = 4.0  # the weight, in jobs, of what the models predict
POOLED_JOBS = 6.0  # and of the scores of all other causes together
PER_JOB = 4.0  # scores of a job, in groups of later predictions
LEAST_SPREAD = 0.1
CELL = 1.0  # logarithms of predicted times between those at which quantiles are looked up
ALPHA, LEAST_ALPHA, MOST_ALPHA = 0.1, 0.01, 0.15  # within what counts as calibrated, 85 to 95 %, on the narrow side
STEP, FIRST_STEP = 0.006, 0.05  # of the level, for each outcome; first predictions are fewer
FORMAT = 5  # of the memory
FORMAT_BEFORE = 4  # whose scores lack the predicted seconds; a memory of any other format is dropped


class ForecastGroup(StrEnum):
    """Names predictions that err alike, and are calibrated together."""

    FIRST_WAITING = "first_waiting"  # of a job that was never predicted before, and does not start now
    FIRST_RUNNING = "first_running"
    WAITING = "waiting"
    RUNNING = "running"


_Cell = tuple[str, float]  # a cause, and the whole number of cells below a predicted time
_FIRST = frozenset({ForecastGroup.FIRST_WAITING, ForecastGroup.FIRST_RUNNING})


class TimeForecast:
    """Holds the predicted seconds until a job starts or ends, the P50 (half_s), and its spread: the logarithm of the
    P90 (most_s) over it, at least LEAST_SPREAD.

    cause: for which the job waits; "" where it does not. cell, part: the cell of the predicted time, and the part of
    it that lies below.
    """

    __slots__ = ("cause", "cell", "group", "half_s", "part", "spread")

    def __init__(self, half_s: float, most_s: float, group: ForecastGroup, cause: str = "") -> None:
        self.half_s, self.group, self.cause = half_s, group, cause
        least_s = max(half_s, 1.0)
        self.spread = max(LEAST_SPREAD, math.log(max(most_s, 1.0) / least_s))
        self.cell, self.part = divmod(math.log(least_s) / CELL, 1.0)


class PredictionIntervals:
    """Calibrates prediction intervals on their outcomes, separately for each group of predictions that err alike.

    _open, by job: rounds seen, every how many rounds a prediction is kept, and those:
    [at_s, half_s, spread, group, predicted P90 in seconds (0 once its outcome is known), cause].
    """

    def __init__(self, memory: Mapping[str, Any]) -> None:
        if memory.get("format") == FORMAT_BEFORE:
            memory = _with_unknown_seconds(memory)
        elif memory.get("format") != FORMAT:
            memory = {}
        self._open: dict[str, list[Any]] = dict(memory.get("open", {}))
        of = {group: memory.get(group.value, {}) for group in ForecastGroup}
        self._ended: dict[str, list[list[Any]]] = {g: list(of[g].get("ended", ())) for g in ForecastGroup}
        self._n_jobs: dict[str, int] = {g: of[g].get("n_jobs", 0) for g in ForecastGroup}
        self._alpha: dict[str, float] = {g: of[g].get("alpha", ALPHA) for g in ForecastGroup}
        self._unfinished: dict[str, list[tuple[int, list[Any]]]] = {group: [] for group in ForecastGroup}
        self._closed_at_s = 0.0
        self._scores: dict[str, CensoredScores] = {}
        self._found: dict[str, dict[_Cell, list[float]]] = {group: {} for group in ForecastGroup}

    @property
    def known(self) -> Collection[str]:
        """Returns the jobs that have a prediction."""
        return self._open.keys()

    def close(self, present: Collection[str], *, withdrawn: Collection[str] = (), now_s: float) -> None:
        """Records the end of jobs that are gone; withdrawn ones count as censored."""
        for job_id in [job_id for job_id in self._open if job_id not in present]:
            self._end(job_id, ended=job_id not in withdrawn, now_s=now_s)
        self._unfinished, self._closed_at_s = self._open_points(now_s), now_s
        self._scores.clear()
        for group in ForecastGroup:
            self._found[group].clear()
            self._ended[group] = self._ended[group][-MOST_ENDED:]
            self._alpha[group] = min(max(self._alpha[group], LEAST_ALPHA), MOST_ALPHA)

    def prepare(self, forecasts: Iterable[TimeForecast]) -> None:
        """Looks up at once what is going to be asked for of these forecasts."""
        wanted: dict[str, dict[_Cell, None]] = {group: {} for group in ForecastGroup if self._has_learnt(group)}
        for one in forecasts:
            cells = wanted.get(one.group)
            if cells is not None:
                cells[one.cause, one.cell] = cells[one.cause, one.cell + 1.0] = None
        for group, cells in wanted.items():
            self._look_up(group, [cell for cell in cells if cell not in self._found[group]])

    def calibrated(self, forecast: TimeForecast) -> tuple[float, float]:
        """Returns the seconds within which half, and nine of ten, of the jobs with such a forecast ended.

        These are the models' P50 and P90 until that is known; the P50 is never more than the P90.
        """
        spread, half_s = forecast.spread, forecast.half_s
        high, middle = self._quantiles(forecast)
        p90_s = max(half_s, 1.0) * _spread_factor(high * spread)
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
            seen = [now_s, max(forecast.half_s, 1.0), forecast.spread, str(forecast.group), p90_s, forecast.cause]
            points = [*points, seen]
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
            at_s, half_s, spread, group, _, cause = point
            weight = 1.0 if group in _FIRST else float(every)
            self._ended[group].append([_score(at_s, half_s, spread, now_s), weight, float(ended), cause, half_s])
            if ended and point[4]:
                self._score_interval(point[3], held=now_s - point[0] <= point[4] + 1.0)
        if ended:
            for group in {point[3] for point in points}:
                self._n_jobs[group] += 1

    def _outlived(self, point: list[Any], now_s: float) -> list[Any]:
        """The point, scored as soon as its job takes longer than predicted."""
        if not point[4] or now_s - point[0] <= point[4] + 1.0:
            return point
        self._score_interval(point[3], held=False)
        return [*point[:4], 0.0, point[5]]

    def _score_interval(self, group: str, *, held: bool) -> None:
        step = FIRST_STEP if group in _FIRST else STEP
        self._alpha[group] += step * (ALPHA - (not held))

    def _open_points(self, now_s: float) -> dict[str, list[tuple[int, list[Any]]]]:
        """The predictions of jobs that are present, by group: every how many rounds one is kept, and it. Those whose
        jobs take longer than predicted are scored, once each.
        """
        found: dict[str, list[tuple[int, list[Any]]]] = {group.value: [] for group in ForecastGroup}
        for job_id, (n, every, points) in self._open.items():
            if [point for point in points if point[4] and now_s - point[0] > point[4] + 1.0]:
                points = [self._outlived(point, now_s) for point in points]
                self._open[job_id] = [n, every, points]
            for point in points:
                found[point[3]].append((every, point))
        return found

    def _scores_of(self, group: str) -> CensoredScores:
        """Of those that ended and those that are present; of many of these, every second, third ... counts for all."""
        if group not in self._scores:
            points, now_s = self._unfinished[group], self._closed_at_s
            stride = 1 + len(points) // MOST_OPEN
            is_first = group in _FIRST
            scores: list[Score] = [
                (_score(at_s, half_s, spread, now_s), stride * (1.0 if is_first else every), 0.0, cause, half_s)
                for every, (at_s, half_s, spread, _, _, cause) in points[::stride]
            ]
            scores = [*self._ended[group], *scores]
            per_job = 1.0 if is_first else PER_JOB
            self._scores[group] = CensoredScores(scores, prior=PRIOR_JOBS * per_job, pooled=POOLED_JOBS * per_job)
        return self._scores[group]

    def _quantiles(self, forecast: TimeForecast) -> tuple[float, float]:
        """Where nine of ten scores lie, and half of them; the models' own, 1 and 0, until a job has ended.

        They are looked up at predicted times that are a factor of exp(CELL) apart; between two of these they lie
        between theirs, so that predictions that differ a little keep their order.
        """
        group, cause, cell, part = forecast.group, forecast.cause, forecast.cell, forecast.part
        if not self._has_learnt(group):
            return 1.0, 0.0
        found, here, above = self._found[group], (cause, cell), (cause, cell + 1.0)
        if here not in found or above not in found:
            self._look_up(group, [here, above])
        (high, middle), (next_high, next_middle) = found[here], found[above]
        return high + part * (next_high - high), middle + part * (next_middle - middle)

    def _look_up(self, group: str, cells: Sequence[_Cell]) -> None:
        if not cells:
            return
        asked = [(cause, cell * CELL) for cause, cell in cells]
        found = self._scores_of(group).quantiles(asked, (1 - self._alpha[group], 0.5))
        self._found[group].update(zip(cells, found, strict=True))

    def _has_learnt(self, group: str) -> bool:
        return bool(self._n_jobs[group] and self._ended[group])


def _with_unknown_seconds(memory: Mapping[str, Any]) -> Mapping[str, Any]:
    """The memory of the format before as one of this; its scores are without predicted seconds, and like all others."""
    scores = {g.value: memory[g.value] for g in ForecastGroup if g.value in memory}
    return {**memory, "format": FORMAT} | {
        group: {**each, "ended": [[*score, 0.0] for score in each.get("ended", ())]} for group, each in scores.items()
    }


def _spread_factor(exponent: float) -> float:
    return math.exp(min(max(exponent, -1.4), 6.0))


def _score(at_s: float, half_s: float, spread: float, now_s: float) -> float:
    later = (now_s - at_s) / half_s
    return math.log(later if later > 1e-3 else 1e-3) / spread
