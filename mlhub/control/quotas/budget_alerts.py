# SPDX-License-Identifier: Apache-2.0
"""Alerts that a budget of GPU-hours is nearly or wholly used: an event, once for each period and threshold."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Manager

from mlhub.control.models import UserBudgetAlerts
from mlhub.control.quotas.budgets import BudgetBooks, QuotaRow, owners_with_budgets
from mlhub.events.actions import append
from mlhub.tenants.actions.limits.quotas import Owner
from mlhub.tenants.models import Organisation, Project, Team, User, UserQuota
from mlhub.tenants.quota_terms.user_quotas import user_quotas_of
from scheduler.api.gpu_budgets import GpuHourBudget, period_of

AlertsHolder = QuotaRow | UserBudgetAlerts
REACHED, REACHED_BY_USER = "budget.reached", "user_budget.reached"
THRESHOLDS = (100, 80)  # per cent, the highest first


def report_reached(now: datetime) -> int:
    """Appends the event for each budget that passed a threshold; returns how many.

    Of several thresholds that were passed since the last look, the highest is reported. A budget that is raised is
    reported anew when it is reached again.
    """
    found = list(owners_with_budgets())
    books = BudgetBooks(now, frozenset(organisation_of(owner).pk for owner, _ in found))
    return sum(_report(owner, quota, books.budgets_of(owner, quota.budgets), now=now) for owner, quota in found)


def report_reached_by_users(now: datetime) -> int:
    """Appends the event for each user who passed a threshold of a budget of their own; returns how many.

    Once for each period and threshold, whether the limits are the user's own or those of every user.
    """
    limiting = UserQuota.objects.exclude(budgets=[]).select_related("organisation", "team", "project")
    rows = list(limiting.order_by("pk"))
    organisations = {row.organisation_id for row in rows}
    books, quotas = BudgetBooks(now, frozenset(organisations)), user_quotas_of(organisations)
    known = _alerts_of(organisations)
    n_reported = 0
    for owner in {row.owner.pk: row.owner for row in rows}.values():
        of_owner = [budget for row in rows if row.owner.pk == owner.pk for budget in row.budgets]
        for user in User.objects.filter(pk__in=books.users_of(organisation_of(owner).pk, of_owner)).order_by("pk"):
            quota = quotas.of(owner.pk, user.pk)
            budgets = books.budgets_of(owner, quota.budgets, user=user.pk) if quota is not None else ()
            if any(map(_threshold, budgets)):
                holder = known.get((owner.pk, user.pk)) or _begun(owner, user)
                n_reported += _report(owner, holder, budgets, now=now, user=user)
    return n_reported


def organisation_of(owner: Owner) -> Organisation:
    return owner if isinstance(owner, Organisation) else owner.organisation


def _alerts_of(organisations: Collection[UUID]) -> dict[tuple[UUID, UUID], UserBudgetAlerts]:
    """By owner and user."""
    rows = UserBudgetAlerts.objects.filter(organisation__in=organisations)
    return {(row.project_id or row.team_id or row.organisation_id, row.user_id): row for row in rows}


def _begun(owner: Owner, user: User) -> UserBudgetAlerts:
    found: UserBudgetAlerts = UserBudgetAlerts.objects.get_or_create(
        organisation=organisation_of(owner),
        team=owner if isinstance(owner, Team) else None,
        project=owner if isinstance(owner, Project) else None,
        user=user,
    )[0]
    return found


def _report(
    owner: Owner, holder: AlertsHolder, budgets: Sequence[GpuHourBudget], *, now: datetime, user: User | None = None
) -> int:
    """holder: the row with the newest alerts of these budgets. user: whose they are; None = the owner's."""
    reached = [(one, percent) for one in budgets if (percent := _threshold(one))]
    new = [(one, percent) for one, percent in reached if _is_new(holder.budget_alerts, one, percent, now)]
    if not new:
        return 0
    with transaction.atomic():
        rows: Manager[Any] = type(holder)._default_manager
        row = rows.select_for_update().get(pk=holder.pk)
        new = [(one, percent) for one, percent in new if _is_new(row.budget_alerts, one, percent, now)]
        alerts = {**row.budget_alerts, **{_key(one): _alert(one, percent, now) for one, percent in new}}
        rows.filter(pk=holder.pk).update(budget_alerts=alerts)
        for one, percent in new:
            _append(owner, one, percent, now=now, user=user)
    return len(new)


def _append(owner: Owner, budget: GpuHourBudget, percent: int, *, now: datetime, user: User | None) -> None:
    of_user: dict[str, Any] = {} if user is None else {"user": user.username, "of_user": str(user.pk)}
    append(
        REACHED if user is None else REACHED_BY_USER,
        organisation=organisation_of(owner),
        subject_kind=type(owner).__name__.lower(),
        subject_id=owner.pk,
        at=now,
        name=owner.name,
        percent=percent,
        gpu_hours=budget.gpu_hours,
        used_gpu_hours=round(budget.used_gpu_hours, 4),  # a budget may be a part of an hour
        period=budget.period,
        gpu_type=budget.gpu_type,
        on_exhausted=budget.on_exhausted,
        ends_at=None if budget.ends_at_s is None else datetime.fromtimestamp(budget.ends_at_s, UTC),
        **of_user,
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
