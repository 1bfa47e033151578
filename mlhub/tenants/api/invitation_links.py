# SPDX-License-Identifier: Apache-2.0
"""Where the link of an invitation leads: what it offers, and accepting it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.permissions import AllowAny
from rest_framework.response import Response
from rest_framework.views import APIView

from mlhub.core.api.strict import StrictSerializer
from mlhub.core.api.views import read_body
from mlhub.core.errors import InvalidInputError, NotAllowedError
from mlhub.tenants.actions.administration import invitation_links
from mlhub.tenants.api.serializers import MeSerializer, MyInvitationSerializer
from mlhub.tenants.models import ApiToken, User
from mlhub.tenants.sign_in.authentication import SessionAuthentication

if TYPE_CHECKING:
    from rest_framework.request import Request


class InvitationLinkSerializer(StrictSerializer):
    secret = serializers.CharField(max_length=200, help_text="What follows the # of the link.")


class AcceptLinkSerializer(InvitationLinkSerializer):
    username = serializers.CharField(
        max_length=150,
        required=False,
        allow_blank=True,
        default="",
        help_text="The name of the account to make; not when signed in.",
    )
    password = serializers.CharField(
        max_length=1024,
        required=False,
        default="",
        trim_whitespace=False,
        help_text="Its password; not when signed in.",
    )


class LinkOfferView(APIView):
    permission_classes = [AllowAny]

    @extend_schema(request=InvitationLinkSerializer, responses=MyInvitationSerializer, auth=[])
    def post(self, request: Request) -> Response:
        """What the link of an invitation offers: organisation, role, by whom, until when. 403 for a void link."""
        found = invitation_links.read_link(read_body(InvitationLinkSerializer, request)["secret"])
        return Response(MyInvitationSerializer(found).data)


class AcceptLinkView(APIView):
    permission_classes = [AllowAny]

    @extend_schema(request=AcceptLinkSerializer, responses=MeSerializer)
    def post(self, request: Request) -> Response:
        """Joins the organisation: with the account that is signed in, or with a new one, which is signed in then."""
        if isinstance(request.auth, ApiToken):
            raise NotAllowedError("Invitations are accepted in a browser, not with a token.", code="session_needed")
        user = request.user if isinstance(request.user, User) else None
        if user is None:
            SessionAuthentication().enforce_csrf(request)
        body = read_body(AcceptLinkSerializer, request)
        for field in () if user else ("username", "password"):
            if not body[field]:
                raise InvalidInputError(
                    f"A new account needs a {field}.", field=field, remedy="Give one, or sign in first."
                )
        joined = invitation_links.accept_link(request._request, user=user, **body)
        return Response(MeSerializer(User.objects.get(pk=joined.pk)).data)
