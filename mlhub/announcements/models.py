# SPDX-License-Identifier: Apache-2.0
"""An announcement, and who has dismissed it."""

from __future__ import annotations

from datetime import datetime

from django.db import models

from mlhub.announcements.querysets import AnnouncementQuerySet
from mlhub.core.ids import new_id
from mlhub.tenants.models import Organisation, User

MOST_TEXT = 500


class Severity(models.TextChoices):
    INFORMATION = "information"
    WARNING = "warning"


class AnnouncementState(models.TextChoices):
    SCHEDULED = "scheduled"
    CURRENT = "current"
    ENDED = "ended"


class Announcement(models.Model):
    """A plain text that pages show from begins_at until ends_at (None = until it is deleted). It is never changed.

    organisation: whose members it is for; None = everybody.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, null=True, related_name="announcements")
    text = models.CharField(max_length=MOST_TEXT)
    severity = models.CharField(max_length=20, choices=Severity.choices)
    begins_at = models.DateTimeField()
    ends_at = models.DateTimeField(null=True)
    is_dismissible = models.BooleanField()
    published_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    published_at = models.DateTimeField()

    objects = AnnouncementQuerySet.as_manager()

    def state(self, *, now: datetime) -> AnnouncementState:
        """Whether it is shown now, not yet, or no more."""
        if self.begins_at > now:
            return AnnouncementState.SCHEDULED
        is_over = self.ends_at is not None and self.ends_at <= now
        return AnnouncementState.ENDED if is_over else AnnouncementState.CURRENT


class AnnouncementDismissal(models.Model):
    """This person has read the announcement and does not want to see it any more."""

    id = models.BigAutoField(primary_key=True)
    announcement = models.ForeignKey(Announcement, on_delete=models.CASCADE, related_name="dismissals", db_index=False)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["announcement", "user"], name="dismissed_once")]
