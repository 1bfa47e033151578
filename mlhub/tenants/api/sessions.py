# SPDX-License-Identifier: Apache-2.0
"""Signing in and out of the browser's session, and asking who one is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.middleware.csrf import get_token
from drf_spectacular.utils import extend_schema
from rest_framework import exceptions, status
from rest_framework.permissions import AllowAny
from rest_framework.response import Response
from rest_framework.views import APIView

from mlhub.core.api.views import read_body
from mlhub.tenants import actions
from mlhub.tenants.api.proofs import LoginSerializer
from mlhub.tenants.api.serializers import MeSerializer
from mlhub.tenants.sign_in import impersonation
from mlhub.tenants.sign_in.authentication import SessionAuthentication, caller
from mlhub.tenants.sign_in.lockout import remember_browser

if TYPE_CHECKING:
    from rest_framework.request import Request


class CsrfView(APIView):
    permission_classes = [AllowAny]

    @extend_schema(responses={204: None}, auth=[])
    def get(self, request: Request) -> Response:
        """Sets the cookie `csrftoken`; send its value as X-CSRFToken with every write of a session."""
        get_token(request._request)
        return Response(status=status.HTTP_204_NO_CONTENT)


class LoginView(APIView):
    permission_classes = [AllowAny]

    @extend_schema(request=LoginSerializer, responses=MeSerializer, auth=[])
    def post(self, request: Request) -> Response:
        """Starts a session. 401 for a wrong name or password, 403 without a needed second factor, 429 for too many."""
        # DRF exempts its views and checks sessions only: without this, a foreign page could sign a browser in
        SessionAuthentication().enforce_csrf(request)
        body = read_body(LoginSerializer, request)
        user = actions.sign_in(request._request, **body)
        if user is None:
            raise exceptions.AuthenticationFailed("The name or the password is wrong.")
        response = Response(MeSerializer(user).data)
        remember_browser(request._request, response, username=user.username)
        return response


class LogoutView(APIView):
    permission_classes = [AllowAny]

    @extend_schema(request=None, responses={204: None})
    def post(self, request: Request) -> Response:
        """Ends the session; without one, nothing happens."""
        actions.sign_out(request._request)
        return Response(status=status.HTTP_204_NO_CONTENT)


class ImpersonationEndView(APIView):
    @extend_schema(request=None, responses={204: None})
    def post(self, request: Request) -> Response:
        """An administrator acts as themself again; without an impersonation, nothing happens."""
        impersonation.end(request._request.session, administrator=caller(request), reason="asked")
        return Response(status=status.HTTP_204_NO_CONTENT)


class MeView(APIView):
    @extend_schema(responses=MeSerializer)
    def get(self, request: Request) -> Response:
        """Who is asking, and where with which role."""
        return Response(MeSerializer(caller(request)).data)
