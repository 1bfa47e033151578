# SPDX-License-Identifier: Apache-2.0
"""Reads, filtered by who asks. visible_to(user) is the one wall between organisations, and around what an outsider of
an organisation has a role in.
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any, Self

from django.contrib.sessions.models import Session
from django.core.exceptions import EmptyResultSet
from django.db import models
from django.db.models.expressions import RawSQL
from django.utils import timezone

from mlhub.core.errors import InvalidInputError, NotAllowedError, NotFoundError
from mlhub.tenants.named import MAX_NAMESAKES, id_in_address
from mlhub.tenants.reach import organisations_seen_by, projects_seen_by, teams_seen_by
from mlhub.tenants.team_tree import ABOVE, BELOW, TeamTree
from mlhub.wire.words import with_article

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from datetime import datetime
    from uuid import UUID

    from django.contrib.auth.models import AnonymousUser

    from mlhub.tenants.models import Team, User


class TenantOwnedQuerySet(models.QuerySet[Any]):
    """Rows that belong to an organisation through `organisation_path`."""

    organisation_path = "organisation"

    def visible_to(self, user: User | AnonymousUser) -> Self:
        """Platform administrators see all; others the organisations that they are members of. Outsiders of one see
        there what belongs to a project or a team in which they have a role, and no row that belongs to neither.
        """
        if not user.is_authenticated:
            return self.none()
        if user.is_staff:
            return self.all()
        return self._seen_by(user)._within_token(user)

    def visible_in_list_to(self, user: User | AnonymousUser) -> Self:
        """visible_to() for pages of long tables, with a query of its own for the projects that the person sees.

        Where they are named PostgreSQL finds their newest rows by an index; it cannot foresee what a sub-query gives,
        and may read the newer rows of everybody else first.
        """
        if self.project_path is None or not user.is_authenticated or user.is_staff:
            return self.visible_to(user)
        seen = list(projects_seen_by(user).values_list("pk", flat=True))
        return self.filter(**{f"{self.project_path}__in": seen})._within_token(user)

    def _seen_by(self, user: User) -> Self:
        # by sub-query, not join: a person in two organisations must not see a row twice
        if self.project_path is not None:
            return self.filter(**{f"{self.project_path}__in": projects_seen_by(user)})
        path = f"{self.organisation_path}__in" if self.organisation_path else "pk__in"
        return self.filter(**{path: organisations_seen_by(user)})

    @property
    def project_path(self) -> str | None:
        """The path to the project that a row belongs to; None for rows that belong to no single one."""
        found = self.organisation_path.removesuffix("__organisation")
        return found if found.endswith("project") else None

    def _within_token(self, user: User) -> Self:
        """Those that the token of the request reaches; a token for one project reaches what belongs to it alone."""
        token = user.acting_token
        if token is None:
            return self
        if token.project_id is None:
            return self.filter(**{self.organisation_path or "pk": token.organisation_id})
        return self.none() if self.project_path is None else self.filter(**{self.project_path: token.project_id})

    def require_within_token(self, user: User | AnonymousUser, pk: UUID | str) -> None:
        """Raises NotAllowedError for a row that the person may see, but not with the token of the request."""
        if not user.is_authenticated or user.acting_token is None:
            return
        person = copy(user)
        person.acting_token = None  # type: ignore[misc]
        if self.visible_to(person).filter(pk=pk).exists():
            limit = user.acting_token.project or user.acting_token.organisation
            raise NotAllowedError(
                f"This API token reaches {limit} only.",
                code="token_limited",
                remedy="Use a token without this limit, or one for the right organisation or project.",
                limit=str(limit),
            )

    def get_visible(self, user: User | AnonymousUser, pk: UUID | str, *, field: str | None = None) -> Any:
        """The row of that id. Raises NotFoundError alike for rows that are not there and rows of others.

        field: the input that named it, when it was not the address.
        """
        rows = self.filter(pk=pk)
        if self.query.select_related:  # not in one query with what decides who sees it, which would take long to plan
            alone: Any = rows.select_related(None).visible_to(user)
            found = rows.first() if alone.exists() else None
        else:
            found = rows.visible_to(user).first()
        if found is None:
            self.require_within_token(user, pk)
            noun = str(self.model._meta.verbose_name)
            raise NotFoundError(
                f"There is no {noun} {pk} that you may see.",
                field=field,
                remedy=f"Name {with_article(noun)} of an organisation that you belong to." if field else "",
            )
        return found

    def id_of_name(self, user: User | AnonymousUser, name: str, *, within: Mapping[str, tuple[str, str]]) -> UUID:
        """The id of the only visible row of that name. within, and what is raised: as id_in_address()."""
        return id_in_address(self.visible_to(user), name, user=user, within=within)


class TeamQuerySet(TenantOwnedQuerySet):
    """Teams, and what is below and above them. Both are part of the query that they filter: no query of their own."""

    def _seen_by(self, user: User) -> Self:
        return self.filter(pk__in=teams_seen_by(user))

    def below(self, teams: Collection[UUID] | models.QuerySet[Any]) -> Self:
        """Those of these teams and of all below them. teams: ids, or a query of ids such as rows.values("team")."""
        return self._reached(BELOW, teams)

    def above(self, teams: Collection[UUID] | models.QuerySet[Any]) -> Self:
        """Those of these teams and of all above them. teams: as for below()."""
        return self._reached(ABOVE, teams)

    def line_of(self, team: Team | None) -> list[Team]:
        """The team and those above it, the nearest first, with their quotas. A query only where there are any above."""
        if team is None or team.parent_id is None:
            return [] if team is None else [team]
        rows = {row.pk: row for row in self.above([team.pk]).select_related("quota", "organisation")}
        found: list[Team] = []
        at = team.pk
        while (row := rows.pop(at, None)) is not None:
            found.append(row)
            at = row.parent_id
        return found

    def lines_of(self, teams: Collection[UUID]) -> dict[UUID, tuple[UUID, ...]]:
        """By team that is there: itself and those above it, the nearest first. One query; none for no team."""
        if not teams:
            return {}
        tree = TeamTree(dict(self.above(teams).values_list("id", "parent_id")))
        return {team: line for team in teams if (line := tree.line(team))}

    def _reached(self, query: str, teams: Collection[UUID] | models.QuerySet[Any]) -> Self:
        try:
            sql, parameters = _roots(teams)
        except EmptyResultSet:
            return self.none()
        reached = RawSQL(query.format(roots=sql), parameters)  # noqa: S611 - of two literals and Django's SQL
        return self.filter(pk__in=reached)


def _roots(teams: Collection[UUID] | models.QuerySet[Any]) -> tuple[str, tuple[Any, ...]]:
    """What goes into IN (...). Raises EmptyResultSet for a query that finds nothing."""
    if isinstance(teams, models.QuerySet):
        sql, parameters = teams.query.sql_with_params()
        return sql, tuple(parameters)
    return "SELECT unnest(%s::uuid[])", ([str(team) for team in teams],)


class NamedQuerySet(TenantOwnedQuerySet):
    """Rows with a name that is unique within its project (or, of projects, within its team or organisation)."""

    def get_named(self, user: User | AnonymousUser, name: UUID | str, *, field: str, project: UUID | None) -> Any:
        """The visible row of that id or that name; of several of one name the one in the project, or the built-in one.

        field: the input that named it. Raises NotFoundError, and InvalidInputError when the name alone says too little.
        """
        if not isinstance(name, str):
            return self.get_visible(user, name, field=field)
        visible = self.visible_to(user).filter(name=name)
        found = list(visible[:MAX_NAMESAKES])
        if len(found) == MAX_NAMESAKES and hasattr(self.model, "project_id"):  # those that count may be behind them
            nearest = list(visible.filter(models.Q(project=project) | models.Q(project=None))[:MAX_NAMESAKES])
            found = [*nearest, *(row for row in found if row not in nearest)][:MAX_NAMESAKES]
        near = [row for row in found if getattr(row, "project_id", None) == project]
        built_in = [row for row in found if getattr(row, "project_id", project) is None]
        for rows in (near if project is not None else [], found if len(found) == 1 else [], built_in):
            if len(rows) == 1:
                return rows[0]
        noun = str(self.model._meta.verbose_name)
        if not found:
            raise NotFoundError(
                f"There is no {noun} called {name} that you may see.",
                field=field,
                remedy=f"Name {with_article(noun)} of an organisation that you belong to, or give its id.",
            )
        ids = ", ".join(str(row.pk) for row in found)
        raise InvalidInputError(
            f"{len(found)} {noun}s that you may see are called {name}.", field=field, remedy=f"Give an id: {ids}."
        )


class InvitationQuerySet(TenantOwnedQuerySet):
    def waiting(self) -> Self:
        """Neither answered nor expired."""
        return self.filter(answer="", expires_at__gt=timezone.now())

    def to_user(self, user: User) -> Self:
        """Those that this user may answer; none with a token that is limited to an organisation."""
        if user.acting_token is not None:
            return self.none()
        return self.waiting().filter(username=user.username)


class OfOwnerQuerySet(TenantOwnedQuerySet):
    """Rows of an organisation, or of its team or project."""

    def _seen_by(self, user: User) -> Self:
        of_part = models.Q(team__in=teams_seen_by(user)) | models.Q(project__in=projects_seen_by(user))
        return self.filter(models.Q(**{f"{self.organisation_path}__in": organisations_seen_by(user)}) | of_part)

    def of(self, owner: models.Model) -> Self:
        """Those of this organisation, team or project itself, without its parts."""
        kind = type(owner).__name__.lower()
        parts = {} if kind != "organisation" else {"team": None, "project": None}
        return self.filter(**{kind: owner}, **parts)

    def above(self, project: models.Model) -> Self:
        """Those that count for jobs of the project: its own, those of all teams above it and its organisation's."""
        own = models.Q(project=project) | models.Q(team=None, project=None)
        if team_id := getattr(project, "team_id", None):
            teams = self.model._meta.get_field("team").related_model._default_manager
            own |= models.Q(team__in=teams.above([team_id]))
        return self.filter(own, organisation=project.organisation_id)  # type: ignore[attr-defined]


class BoostQuerySet(OfOwnerQuerySet):
    def in_effect(self, now: datetime) -> Self:
        """Those that add to a quota at that moment."""
        return self.not_ended(now).filter(models.Q(starts_at__lte=now) | models.Q(began_at__isnull=False))

    def not_ended(self, now: datetime) -> Self:
        """Those in effect, and those to come."""
        return self.filter(ended_at=None, ends_at__gt=now)


class UserQuotaQuerySet(OfOwnerQuerySet):
    """Every member of an organisation sees what one person may have there."""


class QuotaRequestQuerySet(OfOwnerQuerySet):
    """Every member of an organisation sees what is asked there."""

    def waiting(self) -> Self:
        return self.filter(answer="")


class MembershipQuerySet(TenantOwnedQuerySet):
    def _seen_by(self, user: User) -> Self:
        """Those of the organisation's people, and one's own."""
        return super()._seen_by(user) | self.filter(user=user)


class RoleBindingQuerySet(OfOwnerQuerySet):
    """Rows of a team or a project. Who sees it sees who has which role there."""

    organisation_path = "membership__organisation"


class OrganisationQuerySet(TenantOwnedQuerySet):
    organisation_path = ""

    def with_role_of(self, user: User | AnonymousUser) -> Self:
        """Each with `role`: that person's there; platform administrators count as owners."""
        if not user.is_authenticated or user.is_staff:
            return self.annotate(role=models.Value("owner"))
        own = user.memberships.filter(organisation=models.OuterRef("pk"))
        return self.annotate(role=models.Subquery(own.values("role")[:1]))


class ProjectQuerySet(NamedQuerySet):
    organisation_path = "organisation"
    project_path = "pk"


class ProjectOwnedQuerySet(NamedQuerySet):
    """Rows with a `project` foreign key."""

    organisation_path = "project__organisation"


class TeamOwnedQuerySet(TenantOwnedQuerySet):
    """Rows with a `team` foreign key."""

    organisation_path = "team__organisation"

    def _seen_by(self, user: User) -> Self:
        return self.filter(team__in=teams_seen_by(user))


class TokenQuerySet(models.QuerySet[Any]):
    def visible_to(self, user: User | AnonymousUser) -> Self:
        """Tokens are personal: no user sees another's, not even an administrator; one with limits shows itself."""
        if user.is_authenticated and user.acting_token is not None:
            return self.filter(pk=user.acting_token.pk)
        return self.filter(user=user) if user.is_authenticated else self.none()


class SessionQuerySet(models.QuerySet[Any]):
    def visible_to(self, user: User | AnonymousUser) -> Self:
        """One's own that have not expired; none with a token that is limited."""
        if not user.is_authenticated or user.acting_token is not None:
            return self.none()
        live = Session.objects.filter(expire_date__gt=timezone.now()).values("session_key")
        return self.filter(user=user, session_key__in=live)


class OwnQuerySet(models.QuerySet[Any]):
    """Rows of one user, which no other user sees."""

    def visible_to(self, user: User | AnonymousUser) -> Self:
        """One's own; none with a token that is limited."""
        if not user.is_authenticated or user.acting_token is not None:
            return self.none()
        return self.filter(user=user)
