# SPDX-License-Identifier: Apache-2.0
"""Reads of environments."""

from __future__ import annotations

from datetime import datetime
from typing import Self

from mlhub.tenants.querysets import TenantOwnedQuerySet


class EnvironmentQuerySet(TenantOwnedQuerySet):
    def unused_since(self, before: datetime) -> Self:
        """Built, or failed, before that time, and required by no version of code; the oldest first."""
        return self.filter(versions=None, finished_at__lt=before).order_by("finished_at", "id")
