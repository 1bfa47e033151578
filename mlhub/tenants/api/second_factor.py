# SPDX-License-Identifier: Apache-2.0
"""One's own authenticator app: set up with the password, confirmed by a code, removed with both. In a session only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.response import Response
from rest_framework.views import APIView

from mlhub.core.api.strict import StrictSerializer
from mlhub.core.api.views import read_body
from mlhub.tenants.actions.sign_in import second_factor as actions
from mlhub.tenants.actions.sign_in.owner_checks import is_recovering, require_owner
from mlhub.tenants.actions.sign_in.password_sign_in import has_password
from mlhub.tenants.api.account import require_session
from mlhub.tenants.api.proofs import OwnerProofSerializer
from mlhub.tenants.sign_in.authentication import caller

if TYPE_CHECKING:
    from rest_framework.request import Request


class SecondFactorSerializer(serializers.Serializer[Any]):
    is_enabled = serializers.BooleanField(help_text="Whether an authenticator app is set up, for whose code it asks.")
    n_recovery_codes = serializers.IntegerField(help_text="How many recovery codes are unused.")
    has_password = serializers.BooleanField(
        help_text="Whether changes need the password; false: the account has none, and needs a recent sign-in."
    )
    is_recovering = serializers.BooleanField(
        help_text="Whether this session began with a recovery code less than ten minutes ago: changes then need the "
        "password alone."
    )


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


class SecondFactorView(APIView):
    @extend_schema(responses=SecondFactorSerializer)
    def get(self, request: Request) -> Response:
        """Whether one has an authenticator app. Passkeys are listed by themselves."""
        user = caller(request)
        return Response(
            {
                "is_enabled": actions.has_app(user),
                "n_recovery_codes": actions.n_recovery_codes(user),
                "has_password": has_password(user),
                "is_recovering": user.acting_token is None and is_recovering(request._request, user),
            }
        )

    @extend_schema(request=OwnerProofSerializer, responses={201: EnrolmentSerializer})
    def post(self, request: Request) -> Response:
        """A new secret for an authenticator app. It counts once confirmed by a code; 409 where there is one already."""
        require_session(request)
        user, proof = caller(request), read_body(OwnerProofSerializer, request)
        actions.refuse_second_app(user)
        require_owner(request._request, user, **proof)
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
    @extend_schema(request=OwnerProofSerializer, responses={204: None})
    def post(self, request: Request) -> Response:
        """Removes the authenticator app, with password and code, or with a passkey: a session alone cannot."""
        require_session(request)
        user = caller(request)
        require_owner(request._request, user, **read_body(OwnerProofSerializer, request))
        actions.remove_app(user, actor=user)
        return Response(status=status.HTTP_204_NO_CONTENT)


class RecoveryCodesView(APIView):
    @extend_schema(request=OwnerProofSerializer, responses=RecoveryCodesSerializer)
    def post(self, request: Request) -> Response:
        """Ten new recovery codes, shown this once; the earlier ones count no more. 409 without a second factor."""
        require_session(request)
        user = caller(request)
        require_owner(request._request, user, **read_body(OwnerProofSerializer, request))
        return Response({"recovery_codes": actions.make_new_recovery_codes(user)})
