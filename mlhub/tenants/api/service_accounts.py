# SPDX-License-Identifier: Apache-2.0
"""An organisation's accounts for programs: listed to its members; made, changed and given tokens by its admins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import django_filters
from django.db.models import Max, OuterRef, QuerySet, Subquery
from drf_spectacular.utils import extend_schema
from rest_framework import generics, serializers, status
from rest_framework.response import Response

from mlhub.core.api.strict import StrictSerializer
from mlhub.core.api.views import AddressedView, read_body, read_query
from mlhub.core.errors import NotAllowedError, NotFoundError
from mlhub.tenants.access_control.permissions import require_role
from mlhub.tenants.actions.administration import service_accounts as actions
from mlhub.tenants.actions.administration import users
from mlhub.tenants.actions.sign_in.credentials import SCOPES, revoke_token
from mlhub.tenants.api import serializers as s
from mlhub.tenants.api.user_serializers import UserDeleteQuerySerializer, UserDeletionSerializer
from mlhub.tenants.models import ApiToken, Membership, Organisation, Project, User
from mlhub.tenants.roles import Role
from mlhub.tenants.sign_in.authentication import caller

if TYPE_CHECKING:
    from uuid import UUID

    from rest_framework.request import Request

    _View = generics.GenericAPIView[Any]
else:
    _View = object


class ServiceAccountSerializer(serializers.ModelSerializer[User]):
    role = serializers.ChoiceField(choices=s.ROLES, read_only=True, help_text="Its role in the organisation.")
    created_at = serializers.DateTimeField(source="date_joined", read_only=True, help_text="When it was created.")
    last_used_at = serializers.DateTimeField(
        read_only=True, allow_null=True, help_text="When one of its tokens was used last, to the minute; null: never."
    )

    class Meta:
        model = User
        fields = ["id", "username", "role", "is_active", "created_at", "last_used_at"]
        read_only_fields = fields
        extra_kwargs = {
            "id": {"help_text": "The account's id."},
            "username": {"help_text": "The name that its jobs, data and events show."},
            "is_active": {"help_text": "Whether its tokens are accepted."},
        }


class ServiceAccountWriteSerializer(StrictSerializer):
    name = serializers.RegexField(
        r"^[\w.+-]+$",
        max_length=actions.MAX_NAME,
        help_text="What it is for, such as `ci`: letters, digits and . + - _; the organisation follows.",
    )
    role = serializers.ChoiceField(
        choices=s.ROLES, default="member", help_text="member, submitter, viewer or outsider."
    )


class ServiceAccountChangeSerializer(StrictSerializer):
    role = serializers.ChoiceField(
        choices=s.ROLES,
        required=False,
        default=None,
        help_text="member, submitter, viewer or outsider; left out: as it is.",
    )
    is_active = serializers.BooleanField(
        required=False, default=None, help_text="Whether its tokens are accepted; left out: as it is."
    )


class ServiceTokenWriteSerializer(s.NameSerializer):
    scopes = serializers.ListField(
        child=serializers.ChoiceField(choices=SCOPES),
        allow_empty=False,
        help_text="What it may do: read; submit (upload, run jobs); write (also manage projects).",
    )
    project = serializers.UUIDField(
        required=False,
        allow_null=True,
        default=None,
        help_text="The id of the only project to reach; null: all of the organisation.",
    )
    expires_in_days = serializers.IntegerField(
        min_value=1, max_value=3650, required=False, default=90, help_text="For how many days it works."
    )


class ServiceAccountMixin(_View):
    """Finds the service account of the address."""

    def account(self) -> User:
        """The service account of the address. Raises NotFoundError for those of other organisations, and for people."""
        organisations = Organisation.objects.visible_to(self.request.user)
        accounts = User.objects.select_related("service_of").filter(service_of__in=organisations)
        found: User | None = accounts.filter(pk=self.kwargs["id"]).first()
        if found is None:
            raise NotFoundError(f"There is no service account {self.kwargs['id']} that you may see.")
        return found

    def managed_account(self) -> User:
        """As account(), for admins of its organisation. Raises NotAllowedError for others."""
        found = self.account()
        require_role(caller(self.request), actions.organisation_of(found), Role.ADMIN)
        return found


class ServiceGenericView(ServiceAccountMixin, generics.GenericAPIView[User]):
    queryset = User.objects.none()
    serializer_class = ServiceAccountSerializer


def _shown(accounts: QuerySet[User]) -> QuerySet[User]:
    there = Membership.objects.filter(user=OuterRef("pk"), organisation=OuterRef("service_of"))
    return accounts.annotate(role=Subquery(there.values("role")[:1]), last_used_at=Max("api_tokens__last_used_at"))


def _answer(account: User) -> dict[str, Any]:
    return dict(ServiceAccountSerializer(_shown(User.objects.filter(pk=account.pk)).get()).data)


class ServiceAccountFilter(django_filters.FilterSet):
    search = django_filters.CharFilter("username", "icontains", help_text="Only those whose name contains this.")

    class Meta:
        model = User
        fields: list[str] = []


class ServiceAccountsView(AddressedView, generics.ListAPIView[User]):
    """The service accounts of an organisation."""

    queryset = User.objects.none()
    serializer_class = ServiceAccountSerializer
    filterset_class = ServiceAccountFilter

    def get_queryset(self) -> QuerySet[User]:
        if getattr(self, "swagger_fake_view", False):
            return super().get_queryset()
        return _shown(User.objects.filter(service_of=self.organisation))

    @property
    def organisation(self) -> Organisation:
        found: Organisation = Organisation.objects.get_visible(self.request.user, self.kwargs["id"])
        return found

    @extend_schema(request=ServiceAccountWriteSerializer, responses={201: ServiceAccountSerializer})
    def post(self, request: Request, **_: Any) -> Response:
        """A new one, for admins. It has no password: programs use tokens that are made for it."""
        organisation = self.organisation
        body = read_body(ServiceAccountWriteSerializer, request)
        made = actions.create_service_account(
            organisation, name=body["name"], role=Role(body["role"]), actor=caller(request)
        )
        return Response(_answer(made), status=status.HTTP_201_CREATED)


class ServiceAccountView(ServiceGenericView):
    @extend_schema(request=ServiceAccountChangeSerializer, responses=ServiceAccountSerializer)
    def patch(self, request: Request, **_: Any) -> Response:
        """Another role, deactivated or active again; for admins. Deactivating refuses its tokens at once."""
        account, body = self.account(), read_body(ServiceAccountChangeSerializer, request)
        role = None if body["role"] is None else Role(body["role"])
        actions.change_service_account(account, role=role, is_active=body["is_active"], actor=caller(request))
        return Response(_answer(account))

    @extend_schema(parameters=[UserDeleteQuerySerializer], responses={204: None})
    def delete(self, request: Request, **_: Any) -> Response:
        """For good. 409 with the numbers of what it made, unless `reassign_to` names a member who becomes the maker."""
        account, heir_id = self.account(), read_query(UserDeleteQuerySerializer, request)["reassign_to"]
        actions.delete_service_account(account, heir=_heir(account, heir_id), actor=caller(request))
        return Response(status=status.HTTP_204_NO_CONTENT)


def _heir(account: User, heir_id: UUID | None) -> User | None:
    if heir_id is None or heir_id == account.pk:
        return None
    found: User | None = actions.organisation_of(account).members.filter(pk=heir_id).first()
    if found is None:
        raise NotFoundError(
            f"There is no member {heir_id}.", field="reassign_to", remedy="Name a member of the organisation."
        )
    return found


class ServiceAccountDeletionView(ServiceGenericView):
    @extend_schema(responses=UserDeletionSerializer)
    def get(self, request: Request, **_: Any) -> Response:  # noqa: ARG002 (DRF's signature)
        """What a deletion would leave to a member of the organisation; for admins."""
        found: dict[str, Any] = {"remains": users.remains_of(self.managed_account()), "sole_owner_of": []}
        return Response(UserDeletionSerializer(found).data)


class ServiceTokensView(ServiceAccountMixin, generics.ListAPIView[ApiToken]):
    """The tokens that the account has, the newest first; for admins."""

    queryset = ApiToken.objects.filter(revoked_at=None).select_related("organisation", "project__organisation")
    serializer_class = s.TokenSerializer

    def get_queryset(self) -> QuerySet[ApiToken]:
        if getattr(self, "swagger_fake_view", False):
            return super().get_queryset()
        return super().get_queryset().filter(user=self.managed_account())

    @extend_schema(request=ServiceTokenWriteSerializer, responses={201: s.TokenCreatedSerializer})
    def post(self, request: Request, **_: Any) -> Response:
        """A new token for the account, whose secret is in this answer only. For admins, in a session."""
        if isinstance(request.auth, ApiToken):
            raise NotAllowedError(
                "Tokens are made in a signed-in session, not with another token.",
                code="session_needed",
                remedy="Sign in with the browser.",
            )
        account, body, user = self.managed_account(), read_body(ServiceTokenWriteSerializer, request), caller(request)
        if body["project"]:
            body["project"] = Project.objects.get_visible(user, body["project"], field="project")
        row, token = actions.create_service_token(account, **body, actor=user)
        return Response({**s.TokenSerializer(row).data, "token": token}, status=status.HTTP_201_CREATED)


class ServiceTokenView(ServiceGenericView):
    @extend_schema(responses={204: None})
    def delete(self, request: Request, token_id: UUID, **_: Any) -> Response:
        """Revokes the token at once; for admins."""
        token = self.managed_account().api_tokens.filter(pk=token_id, revoked_at=None).first()
        if token is None:
            raise NotFoundError(f"The account has no token {token_id}.")
        revoke_token(token, actor=caller(request))
        return Response(status=status.HTTP_204_NO_CONTENT)
