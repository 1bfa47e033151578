# SPDX-License-Identifier: Apache-2.0
"""How a budget of GPU-hours is used over its period, and when it will be used up.

The prediction: what was used in the last seven days goes on at the same rate. Plain, so that a person can check it;
what runs now is in it, and what is planned is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import accumulate, pairwise

from mlhub.control.quotas.budgets import BudgetBooks, BudgetRows
from mlhub.tenants.actions.limits.quotas import Owner
from mlhub.tenants.models import Organisation, Project, Team
from mlhub.usage.hours import HoursFilter, LiveHolding, first_use, hours_by_section
from scheduler.api.gpu_budgets import BudgetPeriod, GpuHourBudget, period_of

RATE_WINDOW = timedelta(days=7)
LEAST_WINDOW = timedelta(hours=1)  # of an owner that has only begun
SECTIONS = {
    BudgetPeriod.DAY: timedelta(hours=1),
    BudgetPeriod.WEEK: timedelta(hours=6),
    BudgetPeriod.MONTH: timedelta(days=1),
}
MOST_SECTIONS = 60  # of a budget without a period, which divide the time since its first use
LEAST_SECTION = timedelta(seconds=1)
DAY = timedelta(days=1)


@dataclass(frozen=True)
class UsedUntil:
    """gpu_hours: used from the begin of the period until then."""

    at: datetime
    gpu_hours: float


@dataclass(frozen=True)
class BurnDown:
    """began_at, ends_at: of the present period; ends_at None = it does not. points: the first at its begin, the last
    now. gpu_hours_per_day: at which it goes on, from what was used since rate_since. predicted_gpu_hours: used when the
    period ends; None = it does not. exhausted_at: when it was or will be used up; None = not within the period, or
    never.
    """

    budget: GpuHourBudget
    began_at: datetime
    ends_at: datetime | None
    points: tuple[UsedUntil, ...]
    gpu_hours_per_day: float
    rate_since: datetime
    predicted_gpu_hours: float | None
    exhausted_at: datetime | None


def burn_downs(owner: Owner, rows: BudgetRows, *, now: datetime) -> list[BurnDown]:
    """Returns those of the owner's budgets, as its quota has them in rows."""
    books = BudgetBooks(now, frozenset({_organisation_of(owner).pk}))
    return [_burn_down(owner, budget, books.live, now=now) for budget in books.budgets_of(owner, rows)]


def _burn_down(owner: Owner, budget: GpuHourBudget, live: Sequence[LiveHolding], *, now: datetime) -> BurnDown:
    wanted = _filter_of(owner, budget.gpu_type)
    first = first_use(wanted, live)
    began_s, ends_s = period_of(budget.period, now.timestamp())
    began_at = first or now if began_s is None else datetime.fromtimestamp(began_s, UTC)
    points = _points(wanted, live, began_at, budget.period, now=now)
    rate_since = min(now - LEAST_WINDOW, max(now - RATE_WINDOW, first or now))
    (recent,) = hours_by_section(wanted, live, since=rate_since, section=now - rate_since, n_sections=1, now=now)
    per_day = recent / ((now - rate_since) / DAY)
    ends_at = None if ends_s is None else datetime.fromtimestamp(ends_s, UTC)
    predicted = None if ends_at is None else budget.used_gpu_hours + per_day * ((ends_at - now) / DAY)
    exhausted_at = _exhausted_at(budget, points, per_day)
    if exhausted_at is not None and ends_at is not None and exhausted_at >= ends_at:
        exhausted_at = None
    return BurnDown(budget, began_at, ends_at, points, per_day, rate_since, predicted, exhausted_at)


def _points(
    wanted: HoursFilter, live: Sequence[LiveHolding], began_at: datetime, period: BudgetPeriod, *, now: datetime
) -> tuple[UsedUntil, ...]:
    if began_at >= now:
        return (UsedUntil(now, 0.0),)
    section = SECTIONS.get(period) or max(LEAST_SECTION, (now - began_at) / MOST_SECTIONS)
    n_sections = min(MOST_SECTIONS, -(-(now - began_at) // section))
    hours = hours_by_section(wanted, live, since=began_at, section=section, n_sections=n_sections, now=now)
    ends = [min(now, began_at + (n + 1) * section) for n in range(n_sections)]
    ends[-1] = now
    used = [UsedUntil(at, total) for at, total in zip(ends, accumulate(hours), strict=True)]
    return (UsedUntil(began_at, 0.0), *used)


def _exhausted_at(budget: GpuHourBudget, points: Sequence[UsedUntil], per_day: float) -> datetime | None:
    for before, after in pairwise(points):
        if after.gpu_hours >= budget.gpu_hours > before.gpu_hours:
            part = (budget.gpu_hours - before.gpu_hours) / (after.gpu_hours - before.gpu_hours)
            return before.at + part * (after.at - before.at)
    if budget.is_exhausted:
        return points[0].at
    try:
        return points[-1].at + DAY * ((budget.gpu_hours - budget.used_gpu_hours) / per_day)
    except (ZeroDivisionError, OverflowError):
        return None


def _filter_of(owner: Owner, gpu_type: str) -> HoursFilter:
    return HoursFilter(
        _organisation_of(owner).pk,
        team=owner.pk if isinstance(owner, Team) else None,
        project=owner.pk if isinstance(owner, Project) else None,
        gpu_type=gpu_type,
    )


def _organisation_of(owner: Owner) -> Organisation:
    return owner if isinstance(owner, Organisation) else owner.organisation
