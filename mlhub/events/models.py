# SPDX-License-Identifier: Apache-2.0
"""Event: something happened, for good. Rows are only ever appended (actions.append)."""

from __future__ import annotations

from django.db import models

from mlhub.events.chain import GENESIS
from mlhub.events.querysets import EventQuerySet
from mlhub.tenants.models import Organisation, User


class Event(models.Model):
    """kind: "job.state", "dataset.ready" ...; subject: what it happened to; facts: the numbers and reasons, JSON.

    id rises in commit order (actions.append takes a lock), so it serves as a cursor that skips nothing. The hashes link
    each event with the one before (chain.py). The database refuses to change and to delete events (migration 0004).
    """

    id = models.BigAutoField(primary_key=True)
    # no constraints: an event stays as it was written when its organisation or its actor is deleted
    organisation = models.ForeignKey(
        Organisation, on_delete=models.DO_NOTHING, null=True, related_name="events", db_constraint=False, db_index=False
    )
    kind = models.CharField(max_length=50)
    subject_kind = models.CharField(max_length=30)
    subject_id = models.UUIDField(null=True)
    # null = the platform
    actor = models.ForeignKey(User, on_delete=models.DO_NOTHING, null=True, related_name="+", db_constraint=False)
    at = models.DateTimeField()
    facts = models.JSONField(default=dict)
    previous_hash = models.CharField(max_length=64)
    hash = models.CharField(max_length=64)

    objects = EventQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index(fields=["subject_id", "id"]),
            models.Index(fields=["organisation", "id"]),
        ]

    def actor_name(self) -> str | None:
        """The user name of who did it, also when the account was deleted since; None for the platform itself."""
        if self.actor_id is None:
            return None
        found = User.objects.filter(pk=self.actor_id).first() if "actor" not in self._state.fields_cache else self.actor
        if found is not None:
            return str(found.username)
        deleted = Event.objects.filter(kind="user.deleted", subject_id=self.actor_id)
        name = deleted.values_list("facts__username", flat=True).first()
        return str(name or f"deleted account {self.actor_id}")


class ChainHead(models.Model):
    """The end of the chain of events, in one row: so that events which are missing at the end are found, too.

    hash: of the newest event. n_events: how many there are. first_hash: what the oldest one has as previous_hash.
    """

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    hash = models.CharField(max_length=64, default=GENESIS)
    n_events = models.PositiveBigIntegerField(default=0)
    first_hash = models.CharField(max_length=64, default=GENESIS)

    class Meta:
        constraints = [models.CheckConstraint(condition=models.Q(id=1), name="one_head_of_the_chain")]
