# SPDX-License-Identifier: Apache-2.0
"""Who sees from which address something was done: auditors, admins and owners of the organisation, and who did it."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib.auth.models import AnonymousUser

from mlhub.events.models import Event
from mlhub.tenants.models import User
from mlhub.tenants.roles import Role

ORIGIN = ("address", "user_agent")
MAY_SEE = [role.value for role in Role if role.covers(Role.AUDITOR)]


class OriginReader:
    """What of an event's facts one person sees; None: of no one in particular, as in a live stream."""

    def __init__(self, user: User | AnonymousUser | None) -> None:
        self._user_id: UUID | None = user.pk if isinstance(user, User) else None
        self._sees_all = isinstance(user, User) and user.is_staff
        self._organisations: frozenset[UUID] = frozenset()
        if isinstance(user, User) and not self._sees_all:
            audited = user.memberships.filter(role__in=MAY_SEE)
            self._organisations = frozenset(audited.values_list("organisation_id", flat=True))

    def facts_of(self, event: Event) -> dict[str, Any]:
        """The facts, without address and user agent unless the person may see them."""
        is_own = self._user_id is not None and event.actor_id == self._user_id
        if self._sees_all or is_own or event.organisation_id in self._organisations:
            return dict(event.facts)
        return {name: value for name, value in event.facts.items() if name not in ORIGIN}
