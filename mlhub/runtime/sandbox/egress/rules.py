# SPDX-License-Identifier: Apache-2.0
"""Which hosts a sandbox may reach, and by which proxy of the site the way there leads. Standard library only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ipaddress import IPv4Address, IPv6Address

NAT64 = "64:ff9b::/96"
METADATA = ("fd00:ec2::254",)  # of a cloud, where it is not link-local


@dataclass(frozen=True)
class EgressDestination:
    """is_configured: an administrator named it as the package index itself, which may be anywhere. Any other host is
    refused at a private address, but for one of the site's network where the index is there, too."""

    host: str
    port: int
    is_configured: bool


@dataclass(frozen=True)
class EgressRules:
    """destinations: all that is reached. proxies: of the site, by scheme ("http", "https"), with credentials in the
    address. without_proxy: hosts and domains that are reached without one, as in NO_PROXY; "*" = all. certificates: of
    the authorities, in PEM, that a proxy of https:// is checked by; "" = those of this machine."""

    destinations: tuple[EgressDestination, ...]
    proxies: tuple[tuple[str, str], ...] = ()
    without_proxy: tuple[str, ...] = ()
    certificates: str = ""

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> EgressRules:
        return cls(
            tuple(EgressDestination(**each) for each in fields["destinations"]),
            tuple((scheme, url) for scheme, url in fields["proxies"]),
            tuple(fields["without_proxy"]),
            fields["certificates"],
        )

    def destination(self, host: str, port: int) -> EgressDestination | None:
        """The one that is meant; None for a host or a port that may not be reached."""
        name = normalised(host)
        found = [each for each in self.destinations if (normalised(each.host), each.port) == (name, port)]
        return max(found, key=lambda each: each.is_configured, default=None)

    def proxy(self, scheme: str, host: str) -> str:
        """The address of the site's proxy for this host; "" = none."""
        name = normalised(host)
        for entry in self.without_proxy:
            plain = normalised(entry.strip()).lstrip(".")
            if plain == "*" or (plain and (name == plain or name.endswith(f".{plain}"))):
                return ""
        return dict(self.proxies).get(scheme, "")


def normalised(host: str) -> str:
    return host.lower().strip("[]").rstrip(".")


def is_public(address: str) -> bool:
    """Whether the IP address belongs to the internet: not to this machine, its networks, or services of its cloud."""
    found = _read(address)
    return found is not None and found.is_global and not found.is_multicast and not found.is_reserved


def is_of_site(address: str) -> bool:
    """Whether the IP address belongs to a private network, and is neither this machine's own, nor link-local or another
    one where a cloud has its metadata."""
    found = _read(address)
    if found is None or str(found) in METADATA:
        return False
    is_own = found.is_loopback or found.is_link_local or found.is_unspecified or found.is_multicast
    return not is_own and found.is_private


def _read(address: str) -> IPv4Address | IPv6Address | None:
    """The address; of one that stands for an IPv4 address in IPv6, that one. None for what is no address."""
    import ipaddress  # for the proxy alone

    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return None
    if isinstance(found, ipaddress.IPv4Address):
        return found
    if found in ipaddress.IPv6Network(NAT64):
        return ipaddress.IPv4Address(int(found) & 0xFFFFFFFF)
    return found.ipv4_mapped or found.sixtofour or found
