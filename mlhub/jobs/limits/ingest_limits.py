# SPDX-License-Identifier: Apache-2.0
"""How much of what a job's pods report is stored; what is above a limit is dropped, counted, and shown as dropped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from django.conf import settings


class IngestLimit(StrEnum):
    """Names the counters of what was dropped (StreamCursor.dropped)."""

    LOG_RATE = "log_rate"
    LOG_BYTES = "log_bytes"
    POINTS_PER_METRIC = "points_per_metric"
    POINTS_PER_JOB = "points_per_job"
    METRICS_PER_JOB = "metrics_per_job"

    @property
    def part(self) -> str:
        """The part of the job's page that it is about."""
        return "log" if self in (IngestLimit.LOG_RATE, IngestLimit.LOG_BYTES) else "metrics"

    @property
    def maximum(self) -> int:
        return {
            IngestLimit.LOG_RATE: settings.MAX_LOG_LINES_PER_S,
            IngestLimit.LOG_BYTES: settings.MAX_LOG_BYTES,
            IngestLimit.POINTS_PER_METRIC: settings.MAX_POINTS_PER_METRIC,
            IngestLimit.POINTS_PER_JOB: settings.MAX_POINTS_PER_JOB,
            IngestLimit.METRICS_PER_JOB: settings.MAX_METRICS_PER_JOB,
        }[self]

    @property
    def rule(self) -> str:
        """What a job may do, as a person reads it after "because"."""
        rule = {
            IngestLimit.LOG_RATE: "a job may write {:,} lines a second to its log",
            IngestLimit.LOG_BYTES: "the log of a job may have {:,} bytes",
            IngestLimit.POINTS_PER_METRIC: "a metric may have {:,} points",
            IngestLimit.POINTS_PER_JOB: "the metrics of a job may have {:,} points together",
            IngestLimit.METRICS_PER_JOB: "a job may have {:,} metrics",
        }[self]
        return rule.format(self.maximum)


@dataclass(frozen=True)
class DroppedReports:
    """How many lines or points one limit has cost a job so far."""

    limit: IngestLimit
    n: int

    @property
    def part(self) -> str:
        return self.limit.part

    @property
    def sentence(self) -> str:
        noun = "line" if self.part == "log" else "point"
        were = f"{noun} was" if self.n == 1 else f"{noun}s were"
        return f"{self.n:,} {were} dropped, because {self.limit.rule}."


def dropped_reports(counts: Mapping[str, int]) -> list[DroppedReports]:
    """counts: StreamCursor.dropped."""
    return [DroppedReports(limit, counts[limit]) for limit in IngestLimit if counts.get(limit)]
