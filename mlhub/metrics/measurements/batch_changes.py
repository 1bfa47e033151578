# SPDX-License-Identifier: Apache-2.0
"""Batches that grew while a job trained: recorded in the job's events, with the reason."""

from __future__ import annotations

import math
from typing import Any

from mlhub.jobs.events import append_of_attempt
from mlhub.jobs.models import Attempt
from mlhub.metrics.measurements.batch_sizes import may_use_batch
from mlhub.wire.report import PhaseReport

MOST = 10**9
MAX_REASON = 500


def record_batch_change(attempt: Attempt, report: PhaseReport) -> None:
    """Appends an event. report: phase "batch_changed" (mlhub/wire/report.py)."""
    detail = report.detail
    size = int(_number(detail.get("batch_size")))
    if may_use_batch(attempt.job, size):
        Attempt.objects.filter(pk=attempt.pk).update(batch_size=size)
    append_of_attempt(
        "attempt.batch_changed",
        attempt,
        step=int(_number(detail.get("step"))),
        was=int(_number(detail.get("was"))),
        batch_size=size,
        learning_rate_factor=_number(detail.get("learning_rate_factor")),
        reason=str(detail.get("reason"))[:MAX_REASON],
    )


def _number(value: Any) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return min(float(value), MOST) if is_number and value > 0 else 0.0
