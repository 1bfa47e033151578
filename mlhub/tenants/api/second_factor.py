# SPDX-License-Identifier: Apache-2.0
"""One's own second factor: set up with the password, confirmed by a code, removed with both. In a session only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.response import Response
from rest_framework.views import APIView

from mlhub.core.api.strict import StrictSerializer
from mlhub.core.api.views import read_body
from mlhub.tenants.actions import second_factor as actions
from mlhub.tenants.actions.passwords import require_password
from mlhub.tenants.api.account import require_session
from mlhub.tenants.authentication import caller

if TYPE_CHECKING:
    from rest_framework.request import Request


class SecondFactorSerializer(serializers.Serializer[Any]):
    is_enabled = serializers.BooleanField(help_text="Whether signing in asks for a code.")
    n_recovery_codes = serializers.IntegerField(help_text="How many recovery codes are unused.")


class SecondFactorBeginSerializer(StrictSerializer):
    password = serializers.CharField(max_length=1024, trim_whitespace=False, help_text="The present password.")


class EnrolmentSerializer(serializers.Serializer[Any]):
    secret = serializers.CharField(help_text="The secret in base 32, to type into an authenticator app.")
    address = serializers.CharField(help_text="The same as an otpauth address, which apps open.")
    qr_svg = serializers.CharField(help_text="That address as a QR code in SVG.")


class CodeSerializer(StrictSerializer):
    code = serializers.CharField(max_length=40, help_text="The code that the authenticator app shows now.")


class RecoveryCodesSerializer(serializers.Serializer[Any]):
    recovery_codes = serializers.ListField(
        child=serializers.CharField(), help_text="Each works once instead of a code; shown this once."
    )


class SecondFactorRemoveSerializer(SecondFactorBeginSerializer):
    code = serializers.CharField(max_length=40, help_text="A code of the second factor, or a recovery code.")


class SecondFactorView(APIView):
    @extend_schema(responses=SecondFactorSerializer)
    def get(self, request: Request) -> Response:
        """Whether one has a second factor."""
        user = caller(request)
        n_codes = actions.n_recovery_codes(user)
        return Response({"is_enabled": actions.has_second_factor(user), "n_recovery_codes": n_codes})

    @extend_schema(request=SecondFactorBeginSerializer, responses={201: EnrolmentSerializer})
    def post(self, request: Request) -> Response:
        """A new secret for an authenticator app. It counts once confirmed by a code; 409 where there is one already."""
        require_session(request)
        user = caller(request)
        require_password(request._request, user, read_body(SecondFactorBeginSerializer, request)["password"])
        begun = actions.begin_enrolment(user)
        return Response(EnrolmentSerializer(begun).data, status=status.HTTP_201_CREATED)


class ConfirmSecondFactorView(APIView):
    @extend_schema(request=CodeSerializer, responses=RecoveryCodesSerializer)
    def post(self, request: Request) -> Response:
        """Turns the second factor on and ends one's other sessions. The recovery codes are in this answer only."""
        require_session(request)
        code = read_body(CodeSerializer, request)["code"]
        return Response({"recovery_codes": actions.confirm_enrolment(request._request, caller(request), code=code)})


class RemoveSecondFactorView(APIView):
    @extend_schema(request=SecondFactorRemoveSerializer, responses={204: None})
    def post(self, request: Request) -> Response:
        """Turns the second factor off, with password and code: a session alone cannot."""
        require_session(request)
        user, body = caller(request), read_body(SecondFactorRemoveSerializer, request)
        require_password(request._request, user, body["password"])
        actions.require_code(request._request, user, body["code"])
        actions.remove_second_factor(user, actor=user)
        return Response(status=status.HTTP_204_NO_CONTENT)
