"""The JSON of events."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from mlhub.core.api.strict import StrictSerializer
from mlhub.events.models import Event


class ActorSerializer(serializers.Serializer[Any]):
    username = serializers.CharField()


class EventSerializer(serializers.ModelSerializer[Event]):
    """actor: null for the platform itself."""

    actor = ActorSerializer(read_only=True, allow_null=True)
    facts = serializers.DictField(read_only=True)

    class Meta:
        model = Event
        fields = ["id", "kind", "organisation", "subject_kind", "subject_id", "actor", "at", "facts"]
        read_only_fields = fields


class JobEventsQuerySerializer(StrictSerializer):
    after = serializers.IntegerField(
        min_value=0, max_value=2**63 - 1, required=False, default=0, help_text="Only events with a greater id."
    )
