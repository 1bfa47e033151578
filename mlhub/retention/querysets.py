# SPDX-License-Identifier: Apache-2.0
"""Reads of deletions of organisations and projects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from django.db import models

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser

    from mlhub.tenants.models import User


class TenantDeletionQuerySet(models.QuerySet[Any]):
    def running(self) -> Self:
        return self.filter(ended_at=None)


class OrganisationDeletionQuerySet(TenantDeletionQuerySet):
    def visible_to(self, user: User | AnonymousUser) -> Self:
        """Those that the user asked for, within the token of the request; platform administrators see all."""
        if not user.is_authenticated:
            return self.none()
        found = self.all() if user.is_staff else self.filter(requested_by=user)
        token = user.acting_token
        if token is None or token.organisation_id is None:
            return found
        return found.filter(organisation_id=token.organisation_id) if token.project_id is None else found.none()


class ProjectDeletionQuerySet(TenantDeletionQuerySet):
    def visible_to(self, user: User | AnonymousUser) -> Self:
        """Those that the user asked for, within the token of the request; platform administrators see all."""
        if not user.is_authenticated:
            return self.none()
        found = self.all() if user.is_staff else self.filter(requested_by=user)
        token = user.acting_token
        if token is None or token.organisation_id is None:
            return found
        within = {"organisation_id": token.organisation_id}
        return found.filter(**within, **({} if token.project_id is None else {"project_id": token.project_id}))
