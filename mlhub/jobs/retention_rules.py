# SPDX-License-Identifier: Apache-2.0
"""How long what jobs leave is kept: the installation's days, or a project's own within the installation's bounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.db.models import Q

from mlhub.jobs.models import ProjectRetention

CHECKPOINTS, FAILED_CHECKPOINTS = "checkpoints", "failed_checkpoints"
KINDS = ("logs", "metrics", "usage", "results", CHECKPOINTS, FAILED_CHECKPOINTS)  # that projects have rules of
KIND_CHOICES = [(kind, kind) for kind in KINDS]
MOST_DAYS = 36_500.0


@dataclass(frozen=True)
class OwnDays:
    """Holds what a project keeps of one kind. days: None = for good. since: when its rules were changed last."""

    days: float | None
    since: datetime


@dataclass(frozen=True)
class Cutoffs:
    """Holds before when what ended is removed, of one kind. days: of the installation, None = for good.

    own: by project, where it has a rule of its own.
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
        for project_id, own in self.own.items():
            recent = None if within is None or own.since > self.now - within else within
            found |= self._due(own.days, ended_at, recent) & Q(**{project: project_id})
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
    """Reads what is kept of a kind. One query."""
    rows = ProjectRetention.objects.filter(days__has_key=kind).values_list("project", "days", "updated_at")
    own = {project: OwnDays(_kept(days[kind]), since) for project, days, since in rows}
    return Cutoffs(now, installation_days(kind), own)


def installation_days(kind: str) -> float | None:
    """Returns how many days the installation keeps of a kind; None = for good."""
    return _kept(settings.KEPT_DAYS[kind])


def bounds() -> tuple[float, float | None]:
    """Returns the fewest and the most days that a project may keep; None = for good."""
    return settings.RETENTION_LEAST_DAYS, _kept(settings.RETENTION_MOST_DAYS)


def _kept(days: float) -> float | None:
    return float(days) if days else None
