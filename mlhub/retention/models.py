# SPDX-License-Identifier: Apache-2.0
"""Deletions of whole organisations, which outlive them."""

from __future__ import annotations

from django.db import models

from mlhub.core.ids import new_id
from mlhub.retention.querysets import OrganisationDeletionQuerySet
from mlhub.tenants.models import User


class OrganisationDeletion(models.Model):
    """One that was asked for, and how far it is. No foreign key to the organisation: the row stays when that is gone.

    n_total: things that there were at the beginning. counts: what was there, by kind. step: what is being removed.
    problem: why it does not go on, in words. shared_blobs: that others hold too, which stay; later_blobs: that an
    upload stored lately, which the next collections remove.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    organisation_id = models.UUIDField()
    name = models.CharField(max_length=100)
    requested_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    requested_at = models.DateTimeField(auto_now_add=True)
    counts = models.JSONField(default=dict)
    n_total = models.PositiveBigIntegerField()
    n_removed = models.PositiveBigIntegerField(default=0)
    step = models.CharField(max_length=30, blank=True)
    problem = models.TextField(blank=True)
    bytes_removed = models.PositiveBigIntegerField(default=0)
    shared_blobs = models.PositiveBigIntegerField(default=0)
    later_blobs = models.PositiveBigIntegerField(default=0)
    ended_at = models.DateTimeField(null=True)

    objects = OrganisationDeletionQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["organisation_id"], condition=models.Q(ended_at=None), name="one_deletion_of_organisation"
            )
        ]
