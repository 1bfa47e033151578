# SPDX-License-Identifier: Apache-2.0
"""Which limits of users hold for whom: a user's own where there are some, else those of every user."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from uuid import UUID

from mlhub.tenants.models import Organisation, Project, Team, User, UserQuota


@dataclass(frozen=True)
class UserQuotaIndex:
    """Holds limits of users by owner and user, as they were read."""

    rows: dict[tuple[UUID, UUID | None], UserQuota]

    @property
    def owners(self) -> set[UUID]:
        """Returns the ids of organisations, teams and projects that limit users."""
        return {owner for owner, _ in self.rows}

    def of(self, owner: UUID, user: UUID) -> UserQuota | None:
        """Returns what holds for the user's jobs of this owner; None = no limit."""
        return self.rows.get((owner, user)) or self.rows.get((owner, None))

    def with_rows(self, rows: Iterable[UserQuota]) -> UserQuotaIndex:
        """Returns it as if these were stored, instead of those of the same owners and users."""
        return UserQuotaIndex({**self.rows, **_indexed(rows).rows})


def user_quotas_of(organisations: Collection[UUID]) -> UserQuotaIndex:
    """Reads all limits of users in these organisations. One query."""
    return _indexed(UserQuota.objects.filter(organisation__in=organisations))


def quotas_above(project: Project, user: User) -> list[UserQuota]:
    """Returns the limits that hold for the user's jobs of the project, the nearest first."""
    teams = {team.pk: n for n, team in enumerate(Team.objects.line_of(project.team))}
    held = _held_by(UserQuota.objects.above(project), user)
    far = len(teams)
    return sorted(held, key=lambda one: -1 if one.project_id else teams.get(one.team_id, far) if one.team_id else far)


def quota_of_user(organisation: Organisation, user: User) -> UserQuota | None:
    """Returns what the organisation itself lets the user have; None = no limit."""
    found = _held_by(UserQuota.objects.of(organisation), user)
    return found[0] if found else None


def of_organisation(held: Iterable[UserQuota]) -> UserQuota | None:
    """Returns the one of the organisation itself among quotas_above(); None = no limit."""
    return next((row for row in held if row.project_id is None and row.team_id is None), None)


def _held_by(rows: Iterable[UserQuota], user: User) -> list[UserQuota]:
    found = _indexed(rows)
    return [one for owner in found.owners if (one := found.of(owner, user.pk)) is not None]


def _indexed(rows: Iterable[UserQuota]) -> UserQuotaIndex:
    by_owner = {}
    for row in rows:
        by_owner[row.project_id or row.team_id or row.organisation_id, row.user_id] = row
    return UserQuotaIndex(by_owner)


def limits_raised_by(row: UserQuota) -> str:
    """Returns who can raise these limits, as a remedy names them: admins of their owner, and of its organisation."""
    owner: Organisation | Team | Project = row.owner
    above = "" if isinstance(owner, Organisation) else f" or of {owner.organisation.name}"
    return f"an admin of {owner.name}{above}"


def owner_name(row: UserQuota) -> str:
    """Returns the name of the organisation, team or project, as messages have it."""
    owner: Organisation | Team | Project = row.owner
    return owner.name
