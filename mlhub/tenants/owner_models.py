# SPDX-License-Identifier: Apache-2.0
"""What rows have in common that are an organisation's, or its team's or project's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import models

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
