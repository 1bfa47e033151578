# SPDX-License-Identifier: Apache-2.0
"""Reads of events."""

from __future__ import annotations

from typing import Self

from mlhub.tenants.querysets import TenantOwnedQuerySet


class EventQuerySet(TenantOwnedQuerySet):
    def after(self, event_id: int) -> Self:
        """Those that came later, oldest first."""
        return self.filter(id__gt=event_id).order_by("id")
