# SPDX-License-Identifier: Apache-2.0
"""Organisations, members, teams, projects and tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import django_filters
from django.db import transaction
from django.db.models import Q, QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import exceptions, generics, status
from rest_framework.response import Response

from mlhub.core.api.views import AddressedView, VisibleMixin, read_body
from mlhub.core.as_seen import require_as_seen
from mlhub.tenants import actions
from mlhub.tenants.access_control.assignments import project_roles
from mlhub.tenants.access_control.permissions import IsAuthenticatedInScope, IsPlatformAdministrator, role_of
from mlhub.tenants.api import serializers as s
from mlhub.tenants.models import ApiToken, Membership, Organisation, Project, Team
from mlhub.tenants.named import NamedFilter
from mlhub.tenants.people import people_named
from mlhub.tenants.refs import RefFilter
from mlhub.tenants.roles import Role
from mlhub.tenants.sign_in.authentication import caller

if TYPE_CHECKING:
    from uuid import UUID

    from rest_framework.permissions import BasePermission
    from rest_framework.request import Request


class OfOrganisationFilter(django_filters.FilterSet):
    """By plain ids: a filter that looks rows up would reveal which ids of other organisations exist."""

    organisation = NamedFilter(Organisation, help_text="Only those of this organisation, by id or name.")
    name = django_filters.CharFilter(help_text="Only the one of exactly this name.")


class MemberFilter(django_filters.FilterSet):
    search = django_filters.CharFilter(
        method="by_text",
        help_text="Only those whose user name or full name contains this; asked by an admin, or whose e-mail address "
        "does.",
    )
    role = django_filters.MultipleChoiceFilter(choices=s.ROLES, help_text="Only those who have one of these roles.")

    class Meta:
        model = Membership
        fields: list[str] = []

    def by_text(self, rows: QuerySet[Membership], _: str, text: str) -> QuerySet[Membership]:
        organisation = Organisation.objects.get(pk=self.request.parser_context["kwargs"]["id"])  # the view checked it
        role = role_of(caller(self.request), organisation)
        is_admin = role is not None and role.covers(Role.ADMIN)
        return rows.filter(people_named(text, path="user__", sees_addresses=is_admin))


class TeamFilter(OfOrganisationFilter):
    search = django_filters.CharFilter(
        method="by_text", help_text="Only those whose name contains this, and all teams below them."
    )
    parent = django_filters.UUIDFilter(help_text="Only those directly below this team.")
    within = django_filters.UUIDFilter(method="below", help_text="Only this team and all teams below it.")
    ref = RefFilter()

    class Meta:
        model = Team
        fields: list[str] = []

    def by_text(self, rows: QuerySet[Team], _: str, text: str) -> QuerySet[Team]:
        return rows.filter(pk__in=Team.objects.below(rows.filter(name__icontains=text).values("pk")))

    def below(self, rows: QuerySet[Team], _: str, team: UUID) -> QuerySet[Team]:
        return rows.filter(pk__in=Team.objects.below([team]))


# what a project may be used for, with the role that it takes
_USES = {"upload": Role.MEMBER, "submit": Role.SUBMITTER}


class ProjectFilter(OfOrganisationFilter):
    search = django_filters.CharFilter(
        method="by_text", help_text="Only those whose name, or whose team's or organisation's, contains this."
    )
    may = django_filters.ChoiceFilter(
        choices=[(use, use) for use in _USES],
        method="by_use",
        help_text="Only open ones to which the caller may upload, or submit jobs.",
    )
    team = NamedFilter(Team, help_text="Only those of this team, by id or name, without those of teams below it.")
    within = django_filters.UUIDFilter(method="below", help_text="Only those of this team and of all teams below it.")
    ref = RefFilter()

    class Meta:
        model = Project
        fields: list[str] = []

    def by_text(self, rows: QuerySet[Project], _: str, text: str) -> QuerySet[Project]:
        return rows.filter(
            Q(name__icontains=text) | Q(team__name__icontains=text) | Q(organisation__name__icontains=text)
        )

    def by_use(self, rows: QuerySet[Project], _: str, use: str) -> QuerySet[Project]:
        user, needed = caller(self.request), _USES[use]
        rows = rows.filter(archived_at=None, organisation__archived_at=None)
        if user.is_staff:
            return rows
        whole = user.memberships.filter(role__in=[role for role in Role if role.covers(needed)]).values("organisation")
        bound = [project for project, role in project_roles(user).items() if role.covers(needed)]
        return rows.filter(Q(organisation__in=whole) | Q(pk__in=bound))

    def below(self, rows: QuerySet[Project], _: str, team: UUID) -> QuerySet[Project]:
        return rows.filter(team__in=Team.objects.below([team]))


class OrganisationFilter(django_filters.FilterSet):
    search = django_filters.CharFilter(
        "name", "icontains", help_text="Only those whose name contains this, in any case."
    )
    role = django_filters.MultipleChoiceFilter(
        choices=s.ROLES, help_text="Only those in which the caller has one of these roles."
    )
    name = django_filters.CharFilter(help_text="Only the one of exactly this name.")
    ref = RefFilter()

    class Meta:
        model = Organisation
        fields: list[str] = []


class OrganisationsView(VisibleMixin, generics.ListAPIView[Organisation]):
    """Organisations that the caller belongs to; administrators of the platform see all."""

    queryset = Organisation.objects.all()
    serializer_class = s.OrganisationSerializer
    filterset_class = OrganisationFilter

    def get_permissions(self) -> list[BasePermission]:
        return [IsPlatformAdministrator() if self.request.method == "POST" else IsAuthenticatedInScope()]

    def get_queryset(self) -> QuerySet[Organisation]:
        return super().get_queryset().with_role_of(self.request.user)

    @extend_schema(request=s.NameSerializer, responses={201: s.OrganisationSerializer})
    def post(self, request: Request) -> Response:
        """A new organisation with an empty quota; for administrators of the platform."""
        created = actions.create_organisation(actor=caller(request), **read_body(s.NameSerializer, request))
        found = self.get_queryset().get(pk=created.pk)
        return Response(s.OrganisationSerializer(found).data, status=status.HTTP_201_CREATED)


class OrganisationView(VisibleMixin, generics.RetrieveAPIView[Organisation]):
    """One organisation, with the caller's role in it."""

    queryset = Organisation.objects.select_related("quota")
    serializer_class = s.OrganisationDetailSerializer

    def get_queryset(self) -> QuerySet[Organisation]:
        return super().get_queryset().with_role_of(self.request.user)

    @extend_schema(request=s.OrganisationChangeSerializer, responses=s.OrganisationDetailSerializer)
    def patch(self, request: Request, **_: Any) -> Response:
        """Another name, archived or open again; for owners. An archived one takes no projects, uploads and jobs."""
        organisation, user = self.get_object(), caller(request)
        body = read_body(s.OrganisationChangeSerializer, request)
        seen = body.pop("seen", None)
        with transaction.atomic():
            Organisation.objects.select_for_update().get(pk=organisation.pk)
            organisation.refresh_from_db(fields=["name", "archived_at"])
            present = {"name": organisation.name, "is_archived": organisation.archived_at is not None}
            require_as_seen(f"the organisation {organisation.name}", seen=seen, present=present, yours=body)
            if "name" in body:
                actions.rename(organisation, name=body["name"], actor=user)
            if "is_archived" in body:
                actions.set_archived(organisation, is_archived=body["is_archived"], actor=user)
        return Response(s.OrganisationDetailSerializer(organisation).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, **_: Any) -> Response:
        """For owners; 409 with the numbers of what it holds, unless it is empty. Memberships go with it."""
        actions.delete(self.get_object(), actor=caller(request))
        return Response(status=status.HTTP_204_NO_CONTENT)


class MembersView(AddressedView, generics.ListAPIView[Membership]):
    """The people of an organisation, with their roles; its service accounts have a list of their own."""

    queryset = Membership.objects.select_related("user")
    serializer_class = s.MembershipSerializer
    filterset_class = MemberFilter

    def get_queryset(self) -> QuerySet[Membership]:
        if getattr(self, "swagger_fake_view", False):
            return super().get_queryset()
        return super().get_queryset().filter(organisation=self.organisation, user__service_of=None)

    @property
    def organisation(self) -> Organisation:
        found: Organisation = Organisation.objects.get_visible(self.request.user, self.kwargs["id"])
        return found

    @extend_schema(request=s.MembershipWriteSerializer, responses={201: s.MembershipSerializer})
    def post(self, request: Request, **_: Any) -> Response:
        """Adds a user without asking; for administrators of the platform. Others invite: see invitations."""
        organisation = self.organisation
        body = read_body(s.MembershipWriteSerializer, request)
        created = actions.add_member(
            organisation, username=body["username"], role=Role(body["role"]), actor=caller(request)
        )
        return Response(s.MembershipSerializer(created).data, status=status.HTTP_201_CREATED)


class MembershipView(VisibleMixin, generics.GenericAPIView[Membership]):
    queryset = Membership.objects.select_related("user", "organisation")
    serializer_class = s.MembershipSerializer

    @extend_schema(request=s.RoleSerializer, responses=s.MembershipSerializer)
    def patch(self, request: Request, **_: Any) -> Response:
        """Another role; the last owner stays one."""
        membership = self.get_object()
        role = Role(read_body(s.RoleSerializer, request)["role"])
        return Response(s.MembershipSerializer(actions.change_role(membership, role=role, actor=caller(request))).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, **_: Any) -> Response:
        """Removes the member, or leaves; the last owner cannot."""
        actions.remove_member(self.get_object(), actor=caller(request))
        return Response(status=status.HTTP_204_NO_CONTENT)


class TeamsView(VisibleMixin, generics.ListAPIView[Team]):
    """Teams that the caller sees, those below other teams too."""

    queryset = Team.objects.select_related("organisation", "parent")
    serializer_class = s.TeamSerializer
    filterset_class = TeamFilter

    @extend_schema(request=s.TeamWriteSerializer, responses={201: s.TeamSerializer})
    def post(self, request: Request) -> Response:
        """A new team, directly below its organisation or below another team; for admins."""
        body, user = read_body(s.TeamWriteSerializer, request), caller(request)
        organisation = Organisation.objects.get_visible(user, body["organisation"], field="organisation")
        parent = Team.objects.get_visible(user, body["parent"], field="parent") if body["parent"] else None
        created = actions.create_team(organisation, name=body["name"], parent=parent, actor=user)
        return Response(s.TeamSerializer(created).data, status=status.HTTP_201_CREATED)


class ProjectsView(VisibleMixin, generics.ListAPIView[Project]):
    """Projects that the caller sees."""

    queryset = Project.objects.select_related("organisation", "team")
    serializer_class = s.ProjectSerializer
    filterset_class = ProjectFilter

    @extend_schema(request=s.ProjectWriteSerializer, responses={201: s.ProjectSerializer})
    def post(self, request: Request) -> Response:
        """Makes a project, directly below the organisation or in a team, by its members."""
        body = read_body(s.ProjectWriteSerializer, request)
        user = caller(request)
        team = Team.objects.get_visible(user, body["team"], field="team") if body["team"] else None
        if team is not None and team.organisation_id == body["organisation"]:
            organisation = team.organisation  # which who has a role in the team alone does not see as a whole
        else:
            organisation = Organisation.objects.get_visible(user, body["organisation"], field="organisation")
        created = actions.create_project(organisation, name=body["name"], team=team, actor=user)
        return Response(s.ProjectSerializer(created, context={"request": request}).data, status=status.HTTP_201_CREATED)


class TokensView(VisibleMixin, generics.ListAPIView[ApiToken]):
    """The caller's API tokens that are not revoked, without their secrets."""

    queryset = ApiToken.objects.filter(revoked_at=None).select_related("organisation", "project__organisation")
    serializer_class = s.TokenSerializer

    @extend_schema(request=s.TokenWriteSerializer, responses={201: s.TokenCreatedSerializer})
    def post(self, request: Request) -> Response:
        """A new token, whose secret is in this answer only. By session: a token cannot make tokens that outlive it."""
        if isinstance(request.auth, ApiToken):
            raise exceptions.PermissionDenied("Tokens are made in a signed-in session, not with another token.")
        body, user = read_body(s.TokenWriteSerializer, request), caller(request)
        for field, rows in (("organisation", Organisation.objects), ("project", Project.objects)):
            if body[field]:
                body[field] = rows.get_visible(user, body[field], field=field)
        row, token = actions.create_token(user, **body)
        return Response({**s.TokenSerializer(row).data, "token": token}, status=status.HTTP_201_CREATED)


class TokenView(VisibleMixin, generics.GenericAPIView[ApiToken]):
    queryset = ApiToken.objects.filter(revoked_at=None).select_related("user")
    serializer_class = s.TokenSerializer

    @extend_schema(responses={204: None})
    def delete(self, request: Request, **_: Any) -> Response:
        """Revokes the token at once."""
        actions.revoke_token(self.get_object(), actor=caller(request))
        return Response(status=status.HTTP_204_NO_CONTENT)
