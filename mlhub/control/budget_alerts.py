# SPDX-License-Identifier: Apache-2.0
"""Alerts that a budget of GPU-hours is nearly or wholly used: an event, once for each period and threshold."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from django.db import transaction

from mlhub.control.budgets import BudgetBooks, QuotaRow, owners_with_budgets
from mlhub.events.actions import append
from mlhub.tenants.actions.quotas import Owner
from mlhub.tenants.models import Organisation
from scheduler.api.gpu_budgets import GpuHourBudget, period_of

REACHED = "budget.reached"
THRESHOLDS = (100, 80)  # per cent, the highest first


def report_reached(now: datetime) -> int:
    """Appends the event for each budget that passed a threshold; returns how many.

    Of several thresholds that were passed since the last look, the highest is reported. A budget that is raised is
    reported anew when it is reached again.
    """
    found = list(owners_with_budgets())
    books = BudgetBooks(now, frozenset(organisation_of(owner).pk for owner, _ in found))
    return sum(_report(owner, quota, books) for owner, quota in found)


def organisation_of(owner: Owner) -> Organisation:
    return owner if isinstance(owner, Organisation) else owner.organisation


def _report(owner: Owner, quota: QuotaRow, books: BudgetBooks) -> int:
    reached = [(one, percent) for one in books.budgets_of(owner, quota.budgets) if (percent := _threshold(one))]
    new = [(one, percent) for one, percent in reached if _is_new(quota.budget_alerts, one, percent, books.now)]
    if not new:
        return 0
    with transaction.atomic():
        row = type(quota)._default_manager.select_for_update().get(pk=quota.pk)
        new = [(one, percent) for one, percent in new if _is_new(row.budget_alerts, one, percent, books.now)]
        alerts = {**row.budget_alerts, **{_key(one): _alert(one, percent, books.now) for one, percent in new}}
        type(quota)._default_manager.filter(pk=quota.pk).update(budget_alerts=alerts)
        for one, percent in new:
            _append(owner, one, percent, now=books.now)
    return len(new)


def _append(owner: Owner, budget: GpuHourBudget, percent: int, *, now: datetime) -> None:
    append(
        REACHED,
        organisation=organisation_of(owner),
        subject_kind=type(owner).__name__.lower(),
        subject_id=owner.pk,
        at=now,
        name=owner.name,
        percent=percent,
        gpu_hours=budget.gpu_hours,
        used_gpu_hours=round(budget.used_gpu_hours, 2),
        period=budget.period,
        gpu_type=budget.gpu_type,
        on_exhausted=budget.on_exhausted,
        ends_at=None if budget.ends_at_s is None else datetime.fromtimestamp(budget.ends_at_s, UTC),
    )


def _threshold(budget: GpuHourBudget) -> int | None:
    """The highest one that is reached; None below all, and for a budget of nothing."""
    if budget.gpu_hours <= 0:
        return None
    if budget.is_exhausted:
        return THRESHOLDS[0]
    return next((t for t in THRESHOLDS if 100 * budget.used_gpu_hours >= t * budget.gpu_hours), None)


def _is_new(alerts: Mapping[str, Any], budget: GpuHourBudget, percent: int, now: datetime) -> bool:
    last = alerts.get(_key(budget))
    if last is None or last["began_s"] != period_of(budget.period, now.timestamp())[0]:
        return True
    return bool(last["gpu_hours"] != budget.gpu_hours or last["percent"] < percent)


def _alert(budget: GpuHourBudget, percent: int, now: datetime) -> dict[str, Any]:
    began_s, _ = period_of(budget.period, now.timestamp())
    return {"began_s": began_s, "gpu_hours": budget.gpu_hours, "percent": percent}


def _key(budget: GpuHourBudget) -> str:
    return f"{budget.period}:{budget.gpu_type}"
