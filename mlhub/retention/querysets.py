# SPDX-License-Identifier: Apache-2.0
"""Reads of deletions of organisations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from django.db import models

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser

    from mlhub.tenants.models import User


class OrganisationDeletionQuerySet(models.QuerySet[Any]):
    def visible_to(self, user: User | AnonymousUser) -> Self:
        """Those that the user asked for; platform administrators see all."""
        if not user.is_authenticated or user.acting_token is not None:
            return self.none()
        return self.all() if user.is_staff else self.filter(requested_by=user)

    def running(self) -> Self:
        return self.filter(ended_at=None)
