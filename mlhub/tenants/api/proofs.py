# SPDX-License-Identifier: Apache-2.0
"""How requests prove who sends them: a password, a code, what a passkey has signed."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from mlhub.core.api.strict import StrictSerializer
from mlhub.tenants.passkeys.ceremonies import Assertion

MAX_ID, MAX_SIGNED, MAX_HANDLE = 1400, 8192, 100  # characters of base64url


class AssertionSerializer(StrictSerializer):
    """What navigator.credentials.get() returned, each member in base64url as toJSON() writes it."""

    id = serializers.CharField(max_length=MAX_ID, help_text="The credential's id.")
    client_data = serializers.CharField(max_length=MAX_SIGNED, help_text="clientDataJSON of the response.")
    authenticator_data = serializers.CharField(max_length=MAX_SIGNED, help_text="authenticatorData of the response.")
    signature = serializers.CharField(max_length=MAX_SIGNED, help_text="signature of the response.")
    user_handle = serializers.CharField(
        max_length=MAX_HANDLE, required=False, allow_blank=True, default="", help_text="userHandle of the response."
    )

    def to_internal_value(self, data: Any) -> Any:
        return Assertion(**super().to_internal_value(data))


class SecondFactorProofSerializer(StrictSerializer):
    """One of the two, for accounts with a second factor."""

    code = serializers.CharField(
        max_length=40,
        required=False,
        allow_blank=True,
        default="",
        help_text="The code of the second factor, or a recovery code; empty: the account has none.",
    )
    passkey = AssertionSerializer(
        required=False, allow_null=True, default=None, help_text="A passkey's answer; null: the account has none."
    )


class LoginSerializer(SecondFactorProofSerializer):
    username = serializers.CharField(max_length=150, help_text="The user name.")
    password = serializers.CharField(max_length=1024, trim_whitespace=False, help_text="The password.")


class OwnerProofSerializer(SecondFactorProofSerializer):
    """The password and, where there is one, the second factor; or a passkey alone."""

    password = serializers.CharField(
        max_length=1024,
        trim_whitespace=False,
        required=False,
        allow_blank=True,
        default="",
        help_text="The present password; empty: the account has none, or a passkey is given.",
    )
