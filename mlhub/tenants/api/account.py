# SPDX-License-Identifier: Apache-2.0
"""One's own account: the password, and the browsers that are signed in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from drf_spectacular.utils import extend_schema
from rest_framework import generics, status
from rest_framework.permissions import AllowAny
from rest_framework.response import Response
from rest_framework.views import APIView

from mlhub.core.api.views import VisibleMixin, read_body
from mlhub.core.errors import NotAllowedError
from mlhub.tenants.actions.sign_in import forgotten_passwords, passwords, sessions
from mlhub.tenants.api import user_serializers as s
from mlhub.tenants.api.serializers import MeSerializer
from mlhub.tenants.models import ApiToken, UserSession
from mlhub.tenants.sign_in.authentication import SessionAuthentication, caller
from mlhub.tenants.sign_in.lockout import remember_browser

if TYPE_CHECKING:
    from rest_framework.request import Request


class PasswordView(APIView):
    @extend_schema(request=s.PasswordChangeSerializer, responses={204: None})
    def post(self, request: Request) -> Response:
        """Changes one's password and ends one's other sessions. By session: a token cannot."""
        require_session(request)
        body = read_body(s.PasswordChangeSerializer, request)
        passwords.change_password(
            request._request, caller(request), current=body["current_password"], new=body["new_password"]
        )
        return Response(status=status.HTTP_204_NO_CONTENT)


class PasswordByLinkView(APIView):
    permission_classes = [AllowAny]

    @extend_schema(request=s.PasswordByLinkSerializer, responses=MeSerializer, auth=[])
    def post(self, request: Request) -> Response:
        """Sets a password by a link that an administrator made, and starts a session. 403 for a link that is void."""
        SessionAuthentication().enforce_csrf(request)
        user = passwords.set_password_by_link(request._request, **read_body(s.PasswordByLinkSerializer, request))
        response = Response(MeSerializer(user).data)
        remember_browser(request._request, response, username=user.username)
        return response


class ForgottenPasswordView(APIView):
    permission_classes = [AllowAny]

    @extend_schema(request=s.ForgottenPasswordSerializer, responses={204: None}, auth=[])
    def post(self, request: Request) -> Response:
        """Sends a link to set a password by mail. 204 whether there is such an account or not; 409 without mail server.

        For accounts that sign in with a password and have an e-mail address. 429 after too many of one name, or from
        one address.
        """
        account = read_body(s.ForgottenPasswordSerializer, request)["account"]
        forgotten_passwords.ask_for_links(request._request, account)
        return Response(status=status.HTTP_204_NO_CONTENT)


class SessionsView(VisibleMixin, generics.ListAPIView[UserSession]):
    """The browsers in which one is signed in."""

    queryset = UserSession.objects.all()
    serializer_class = s.SessionSerializer


class SessionView(VisibleMixin, generics.GenericAPIView[UserSession]):
    queryset = UserSession.objects.select_related("user")
    serializer_class = s.SessionSerializer

    @extend_schema(responses={204: None})
    def delete(self, request: Request, **_: Any) -> Response:
        """Signs that browser out at once."""
        require_session(request)
        sessions.end_session(self.get_object(), actor=caller(request))
        return Response(status=status.HTTP_204_NO_CONTENT)


def require_session(request: Request) -> None:
    if isinstance(request.auth, ApiToken):
        raise NotAllowedError(
            "Passwords and sessions are changed in a signed-in session, not with a token.",
            code="session_needed",
            remedy="Sign in with the browser.",
        )
