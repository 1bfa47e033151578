# SPDX-License-Identifier: Apache-2.0
"""Single sign-on for the sign-in page: which ways in there are, where to go, and a code where one is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.utils.http import url_has_allowed_host_and_scheme
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.permissions import AllowAny
from rest_framework.response import Response
from rest_framework.views import APIView

from mlhub.core.api.strict import StrictSerializer
from mlhub.core.api.views import read_body
from mlhub.core.errors import InvalidInputError, NotAllowedError
from mlhub.tenants.actions.sign_in.single_sign_on import enter
from mlhub.tenants.api import single_sign_on_callback as callback
from mlhub.tenants.api.proofs import SecondFactorProofSerializer
from mlhub.tenants.api.serializers import MeSerializer
from mlhub.tenants.passkeys.relying_party import relying_party
from mlhub.tenants.sign_in.authentication import SessionAuthentication
from mlhub.tenants.single_sign_on.begun import BegunSignIn, remember
from mlhub.tenants.single_sign_on.provider import authorization_url

if TYPE_CHECKING:
    from rest_framework.request import Request


class SignInRefusalSerializer(serializers.Serializer[Any]):
    code = serializers.CharField(help_text="A stable word for the reason.")
    message = serializers.CharField(help_text="The reason, in words.")
    remedy = serializers.CharField(help_text="What to do about it.")


class SignInMethodsSerializer(serializers.Serializer[Any]):
    single_sign_on = serializers.CharField(
        allow_null=True, help_text="What the provider of single sign-on is called; null: there is none."
    )
    has_passwords = serializers.BooleanField(
        help_text="Whether everybody may sign in with a password; false: only administrators who are named."
    )
    has_passkeys = serializers.BooleanField(
        help_text="Whether everybody may sign in with a passkey alone; false: who may use a password, if there are any."
    )
    passkey_origin = serializers.CharField(
        allow_null=True, help_text="The only origin whose pages may use passkeys; null: there are none here."
    )
    sends_password_links = serializers.BooleanField(
        help_text="Whether a forgotten password is set anew by a link that is sent by mail; false: no mail server."
    )
    refusal = SignInRefusalSerializer(
        allow_null=True, help_text="Why single sign-on failed in this browser within the last minute; null: it did not."
    )


class BeginSingleSignOnSerializer(StrictSerializer):
    next = serializers.CharField(
        max_length=2000, required=False, default="/", help_text="The address of the dashboard to go to afterwards."
    )


class ProviderAddressSerializer(serializers.Serializer[Any]):
    address = serializers.CharField(help_text="The provider's page, to which the browser goes now.")


class SignInMethodsView(APIView):
    permission_classes = [AllowAny]

    @extend_schema(responses=SignInMethodsSerializer, auth=[])
    def get(self, request: Request) -> Response:
        """How one may sign in here, and why it failed just now."""
        options, party = settings.SINGLE_SIGN_ON, relying_party()
        return Response(
            {
                "single_sign_on": options.name if options else None,
                "has_passwords": settings.PASSWORD_USERS is None,
                "has_passkeys": party is not None and settings.PASSKEY_SIGN_IN,
                "passkey_origin": party.origin if party else None,
                "sends_password_links": settings.HAS_MAIL_SERVER,
                "refusal": callback.read_refusal(request._request),
            }
        )


class BeginSingleSignOnView(APIView):
    permission_classes = [AllowAny]

    @extend_schema(request=BeginSingleSignOnSerializer, responses=ProviderAddressSerializer, auth=[])
    def post(self, request: Request) -> Response:
        """Begins a sign-in, which is to end in this browser within ten minutes. 503 when the provider is away."""
        SessionAuthentication().enforce_csrf(request)
        body = read_body(BeginSingleSignOnSerializer, request)
        return begin(BegunSignIn.new(next=own_address(body["next"])))


class SingleSignOnCodeView(APIView):
    permission_classes = [AllowAny]

    @extend_schema(request=SecondFactorProofSerializer, responses=MeSerializer, auth=[])
    def post(self, request: Request) -> Response:
        """Ends a sign-in for which the provider vouched, and that waits for a code or a passkey."""
        SessionAuthentication().enforce_csrf(request)
        proof = read_body(SecondFactorProofSerializer, request)
        identity = callback.waiting_identity(request._request)
        if identity is None:
            raise NotAllowedError(
                "No sign-in waits for a code.", code="sign_in_not_begun", remedy="Begin the sign-in again."
            )
        user = enter(request._request, callback.single_sign_on(), identity, **proof)
        response = Response(MeSerializer(user).data)
        callback.finish_sign_in(request._request, response, user)
        return response


def begin(begun: BegunSignIn) -> Response:
    """The provider's address, and the cookie that its answer is compared with."""
    response = Response({"address": authorization_url(callback.single_sign_on(), begun)})
    remember(response, begun)
    return response


def own_address(address: str) -> str:
    """Raises InvalidInputError for an address that could lead away from the dashboard."""
    is_own = url_has_allowed_host_and_scheme(address, allowed_hosts=None) and address.isprintable()
    if not is_own or not address.startswith("/"):
        raise InvalidInputError(
            "This is no address of the dashboard.", field="next", remedy="Give a path, such as /jobs."
        )
    return address
