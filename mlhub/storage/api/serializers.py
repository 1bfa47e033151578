# SPDX-License-Identifier: Apache-2.0
"""The place in the queue, as versions that are inspected show it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from mlhub.storage.queue_position import position_of

WITH_QUEUE = {"with_queue": True}  # the context of serializers of a single version


class QueuePositionSerializer(serializers.Serializer[Any]):
    is_running = serializers.BooleanField(help_text="Whether the inspection is under way.")
    n_before = serializers.IntegerField(
        help_text="Uploads and dry runs of the same organisation that come first; other organisations' do not count."
    )
    problem = serializers.CharField(
        help_text="Why the platform could not do it the last time, while it is tried again; empty otherwise."
    )


class QueuedMixin(serializers.Serializer[Any]):
    """Of versions that are inspected: `queue`, in answers about a single one."""

    queue = serializers.SerializerMethodField(
        help_text="While it is inspected: its place in the queue; null otherwise, and in lists."
    )

    @extend_schema_field(QueuePositionSerializer(allow_null=True))
    def get_queue(self, version: Any) -> dict[str, Any] | None:
        if version.state != "inspecting" or not self.context.get("with_queue"):
            return None
        found = position_of(version.pk)
        return None if found is None else asdict(found)
