# SPDX-License-Identifier: Apache-2.0
"""Reads of points and lines that are new after a cursor, for the live stream."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from mlhub.metrics.log_errors import HOLDS_ERROR
from mlhub.metrics.models import LogLine, MetricPoint


def points_after(job_id: UUID, seq: int, *, until: int) -> list[dict[str, Any]]:
    """Points numbered seq + 1 to until, in that order."""
    rows = MetricPoint.objects.filter(series__job_id=job_id, seq__gt=seq, seq__lte=until).order_by("seq")
    names = ("key", "step", "epoch", "value", "at", "attempt_number", "seq")
    columns = ("series__key", "step", "epoch", "value", "at", "series__attempt__number", "seq")
    return [dict(zip(names, row, strict=True)) for row in rows.values_list(*columns)]


def lines_after(job_id: UUID, seq: int, *, until: int) -> list[dict[str, Any]]:
    """Log lines numbered seq + 1 to until, in that order."""
    rows = LogLine.objects.filter(attempt__job_id=job_id, seq__gt=seq, seq__lte=until).order_by("seq")
    rows = rows.annotate(is_error=HOLDS_ERROR)
    names = ("seq", "at", "attempt_number", "role", "index", "number", "text", "n_dropped", "is_error")
    columns = ("seq", "at", "attempt__number", "role", "index", "number", "text", "n_dropped", "is_error")
    return [dict(zip(names, row, strict=True)) for row in rows.values_list(*columns)]
