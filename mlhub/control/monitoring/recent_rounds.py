# SPDX-License-Identifier: Apache-2.0
"""How fast scheduling is: the last hour's rounds, what they carried out, and the age of the queue."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.db.models import Aggregate, Count, F, FloatField, Func, IntegerField, Min, Sum

from mlhub.control.models import Round
from mlhub.jobs.models import Job

WINDOW = timedelta(hours=1)
MOST_ROUNDS = 10_000  # of the window that are looked at, the newest ones


class Percentile(Aggregate):
    """PostgreSQL's percentile_cont, with the share 0 to 1 as `share`."""

    template = "percentile_cont(%(share)s) WITHIN GROUP (ORDER BY %(expressions)s)"
    output_field = FloatField()


def recent_rounds(*, now: datetime) -> dict[str, Any]:
    """Over the rounds that are stored: all that change something, and every few minutes one that does not."""
    newest = Round.objects.filter(at__gt=now - WINDOW).order_by("-id").values("round_ms", "applied")[:MOST_ROUNDS]
    found = newest.aggregate(
        n_rounds=Count("*"),
        round_p50_ms=Percentile("round_ms", share=0.5),
        round_p99_ms=Percentile("round_ms", share=0.99),
        n_decisions=Sum(Func(F("applied"), function="jsonb_array_length", output_field=IntegerField()), default=0),
    )
    oldest = Job.objects.queued().aggregate(at=Min("submitted_at"))["at"]
    return {**found, "oldest_pending_s": None if oldest is None else max(0.0, (now - oldest).total_seconds())}
