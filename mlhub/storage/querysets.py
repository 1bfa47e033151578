# SPDX-License-Identifier: Apache-2.0
"""Reads of blobs, holdings, uploads under way, and the sandbox's queue and runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from django.db import models
from django.utils import timezone

from mlhub.tenants.querysets import TenantOwnedQuerySet

if TYPE_CHECKING:
    from datetime import datetime

    from django.contrib.auth.models import AnonymousUser

    from mlhub.tenants.models import Organisation, User


class BlobQuerySet(models.QuerySet[Any]):
    def unheld_since(self, at: datetime) -> Self:
        """Selects blobs that were made before that time and that no owner holds now."""
        return self.filter(created_at__lt=at, holdings=None)


class HoldingQuerySet(TenantOwnedQuerySet):
    def used_bytes(self, organisation: Organisation, user: User | None = None) -> int:
        """Storage that the organisation uses, or one user of it: each blob counts once, however often it is held."""
        rows = self.filter(organisation=organisation)
        return (rows if user is None else rows.filter(user=user)).size_bytes()

    def size_bytes(self) -> int:
        """Bytes of these holdings: each blob counts once, however often it is held."""
        held = self.values("blob").distinct()
        return int(held.aggregate(total=models.Sum("blob__size_bytes"))["total"] or 0)


class ResumableUploadQuerySet(TenantOwnedQuerySet):
    organisation_path = "project__organisation"

    def visible_to(self, user: User | AnonymousUser) -> Self:
        """Those that the user began, in organisations that the user still belongs to."""
        found = super().visible_to(user)
        return found.filter(user=user) if user.is_authenticated else found

    def reserved_bytes(self, organisation: Organisation, user: User | None = None) -> int:
        """Storage that uploads under way, or those of one user, will use: their whole lengths. Concatenations count by
        their parts.
        """
        rows = self.filter(project__organisation=organisation)
        return (rows if user is None else rows.filter(user=user)).length_bytes()

    def length_bytes(self) -> int:
        """Lengths of these uploads; concatenations count by their parts."""
        return int(self.filter(part_ids=[]).aggregate(total=models.Sum("length_bytes"))["total"] or 0)


class UploadPartQuerySet(TenantOwnedQuerySet):
    organisation_path = "upload__project__organisation"


class CompletedUploadQuerySet(TenantOwnedQuerySet):
    organisation_path = "project__organisation"

    def visible_to(self, user: User | AnonymousUser) -> Self:
        """Those that the user completed, in organisations that the user still belongs to."""
        found = super().visible_to(user)
        return found.filter(user=user) if user.is_authenticated else found


class WorkItemQuerySet(TenantOwnedQuerySet):
    def open(self) -> Self:
        """Waiting or under way."""
        return self.filter(ended_at=None)

    def waiting(self) -> Self:
        return self.open().filter(started_at=None)

    def running(self) -> Self:
        return self.open().exclude(started_at=None)

    def due(self) -> Self:
        """Waiting, and not for a later time."""
        return self.waiting().filter(models.Q(not_before=None) | models.Q(not_before__lte=timezone.now()))


class SandboxRunQuerySet(TenantOwnedQuerySet):
    organisation_path = "project__organisation"

    def open(self) -> Self:
        """Not ended: the cluster has yet to make the run, or to finish it."""
        return self.filter(ended_at=None)
