# SPDX-License-Identifier: Apache-2.0
"""Entries by time."""

from __future__ import annotations

from datetime import datetime
from typing import Self

from mlhub.tenants.querysets import TenantOwnedQuerySet


class UsageEntryQuerySet(TenantOwnedQuerySet):
    organisation_path = "organisation_id"
    project_path = "project_id"

    def overlapping(self, since: datetime, until: datetime) -> Self:
        return self.filter(began_at__lt=until, ended_at__gt=since)
