# SPDX-License-Identifier: Apache-2.0
"""Which addresses of users' choice the platform calls: public ones by https, and never what only it can reach.

A setting names hosts and networks inside the site that are allowed too, also by plain http. What a name resolves to is
checked and then called, so that it cannot change between check and call.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import SplitResult, urlsplit

from mlhub.core.errors import InvalidInputError
from mlhub.core.web.addresses import Address

NAT64 = IPv6Network("64:ff9b::/96")
# which ipaddress counts as global: site-local, IPv4-compatible, IPv4-translated, local NAT64
INSIDE = tuple(map(IPv6Network, ("fec0::/10", "::/96", "::ffff:0:0:0/96", "64:ff9b:1::/48")))
PORTS = {"https": 443, "http": 80}


class DestinationError(Exception):
    """The address may not be called; the text says why."""


class UnknownHostError(DestinationError):
    """The name service knows no address of the host, at least now."""


@dataclass(frozen=True)
class Destination:
    """address: what the name resolved to, which is called, so that it cannot change between check and call."""

    url: str
    host: str
    port: int
    address: str


@dataclass(frozen=True)
class AllowedInside:
    """hosts: names and networks inside the site that may be called, from the setting of that name."""

    setting: str
    hosts: Sequence[str]


def check_url(
    url: str, inside: AllowedInside, *, field: str = "url", example: str = "https://example.org/hooks"
) -> None:
    """What can be said without asking the name service. Raises InvalidInputError."""
    try:
        parts, _ = _parts(url)
    except (DestinationError, ValueError) as error:
        raise InvalidInputError(
            f"This address cannot be used: {error}", field=field, remedy=f"Give one like {example}."
        ) from error
    literal = _literal(parts.hostname or "")
    try:
        if literal is not None:
            _require_allowed(parts, [literal], inside)
    except DestinationError as error:
        raise InvalidInputError(
            str(error),
            field=field,
            remedy=f"Give a public address, or ask an administrator to allow it in {inside.setting}.",
        ) from error
    if parts.scheme != "https" and not _is_allowed_host(parts.hostname or "", inside) and literal is None:
        raise InvalidInputError(
            f"{parts.hostname} is not called by plain http.",
            field=field,
            remedy="Give an address that begins with https://, or ask an administrator to allow the host in "
            f"{inside.setting}.",
        )


async def resolve(url: str, inside: AllowedInside) -> Destination:
    """Raises DestinationError when the name is not known, or when any of its addresses may not be called."""
    host, port = _host_and_port(url)
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise UnknownHostError(f"The name {host} is not known: {error.strerror or error}.") from error
    return _checked(url, [str(entry[4][0]) for entry in found], inside)


def resolve_blocking(url: str, inside: AllowedInside) -> Destination:
    """As resolve(), for code without an event loop."""
    host, port = _host_and_port(url)
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UnknownHostError(f"The name {host} is not known: {reason}.") from error
    return _checked(url, [str(entry[4][0]) for entry in found], inside)


def _host_and_port(url: str) -> tuple[str, int]:
    try:
        parts, port = _parts(url)
    except ValueError as error:
        raise DestinationError(str(error)) from error
    return parts.hostname or "", port


def _checked(url: str, found: Iterable[str], inside: AllowedInside) -> Destination:
    parts, port = _parts(url)
    addresses = [ip_address(name.partition("%")[0]) for name in found]
    _require_allowed(parts, addresses, inside)
    return Destination(url, parts.hostname or "", port, str(addresses[0]))


def _parts(url: str) -> tuple[SplitResult, int]:
    """Raises DestinationError, ValueError."""
    parts = urlsplit(url)
    if parts.scheme not in PORTS or not parts.hostname:
        raise DestinationError("it is no address that begins with https://.")
    if parts.username is not None or parts.password is not None:
        raise DestinationError("it contains a user name or password.")
    if any(character.isspace() or ord(character) < 32 for character in url):
        raise DestinationError("it contains blanks.")
    return parts, parts.port or PORTS[parts.scheme]


def _require_allowed(parts: SplitResult, addresses: Iterable[Address], inside: AllowedInside) -> None:
    host = parts.hostname or ""
    if _is_allowed_host(host, inside):
        return
    for address in addresses:
        if _in_allowed_network(address, inside):
            continue
        if not is_public(address):
            if host == str(address):
                raise DestinationError(f"The address {host} is not a public one.")
            raise DestinationError(f"{host} is the address {address}, which is not a public one.")
        if parts.scheme != "https":
            raise DestinationError(f"{host} is not called by plain http.")


def is_public(address: Address) -> bool:
    """Whether the address is one of the internet, also by what it embeds (IPv4 in IPv6, 6to4, Teredo, NAT64)."""
    if isinstance(address, IPv6Address):
        embedded = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
        if address in NAT64:
            embedded.append(IPv4Address(int(address) & 0xFFFFFFFF))
        if any(address in network for network in INSIDE):
            return False
        if any(inner is not None and not is_public(inner) for inner in embedded):
            return False
        if address.ipv4_mapped is not None:
            return True
    return address.is_global and not address.is_multicast


def _literal(host: str) -> Address | None:
    try:
        return ip_address(host)
    except ValueError:
        return None


def _is_allowed_host(host: str, inside: AllowedInside) -> bool:
    return host.lower() in {name.lower() for name in inside.hosts}


def _in_allowed_network(address: Address, inside: AllowedInside) -> bool:
    return any(address in network for network in map(_network, inside.hosts) if network is not None)


def _network(name: str) -> IPv4Network | IPv6Network | None:
    try:
        return ip_network(name, strict=False)
    except ValueError:
        return None
