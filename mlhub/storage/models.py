# SPDX-License-Identifier: Apache-2.0
"""Blobs, named by their content, and holdings: which organisation keeps which blob for what."""

from __future__ import annotations

from django.db import models

from mlhub.core.ids import new_id
from mlhub.storage.querysets import BlobQuerySet, HoldingQuerySet
from mlhub.tenants.models import Organisation


class Blob(models.Model):
    """Immutable bytes; the primary key is their SHA-256 in hex."""

    sha256 = models.CharField(max_length=64, primary_key=True)
    size_bytes = models.PositiveBigIntegerField()
    created_at = models.DateTimeField(auto_now_add=True)

    objects = BlobQuerySet.as_manager()


class Holding(models.Model):
    """An organisation keeps a blob for its owner (a dataset version, model version ...). They add up to storage used.

    Two holdings of one blob by one organisation count once; two organisations are charged each.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="holdings")
    blob = models.ForeignKey(Blob, on_delete=models.PROTECT, related_name="holdings")
    owner_kind = models.CharField(max_length=30)  # dataset_version | model_version | artifact
    owner_id = models.UUIDField()
    created_at = models.DateTimeField(auto_now_add=True)

    objects = HoldingQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["owner_kind", "owner_id", "blob"], name="one_holding_per_owner_and_blob")
        ]
        indexes = [models.Index(fields=["organisation", "blob"])]
