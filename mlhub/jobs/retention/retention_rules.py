# SPDX-License-Identifier: Apache-2.0
"""How long what jobs leave is kept, by project: rules and bounds as they are stored, and what is due by them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.db.models import Q

from mlhub.jobs.models import OrganisationRetention, ProjectRetention
from mlhub.jobs.retention.retention_bounds import (
    EffectiveDays,
    InstallationRule,
    OrganisationRule,
    RuleOwner,
    bounds_of,
    effective_days,
)
from mlhub.tenants.models import Organisation, Project

CHECKPOINTS, FAILED_CHECKPOINTS = "checkpoints", "failed_checkpoints"
KINDS = ("logs", "metrics", "usage", "results", CHECKPOINTS, FAILED_CHECKPOINTS)  # that projects have rules of
KIND_CHOICES = [(kind, kind) for kind in KINDS]
MOST_DAYS = 36_500.0


@dataclass(frozen=True)
class OwnDays:
    """Holds what a project keeps of one kind. days: None = for good. since: when its rules, or its organisation's, were
    changed last."""

    days: float | None
    since: datetime


@dataclass(frozen=True)
class Cutoffs:
    """Holds before when what ended is removed, of one kind. days: of the installation, None = for good.

    own: by project, where it has a rule of its own or its organisation has one.
    """

    now: datetime
    days: float | None
    own: Mapping[UUID, OwnDays]

    def days_of(self, project: UUID) -> float | None:
        """Returns how many days the project keeps it; None = for good."""
        return self.own[project].days if project in self.own else self.days

    def before(self, project: UUID) -> datetime | None:
        """Returns before when what ended is removed of the project; None = nothing is."""
        return self._before(self.days_of(project))

    def due(self, *, project: str, ended_at: str, within: timedelta | None = None) -> Q:
        """Returns which rows are due. project, ended_at: the lookups of the project and of the end.

        within: only those that became due since; all, where a project changed its rules since.
        """
        found = self._due(self.days, ended_at, within) & ~Q(**{f"{project}__in": list(self.own)})
        alike: defaultdict[tuple[float | None, timedelta | None], list[UUID]] = defaultdict(list)
        for project_id, own in self.own.items():
            recent = None if within is None or own.since > self.now - within else within
            alike[own.days, recent].append(project_id)
        for (days, recent), projects in alike.items():
            found |= self._due(days, ended_at, recent) & Q(**{f"{project}__in": projects})
        return found

    def only(self, project: UUID, days: float | None) -> Cutoffs:
        """Returns the cutoffs as if the project kept so many days and all others kept everything."""
        return replace(self, days=None, own={project: OwnDays(days, self.now)})

    def _before(self, days: float | None) -> datetime | None:
        return None if days is None else self.now - timedelta(days=days)

    def _due(self, days: float | None, ended_at: str, within: timedelta | None) -> Q:
        before = self._before(days)
        if before is None:
            return Q(pk__in=[])
        recent = Q() if within is None else Q(**{f"{ended_at}__gt": before - within})
        return Q(**{f"{ended_at}__lt": before}) & recent


def cutoffs(kind: str, *, now: datetime) -> Cutoffs:
    """Reads what is kept of a kind. Three queries at most."""
    ruled = {row.pk: row for row in OrganisationRetention.objects.filter(rules__has_key=kind)}
    chosen = {row.pk: row for row in ProjectRetention.objects.filter(days__has_key=kind)}
    concerned = Project.objects.filter(Q(pk__in=chosen) | Q(organisation__in=ruled))
    own = {}
    for project, organisation in concerned.values_list("id", "organisation_id"):
        rows = [row for row in (chosen.get(project), ruled.get(organisation)) if row is not None]
        rules = rules_of(ruled.get(organisation))
        found = effective_of(kind, chosen[project].days if project in chosen else {}, rules)
        own[project] = OwnDays(found.days, max(row.updated_at for row in rows))
    return Cutoffs(now, installation_days(kind), own)


def effective_of(kind: str, own: Mapping[str, float], rules: Mapping[str, OrganisationRule]) -> EffectiveDays:
    """Returns what holds of a kind for a project with these own days, in an organisation with these rules."""
    return effective_days(own.get(kind), rules.get(kind, OrganisationRule()), installation_rule(kind))


def own_days(project: Project) -> dict[str, float]:
    """Returns the project's own rules, by kind; 0 = for good."""
    row = ProjectRetention.objects.filter(project=project).first()
    return {} if row is None else row.days


def organisation_rules(organisation: Organisation) -> dict[str, OrganisationRule]:
    """Returns what the organisation says, by kind."""
    return rules_of(OrganisationRetention.objects.filter(organisation=organisation).first())


def rules_of(row: OrganisationRetention | None) -> dict[str, OrganisationRule]:
    """Returns a row's rules, by kind; none of no row."""
    return {} if row is None else {kind: OrganisationRule.read(stored) for kind, stored in row.rules.items()}


def installation_days(kind: str) -> float | None:
    """Returns how many days the installation keeps of a kind; None = for good."""
    return _kept(settings.KEPT_DAYS[kind])


def installation_rule(kind: str) -> InstallationRule:
    """Returns the installation's days of a kind, with its bounds."""
    least, most = bounds()
    return InstallationRule(installation_days(kind), bounds_of(RuleOwner.INSTALLATION, least=least, most=most))


def bounds() -> tuple[float, float | None]:
    """Returns the fewest and the most days that a project may keep in this installation; None = for good."""
    return settings.RETENTION_LEAST_DAYS, _kept(settings.RETENTION_MOST_DAYS)


def _kept(days: float) -> float | None:
    return float(days) if days else None
