# SPDX-License-Identifier: Apache-2.0
"""Whom a request is charged to: the token, its user and an organisation; without valid credentials, the address.

A person of several organisations is charged to the one of them that has most left, so that a busy one does not keep its
members from working for another.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from django.conf import settings
from rest_framework.permissions import SAFE_METHODS
from rest_framework.throttling import BaseThrottle

from mlhub.core.rate_limits.buckets import Charge
from mlhub.core.rate_limits.flows import remember_flow
from mlhub.core.rate_limits.requests import charge_address, charge_request
from mlhub.tenants.models import ApiToken, Membership, User

if TYPE_CHECKING:
    from uuid import UUID

    from django.http import HttpRequest
    from rest_framework.request import Request
    from rest_framework.views import APIView

ORGANISATION = "organisation"
MEMBERSHIPS_KNOWN_FOR_S = 30.0
MAX_KNOWN = 10_000
_known: dict[UUID, tuple[float, tuple[str, ...]]] = {}


class RequestThrottle(BaseThrottle):
    """The default throttle of API views. A view may name other budgets: rate_limit_budgets = {"POST": "uploads"}."""

    def allow_request(self, request: Request, view: APIView) -> bool:
        """Raises RateLimitedError, which has more to say than DRF's own."""
        if isinstance(request.user, User):
            token = request.auth if isinstance(request.auth, ApiToken) else None
            remember_flow(request._request, "/".join(_organisations_of(request.user)) or str(request.user.pk))
            charge_user(request._request, request.user, token=token, budget=budget_of(view, request.method or "GET"))
        else:
            charge_address(request._request)
        return True


def budget_of(view: Any, method: str) -> str:
    """reads, writes, or what the view names for this method."""
    usual = "reads" if method in SAFE_METHODS else "writes"
    budgets: dict[str, str] = getattr(view, "rate_limit_budgets", {})
    return budgets.get(method, usual)


def charge_user(request: HttpRequest, user: User, *, token: ApiToken | None, budget: str) -> None:
    """Charges a request of a known user. Raises RateLimitedError."""
    subjects: dict[str, tuple[str, ...]] = {"user": (str(user.pk),), "token": () if token is None else (str(token.pk),)}
    charges = []
    for limit in settings.RATE_LIMITS.get(budget, ()):
        found = _organisations_of(user) if limit.subject == ORGANISATION else subjects.get(limit.subject, ())
        charges += [Charge(limit, subject, alternative=limit.name) for subject in found]
    charge_request(request, charges)


def _organisations_of(user: User) -> tuple[str, ...]:
    """Read at most every 30 s; platform administrators without a membership belong to none."""
    now = time.monotonic()
    known = _known.get(user.pk)
    if known is None or known[0] < now:
        ids = Membership.objects.filter(user=user).order_by("organisation_id").values_list("organisation_id", flat=True)
        if len(_known) >= MAX_KNOWN:
            _known.clear()
        known = _known[user.pk] = (now + MEMBERSHIPS_KNOWN_FOR_S, tuple(map(str, ids)))
    return known[1]
