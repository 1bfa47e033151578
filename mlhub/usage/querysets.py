# SPDX-License-Identifier: Apache-2.0
"""Entries, filtered by who asks."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, Self

from django.db import models

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser

    from mlhub.tenants.models import User


class UsageEntryQuerySet(models.QuerySet[Any]):
    def visible_to(self, user: User | AnonymousUser) -> Self:
        """Platform administrators see all; others the organisations that they are members of."""
        if not user.is_authenticated:
            return self.none()
        if user.is_staff:
            return self.all()
        return self.filter(organisation_id__in=user.memberships.values("organisation"))

    def overlapping(self, since: datetime, until: datetime) -> Self:
        return self.filter(began_at__lt=until, ended_at__gt=since)
