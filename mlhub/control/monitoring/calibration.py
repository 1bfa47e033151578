# SPDX-License-Identifier: Apache-2.0
"""How stored forecasts came true: by the moment at which they were made, by organisation and by cause of waiting."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from mlhub.control.models import Forecast, ForecastMoment
from mlhub.jobs.states import JobState

N_JUDGED = 500  # the newest ends that calibration looks at


@dataclass(frozen=True)
class ForecastCalibration:
    """How forecasts came true. error: of the time from the forecast to the end, (actual - P50) / P50.

    of: the moment, the organisation or the cause of waiting that they have in common. within_p90: the share that ended
    by the P90; 0.85 to 0.95 is good. median_error: of its absolute value; median_bias: of itself, positive where jobs
    took longer than predicted. n_waited: those that had to wait for their start; started_within_p90: the share of them
    that started by the P90. None where nothing has ended yet.
    """

    of: str
    n: int
    within_p90: float | None
    median_error: float | None
    median_bias: float | None
    n_waited: int
    started_within_p90: float | None


def calibration() -> list[ForecastCalibration]:
    """Of the newest N_JUDGED jobs that succeeded, by moment."""
    return [_judged(at.value, list(_ended(at.value)[:N_JUDGED])) for at in ForecastMoment]


def calibration_by_organisation() -> list[ForecastCalibration]:
    """Of forecasts at submission, by the name of the job's organisation."""
    return _grouped(lambda row: row.job.project.organisation.name)


def calibration_by_cause() -> list[ForecastCalibration]:
    """Of forecasts at submission, by the reason for which the job waited then; empty: it started at once."""
    return _grouped(lambda row: row.cause)


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
            "within_p90": _is_by(row.finished_at, row.finish_p90_at),
        }
        for row in rows
    ]


def _ended(at: str | None = None) -> Any:
    rows = Forecast.objects.filter(outcome=JobState.SUCCEEDED, finished_at__isnull=False).order_by(
        "-finished_at", "-id"
    )
    return rows.filter(moment=at) if at else rows


def _grouped(key: Callable[[Forecast], str]) -> list[ForecastCalibration]:
    groups: defaultdict[str, list[Forecast]] = defaultdict(list)
    rows = _ended(ForecastMoment.SUBMISSION.value).select_related("job__project__organisation")
    for row in rows[:N_JUDGED]:
        groups[key(row)].append(row)
    return [_judged(name, groups[name]) for name in sorted(groups)]


def _is_by(happened_at: datetime | None, p90_at: datetime | None) -> bool | None:
    return None if happened_at is None or p90_at is None else happened_at <= p90_at


def _judged(of: str, rows: Sequence[Forecast]) -> ForecastCalibration:
    errors = [_error(row, row.finished_at) for row in rows if row.finished_at is not None]
    started = [_is_by(row.started_at, row.start_p90_at) for row in rows if row.cause]
    return ForecastCalibration(
        of=of,
        n=len(rows),
        within_p90=_share([_is_by(row.finished_at, row.finish_p90_at) for row in rows]),
        median_error=statistics.median(abs(e) for e in errors) if errors else None,
        median_bias=statistics.median(errors) if errors else None,
        n_waited=sum(one is not None for one in started),
        started_within_p90=_share(started),
    )


def _share(held: Sequence[bool | None]) -> float | None:
    known = [one for one in held if one is not None]
    return sum(known) / len(known) if known else None


def _error(row: Forecast, finished_at: datetime) -> float:
    predicted_s = max(1.0, (row.finish_at - row.made_at).total_seconds())
    return ((finished_at - row.made_at).total_seconds() - predicted_s) / predicted_s
