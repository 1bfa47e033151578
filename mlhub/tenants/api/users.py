# SPDX-License-Identifier: Apache-2.0
"""Accounts, for administrators of the platform: listing, creating, changing, links to set a password, deleting."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import django_filters
from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import generics, status
from rest_framework.response import Response

from mlhub.core.api.views import read_body, read_query
from mlhub.core.errors import NotFoundError
from mlhub.tenants.access_control.permissions import IsPlatformAdministrator
from mlhub.tenants.actions.administration import users
from mlhub.tenants.actions.membership import members
from mlhub.tenants.actions.sign_in import accounts, passkeys, passwords, sessions
from mlhub.tenants.api import user_serializers as s
from mlhub.tenants.api.impersonation_serializers import ImpersonationSerializer
from mlhub.tenants.models import Organisation, User
from mlhub.tenants.people import people_named
from mlhub.tenants.roles import Role
from mlhub.tenants.sign_in import impersonation
from mlhub.tenants.sign_in.authentication import caller

if TYPE_CHECKING:
    from uuid import UUID

    from rest_framework.request import Request


class UserFilter(django_filters.FilterSet):
    search = django_filters.CharFilter(
        method="by_text", help_text="Only those whose user name, full name or e-mail address contains this."
    )
    username = django_filters.CharFilter(lookup_expr="icontains", help_text="Only those whose name contains this.")
    is_active = django_filters.BooleanFilter(help_text="Only those that are active, or that are not.")

    class Meta:
        model = User
        fields: list[str] = []

    def by_text(self, rows: QuerySet[User], _: str, text: str) -> QuerySet[User]:
        return rows.filter(people_named(text, sees_addresses=True))


class UserGenericView(generics.GenericAPIView[User]):
    """What views that only platform administrators reach have in common."""

    permission_classes = [IsPlatformAdministrator]
    queryset = User.objects.select_related("service_of").prefetch_related("memberships__organisation")
    serializer_class = s.UserSerializer
    lookup_field = "id"


def _user(pk: UUID, *, field: str | None = None) -> User:
    found = User.objects.filter(pk=pk).first()
    if found is None:
        raise NotFoundError(f"There is no user {pk}.", field=field)
    return found


class UsersView(UserGenericView, generics.ListAPIView[User]):
    """All accounts of the platform."""

    filterset_class = UserFilter

    @extend_schema(request=s.UserWriteSerializer, responses={201: s.UserCreatedSerializer})
    def post(self, request: Request) -> Response:
        """A new account. Its user sets the password at the link, which is in this answer only."""
        body, actor = read_body(s.UserWriteSerializer, request), caller(request)
        organisation = None
        if body["organisation"]:
            organisation = Organisation.objects.get_visible(actor, body["organisation"], field="organisation")
        user = accounts.create_account(
            body["username"], password=None, email=body["email"], is_staff=body["is_staff"], actor=actor
        )
        if organisation is not None:
            members.add_member(organisation, username=user.username, role=Role(body["role"]), actor=actor)
        link, expires_at = passwords.password_link(user, actor=actor)
        shown = {**s.UserSerializer(user).data, "link": link, "link_expires_at": expires_at}
        return Response(shown, status=status.HTTP_201_CREATED)


class UserView(UserGenericView, generics.RetrieveAPIView[User]):
    """One account; for administrators of the platform."""

    @extend_schema(request=s.UserChangeSerializer, responses=s.UserSerializer)
    def patch(self, request: Request, id: UUID) -> Response:
        """Deactivates or reactivates, makes an administrator or unmakes one; 409 for the last administrator."""
        changes = read_body(s.UserChangeSerializer, request)
        changed = users.change_user(_user(id), actor=caller(request), **changes)
        return Response(s.UserSerializer(changed).data)

    @extend_schema(parameters=[s.UserDeleteQuerySerializer], responses={204: None})
    def delete(self, request: Request, id: UUID) -> Response:
        """For good. 409 with the numbers of what it made, unless `reassign_to` names who becomes their maker."""
        heir_id = read_query(s.UserDeleteQuerySerializer, request)["reassign_to"]
        heir = _user(heir_id, field="reassign_to") if heir_id and heir_id != id else None
        users.delete_user(_user(id), heir=heir, actor=caller(request))
        return Response(status=status.HTTP_204_NO_CONTENT)


class UserDeletionView(UserGenericView):
    @extend_schema(responses=s.UserDeletionSerializer)
    def get(self, request: Request, id: UUID) -> Response:  # noqa: ARG002 (DRF's signature)
        """What a deletion would leave to another user, and what keeps the account from being deleted."""
        user = _user(id)
        found: dict[str, Any] = {"remains": users.remains_of(user), "sole_owner_of": users.sole_ownerships(user)}
        return Response(s.UserDeletionSerializer(found).data)


class UserPasswordLinkView(UserGenericView):
    @extend_schema(request=None, responses={201: s.PasswordLinkSerializer})
    def post(self, request: Request, id: UUID) -> Response:
        """A link at which the user sets a new password. It works once, until the user signs in, for three days."""
        link, expires_at = passwords.password_link(_user(id), actor=caller(request))
        shown = s.PasswordLinkSerializer({"link": link, "expires_at": expires_at}).data
        return Response(shown, status=status.HTTP_201_CREATED)


class UserSecondFactorView(UserGenericView):
    @extend_schema(responses={204: None})
    def delete(self, request: Request, id: UUID) -> Response:
        """Removes a user's second factor, passkeys too, for who lost them and the recovery codes. It is audited."""
        passkeys.reset_second_factor(_user(id), actor=caller(request))
        return Response(status=status.HTTP_204_NO_CONTENT)


class UserImpersonationView(UserGenericView):
    @extend_schema(request=None, responses={201: ImpersonationSerializer})
    def post(self, request: Request, id: UUID) -> Response:
        """The session sees MLHub as this user, for MLHUB_IMPERSONATION_MINUTES at most, and changes nothing meanwhile.
        Begin and end are audited. Not as an administrator, and not with a token."""
        if request.auth is not None:
            raise impersonation.no_session()
        administrator = caller(request)
        ends_at = impersonation.begin(request._request, _user(id), administrator=administrator)
        shown = ImpersonationSerializer({"by": administrator.username, "ends_at": ends_at}).data
        return Response(shown, status=status.HTTP_201_CREATED)


class UserSessionsView(UserGenericView):
    @extend_schema(responses={200: s.EndedSessionsSerializer})
    def delete(self, request: Request, id: UUID) -> Response:
        """Signs the user out of all browsers; tokens stay."""
        n_sessions = sessions.end_sessions(_user(id), actor=caller(request))
        return Response(s.EndedSessionsSerializer({"n_sessions": n_sessions}).data)
