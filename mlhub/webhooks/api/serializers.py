# SPDX-License-Identifier: Apache-2.0
"""The JSON of webhooks and their deliveries."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from mlhub.core.api.described import described
from mlhub.core.api.strict import StrictSerializer
from mlhub.core.as_seen import SEEN
from mlhub.webhooks.models import Delivery, DeliveryState, Webhook
from mlhub.webhooks.topics import CHOICES, DELIVERY_CHOICES, MAIL_CHOICES


class WebhookSerializer(serializers.ModelSerializer[Webhook]):
    topics = serializers.ListField(
        child=serializers.ChoiceField(choices=CHOICES), read_only=True, help_text="What it is notified of."
    )

    class Meta:
        model = Webhook
        fields = ["id", "url", "topics", "is_active", "disabled_reason", "failing_since", "created_at"]
        read_only_fields = fields
        extra_kwargs = described(
            id="The webhook's id.",
            url="The address that deliveries are posted to.",
            is_active="Whether it is notified of events.",
            disabled_reason="Why the platform turned it off; empty when it did not.",
            failing_since="When deliveries began to fail without one that succeeded since; null when they do not.",
            created_at="When it was made.",
        )


class WebhookCreatedSerializer(WebhookSerializer):
    secret = serializers.CharField(help_text="Signs its deliveries; shown this once.")

    class Meta(WebhookSerializer.Meta):
        fields = [*WebhookSerializer.Meta.fields, "secret"]


class WebhookWriteSerializer(StrictSerializer):
    url = serializers.CharField(
        max_length=2000, help_text="A public address that begins with https://, or one that MLHUB_WEBHOOK_ALLOW allows."
    )
    topics = serializers.ListField(
        child=serializers.ChoiceField(choices=CHOICES),
        allow_empty=False,
        max_length=len(CHOICES),
        help_text="What it is notified of.",
    )


class WebhookSeenSerializer(StrictSerializer):
    """What was seen of a webhook."""

    url = serializers.CharField(max_length=2000, required=False, help_text="The address as it was seen.")
    topics = serializers.ListField(
        child=serializers.ChoiceField(choices=CHOICES),
        required=False,
        max_length=len(CHOICES),
        help_text="What it was notified of.",
    )
    is_active = serializers.BooleanField(required=False, help_text="Whether it was notified of events.")


class WebhookChangeSerializer(StrictSerializer):
    url = serializers.CharField(max_length=2000, required=False, help_text="A new address.")
    topics = serializers.ListField(
        child=serializers.ChoiceField(choices=CHOICES),
        required=False,
        allow_empty=False,
        max_length=len(CHOICES),
        help_text="What it is notified of, all of it.",
    )
    is_active = serializers.BooleanField(
        required=False, help_text="false turns it off; true turns it on, for what happens from then on."
    )
    seen = WebhookSeenSerializer(required=False, help_text=SEEN)


class DeliverySerializer(serializers.ModelSerializer[Delivery]):
    topic = serializers.ChoiceField(choices=DELIVERY_CHOICES, read_only=True, help_text="The event that it is about.")
    state = serializers.ChoiceField(
        choices=DeliveryState.choices,
        read_only=True,
        help_text="Whether it waits to be sent, was delivered, or failed.",
    )

    class Meta:
        model = Delivery
        fields = [
            "id", "topic", "state", "body", "n_attempts", "status_code", "error", "created_at", "due_at", "ended_at",
        ]  # fmt: skip
        read_only_fields = fields
        extra_kwargs = described(
            id="The delivery's id: the header webhook-id of each attempt.",
            body="What is posted: a CloudEvent 1.0 in JSON.",
            n_attempts="How often it was sent.",
            status_code="The HTTP status of the last answer; null where there was none.",
            error="Why there was no answer; empty otherwise.",
            created_at="When it was made.",
            due_at="When it is sent next, while it waits.",
            ended_at="When it was delivered, or given up; null before.",
        )


class MailNoticesSerializer(serializers.Serializer[Any]):
    topics = serializers.ListField(
        child=serializers.ChoiceField(choices=MAIL_CHOICES),
        help_text="What one is notified of: changes of own jobs, own GPU-hours, and budgets as an admin or owner.",
    )
    email = serializers.CharField(allow_blank=True, help_text="The address of the account; empty: none is set.")
    has_mail_server = serializers.BooleanField(help_text="Whether the platform can send e-mail (MLHUB_EMAIL_URL).")


class MailNoticesWriteSerializer(StrictSerializer):
    topics = serializers.ListField(
        child=serializers.ChoiceField(choices=MAIL_CHOICES),
        max_length=len(MAIL_CHOICES),
        help_text="What to be notified of; empty: nothing.",
    )
