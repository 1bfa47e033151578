# SPDX-License-Identifier: Apache-2.0
"""Which address a request came from, when proxies stand between: lock-outs, the audit, logs and rate limits ask here.

A proxy is believed only when its own address is in settings.TRUSTED_PROXIES; anybody else may write what they like into
X-Forwarded-For, -Proto and -Host. uvicorn must not rewrite addresses itself: it is started with --no-proxy-headers.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any

from asgiref.sync import iscoroutinefunction
from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.decorators import sync_and_async_middleware

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network
MAX_HOPS = 20  # entries of X-Forwarded-For that are looked at
FORWARDED_SCHEME, FORWARDED_HOST = "HTTP_X_FORWARDED_PROTO", "HTTP_X_FORWARDED_HOST"


def networks(names: Iterable[str]) -> tuple[Network, ...]:
    """The networks of a setting. names: addresses or CIDR blocks. Raises ValueError for what is neither."""
    return tuple(ip_network(name.strip()) for name in names if name.strip())


def client_address(request: HttpRequest) -> str:
    """The address that the request came from, as text; "" when the server listens on a socket without addresses.

    From a trusted proxy, it is the right-most entry of X-Forwarded-For that is no trusted proxy: entries further left
    were written by clients. An entry that is no address ends the search at the hop that reported it.
    """
    peer = _address(request.META.get("REMOTE_ADDR") or "")
    if peer is None:
        return ""
    found = peer
    hops = (request.META.get("HTTP_X_FORWARDED_FOR") or "").split(",")
    for hop in reversed(hops[-MAX_HOPS:]):
        if not _is_trusted(found):
            break
        earlier = _address(hop)
        if earlier is None:
            break
        found = earlier
    return str(found)


@sync_and_async_middleware
def trusted_proxies_middleware(
    get_response: Callable[[HttpRequest], Any],
) -> Callable[[HttpRequest], HttpResponseBase | Awaitable[HttpResponseBase]]:
    """Removes X-Forwarded-Proto and X-Forwarded-Host of requests that did not come from a trusted proxy.

    Django believes both headers (SECURE_PROXY_SSL_HEADER, USE_X_FORWARDED_HOST); where a chain of proxies appended
    to them, only the right-most entry stays, which the trusted proxy wrote.
    """
    if iscoroutinefunction(get_response):

        async def answer_async(request: HttpRequest) -> HttpResponseBase:
            _keep_trusted_headers(request)
            response: HttpResponseBase = await get_response(request)
            return response

        return answer_async

    def answer(request: HttpRequest) -> HttpResponseBase:
        _keep_trusted_headers(request)
        response: HttpResponseBase = get_response(request)
        return response

    return answer


def _keep_trusted_headers(request: HttpRequest) -> None:
    peer = _address(request.META.get("REMOTE_ADDR") or "")
    is_trusted = peer is not None and _is_trusted(peer)
    for name in (FORWARDED_SCHEME, FORWARDED_HOST):
        value = request.META.pop(name, "").rpartition(",")[2].strip()
        if is_trusted and value:
            request.META[name] = value


def _is_trusted(address: Address) -> bool:
    trusted: Sequence[Network] = settings.TRUSTED_PROXIES
    return any(address.version == network.version and address in network for network in trusted)


def _address(text: str) -> Address | None:
    """192.0.2.1, 192.0.2.1:8080, 2001:db8::1 and [2001:db8::1]:8080; IPv4 addresses mapped into IPv6 as IPv4."""
    text = text.strip()
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        found = ip_address(text)
    except ValueError:
        return None
    mapped = found.ipv4_mapped if isinstance(found, IPv6Address) else None
    return mapped or found
