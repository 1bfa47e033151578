# SPDX-License-Identifier: Apache-2.0
"""The first administrator of a fresh installation, for the sign-in page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.permissions import AllowAny
from rest_framework.response import Response
from rest_framework.views import APIView

from mlhub.core.api.strict import StrictSerializer
from mlhub.core.api.views import read_body
from mlhub.tenants.actions.administration import setup
from mlhub.tenants.api.serializers import MeSerializer
from mlhub.tenants.sign_in.authentication import SessionAuthentication
from mlhub.tenants.sign_in.lockout import remember_browser

if TYPE_CHECKING:
    from rest_framework.request import Request


class SetupStatusSerializer(serializers.Serializer[Any]):
    is_needed = serializers.BooleanField(help_text="Whether the platform has no administrator yet.")


class SetupSerializer(StrictSerializer):
    code = serializers.CharField(max_length=40, help_text="The one-time code that `make up` prints.")
    username = serializers.CharField(max_length=150, help_text="The user name of the administrator.")
    password = serializers.CharField(max_length=1024, trim_whitespace=False, help_text="The administrator's password.")
    organisation = serializers.CharField(
        max_length=100, required=False, allow_blank=True, default="", help_text="An organisation to create and own."
    )


class SetupView(APIView):
    permission_classes = [AllowAny]

    @extend_schema(responses=SetupStatusSerializer, auth=[])
    def get(self, request: Request) -> Response:  # noqa: ARG002 (DRF's signature)
        """Whether the first administrator is still to be created."""
        return Response({"is_needed": setup.is_setup_needed()})

    @extend_schema(request=SetupSerializer, responses={201: MeSerializer}, auth=[])
    def post(self, request: Request) -> Response:
        """Creates the first administrator and starts a session. 409 once there is one."""
        SessionAuthentication().enforce_csrf(request)
        user = setup.create_first_administrator(request._request, **read_body(SetupSerializer, request))
        response = Response(MeSerializer(user).data, status=status.HTTP_201_CREATED)
        remember_browser(request._request, response, username=user.username)
        return response
