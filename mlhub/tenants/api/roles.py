# SPDX-License-Identifier: Apache-2.0
"""Roles in teams and projects: who has which and from where, giving and withdrawing them, and what they allow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import django_filters
from django.db.models import Prefetch, Q, QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import generics, serializers, status
from rest_framework.response import Response

from mlhub.core.api.described import described
from mlhub.core.api.strict import StrictSerializer
from mlhub.core.api.views import AddressedView, VisibleMixin, read_body, read_query
from mlhub.core.errors import InvalidInputError
from mlhub.tenants.access_control.assignments import TenantNode, bindings_in
from mlhub.tenants.access_control.explained import TenantAction, permissions_of
from mlhub.tenants.access_control.permissions import require_role, role_of
from mlhub.tenants.actions.membership import role_bindings as actions
from mlhub.tenants.api.serializers import ROLES, UserBriefSerializer
from mlhub.tenants.models import Membership, Organisation, Project, RoleBinding, Team, User
from mlhub.tenants.people import people_named
from mlhub.tenants.role_models import ROLES as BOUND_ROLES
from mlhub.tenants.roles import SEES_ALL, Role, greatest
from mlhub.tenants.sign_in.authentication import caller

if TYPE_CHECKING:
    from rest_framework.request import Request

PLACES = ["platform", "organisation", "team", "project"]
ACTIONS = [(action.value, action.value) for action in TenantAction]


class RoleAssignmentSerializer(serializers.Serializer[Any]):
    """Where a role comes from."""

    binding = serializers.UUIDField(
        allow_null=True, help_text="The id of the role binding; null: the membership of the organisation."
    )
    role = serializers.ChoiceField(choices=ROLES, help_text="The role that it gives.")
    place = serializers.ChoiceField(choices=PLACES, help_text="What it is a role in.")
    place_id = serializers.UUIDField(allow_null=True, help_text="The id of that; null: the platform.")
    place_name = serializers.CharField(help_text="The name of that.")


class PersonRolesSerializer(serializers.Serializer[Membership]):
    """What one member may do in a place."""

    user = UserBriefSerializer(help_text="The member, a person or a service account.")
    is_service_account = serializers.BooleanField(help_text="Whether it is an account of programs.")
    role = serializers.ChoiceField(choices=ROLES, help_text="The greatest role that counts here.")
    assignments = RoleAssignmentSerializer(many=True, help_text="All roles that count here, the greatest first.")


class RoleBindingSerializer(serializers.ModelSerializer[RoleBinding]):
    user = UserBriefSerializer(source="membership.user", read_only=True, help_text="Who has the role.")
    role = serializers.ChoiceField(choices=BOUND_ROLES, read_only=True, help_text="The role.")
    created_by = UserBriefSerializer(read_only=True, allow_null=True, help_text="Who gave it; null: deleted since.")

    class Meta:
        model = RoleBinding
        fields = ["id", "user", "role", "team", "project", "created_by", "created_at"]
        read_only_fields = fields
        extra_kwargs = described(
            id="The role binding's id.",
            team="The id of the team that it is a role in; null: in a project.",
            project="The id of the project that it is a role in; null: in a team.",
            created_at="When it was given.",
        )


class RoleBindingWriteSerializer(StrictSerializer):
    username = serializers.CharField(max_length=150, help_text="The user name of a member of the organisation.")
    role = serializers.ChoiceField(choices=BOUND_ROLES, help_text="The role to give.")


class RoleBindingChangeSerializer(StrictSerializer):
    role = serializers.ChoiceField(choices=BOUND_ROLES, help_text="The new role.")


class PermissionSerializer(serializers.Serializer[Any]):
    """Whether one may do one thing."""

    action = serializers.ChoiceField(choices=ACTIONS, help_text="What to do.")
    is_allowed = serializers.BooleanField(help_text="Whether the person may.")
    needed_role = serializers.ChoiceField(
        choices=ROLES, allow_null=True, help_text="The role that it needs; null: administrators of the platform only."
    )
    place = serializers.CharField(help_text="Where that role is needed.")
    remedy = serializers.CharField(allow_blank=True, help_text="Who gives that role; empty: it is allowed.")


class PermissionsSerializer(serializers.Serializer[Any]):
    """Why one can or cannot do things in a place."""

    user = UserBriefSerializer(help_text="Of whom.")
    role = serializers.ChoiceField(choices=ROLES, allow_null=True, help_text="The greatest role that counts here.")
    assignments = RoleAssignmentSerializer(many=True, help_text="Where roles come from, the greatest first.")
    permissions = PermissionSerializer(many=True, help_text="What can be done here, and by whom.")


class PermissionsQuerySerializer(StrictSerializer):
    username = serializers.CharField(
        max_length=150, required=False, help_text="Of this member, for admins of the place; left out: of the caller."
    )


class PersonFilter(django_filters.FilterSet):
    search = django_filters.CharFilter(
        method="by_text",
        help_text="Only those whose user name or full name contains this; asked by an admin of the organisation, or "
        "whose e-mail address does.",
    )
    role = django_filters.MultipleChoiceFilter(
        choices=ROLES,
        method="by_roles",
        help_text="Only those who have one of these roles, given here or in what is above.",
    )

    class Meta:
        model = Membership
        fields: list[str] = []

    def by_text(self, rows: QuerySet[Membership], _: str, text: str) -> QuerySet[Membership]:
        role = role_of(caller(self.request), self.request.parser_context["view"].place.organisation)
        is_admin = role is not None and role.covers(Role.ADMIN)
        return rows.filter(people_named(text, path="user__", sees_addresses=is_admin))

    def by_roles(self, rows: QuerySet[Membership], _: str, roles: list[str]) -> QuerySet[Membership]:
        if not roles:
            return rows
        place = self.request.parser_context["view"].place
        given = RoleBinding.objects.filter(bindings_in(place), role__in=roles)
        return rows.filter(Q(role__in=roles) | Q(pk__in=given.values("membership")))


class RolesView(AddressedView, generics.ListAPIView[Membership]):
    """Who has a role in the team or project, and from where: those of the organisation, and those given here or in the
    team. Who has a role here alone is not shown the organisation's other people.
    """

    model: type[Team] | type[Project]
    queryset = Membership.objects.select_related("user", "organisation")
    serializer_class = PersonRolesSerializer
    filterset_class = PersonFilter

    @property
    def place(self) -> Team | Project:
        found: Team | Project = self.model._default_manager.get_visible(self.request.user, self.kwargs["id"])
        return found

    def get_queryset(self) -> QuerySet[Membership]:
        if getattr(self, "swagger_fake_view", False):
            return super().get_queryset()
        place, user = self.place, caller(self.request)
        counting = RoleBinding.objects.filter(bindings_in(place)).select_related("team", "project")
        bound = Q(pk__in=counting.values("membership"))
        seen = Q(pk__in=Membership.objects.visible_to(user).values("pk"), role__in=SEES_ALL)
        rows = super().get_queryset().filter(bound | seen, organisation=place.organisation_id)
        return rows.prefetch_related(Prefetch("role_bindings", queryset=counting, to_attr="counting"))

    def get_serializer(self, *args: Any, **kwargs: Any) -> Any:
        if args and not getattr(self, "swagger_fake_view", False):
            args = ([_person(row) for row in args[0]], *args[1:])
        return super().get_serializer(*args, **kwargs)

    @extend_schema(request=RoleBindingWriteSerializer, responses={201: RoleBindingSerializer})
    def post(self, request: Request, **_: Any) -> Response:
        """Gives a member of the organisation a role here, besides that in the organisation; for admins of the place."""
        body = read_body(RoleBindingWriteSerializer, request)
        made = actions.bind_role(self.place, username=body["username"], role=Role(body["role"]), actor=caller(request))
        return Response(RoleBindingSerializer(made).data, status=status.HTTP_201_CREATED)


class TeamRolesView(RolesView):
    """Who has a role in the team, and from where: the organisation, a team above it, or given here. Who has a role here
    alone is not shown the organisation's other people.
    """

    model = Team


class ProjectRolesView(RolesView):
    """Who has a role in the project, and from where: the organisation, a team above it, or given here. Who has a role
    here alone is not shown the organisation's other people.
    """

    model = Project


class RoleBindingView(VisibleMixin, generics.GenericAPIView[RoleBinding]):
    queryset = RoleBinding.objects.select_related(
        "membership__user", "created_by", "team__organisation", "project__organisation"
    )
    serializer_class = RoleBindingSerializer

    @extend_schema(request=RoleBindingChangeSerializer, responses=RoleBindingSerializer)
    def patch(self, request: Request, **_: Any) -> Response:
        """Another role in the same place; for admins of the place."""
        role = Role(read_body(RoleBindingChangeSerializer, request)["role"])
        changed = actions.change_binding(self.get_object(), role=role, actor=caller(request))
        return Response(RoleBindingSerializer(changed).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, **_: Any) -> Response:
        """Withdraws it, for admins of the place, or gives up one's own. Open streams and downloads end at once."""
        actions.withdraw_binding(self.get_object(), actor=caller(request))
        return Response(status=status.HTTP_204_NO_CONTENT)


class PermissionsView(AddressedView):
    """What one may do in an organisation, a team or a project, and why."""

    model: type[Organisation] | type[Team] | type[Project] = Organisation

    @extend_schema(parameters=[PermissionsQuerySerializer], responses=PermissionsSerializer)
    def get(self, request: Request, id: str) -> Response:
        """Where one's role comes from, what it allows, and who gives the role that other actions need."""
        place: TenantNode = self.model._default_manager.get_visible(request.user, id)
        user = _asked_for(place, read_query(PermissionsQuerySerializer, request).get("username"), caller(request))
        found = permissions_of(user, place)
        names = _names(place)
        shown = {
            "user": user,
            "role": greatest([one.role for one in found.assignments]),
            "assignments": [
                {
                    "binding": one.binding_id,
                    "role": one.role,
                    "place": one.place,
                    "place_id": one.place_id,
                    "place_name": names.get(one.place_id, ""),
                }
                for one in found.assignments
            ],
            "permissions": found.answers,
        }
        return Response(PermissionsSerializer(shown).data)


def _asked_for(place: TenantNode, username: str | None, asking: User) -> User:
    """Raises NotAllowedError for who asks for another person and is no admin; InvalidInputError for no member."""
    if username is None or username == asking.username:
        return asking
    require_role(asking, place, Role.ADMIN)
    organisation = place if isinstance(place, Organisation) else place.organisation
    found: User | None = User.objects.filter(username=username, memberships__organisation=organisation).first()
    if found is None:
        raise InvalidInputError(
            f"{organisation.name} has no member called {username}.", field="username", remedy="Name a member."
        )
    return found


def _names(place: TenantNode) -> dict[Any, str]:
    """Of the place and of all that is above it, by id."""
    if isinstance(place, Organisation):
        return {place.pk: place.name}
    team = place.team if isinstance(place, Project) else place
    found = {place.pk: place.name, place.organisation_id: place.organisation.name}
    return found | {one.pk: one.name for one in Team.objects.line_of(team)}


def _person(row: Any) -> dict[str, Any]:
    """row: a membership with `counting`, its bindings that count in the place."""
    found = [
        {
            "binding": None,
            "role": Role(row.role),
            "place": "organisation",
            "place_id": row.organisation_id,
            "place_name": row.organisation.name,
        }
    ]
    for one in row.counting:
        place = one.place
        found.append(
            {
                "binding": one.pk,
                "role": Role(one.role),
                "place": type(place).__name__.lower(),
                "place_id": place.pk,
                "place_name": place.name,
            }
        )
    found.sort(key=lambda one: -one["role"].rank)
    return {
        "user": row.user,
        "is_service_account": row.user.service_of_id is not None,
        "role": found[0]["role"],
        "assignments": found,
    }
