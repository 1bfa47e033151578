# SPDX-License-Identifier: Apache-2.0
"""Invitations: those that an organisation sent, and those that wait for the caller."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import django_filters
from django.db.models import Q, QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import generics, status
from rest_framework.response import Response
from rest_framework.views import APIView

from mlhub.core.api.views import AddressedView, VisibleMixin, read_body
from mlhub.core.errors import NotFoundError
from mlhub.tenants import actions
from mlhub.tenants.access_control.permissions import require_role
from mlhub.tenants.actions.administration.invitation_links import invite_by_link
from mlhub.tenants.api import serializers as s
from mlhub.tenants.models import Invitation, Organisation
from mlhub.tenants.roles import Role
from mlhub.tenants.sign_in.authentication import caller

if TYPE_CHECKING:
    from uuid import UUID

    from rest_framework.request import Request


class InvitationFilter(django_filters.FilterSet):
    search = django_filters.CharFilter(
        method="by_text", help_text="Only those whose user name or e-mail address contains this."
    )

    class Meta:
        model = Invitation
        fields: list[str] = []

    def by_text(self, rows: QuerySet[Invitation], _: str, text: str) -> QuerySet[Invitation]:
        return rows.filter(Q(username__icontains=text) | Q(email__icontains=text))


class InvitationsView(AddressedView, generics.ListAPIView[Invitation]):
    """Invitations of an organisation that wait for an answer; for its admins."""

    queryset = Invitation.objects.select_related("invited_by")
    serializer_class = s.InvitationSerializer
    filterset_class = InvitationFilter

    def get_queryset(self) -> QuerySet[Invitation]:
        rows: Any = super().get_queryset()
        if getattr(self, "swagger_fake_view", False):
            return rows
        require_role(caller(self.request), self.organisation, Role.ADMIN)
        return rows.waiting().filter(organisation=self.organisation)

    @property
    def organisation(self) -> Organisation:
        found: Organisation = Organisation.objects.get_visible(self.request.user, self.kwargs["id"])
        return found

    @extend_schema(request=s.InvitationWriteSerializer, responses={201: s.InvitationCreatedSerializer})
    def post(self, request: Request, **_: Any) -> Response:
        """Invites by a link, or the person who signs in with this name; the answer does not show whether there is one.

        For admins; owners only may invite an owner. It waits for 14 days. One to a name replaces an earlier one.
        """
        body, link, is_mailed = read_body(s.InvitationWriteSerializer, request), None, None
        role, actor = Role(body["role"]), caller(request)
        if body["username"]:
            made = actions.invite(self.organisation, username=body["username"], role=role, actor=actor)
        else:
            made, link, mail = invite_by_link(self.organisation, role=role, email=body["email"], actor=actor)
            is_mailed = mail.is_sent if body["email"] else None
        shown = {**s.InvitationSerializer(made).data, "link": link, "is_mailed": is_mailed}
        return Response(shown, status=status.HTTP_201_CREATED)


class InvitationView(VisibleMixin, generics.GenericAPIView[Invitation]):
    queryset = Invitation.objects.select_related("organisation")
    serializer_class = s.InvitationSerializer

    @extend_schema(responses={204: None})
    def delete(self, request: Request, **_: Any) -> Response:
        """Withdraws the invitation; for admins of the organisation that sent it."""
        actions.withdraw_invitation(self.get_object(), actor=caller(request))
        return Response(status=status.HTTP_204_NO_CONTENT)


class MyInvitationsView(generics.ListAPIView[Invitation]):
    """Invitations that wait for the caller's answer."""

    queryset = Invitation.objects.select_related("organisation", "invited_by")
    serializer_class = s.MyInvitationSerializer

    def get_queryset(self) -> QuerySet[Invitation]:
        rows: Any = super().get_queryset()
        return rows if getattr(self, "swagger_fake_view", False) else rows.to_user(caller(self.request))


class AcceptInvitationView(APIView):
    @extend_schema(request=None, responses=s.MyMembershipSerializer)
    def post(self, request: Request, id: UUID) -> Response:
        """Makes the caller a member."""
        membership = actions.answer_invitation(_mine(request, id), is_accepted=True, actor=caller(request))
        return Response(s.MyMembershipSerializer(membership).data)


class DeclineInvitationView(APIView):
    @extend_schema(request=None, responses={204: None})
    def post(self, request: Request, id: UUID) -> Response:
        """Refuses the invitation, for good."""
        actions.answer_invitation(_mine(request, id), is_accepted=False, actor=caller(request))
        return Response(status=status.HTTP_204_NO_CONTENT)


def _mine(request: Request, pk: UUID) -> Invitation:
    """Raises NotFoundError alike for invitations that are not there, answered, expired and sent to others."""
    mine = Invitation.objects.to_user(caller(request)).select_related("organisation", "invited_by")
    found: Invitation | None = mine.filter(pk=pk).first()
    if found is None:
        raise NotFoundError(f"No invitation {pk} waits for you.", remedy="It may have expired: ask for a new one.")
    return found
