# SPDX-License-Identifier: Apache-2.0
"""Boosts as rounds and pages see them: what they add to quotas now, and what changes when others begin or end."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from mlhub.tenants.actions.limits.boosts import amounts_of
from mlhub.tenants.models import Organisation, QuotaBoost
from mlhub.tenants.quota_terms.boosts import BoostAmounts, moments
from scheduler.api.gpu_budgets import QuotaChange

MOST_MOMENTS = 8  # those that come first: what is later, forecasts do not reckon with


@dataclass(frozen=True)
class Boosts:
    """Those that have not ended, of some organisations, as they were read at `now`."""

    now: datetime
    rows: tuple[QuotaBoost, ...]

    @classmethod
    def read(cls, organisations: Collection[UUID], *, now: datetime) -> Boosts:
        """One query."""
        found = QuotaBoost.objects.not_ended(now).filter(organisation__in=organisations)
        return cls(now, tuple(found.order_by("id")))

    @property
    def owners(self) -> set[UUID]:
        return {_owner(boost) for boost in self.rows}

    def at(self, moment: datetime) -> dict[UUID, BoostAmounts]:
        """By owner, GPUs that are added to its guarantee and to its limits at a moment that is not over."""
        found: defaultdict[UUID, BoostAmounts] = defaultdict(BoostAmounts)
        for boost in self.rows:
            if boost.counts(moment):
                found[_owner(boost)] += amounts_of(boost)
        return dict(found)

    def changes(self) -> tuple[QuotaChange, ...]:
        """What begins or ends later, in order: of each owner, what is more or less than before."""
        found, before = [], self.at(self.now)
        windows = ((boost.starts_at, boost.ends_at) for boost in self.rows)
        for moment in moments(windows, now=self.now)[1 : MOST_MOMENTS + 1]:
            after = self.at(moment)
            for owner in sorted({*before, *after}):
                had, has = (one.get(owner, BoostAmounts()) for one in (before, after))
                if had != has:
                    found.append(_change(owner, moment, had, has))
            before = after
        return tuple(found)


def extras_now(organisations: Collection[UUID], *, now: datetime) -> dict[UUID, BoostAmounts]:
    """By owner, GPUs that boosts in effect add to its guarantee, and to its limits. One query."""
    return Boosts.read(organisations, now=now).at(now)


def boosts_of(
    organisation: Organisation, *, now: datetime
) -> tuple[defaultdict[UUID, list[QuotaBoost]], defaultdict[UUID, list[QuotaBoost]]]:
    """By owner, boosts in effect, the one that ends first at the top, and those to come, in order. One query."""
    in_effect: defaultdict[UUID, list[QuotaBoost]] = defaultdict(list)
    to_come: defaultdict[UUID, list[QuotaBoost]] = defaultdict(list)
    found = organisation.boosts.not_ended(now).select_related("created_by", "team", "project").order_by("ends_at", "id")
    for boost in found:
        (in_effect if boost.has_begun(now) else to_come)[boost.owner.pk].append(boost)
    for rows in to_come.values():
        rows.sort(key=lambda boost: boost.starts_at)
    return in_effect, to_come


def _owner(boost: QuotaBoost) -> UUID:
    owner: UUID = boost.project_id or boost.team_id or boost.organisation_id
    return owner


def _change(owner: UUID, moment: datetime, had: BoostAmounts, has: BoostAmounts) -> QuotaChange:
    return QuotaChange(
        moment.timestamp(),
        str(owner),
        guarantee=has.guaranteed - had.guaranteed,
        max_gpus=has.max_gpus - had.max_gpus,
        gpus_by_type=_more(had.by_type, has.by_type),
        guarantee_by_type=_more(had.guarantee_by_type, has.guarantee_by_type),
    )


def _more(had: Mapping[str, int], has: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    types: Iterable[str] = sorted({*had, *has})
    more = ((gpu_type, has.get(gpu_type, 0) - had.get(gpu_type, 0)) for gpu_type in types)
    return tuple((gpu_type, n) for gpu_type, n in more if n)
