# SPDX-License-Identifier: Apache-2.0
"""The JSON of events."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from mlhub.core.api.described import described
from mlhub.core.api.strict import StrictSerializer
from mlhub.events.models import Event
from mlhub.events.origins import OriginReader


class ActorSerializer(serializers.Serializer[Any]):
    username = serializers.CharField(help_text="The user name, also of an account that was deleted since.")


class EventSerializer(serializers.ModelSerializer[Event]):
    """actor: null for the platform itself."""

    actor = serializers.SerializerMethodField(help_text="Who did it; null: the platform itself.")
    facts = serializers.SerializerMethodField(
        help_text="What is to be known about it, by kind of event; `address` and `user_agent` of who did it for admins."
    )

    class Meta:
        model = Event
        fields = ["id", "kind", "organisation", "subject_kind", "subject_id", "actor", "at", "facts"]
        read_only_fields = fields
        extra_kwargs = described(
            id="The event's number; later events have greater ones.",
            kind="What happened, such as job.submitted.",
            organisation="The id of the organisation; null: the platform's own.",
            subject_kind="What it happened to, such as job.",
            subject_id="The id of what it happened to.",
            at="When it happened.",
        )

    @extend_schema_field(ActorSerializer(allow_null=True))
    def get_actor(self, event: Event) -> dict[str, str] | None:
        name = event.actor_name()
        return None if name is None else {"username": name}

    @extend_schema_field(serializers.DictField())
    def get_facts(self, event: Event) -> dict[str, Any]:
        return self._origins.facts_of(event)

    @cached_property
    def _origins(self) -> OriginReader:
        request = self.context.get("request")
        return OriginReader(request.user if request is not None else None)


class JobEventsQuerySerializer(StrictSerializer):
    after = serializers.IntegerField(
        min_value=0, max_value=2**63 - 1, required=False, default=0, help_text="Only events with a greater id."
    )


class VerifyQuerySerializer(StrictSerializer):
    expect = serializers.RegexField(
        r"^[0-9a-f]{64}$",
        max_length=64,
        required=False,
        default="",
        help_text="A head of earlier, which must still be in the chain.",
    )


class VerificationSerializer(serializers.Serializer[Any]):
    is_intact = serializers.BooleanField(help_text="Whether all events are as they were written.")
    n_events = serializers.IntegerField(help_text="How many events were read and are intact.")
    head = serializers.CharField(help_text="The hash of the newest of them.")
    problem = serializers.CharField(allow_blank=True, help_text="What is wrong first; empty when nothing is.")
