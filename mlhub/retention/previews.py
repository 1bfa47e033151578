# SPDX-License-Identifier: Apache-2.0
"""What bounds and defaults of an organisation make of its projects' rules, and what other ones would remove."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from mlhub.jobs.models import ProjectRetention
from mlhub.jobs.retention.retention_bounds import EffectiveDays, OrganisationRule
from mlhub.jobs.retention.retention_rules import KINDS, effective_of
from mlhub.retention.stored import StoredAmount, reclaimable
from mlhub.tenants.models import Organisation, Project

RulesByKind = Mapping[str, OrganisationRule]


@dataclass(frozen=True)
class ProjectDays:
    """Holds what holds of a kind for a project."""

    project: Project
    kind: str
    effective: EffectiveDays


@dataclass(frozen=True)
class Effect:
    """Holds what other rules of the organisation would make of a project's days of a kind, and remove of it now."""

    before: ProjectDays
    after: EffectiveDays
    removed: StoredAmount


def clamped(organisation: Organisation, rules: RulesByKind) -> list[ProjectDays]:
    """Returns the projects' rules that a bound changes: those that they chose, and those that they have by default."""
    return [found for found in _days(organisation, rules) if found.effective.clamped_by is not None]


def effects(organisation: Organisation, present: RulesByKind, new: RulesByKind, *, now: datetime) -> list[Effect]:
    """Returns each change of what holds for a project. What is pinned stays, and does not count."""
    found = []
    for before, after in zip(_days(organisation, present), _days(organisation, new), strict=True):
        if before.effective.days != after.effective.days:
            removed = reclaimable(before.project, {before.kind: after.effective.days}, now=now)[before.kind]
            found.append(Effect(before, after.effective, removed))
    return found


def _days(organisation: Organisation, rules: RulesByKind) -> Iterator[ProjectDays]:
    own = dict(ProjectRetention.objects.filter(project__organisation=organisation).values_list("project", "days"))
    for project in Project.objects.filter(organisation=organisation).order_by("name", "id"):
        for kind in KINDS:
            yield ProjectDays(project, kind, effective_of(kind, own.get(project.pk, {}), rules))
