# SPDX-License-Identifier: Apache-2.0
"""The JSON of uploads, and of the place in the queue as versions that are inspected show it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from mlhub.core.api.described import described
from mlhub.core.api.fields import TranslatedField
from mlhub.core.api.strict import StrictSerializer
from mlhub.storage.models import ResumableUpload
from mlhub.storage.queue_position import position_of
from mlhub.storage.resumable import expires_at
from mlhub.tenants.api.serializers import ProjectBriefSerializer

WITH_QUEUE = {"with_queue": True}  # the context of serializers of a single version


class UploadedFileSerializer(StrictSerializer):
    """A file in the request itself, or one that arrived before it."""

    file = serializers.FileField(max_length=255, required=False, help_text="The file, in this very request.")
    upload = serializers.UUIDField(
        required=False,
        help_text="In place of the file: the id of a whole upload to /uploads, which is then used up.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if "file" not in attrs and "upload" not in attrs:
            raise serializers.ValidationError({"file": "Send the file, or name a whole upload as `upload`."})
        if "file" in attrs and "upload" in attrs:
            raise serializers.ValidationError({"upload": "Give either a file or an upload, not both."})
        return attrs


class ResumableUploadSerializer(serializers.ModelSerializer[ResumableUpload]):
    project = ProjectBriefSerializer(read_only=True, help_text="The project that it is sent to.")
    expires_at = serializers.SerializerMethodField(help_text="When it is removed unless more arrives; null: never.")

    class Meta:
        model = ResumableUpload
        fields = [
            "id",
            "project",
            "filename",
            "length_bytes",
            "offset_bytes",
            "is_partial",
            "created_at",
            "written_at",
            "expires_at",
        ]
        extra_kwargs = described(
            id="The upload's id.",
            filename="The file's name.",
            length_bytes="The size of the whole file in bytes.",
            offset_bytes="How many bytes have arrived; the upload goes on there.",
            is_partial="Whether it is only to be joined with others.",
            created_at="When it was begun.",
            written_at="When bytes arrived last.",
        )

    @extend_schema_field(serializers.DateTimeField(allow_null=True))
    def get_expires_at(self, upload: ResumableUpload) -> str | None:
        at = expires_at(upload)
        return None if at is None else serializers.DateTimeField().to_representation(at)


class QueuePositionSerializer(serializers.Serializer[Any]):
    is_running = serializers.BooleanField(help_text="Whether the fetch or the inspection is under way.")
    n_before = serializers.IntegerField(
        help_text="Uploads and dry runs of the same organisation that come first; other organisations' do not count."
    )
    problem = TranslatedField(
        help_text="Why the platform could not do it the last time, while it is tried again; empty otherwise."
    )


class QueuedMixin(serializers.Serializer[Any]):
    """Of versions that are inspected: `queue`, in answers about a single one."""

    queue = serializers.SerializerMethodField(
        help_text="While it is fetched or inspected: its place in the queue; null otherwise, and in lists."
    )

    @extend_schema_field(QueuePositionSerializer(allow_null=True))
    def get_queue(self, version: Any) -> dict[str, Any] | None:
        if version.state not in ("fetching", "inspecting") or not self.context.get("with_queue"):
            return None
        found = position_of(version.pk)
        return None if found is None else dict(QueuePositionSerializer(asdict(found)).data)
