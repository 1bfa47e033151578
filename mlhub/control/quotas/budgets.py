# SPDX-License-Identifier: Apache-2.0
"""Budgets of GPU-hours: what of them is used, for the scheduler's snapshot, for pages and for alerts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from mlhub.tenants.actions.limits.quotas import Owner
from mlhub.tenants.models import Organisation, ProjectQuota, Quota, Team, TeamQuota
from mlhub.usage.hours import LiveHolding, UsedHours, live_holdings, used_hours
from scheduler.api.gpu_budgets import BudgetPeriod, GpuHourBudget, OnExhausted, period_of

QuotaRow = Quota | TeamQuota | ProjectQuota
BudgetRows = Sequence[Mapping[str, Any]]


@dataclass
class BudgetBooks:
    """Knows what is used of budgets of these organisations; others' are left out.

    The ledger is read once for each organisation and period, where it is needed.
    """

    now: datetime
    organisations: frozenset[UUID]
    _live: list[LiveHolding] | None = field(default=None, repr=False)
    _hours: dict[tuple[UUID, datetime | None], list[UsedHours]] = field(default_factory=dict, repr=False)
    _by_user: dict[tuple[UUID, datetime | None], dict[UUID, list[UsedHours]]] = field(default_factory=dict, repr=False)

    def budgets_of(self, owner: Owner, rows: BudgetRows, *, user: UUID | None = None) -> tuple[GpuHourBudget, ...]:
        """Returns the owner's budgets, as its quota has them in rows, with what is used of them.

        user: only what this user's jobs have used counts, as the budgets are those of one user.
        """
        organisation = owner.pk if isinstance(owner, Organisation) else owner.organisation_id
        if organisation not in self.organisations:
            return ()
        return tuple(self._budget(owner, organisation, row, user) for row in rows)

    def users_of(self, organisation: UUID, rows: BudgetRows) -> set[UUID]:
        """Returns who has used GPU-hours of the organisation in the present period of any of these budgets."""
        return {user for row in rows for user in self._used_by_user(organisation, self._since(row))}

    @property
    def live(self) -> list[LiveHolding]:
        """What live attempts of these organisations hold."""
        if self._live is None:
            self._live = live_holdings(list(self.organisations), now=self.now)
        return self._live

    def _budget(self, owner: Owner, organisation: UUID, row: Mapping[str, Any], user: UUID | None) -> GpuHourBudget:
        period = BudgetPeriod(row["period"])
        _, ends_at_s = period_of(period, self.now.timestamp())
        since, gpu_type = self._since(row), row["gpu_type"]
        used = (
            self._used(organisation, since) if user is None else self._used_by_user(organisation, since).get(user, ())
        )
        counted = (one for one in used if gpu_type in ("", one.gpu_type))
        hours = sum(one.gpu_hours for one in counted if _counts_for(owner, one))
        return GpuHourBudget(
            row["gpu_hours"], period, OnExhausted(row["on_exhausted"]), gpu_type, float(hours), ends_at_s
        )

    def _used(self, organisation: UUID, since: datetime | None) -> list[UsedHours]:
        key = (organisation, since)
        if key not in self._hours:
            self._hours[key] = used_hours(organisation, self.live, since=since, now=self.now)
        return self._hours[key]

    def _used_by_user(self, organisation: UUID, since: datetime | None) -> dict[UUID, list[UsedHours]]:
        key = (organisation, since)
        if key not in self._by_user:
            found: defaultdict[UUID, list[UsedHours]] = defaultdict(list)
            for one in self._used(organisation, since):
                found[one.user_id].append(one)
            self._by_user[key] = dict(found)
        return self._by_user[key]

    def _since(self, row: Mapping[str, Any]) -> datetime | None:
        """When the present period of a budget began; None = it has none."""
        began_s, _ = period_of(BudgetPeriod(row["period"]), self.now.timestamp())
        return None if began_s is None else datetime.fromtimestamp(began_s, UTC)


def budgets_now(owner: Owner, rows: BudgetRows, *, now: datetime) -> tuple[GpuHourBudget, ...]:
    """Returns budgets as the owner would have them, with what is used now."""
    organisation = owner.pk if isinstance(owner, Organisation) else owner.organisation_id
    return BudgetBooks(now, frozenset({organisation})).budgets_of(owner, rows)


def owners_with_budgets() -> Iterable[tuple[Owner, QuotaRow]]:
    """Every owner that has a budget, with its quota."""
    for quota in Quota.objects.exclude(budgets=[]).select_related("organisation").order_by("pk"):
        yield quota.organisation, quota
    for team in TeamQuota.objects.exclude(budgets=[]).select_related("team__organisation").order_by("pk"):
        yield team.team, team
    for part in ProjectQuota.objects.exclude(budgets=[]).select_related("project__organisation").order_by("pk"):
        yield part.project, part


def _counts_for(owner: Owner, used: UsedHours) -> bool:
    if isinstance(owner, Team):
        return owner.pk == used.team_id or owner.pk in used.teams_above
    return isinstance(owner, Organisation) or used.project_id == owner.pk


def as_rows(budgets: Sequence[GpuHourBudget]) -> list[dict[str, Any]]:
    """Returns budgets as the API shows them."""
    return [
        {
            "gpu_hours": one.gpu_hours,
            "period": one.period.value,
            "on_exhausted": one.on_exhausted.value,
            "gpu_type": one.gpu_type,
            "used_gpu_hours": one.used_gpu_hours,
            "ends_at": None if one.ends_at_s is None else datetime.fromtimestamp(one.ends_at_s, UTC),
            "is_exhausted": one.is_exhausted,
        }
        for one in budgets
    ]
