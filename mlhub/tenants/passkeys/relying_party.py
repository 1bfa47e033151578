# SPDX-License-Identifier: Apache-2.0
"""For which site passkeys are made: it follows from MLHUB_PUBLIC_URL, and only its own pages may use them."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from urllib.parse import urlsplit

from django.conf import settings

LOCALHOST = "localhost"
USUAL_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True)
class RelyingParty:
    """id: the host name that passkeys are bound to. origin: of the only pages whose answers count."""

    id: str
    origin: str


def relying_party() -> RelyingParty | None:
    """None where browsers refuse passkeys: over plain http, but for localhost, and where the host is an address.

    This machine's own addresses are no host names, so a platform on them has its passkeys at localhost.
    """
    parts = urlsplit(settings.PUBLIC_URL)
    host = (parts.hostname or "").encode("idna").decode()
    if (address := _address(host)) is not None:
        if not address.is_loopback:
            return None
        host = LOCALHOST
    is_local = host == LOCALHOST or host.endswith(f".{LOCALHOST}")
    if not host or (parts.scheme != "https" and not is_local):
        return None
    port = "" if parts.port in (None, USUAL_PORTS.get(parts.scheme)) else f":{parts.port}"
    return RelyingParty(host, f"{parts.scheme}://{host}{port}")


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None
