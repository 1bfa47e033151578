# SPDX-License-Identifier: Apache-2.0
"""The JSON of a job's further datasets, and the versions that a request names."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from rest_framework import serializers

from mlhub.core.errors import InvalidInputError
from mlhub.datasets.api.serializers import DatasetBriefSerializer
from mlhub.datasets.models import Dataset, DatasetVersion, VersionState
from mlhub.tenants.models import Project, User


class FurtherDatasetSerializer(serializers.Serializer[Any]):
    """A dataset that a script reads besides its own."""

    name = serializers.CharField(help_text="The name under which the script finds it.")
    dataset = DatasetBriefSerializer(help_text="The dataset.")
    version = serializers.UUIDField(help_text="The id of the dataset's version.")
    number = serializers.IntegerField(help_text="The number of the version.")


def further_datasets_of(user: User, asked: dict[str, Any], *, project: Project) -> dict[str, DatasetVersion]:
    """The versions by name; a dataset's name is looked for in that project first. Raises NotFoundError."""
    versions = DatasetVersion.objects.select_related("dataset__project__organisation")
    found = {}
    for name, given in asked.items():
        version = versions.visible_to(user).filter(pk=given).first() if isinstance(given, UUID) else None
        if version is None:
            dataset = Dataset.objects.get_named(user, given, field=f"datasets.{name}", project=project.pk)
            newest = versions.filter(dataset=dataset).order_by("-number")
            version = newest.filter(state=VersionState.READY).first() or newest.first()
        if version is None:
            raise InvalidInputError("The dataset has no version.", field=f"datasets.{name}", remedy="Upload one.")
        found[name] = version
    return found
