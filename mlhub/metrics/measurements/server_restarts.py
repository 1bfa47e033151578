# SPDX-License-Identifier: Apache-2.0
"""Parameter servers that died and came back: recorded in the job's events, with what was lost."""

from __future__ import annotations

from typing import Any

from mlhub.jobs.events import append_of_attempt
from mlhub.jobs.models import Attempt
from mlhub.wire.report import PhaseReport

MOST = 10**9
MAX_RETURNS = 100  # of one server that are recorded: what a pod reports is not trusted


def record_server_return(attempt: Attempt, report: PhaseReport, *, server: int) -> None:
    """Appends an event. report: phase "server_returned" (mlhub/wire/report.py)."""
    detail = report.detail
    if _number(detail.get("returns")) > MAX_RETURNS:
        return
    append_of_attempt(
        "attempt.server_returned",
        attempt,
        server=server,
        signal=str(detail.get("signal"))[:20],
        away_s=_number(detail.get("away_s")),
        lost_s=_number(detail.get("lost_s")),
        updates_lost=int(_number(detail.get("updates_lost"))),
    )


def _number(value: Any) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return min(float(value), MOST) if is_number and value > 0 else 0.0
