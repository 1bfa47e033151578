# SPDX-License-Identifier: Apache-2.0
"""Entries by time."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Self

from django.db import models


class UsageEntryQuerySet(models.QuerySet[Any]):
    def overlapping(self, since: datetime, until: datetime) -> Self:
        return self.filter(began_at__lt=until, ended_at__gt=since)
