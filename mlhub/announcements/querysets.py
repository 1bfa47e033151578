# SPDX-License-Identifier: Apache-2.0
"""Reads: whom an announcement concerns, and when it is shown."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, Self

from django.db.models import Q
from django.utils import timezone

from mlhub.tenants.querysets import TenantOwnedQuerySet

if TYPE_CHECKING:
    from mlhub.tenants.models import User


class AnnouncementQuerySet(TenantOwnedQuerySet):
    def visible_to(self, user: Any) -> Self:
        """Platform administrators see all; others those that are shown to them now."""
        if not user.is_authenticated:
            return self.none()
        return self.all() if user.is_staff else self.concerning(user).current(now=timezone.now())

    def concerning(self, user: User) -> Self:
        """Those for everybody, and for organisations of which the person is a member, as an outsider, too. A token for
        one organisation reads those of no other one.
        """
        of_members = Q(organisation__in=user.memberships.values("organisation"))
        if user.acting_token is not None:
            of_members &= Q(organisation=user.acting_token.organisation_id)
        return self.filter(Q(organisation=None) | of_members)

    def current(self, *, now: datetime) -> Self:
        """Those that have begun and have not ended."""
        return self.unended(now=now).filter(begins_at__lte=now)

    def unended(self, *, now: datetime) -> Self:
        """Those that have not ended, begun or not."""
        return self.filter(Q(ends_at=None) | Q(ends_at__gt=now))
