# SPDX-License-Identifier: Apache-2.0
"""Storing points of metrics within a job's limits: names, points of each metric, and points in all."""

from __future__ import annotations

from dataclasses import dataclass, field

from django.conf import settings
from django.db.models import F

from mlhub.jobs.ingest_limits import IngestLimit
from mlhub.jobs.models import Attempt
from mlhub.metrics.models import MetricPoint, Series, StreamCursor
from mlhub.metrics.reports import at
from mlhub.wire.report import MetricReport


@dataclass
class PointBatch:
    """The points of one batch. add() numbers them by the cursor's seq; save() stores them in one go."""

    attempt: Attempt
    cursor: StreamCursor
    points: list[MetricPoint] = field(default_factory=list)
    _series: dict[str, Series | None] = field(default_factory=dict)  # None: the job has too many metrics for this one
    _n_added: dict[int, int] = field(default_factory=dict)

    def add(self, report: MetricReport) -> None:
        """Points over a limit are dropped and counted."""
        for key, value in report.values.items():
            if key not in self._series:
                self._series[key] = self._series_of(key)
            series = self._series[key]
            limit = self._limit_reached(series)
            if series is None or limit is not None:
                self.cursor.count_dropped(limit or IngestLimit.METRICS_PER_JOB, 1)
                continue
            self.cursor.last_seq += 1
            self.cursor.n_points += 1
            self._n_added[series.pk] = self._n_added.get(series.pk, 0) + 1
            self.points.append(
                MetricPoint(
                    series=series,
                    step=report.step,
                    epoch=report.epoch,
                    value=float(value),
                    at=at(report.at),
                    seq=self.cursor.last_seq,
                )
            )

    def save(self) -> None:
        MetricPoint.objects.bulk_create(self.points, ignore_conflicts=True, batch_size=1000)
        for series_id, n in self._n_added.items():
            Series.objects.filter(pk=series_id).update(n_points=F("n_points") + n)

    def _limit_reached(self, series: Series | None) -> IngestLimit | None:
        if series is None:
            return IngestLimit.METRICS_PER_JOB
        if series.n_points + self._n_added.get(series.pk, 0) >= settings.MAX_POINTS_PER_METRIC:
            return IngestLimit.POINTS_PER_METRIC
        return IngestLimit.POINTS_PER_JOB if self.cursor.n_points >= settings.MAX_POINTS_PER_JOB else None

    def _series_of(self, key: str) -> Series | None:
        """Names count once for the job, however many attempts use them."""
        of_job = Series.objects.filter(job_id=self.attempt.job_id)
        found: Series | None = of_job.filter(attempt=self.attempt, key=key).first()
        if found is not None:
            return found
        is_known = of_job.filter(key=key).exists()
        if not is_known and of_job.values("key").distinct().count() >= settings.MAX_METRICS_PER_JOB:
            return None
        made: Series = Series.objects.create(job_id=self.attempt.job_id, attempt=self.attempt, key=key)
        return made
