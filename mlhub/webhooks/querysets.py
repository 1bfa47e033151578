# SPDX-License-Identifier: Apache-2.0
"""Deliveries by what is to be sent now."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db.models import F, Window
from django.db.models.functions import RowNumber

from mlhub.tenants.querysets import TenantOwnedQuerySet


class DeliveryQuerySet(TenantOwnedQuerySet):
    organisation_path = "webhook__organisation"

    def due(self, now: datetime, *, at_most: int, per_organisation: int, per_webhook: int) -> list[Any]:
        """Oldest first, a few of each webhook and organisation: many, or a slow receiver, delay no other."""
        waiting = self.filter(state="waiting", due_at__lte=now, webhook__is_active=True).select_related("webhook")
        oldest = F("due_at").asc()
        of_webhook = waiting.annotate(place=Window(RowNumber(), partition_by=F("webhook"), order_by=oldest))
        few = self.filter(pk__in=of_webhook.filter(place__lte=per_webhook).values("pk")).select_related("webhook")
        place = Window(RowNumber(), partition_by=F("webhook__organisation"), order_by=oldest)
        return list(few.annotate(place=place).filter(place__lte=per_organisation).order_by("due_at")[:at_most])
