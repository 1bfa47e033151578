# SPDX-License-Identifier: Apache-2.0
"""What rows have in common that are an organisation's, or its team's or project's, or that count for a time."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from django.db import models
from django.db.models.functions import Now

if TYPE_CHECKING:
    from mlhub.tenants.models import Organisation, Project, Team


class OfOwner(models.Model):
    """Of its columns project and team at most one is set; organisation always is."""

    if TYPE_CHECKING:
        organisation: models.ForeignKey[Organisation, Organisation]
        team: models.ForeignKey[Team | None, Team | None]
        project: models.ForeignKey[Project | None, Project | None]

    class Meta:
        abstract = True

    @property
    def owner(self) -> Organisation | Team | Project:
        """Whose it is: the nearest of the three."""
        return self.project or self.team or self.organisation


class OfTime(models.Model):
    """What counts from starts_at until ends_at. began_at: when its beginning was recorded; None while it is to come."""

    starts_at = models.DateTimeField(db_default=Now())
    began_at = models.DateTimeField(null=True, blank=True, db_default=Now())
    ends_at = models.DateTimeField(db_index=True)

    class Meta:
        abstract = True

    def has_begun(self, at: datetime) -> bool:
        """Whether its beginning is over at that moment, or was recorded."""
        return self.began_at is not None or self.starts_at <= at

    def counts(self, at: datetime) -> bool:
        """Whether it counts at a moment that is not over, if it is not ended before."""
        return self.has_begun(at) and at < self.ends_at
