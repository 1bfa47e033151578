# SPDX-License-Identifier: Apache-2.0
"""Forecasts, stored to be compared with the truth: when a job was expected to end, when it did, and the error."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection

from mlhub.backends.protocol import ItemKind
from mlhub.control.apply import Applied
from mlhub.control.explanations import moment
from mlhub.control.isolation import FaultIsolation
from mlhub.control.models import Forecast, ForecastMoment
from mlhub.jobs.states import JobState
from scheduler.api.plan import Launch, Plan

N_JUDGED = 500  # the newest ends that calibration looks at
CLOSE = """
UPDATE control_forecast AS forecast SET finished_at = job.finished_at, outcome = job.state
FROM jobs_job AS job
WHERE job.id = forecast.job_id AND forecast.finished_at IS NULL AND job.finished_at IS NOT NULL
"""


class Forecasts:
    """Keeps the first forecast of each job, and the one of its first launch."""

    def __init__(self) -> None:
        self._kept: set[tuple[str, str]] | None = None

    def keep(self, plan: Plan, applied: Applied, *, now: datetime, isolation: FaultIsolation | None = None) -> None:
        """isolation: gets the jobs whose forecast cannot be stored."""
        isolation = FaultIsolation() if isolation is None else isolation
        known = self._kept if self._kept is not None else _stored()
        new = []
        for decision in plan.decisions:
            finish_at = moment(decision.prediction.finish_p50_s)
            if decision.job not in applied.jobs or finish_at is None:
                continue
            moments = [ForecastMoment.SUBMISSION, *([ForecastMoment.LAUNCH] if isinstance(decision, Launch) else [])]
            for at in moments:
                if (decision.job, at.value) in known:
                    continue
                known.add((decision.job, at.value))
                new.append(
                    Forecast(
                        job=applied.jobs[decision.job],
                        moment=at,
                        made_at=now,
                        policy=plan.policy,
                        start_at=moment(decision.prediction.start_p50_s),
                        finish_at=finish_at,
                        finish_p90_at=moment(decision.prediction.finish_p90_s),
                    )
                )
        isolation.all_or_each(
            new,
            lambda rows: Forecast.objects.bulk_create(rows, ignore_conflicts=True, batch_size=1000),
            kind=ItemKind.JOB,
            name=lambda row: row.job_id,
        )
        self._kept = {key for key in known if key[0] in applied.jobs}


def close_forecasts() -> None:
    """Records the outcome of jobs that have ended. Level-triggered: it does not matter who ended them."""
    with connection.cursor() as cursor:
        cursor.execute(CLOSE)


def _stored() -> set[tuple[str, str]]:
    open_ones = Forecast.objects.filter(job__finished_at=None).values_list("job_id", "moment")
    return {(str(job_id), at) for job_id, at in open_ones}


@dataclass(frozen=True)
class ForecastCalibration:
    """How forecasts of one moment came true. error: of the time from the forecast to the end, (actual - P50) / P50.

    within_p90: the share that ended by the P90; 0.85 to 0.95 is good. median_error: of its absolute value;
    median_bias: of itself, positive where jobs took longer than predicted. None where nothing has ended yet.
    """

    moment: str
    n: int
    within_p90: float | None
    median_error: float | None
    median_bias: float | None


def calibration() -> list[ForecastCalibration]:
    """Of the newest N_JUDGED jobs that succeeded, by moment."""
    return [_judged(at.value, list(_ended(at.value)[:N_JUDGED])) for at in ForecastMoment]


def newest_ends(n: int) -> list[dict[str, Any]]:
    """The newest forecasts that came to their end: job, moment, predicted and actual seconds, within_p90."""
    rows = _ended().select_related("job")[:n]
    return [
        {
            "job": {"id": row.job_id, "name": row.job.name},
            "moment": row.moment,
            "policy": row.policy,
            "made_at": row.made_at,
            "predicted_s": (row.finish_at - row.made_at).total_seconds(),
            "actual_s": (row.finished_at - row.made_at).total_seconds(),
            "within_p90": _is_within(row),
        }
        for row in rows
    ]


def _ended(at: str | None = None) -> Any:
    rows = Forecast.objects.filter(outcome=JobState.SUCCEEDED, finished_at__isnull=False).order_by(
        "-finished_at", "-id"
    )
    return rows.filter(moment=at) if at else rows


def _is_within(row: Forecast) -> bool | None:
    if row.finish_p90_at is None or row.finished_at is None:
        return None
    return row.finished_at <= row.finish_p90_at


def _judged(at: str, rows: Sequence[Forecast]) -> ForecastCalibration:
    within = [found for row in rows if (found := _is_within(row)) is not None]
    errors = [_error(row, row.finished_at) for row in rows if row.finished_at is not None]
    return ForecastCalibration(
        moment=at,
        n=len(rows),
        within_p90=sum(within) / len(within) if within else None,
        median_error=statistics.median(abs(e) for e in errors) if errors else None,
        median_bias=statistics.median(errors) if errors else None,
    )


def _error(row: Forecast, finished_at: datetime) -> float:
    predicted_s = max(1.0, (row.finish_at - row.made_at).total_seconds())
    return ((finished_at - row.made_at).total_seconds() - predicted_s) / predicted_s
