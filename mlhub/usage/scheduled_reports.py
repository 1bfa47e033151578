# SPDX-License-Identifier: Apache-2.0
"""Reports of a week's and a month's use: an event of each organisation that used GPUs, once the period is over.

Webhooks and e-mail pass it on to those who chose it. The event itself says that a period was reported.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction

from mlhub.events.actions import append
from mlhub.events.models import Event
from mlhub.tenants.models import Organisation
from mlhub.usage import ledger
from mlhub.usage.models import UsageEntry
from mlhub.usage.reports import Dimension, UsageReport, UsageRow, UsageScope, Window, report

MOST_NAMED = 10  # projects and people of a report, those that used most
BATCH = 500  # organisations of one run


class ReportPeriod(StrEnum):
    """Periods of UTC; weeks begin on Monday."""

    WEEK = "week"
    MONTH = "month"

    @property
    def event(self) -> str:
        return {"week": "usage.weekly", "month": "usage.monthly"}[self.value]

    def last_before(self, now: datetime) -> Window:
        """The last one that is over."""
        day = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        if self is ReportPeriod.WEEK:
            until = day - timedelta(days=day.weekday())
            return Window(until - timedelta(days=7), until)
        until = day.replace(day=1)
        return Window((until - timedelta(days=1)).replace(day=1), until)


def report_periods(now: datetime) -> int:
    """Appends the event of each organisation whose last week or month was not reported yet; returns how many."""
    return sum(_report_all(period, now) for period in ReportPeriod)


def _report_all(period: ReportPeriod, now: datetime) -> int:
    window = period.last_before(now)
    reported = set(Event.objects.filter(kind=period.event, at__gte=window.until).values_list("organisation", flat=True))
    running = [entry for entry in ledger.running_entries(now=now) if entry.began_at < window.until]
    used = _report(Dimension.ORGANISATION, window, UsageScope(None), running).rows
    due = [UUID(row.key) for row in used if row.gpu_hours > 0 and UUID(row.key) not in reported]
    found = Organisation.objects.filter(pk__in=due[:BATCH]).order_by("pk")  # deleted ones stay in the ledger
    for organisation in found:
        _append(organisation, period, window, running, now=now)
    return len(found)


def _append(
    organisation: Organisation, period: ReportPeriod, window: Window, running: Iterable[UsageEntry], *, now: datetime
) -> None:
    own, scope = [one for one in running if one.organisation_id == organisation.pk], UsageScope([organisation.pk])
    by_project, by_user = (_report(by, window, scope, own) for by in (Dimension.PROJECT, Dimension.USER))
    with transaction.atomic():
        append(
            period.event,
            organisation=organisation,
            subject_kind="organisation",
            subject_id=organisation.pk,
            at=now,
            name=organisation.name,
            period=period,
            since=window.since,
            until=window.until,
            **_figures(by_project.total),
            n_jobs=by_project.total.n_jobs,
            currency=settings.CURRENCY if by_project.total.cost is not None else "",
            projects=_named(by_project),
            users=_named(by_user),
        )


def _named(found: UsageReport) -> list[dict[str, Any]]:
    return [{"name": row.name, **_figures(row)} for row in found.rows[:MOST_NAMED]]


def _figures(row: UsageRow) -> dict[str, Any]:
    """Rounded: what is passed on is read by people."""
    figures = {
        "used_gpu_hours": row.gpu_hours,
        "useful_gpu_hours": row.useful_gpu_hours,
        "lost_gpu_hours": row.lost_gpu_hours,
        "idle_gpu_hours": row.idle_gpu_hours,
        "cost": row.cost,
    }
    return {name: None if value is None else round(value, 4) for name, value in figures.items()}


def _report(by: Dimension, window: Window, scope: UsageScope, running: Iterable[UsageEntry]) -> UsageReport:
    return report(by=by, window=window, scope=scope, project=None, running=running, prices=settings.GPU_PRICES)
