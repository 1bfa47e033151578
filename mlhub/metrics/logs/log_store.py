# SPDX-License-Identifier: Apache-2.0
"""Storing the log of a job within its limits: lines a second, and bytes in all. Gaps are marked where they are."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.conf import settings
from django.utils import timezone

from mlhub.jobs.limits.ingest_limits import IngestLimit
from mlhub.jobs.models import Attempt
from mlhub.metrics.models import LogLine, StreamCursor

LOG_BURST_S = 60  # a quiet job may write so many seconds' worth of lines at once


def store_log(
    attempt: Attempt, cursor: StreamCursor, *, role: str, index: int, number: int, lines: Sequence[str]
) -> None:
    """Stores lines numbered number, number + 1 ...; moves the cursor's seq and counters, which the caller saves.

    Of a batch the first lines are stored, as many as the limits admit. One row marks the others, with their number.
    """
    now = timezone.now()
    n_kept, limit = _admitted(cursor, lines, now=now)
    of_pod = {"attempt": attempt, "role": role, "index": index, "at": now}
    rows = [
        LogLine(**of_pod, number=number + i, text=line, seq=cursor.last_seq + 1 + i)
        for i, line in enumerate(lines[:n_kept])
    ]
    n_dropped = len(lines) - n_kept
    if limit is not None:
        # the log of a job that has reached its size gets one mark, not one a batch
        if limit is not IngestLimit.LOG_BYTES or not cursor.dropped.get(limit):
            what = f"{n_dropped:,} lines were" if n_dropped > 1 else "1 line was"
            text = f"[{what} dropped here: {limit.rule}]"
            if limit is IngestLimit.LOG_BYTES:
                text = f"[All further lines are dropped: {limit.rule}]"
            place, seq = number + n_kept, cursor.last_seq + len(rows) + 1
            rows.append(LogLine(**of_pod, number=place, text=text, seq=seq, n_dropped=n_dropped))
        cursor.count_dropped(limit, n_dropped)
    LogLine.objects.bulk_create(rows)
    cursor.last_seq += len(rows)


def _admitted(cursor: StreamCursor, lines: Sequence[str], *, now: datetime) -> tuple[int, IngestLimit | None]:
    """How many of the first lines are stored, and the limit that keeps out the next one; None: all are stored."""
    rate, limit = settings.MAX_LOG_LINES_PER_S, None
    burst = rate * LOG_BURST_S
    if cursor.log_lines_at is None:
        left = float(burst)
    else:
        passed_s = max(0.0, (now - cursor.log_lines_at).total_seconds())
        left = min(float(burst), cursor.log_lines_left + passed_s * rate)
    n_kept = min(len(lines), int(left))
    if n_kept < len(lines):
        limit = IngestLimit.LOG_RATE
    n_bytes = cursor.n_log_bytes
    for i, line in enumerate(lines[:n_kept]):
        if n_bytes + len(line.encode()) > settings.MAX_LOG_BYTES:
            n_kept, limit = i, IngestLimit.LOG_BYTES
            break
        n_bytes += len(line.encode())
    cursor.log_lines_left, cursor.log_lines_at, cursor.n_log_bytes = left - n_kept, now, n_bytes
    return n_kept, limit
