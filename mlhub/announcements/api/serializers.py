# SPDX-License-Identifier: Apache-2.0
"""What an announcement is in the API, and what is asked for to publish one."""

from __future__ import annotations

import unicodedata
from datetime import datetime
from typing import Any

from django.utils import timezone
from rest_framework import serializers

from mlhub.announcements.models import MOST_TEXT, Announcement, AnnouncementState, Severity
from mlhub.core.api.described import described
from mlhub.core.api.fields import CalendarTimeField
from mlhub.core.api.strict import StrictSerializer
from mlhub.tenants.api.serializers import OrganisationBriefSerializer

REORDERING = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"  # they can show an address as another one


class AnnouncementSerializer(serializers.ModelSerializer[Announcement]):
    """Something that administrators of the platform say. The text is plain: neither HTML nor Markdown."""

    organisation = OrganisationBriefSerializer(
        allow_null=True, help_text="Whose members it is for; null: for everybody."
    )
    state = serializers.SerializerMethodField(help_text="Whether it is shown now, not yet (scheduled), or no more.")
    published_by = serializers.SerializerMethodField(
        help_text="The user name of who published it; for platform administrators."
    )

    class Meta:
        model = Announcement
        fields = [
            "id", "text", "severity", "organisation", "begins_at", "ends_at", "is_dismissible", "state",
            "published_by", "published_at",
        ]  # fmt: skip
        extra_kwargs = described(
            id="The announcement's id.",
            text="What is said, plain text.",
            severity="information or warning.",
            begins_at="From when on it is shown.",
            ends_at="When it ends by itself; null: when it is deleted.",
            is_dismissible="Whether a person may put it away before it ends.",
            published_at="When it was published.",
        )

    def get_state(self, announcement: Announcement) -> AnnouncementState:
        return announcement.state(now=timezone.now())

    def get_published_by(self, announcement: Announcement) -> str:
        sees_name = self.context["request"].user.is_staff and announcement.published_by is not None
        return str(announcement.published_by.username) if sees_name and announcement.published_by else ""


class CurrentAnnouncementsSerializer(serializers.Serializer[Any]):
    """What is said to the caller now, without what the caller has dismissed."""

    announcements = AnnouncementSerializer(many=True, help_text="Warnings first, then the newest first.")
    next_change_at = serializers.DateTimeField(
        allow_null=True, help_text="When the next one of them begins or ends by itself; null: at no known time."
    )


class AnnouncementWriteSerializer(StrictSerializer):
    text = serializers.CharField(
        max_length=MOST_TEXT, help_text="What is said: plain text, shown as it is. Addresses in it are no links."
    )
    severity = serializers.ChoiceField(
        choices=Severity.choices, required=False, default=Severity.INFORMATION, help_text="information or warning."
    )
    organisation = serializers.UUIDField(
        required=False,
        allow_null=True,
        default=None,
        help_text="The id of the organisation that it is for; null or left out: everybody.",
    )
    begins_at = CalendarTimeField(
        required=False, allow_null=True, default=None, help_text="From when on it is shown; null or left out: from now."
    )
    ends_at = CalendarTimeField(
        required=False,
        allow_null=True,
        default=None,
        help_text="When it ends by itself; null or left out: when it is deleted.",
    )
    is_dismissible = serializers.BooleanField(
        required=False, default=True, help_text="Whether a person may put it away before it ends."
    )

    def validate_text(self, text: str) -> str:
        for character in text:
            if character in REORDERING or (unicodedata.category(character) == "Cc" and character != "\n"):
                raise serializers.ValidationError(
                    f"The character U+{ord(character):04X} is not shown as it is: leave it out."
                )
        return text

    def validate(self, given: dict[str, Any]) -> dict[str, Any]:
        now = timezone.now()
        begins_at: datetime = given["begins_at"] or now
        ends_at: datetime | None = given["ends_at"]
        if ends_at is not None and ends_at <= now:
            raise serializers.ValidationError({"ends_at": "This is in the past: give a time that is to come."})
        if ends_at is not None and ends_at <= begins_at:
            raise serializers.ValidationError({"ends_at": "It would end before it begins: give a later time."})
        return {**given, "begins_at": begins_at}
