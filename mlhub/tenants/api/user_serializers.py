# SPDX-License-Identifier: Apache-2.0
"""The JSON of accounts, their sessions and passwords."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from mlhub.core.api.described import described
from mlhub.core.api.strict import StrictSerializer
from mlhub.tenants.api.proofs import SecondFactorProofSerializer
from mlhub.tenants.api.serializers import ROLES, MyMembershipSerializer, OrganisationBriefSerializer
from mlhub.tenants.models import User, UserSession


def _password(help_text: str) -> serializers.CharField:
    return serializers.CharField(max_length=1024, trim_whitespace=False, help_text=help_text)


class UserSerializer(serializers.ModelSerializer[User]):
    created_at = serializers.DateTimeField(source="date_joined", read_only=True, help_text="When it was created.")
    last_sign_in_at = serializers.DateTimeField(
        source="last_login", read_only=True, allow_null=True, help_text="When it signed in last; null: never."
    )
    has_password = serializers.BooleanField(
        source="has_usable_password", read_only=True, help_text="Whether a password was set, by its user or for it."
    )
    service_of = OrganisationBriefSerializer(
        read_only=True, allow_null=True, help_text="The organisation whose service account it is; null: a person's."
    )
    memberships = MyMembershipSerializer(many=True, read_only=True, help_text="Where it is a member, with which role.")

    email = serializers.CharField(read_only=True, help_text="The e-mail address; empty: none.")

    class Meta:
        model = User
        fields = [
            "id", "username", "email", "is_active", "is_staff", "has_password", "created_at", "last_sign_in_at",
            "service_of", "memberships",
        ]  # fmt: skip
        read_only_fields = fields
        extra_kwargs = described(
            id="The user's id.",
            username="The name to sign in with.",
            is_active="Whether it may sign in and use its tokens.",
            is_staff="Whether it is an administrator of the platform.",
        )


class UserWriteSerializer(StrictSerializer):
    username = serializers.CharField(max_length=150, help_text="The name to sign in with.")
    email = serializers.EmailField(
        max_length=254, required=False, allow_blank=True, default="", help_text="The e-mail address, if any."
    )
    is_staff = serializers.BooleanField(
        required=False, default=False, help_text="Whether it becomes an administrator of the platform."
    )
    organisation = serializers.UUIDField(
        required=False, allow_null=True, default=None, help_text="The id of an organisation to belong to; null: none."
    )
    role = serializers.ChoiceField(
        choices=ROLES, required=False, default="member", help_text="The role in that organisation."
    )


class UserChangeSerializer(StrictSerializer):
    email = serializers.EmailField(
        max_length=254, required=False, allow_blank=True, help_text="Another address; left out: the same."
    )
    is_active = serializers.BooleanField(
        required=False, help_text="Whether it may sign in and use its tokens; left out: as it is."
    )
    is_staff = serializers.BooleanField(
        required=False, help_text="Whether it is an administrator of the platform; left out: as it is."
    )


class PasswordLinkSerializer(serializers.Serializer[Any]):
    link = serializers.CharField(help_text="The address at which the password is set; works once, shown this once.")
    expires_at = serializers.DateTimeField(help_text="Until when it works.")


class UserCreatedSerializer(UserSerializer):
    link = serializers.CharField(read_only=True, help_text="The address at which its user sets a password; shown once.")
    link_expires_at = serializers.DateTimeField(read_only=True, help_text="Until when the link works.")

    class Meta(UserSerializer.Meta):
        fields = [*UserSerializer.Meta.fields, "link", "link_expires_at"]
        read_only_fields = fields


class RemainderSerializer(serializers.Serializer[Any]):
    kind = serializers.CharField(help_text="What kind of rows, in words.")
    n = serializers.IntegerField(help_text="How many.")
    n_running = serializers.IntegerField(help_text="Of jobs, how many of these run now; they go on. 0 of other kinds.")


class UserDeletionSerializer(serializers.Serializer[Any]):
    remains = RemainderSerializer(many=True, help_text="What it made and what stays, with another user as maker.")
    sole_owner_of = serializers.ListField(
        child=serializers.CharField(), help_text="Organisations without another owner, which keep it from deletion."
    )


class UserDeleteQuerySerializer(StrictSerializer):
    reassign_to = serializers.UUIDField(
        required=False, default=None, help_text="The id of the user who becomes the maker of what remains."
    )


class EndedSessionsSerializer(serializers.Serializer[Any]):
    n_sessions = serializers.IntegerField(help_text="How many browsers were signed out.")


class SessionSerializer(serializers.ModelSerializer[UserSession]):
    is_current = serializers.SerializerMethodField(help_text="Whether it is the one that asks.")

    class Meta:
        model = UserSession
        fields = ["id", "created_at", "address", "user_agent", "method", "is_current"]
        extra_kwargs = described(
            id="The session's id.",
            created_at="When the user signed in.",
            address="The client's address at that time.",
            user_agent="What the browser called itself.",
            method="How the user signed in: password (also by a link that sets one), single_sign_on or passkey.",
        )

    def get_is_current(self, session: UserSession) -> bool:
        held: bool = self.context["request"].session.session_key == session.session_key
        return held


class PasswordChangeSerializer(StrictSerializer):
    current_password = _password("The present password.")
    new_password = _password("The new password.")


class PasswordByLinkSerializer(SecondFactorProofSerializer):
    secret = serializers.CharField(max_length=200, help_text="What follows the # of the link.")
    password = _password("The new password.")


class ForgottenPasswordSerializer(StrictSerializer):
    account = serializers.CharField(max_length=254, help_text="The user name, or the account's e-mail address.")
