# SPDX-License-Identifier: Apache-2.0
"""What differs between two versions of a dataset, in bounded size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from mlhub.core.api.fields import TranslatedField
from mlhub.core.api.strict import StrictSerializer
from mlhub.core.api.views import read_query
from mlhub.datasets.differences import VersionChange, version_difference
from mlhub.datasets.models import DatasetVersion

if TYPE_CHECKING:
    from rest_framework.request import Request


class VersionDifferenceQuerySerializer(StrictSerializer):
    to = serializers.UUIDField(help_text="The id of the version that this one is compared with.")


def _change(help_text: str) -> serializers.ChoiceField:
    return serializers.ChoiceField(
        choices=[(change.value, change.value) for change in VersionChange], help_text=help_text
    )


class FactDifferenceSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(
        help_text="What it is: a member of the version's schema, such as n_rows; format, size_bytes; or options.NAME."
    )
    before = serializers.JSONField(allow_null=True, help_text="Of this version; null: it does not have it.")
    after = serializers.JSONField(allow_null=True, help_text="Of the other version; null: it does not have it.")


class ColumnDifferenceSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(allow_blank=True, help_text="The column.")
    change = _change("What became of the column.")
    differs = serializers.ListField(
        child=serializers.CharField(), help_text="Which of its statistics differ, such as type or mean."
    )
    before = serializers.DictField(
        allow_null=True, help_text="Its statistics in this version, as the version has them; null: no such column."
    )
    after = serializers.DictField(allow_null=True, help_text="The same in the other version.")


class ClassDifferenceSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(allow_blank=True, help_text="The class.")
    change = _change("What became of the class.")
    before = serializers.IntegerField(
        allow_null=True, help_text="Its examples in this version; null: none, or they were not counted."
    )
    after = serializers.IntegerField(allow_null=True, help_text="The same in the other version.")


class DataFileDifferenceSerializer(serializers.Serializer[Any]):
    path = serializers.CharField(help_text="The path of the file in the archive.")
    change = _change("What became of the file.")
    size_before = serializers.IntegerField(
        allow_null=True, help_text="Its bytes in this version, unpacked; null: no such file."
    )
    size_after = serializers.IntegerField(allow_null=True, help_text="The same in the other version.")


class FileCountsSerializer(serializers.Serializer[Any]):
    n_added = serializers.IntegerField(help_text="Files that only the other version has.")
    n_removed = serializers.IntegerField(help_text="Files that only this version has.")
    n_changed = serializers.IntegerField(help_text="Files of other content.")
    n_same = serializers.IntegerField(help_text="Files of the same checksum and size.")


class VersionDifferenceSerializer(serializers.Serializer[Any]):
    is_same_content = serializers.BooleanField(help_text="Whether both have the same bytes.")
    facts = FactDifferenceSerializer(many=True, help_text="Counts, sizes, shapes and options that differ.")
    columns = ColumnDifferenceSerializer(many=True, help_text="Columns of tables that differ; 200 at most.")
    n_columns_left_out = serializers.IntegerField(help_text="How many further columns differ.")
    classes = ClassDifferenceSerializer(many=True, help_text="Classes whose examples differ; 200 at most.")
    n_classes_left_out = serializers.IntegerField(help_text="How many further classes differ.")
    files = DataFileDifferenceSerializer(many=True, help_text="Files in archives that differ, by path; 500 at most.")
    n_files_left_out = serializers.IntegerField(help_text="How many further files differ.")
    file_counts = FileCountsSerializer(allow_null=True, help_text="Of all files; null where none were compared.")
    notes = serializers.ListField(child=TranslatedField(), help_text="What this cannot tell, in words.")


class VersionDifferenceView(APIView):
    @extend_schema(parameters=[VersionDifferenceQuerySerializer], responses=VersionDifferenceSerializer)
    def get(self, request: Request, **_: Any) -> Response:
        """From this version to another: columns, classes, files of archives and counts, from what inspection stored.
        No rows are read; `notes` say what that cannot tell."""
        versions = DatasetVersion.objects.select_related("dataset").defer("preview")
        before = versions.get_visible(request.user, self.kwargs["id"])
        to = read_query(VersionDifferenceQuerySerializer, request)["to"]
        after = versions.get_visible(request.user, to, field="to")
        return Response(VersionDifferenceSerializer(version_difference(before, after)).data)
