# SPDX-License-Identifier: Apache-2.0
"""Charging a request once: to its user, or to its address when it has no valid credentials.

Imports no view: Django REST framework imports the throttle that uses this before its own views.
"""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv6Address, ip_address
from typing import TYPE_CHECKING

from django.conf import settings

from mlhub.core.rate_limits.buckets import Charge
from mlhub.core.rate_limits.limiter import rate_limiter
from mlhub.core.web.addresses import client_address

if TYPE_CHECKING:
    from django.http import HttpRequest

UNAUTHENTICATED = "unauthenticated"
VERDICT = "rate_limit_verdict"
ADDRESS_BITS = 64  # of IPv6: one customer has at least so many addresses


def charge_request(request: HttpRequest, charges: Sequence[Charge]) -> None:
    """Charges a request once; the middleware puts what is left into the answer. Raises RateLimitedError."""
    if hasattr(request, VERDICT) or not charges:
        return
    verdict = rate_limiter().charge(charges)
    setattr(request, VERDICT, verdict)
    if verdict.refused is not None:
        raise verdict.error()


def charge_address(request: HttpRequest) -> None:
    """Charges a request without valid credentials to its address. Raises RateLimitedError."""
    limits = settings.RATE_LIMITS.get(UNAUTHENTICATED, ())
    charge_request(request, [Charge(limit, network_of(client_address(request))) for limit in limits])


def network_of(address: str) -> str:
    """What counts as one address: an IPv4 address, or an IPv6 network of 64 bits."""
    try:
        found = ip_address(address)
    except ValueError:
        return "unknown"
    if isinstance(found, IPv6Address):
        if found.ipv4_mapped is not None:
            return str(found.ipv4_mapped)
        return f"{IPv6Address(int(found) >> ADDRESS_BITS << ADDRESS_BITS)}/{ADDRESS_BITS}"
    return str(found)
