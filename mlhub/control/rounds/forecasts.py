# SPDX-License-Identifier: Apache-2.0
"""Forecasts, stored to be compared with the truth: when a job was expected to start and to end, and when it did."""

from __future__ import annotations

from datetime import datetime

from django.db import connection

from mlhub.backends.protocol import ItemKind
from mlhub.control.fault_isolation.isolation import FaultIsolation
from mlhub.control.models import Forecast, ForecastMoment
from mlhub.control.rounds.apply import Applied
from mlhub.control.rounds.explanations import moment
from scheduler.api.plan import Decision, Launch, Plan, Wait

START = """
UPDATE control_forecast AS forecast SET started_at = attempt.created_at
FROM jobs_attempt AS attempt
WHERE attempt.job_id = forecast.job_id AND attempt.number = 1 AND forecast.started_at IS NULL
    AND forecast.finished_at IS NULL
"""
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
                        cause=_cause(decision),
                        start_at=moment(decision.prediction.start_p50_s),
                        start_p90_at=moment(decision.prediction.start_p90_s),
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
    """Records the starts and ends of jobs. Level-triggered: it does not matter who started and ended them."""
    with connection.cursor() as cursor:
        cursor.execute(START)
        cursor.execute(CLOSE)


def _cause(decision: Decision) -> str:
    return str(decision.explanations[0].reason) if isinstance(decision, Wait) and decision.explanations else ""


def _stored() -> set[tuple[str, str]]:
    open_ones = Forecast.objects.filter(job__finished_at=None).values_list("job_id", "moment")
    return {(str(job_id), at) for job_id, at in open_ones}
