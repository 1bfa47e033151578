# SPDX-License-Identifier: Apache-2.0
"""How far a role reaches: from an organisation to all of it, from a team to its projects. All else asks here."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from django.apps import apps
from django.db.models import Q, QuerySet

from mlhub.tenants.roles import SEES_ALL

if TYPE_CHECKING:
    from uuid import UUID

    from mlhub.tenants.models import Project, Team, User
    from mlhub.tenants.querysets import TeamQuerySet

MAX_KNOWN = 1000  # people whose question is kept


def teams_above(place: Team | Project) -> list[UUID]:
    """The teams whose roles count in a team or a project: itself, or its own one, and all above. One query."""
    team_id = place.pk if type(place).__name__ == "Team" else getattr(place, "team_id", None)
    return [] if team_id is None else list(_teams().above([team_id]).values_list("pk", flat=True))


def teams_below(teams: QuerySet[Any, Any]) -> QuerySet[Any, Any]:
    """The other way round, as a sub-query of ids: the teams in which roles of these count, those below included."""
    return _teams().below(teams).values("pk")


def organisations_seen_by(user: User) -> QuerySet[Any, Any]:
    """Ids of those that the person sees as a whole: all in which they are members, but no outsiders."""
    return _organisations(user.pk)


def teams_seen_by(user: User) -> QuerySet[Any, Any]:
    """Ids of the teams of these organisations, and of those in which the person has a role."""
    of_whole = Q(organisation__in=organisations_seen_by(user))
    return _rows("Team").filter(of_whole | Q(pk__in=_bound_teams(user))).values("pk")


def projects_seen_by(user: User) -> QuerySet[Any, Any]:
    """Ids of the projects of these organisations, and of those in which, or in whose team, the person has a role."""
    return _projects(user.pk).all()  # the caller's own, in which Django keeps what it reads


def projects_of_own_teams(user: User) -> list[UUID]:
    """Those that the person's roles in teams reach now, sorted. Reads the database."""
    return sorted(_rows("Project").filter(team__in=_bound_teams(user)).values_list("pk", flat=True))


# A request asks for several kinds of rows, and each asks who sees it. What is kept here is the question alone, which
# Django takes longer to write than PostgreSQL to answer; it is asked anew each time.
@lru_cache(maxsize=MAX_KNOWN)
def _projects(user_id: UUID) -> QuerySet[Any, Any]:
    bound = _bindings(user_id).exclude(project=None).values("project")
    of_teams = teams_below(_bindings(user_id).exclude(team=None).values("team"))
    of_whole = Q(organisation__in=_organisations(user_id))
    return _rows("Project").filter(of_whole | Q(pk__in=bound) | Q(team__in=of_teams)).values("pk")


def _organisations(user_id: UUID) -> QuerySet[Any, Any]:
    return _rows("Membership").filter(user=user_id, role__in=SEES_ALL).values("organisation")


def _bound_teams(user: User) -> QuerySet[Any, Any]:
    return teams_below(_bindings(user.pk).exclude(team=None).values("team"))


def _bindings(user_id: UUID) -> QuerySet[Any, Any]:
    return _rows("RoleBinding").filter(membership__user=user_id)


def _teams() -> TeamQuerySet:
    found: TeamQuerySet = _rows("Team")  # type: ignore[assignment]
    return found


def _rows(model: str) -> QuerySet[Any, Any]:
    # named, not imported: the models' own querysets ask here
    found: QuerySet[Any, Any] = apps.get_model("tenants", model)._default_manager.all()
    return found
