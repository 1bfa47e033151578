# SPDX-License-Identifier: Apache-2.0
"""The JSON of environments and of projects' secrets."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from mlhub.core.api.described import described
from mlhub.core.api.fields import TranslatedField
from mlhub.core.api.strict import StrictSerializer
from mlhub.environments.models import EnvironmentState, ProjectSecret, PythonEnvironment
from mlhub.tenants.api.serializers import OrganisationBriefSerializer, UserBriefSerializer


class EnvironmentErrorSerializer(serializers.Serializer[Any]):
    """Why a build failed."""

    code = serializers.CharField(help_text="The kind of error, for programs.")
    message = TranslatedField(help_text="What is wrong, with the line of the log that says so.")
    remedy = TranslatedField(allow_blank=True, help_text="What to do about it; empty where nothing is known.")


class PackageSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(help_text="The package's name.")
    version = serializers.CharField(help_text="The package's version.")


class EnvironmentBriefSerializer(serializers.ModelSerializer[PythonEnvironment]):
    state = serializers.ChoiceField(
        choices=EnvironmentState.choices, read_only=True, help_text="Whether it is being built, ready, or has failed."
    )

    class Meta:
        model = PythonEnvironment
        fields = ["id", "state", "origin", "size_bytes"]
        read_only_fields = fields
        extra_kwargs = described(
            id="The environment's id.",
            origin="The file of the code that declares the requirements.",
            size_bytes="The stored size of its layer in bytes; 0 when the platform's packages suffice.",
        )


class RequiringModelSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField(help_text="The model's id.")
    name = serializers.CharField(help_text="The model's name.")


class RequiringVersionSerializer(serializers.Serializer[Any]):
    """A version of code that requires the environment."""

    id = serializers.UUIDField(help_text="The version's id.")
    number = serializers.IntegerField(help_text="The version's number, from 1 on.")
    model = RequiringModelSerializer(help_text="The model.")


class EnvironmentSerializer(serializers.ModelSerializer[PythonEnvironment]):
    state = serializers.ChoiceField(
        choices=EnvironmentState.choices, read_only=True, help_text="Whether it is being built, ready, or has failed."
    )
    requirements = serializers.ListField(
        child=serializers.CharField(), read_only=True, help_text="What the code requires, one package each."
    )
    packages = PackageSerializer(
        many=True, read_only=True, help_text="What is installed on top of the platform's own packages."
    )
    error = EnvironmentErrorSerializer(
        read_only=True, allow_null=True, help_text="Why it failed, or that it was stopped and by whom; null otherwise."
    )
    organisation = OrganisationBriefSerializer(read_only=True, help_text="The organisation that it was built for.")
    n_versions = serializers.IntegerField(read_only=True, help_text="How many versions of code require it.")
    used_by = RequiringVersionSerializer(
        many=True, read_only=True, source="newest_versions", help_text="The newest of these versions, at most 5."
    )

    class Meta:
        model = PythonEnvironment
        fields = [
            "id", "organisation", "state", "origin", "requirements", "packages", "python", "platform", "size_bytes",
            "error", "n_versions", "used_by", "created_at", "started_at", "finished_at",
        ]  # fmt: skip
        read_only_fields = fields
        extra_kwargs = described(
            id="The environment's id.",
            origin="The file of the code that declares the requirements.",
            python="The version of Python that it was built for.",
            platform="The platform that it was built for.",
            size_bytes="The stored size of its layer in bytes; 0 when the platform's packages suffice.",
            created_at="When code first required it.",
            started_at="When its newest build began; null before.",
            finished_at="When it was ready, failed or was stopped; null before.",
        )


class EnvironmentLogSerializer(serializers.Serializer[Any]):
    log = serializers.CharField(help_text="What the installer printed, the end of it, as far as it is by now.")


class SecretSerializer(serializers.ModelSerializer[ProjectSecret]):
    """A secret without its value, which no answer contains."""

    set_by = UserBriefSerializer(read_only=True, allow_null=True, help_text="Who set the value; null: a deleted user.")

    class Meta:
        model = ProjectSecret
        fields = ["name", "set_by", "created_at", "updated_at"]
        read_only_fields = fields
        extra_kwargs = described(
            name="The name, by which jobs ask for it and pods see it as an environment variable.",
            created_at="When it was first set.",
            updated_at="When its value was last set.",
        )


class SecretValueSerializer(StrictSerializer):
    value = serializers.CharField(
        trim_whitespace=False, max_length=32 * 1024, help_text="The value; it is encrypted and never shown again."
    )
