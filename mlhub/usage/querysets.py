# SPDX-License-Identifier: Apache-2.0
"""Entries by time."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Self

from django.db.models import Q

from mlhub.tenants.querysets import TenantOwnedQuerySet
from mlhub.tenants.reach import organisations_seen_by, projects_seen_by

if TYPE_CHECKING:
    from mlhub.tenants.models import User


class UsageEntryQuerySet(TenantOwnedQuerySet):
    organisation_path = "organisation_id"
    project_path = "project_id"

    def _seen_by(self, user: User) -> Self:
        """Also those of projects that were deleted since, to who sees the organisation."""
        of_whole = Q(organisation_id__in=organisations_seen_by(user))
        return self.filter(of_whole | Q(project_id__in=projects_seen_by(user)))

    def overlapping(self, since: datetime, until: datetime) -> Self:
        return self.filter(began_at__lt=until, ended_at__gt=since)
