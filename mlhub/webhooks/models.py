# SPDX-License-Identifier: Apache-2.0
"""Webhook: an address of an organisation that is notified of events. Delivery: one event on its way to one address.

MailNotices: what a person is notified of by e-mail.
"""

from __future__ import annotations

from django.db import models

from mlhub.core.ids import new_id
from mlhub.tenants.models import Organisation, User
from mlhub.tenants.querysets import TenantOwnedQuerySet
from mlhub.webhooks.querysets import DeliveryQuerySet


class Webhook(models.Model):
    """after_event_id: the last event that was looked at, so that none is passed over and none is delivered twice anew.

    encrypted_secret: signs deliveries (signing.py). failing_since: when the first delivery failed since one succeeded.
    disabled_reason: why the platform stopped it; "" while it is active, and when a person stopped it.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="webhooks")
    url = models.CharField(max_length=2000)
    topics = models.JSONField(default=list)
    encrypted_secret = models.BinaryField()
    is_active = models.BooleanField(default=True)
    disabled_reason = models.CharField(max_length=300, blank=True)
    failing_since = models.DateTimeField(null=True, blank=True)
    after_event_id = models.BigIntegerField(default=0)
    created_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    objects = TenantOwnedQuerySet.as_manager()


class MailNotices(models.Model):
    """What a user is notified of by e-mail: topics of the jobs that the user submitted."""

    user = models.OneToOneField(User, on_delete=models.CASCADE, primary_key=True, related_name="mail_notices")
    topics = models.JSONField(default=list)
    changed_at = models.DateTimeField(auto_now=True)


class MailCursor(models.Model):
    """The last event that was looked at for e-mail, in one row. n_tries: how often the next message was refused."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    after_event_id = models.BigIntegerField(default=0)
    n_tries = models.PositiveSmallIntegerField(default=0)

    class Meta:
        constraints = [models.CheckConstraint(condition=models.Q(id=1), name="one_cursor_of_mail")]


class DeliveryState(models.TextChoices):
    WAITING = "waiting"
    DELIVERED = "delivered"
    FAILED = "failed"


class Delivery(models.Model):
    """id: the same in every attempt, by which a receiver knows what it has already. event_id: null for a test.

    body: what is sent, as text, so that each attempt sends the same bytes. status_code: of the last answer; null where
    there was none, and then error says why.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    webhook = models.ForeignKey(Webhook, on_delete=models.CASCADE, related_name="deliveries", db_index=False)
    event_id = models.BigIntegerField(null=True)
    topic = models.CharField(max_length=50)
    body = models.TextField()
    state = models.CharField(max_length=10, choices=DeliveryState, default=DeliveryState.WAITING)
    n_attempts = models.PositiveSmallIntegerField(default=0)
    due_at = models.DateTimeField()
    status_code = models.PositiveSmallIntegerField(null=True)
    error = models.CharField(max_length=300, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True)

    objects = DeliveryQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "deliveries"
        constraints = [models.UniqueConstraint(fields=["webhook", "event_id"], name="one_delivery_per_event")]
        indexes = [
            models.Index(fields=["due_at"], condition=models.Q(state="waiting"), name="deliveries_due"),
            models.Index(fields=["webhook", "created_at"]),
            models.Index(fields=["ended_at"]),
        ]
