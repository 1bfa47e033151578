# SPDX-License-Identifier: Apache-2.0
"""Reads of blobs and holdings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from django.db import models

from mlhub.tenants.querysets import TenantOwnedQuerySet

if TYPE_CHECKING:
    from datetime import datetime

    from mlhub.tenants.models import Organisation


class BlobQuerySet(models.QuerySet[Any]):
    def unheld_since(self, at: datetime) -> Self:
        """Selects blobs that were made before that time and that no owner holds now."""
        return self.filter(created_at__lt=at, holdings=None)


class HoldingQuerySet(TenantOwnedQuerySet):
    def used_bytes(self, organisation: Organisation) -> int:
        """Storage that the organisation uses: each blob that it holds counts once, however often it holds it."""
        held = self.filter(organisation=organisation).values("blob").distinct()
        total = held.aggregate(total=models.Sum("blob__size_bytes"))["total"]
        return int(total or 0)
