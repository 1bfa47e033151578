# SPDX-License-Identifier: Apache-2.0
"""Event: something happened, for good. Rows are only ever appended (actions.append)."""

from __future__ import annotations

from django.db import models

from mlhub.events.querysets import EventQuerySet
from mlhub.tenants.models import Organisation, User


class Event(models.Model):
    """kind: "job.state", "dataset.ready" ...; subject: what it happened to; facts: the numbers and reasons, JSON.

    id rises in commit order (actions.append takes a lock), so it serves as a cursor that skips nothing.
    """

    id = models.BigAutoField(primary_key=True)
    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, null=True, related_name="events")
    kind = models.CharField(max_length=50)
    subject_kind = models.CharField(max_length=30)
    subject_id = models.UUIDField(null=True)
    actor = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")  # null = the platform
    at = models.DateTimeField()
    facts = models.JSONField(default=dict)

    objects = EventQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index(fields=["subject_id", "id"]),
            models.Index(fields=["organisation", "id"]),
        ]
