# SPDX-License-Identifier: Apache-2.0
"""Storing points of metrics within a job's limits: names, points of each metric, and points in all.

A batch costs the same few statements however many points and metrics it has.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from django.conf import settings
from django.db import connection

from mlhub.core.database.arrays import moment_array, number_array
from mlhub.jobs.limits.ingest_limits import IngestLimit
from mlhub.jobs.models import Attempt
from mlhub.metrics.models import Series, StreamCursor
from mlhub.metrics.reports import at
from mlhub.wire.report import MetricReport

STORE = """
WITH given AS (
    SELECT * FROM unnest(%s::int[], %s::bigint[], %s::float8[], %s::float8[], %s::timestamptz[], %s::bigint[])
        AS g(series_id, step, epoch, value, at, seq)),
stored AS (
    INSERT INTO metrics_metricpoint (series_id, step, epoch, value, at, seq) SELECT * FROM given
    ON CONFLICT DO NOTHING RETURNING series_id),
counted AS (SELECT series_id, count(*) AS n FROM stored GROUP BY series_id)
UPDATE metrics_series s SET n_points = s.n_points + counted.n FROM counted WHERE s.id = counted.series_id
"""


class NumberedPoint(NamedTuple):
    series_id: int
    step: int
    epoch: float
    value: float
    at: datetime
    seq: int


@dataclass
class PointBatch:
    """The points of one batch. add() numbers them by the cursor's seq; save() stores them in one go."""

    attempt: Attempt
    cursor: StreamCursor
    points: list[NumberedPoint] = field(default_factory=list)
    _series: dict[str, Series | None] = field(default_factory=dict)  # None: the job has too many metrics for this one
    _most_of_job: int = field(default_factory=lambda: settings.MAX_POINTS_PER_JOB)
    _most_of_metric: int = field(default_factory=lambda: settings.MAX_POINTS_PER_METRIC)

    def load_series(self, keys: Iterable[str]) -> None:
        """Reads the series of these metrics and makes those that are missing. Names count once for the job, however
        many attempts use them."""
        wanted = [key for key in dict.fromkeys(keys) if key not in self._series]
        if not wanted:
            return
        of_job = Series.objects.filter(job_id=self.attempt.job_id)
        found = {series.key: series for series in of_job.filter(attempt=self.attempt, key__in=wanted)}
        missing = [key for key in wanted if key not in found]
        if missing:
            known = set(of_job.values_list("key", flat=True).distinct())
            n_free = max(0, settings.MAX_METRICS_PER_JOB - len(known))
            allowed = known.union([key for key in missing if key not in known][:n_free])
            rows = [
                Series(job_id=self.attempt.job_id, attempt=self.attempt, key=key) for key in missing if key in allowed
            ]
            found |= {series.key: series for series in Series.objects.bulk_create(rows)}
        self._series |= {key: found.get(key) for key in wanted}

    def series_ids(self) -> dict[str, int]:
        """Of the metrics that were loaded, without those over the limit."""
        return {key: series.pk for key, series in self._series.items() if series is not None}

    def add(self, report: MetricReport) -> None:
        """Points over a limit are dropped and counted."""
        if not report.values.keys() <= self._series.keys():
            self.load_series(report.values)
        moment = at(report.at)
        for key, value in report.values.items():
            series = self._series[key]
            limit = self._limit_reached(series)
            if series is None or limit is not None:
                self.cursor.count_dropped(limit or IngestLimit.METRICS_PER_JOB, 1)
                continue
            self.cursor.last_seq += 1
            self.cursor.n_points += 1
            series.n_points += 1  # of this object: save() counts in the database what is new there
            self.points.append(
                NumberedPoint(series.id, report.step, report.epoch, float(value), moment, self.cursor.last_seq)
            )

    def save(self) -> None:
        """Stores what was added; of a step that a series has already, the former value stays."""
        if not self.points:
            return
        series, steps, epochs, values, moments, seqs = zip(*self.points, strict=True)
        numbers = map(number_array, (series, steps, epochs, values))
        with connection.cursor() as cursor:
            cursor.execute(STORE, [*numbers, moment_array(moments), number_array(seqs)])

    def _limit_reached(self, series: Series | None) -> IngestLimit | None:
        if series is None:
            return IngestLimit.METRICS_PER_JOB
        if series.n_points >= self._most_of_metric:
            return IngestLimit.POINTS_PER_METRIC
        return IngestLimit.POINTS_PER_JOB if self.cursor.n_points >= self._most_of_job else None
