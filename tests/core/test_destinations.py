# SPDX-License-Identifier: Apache-2.0
"""Which addresses of users' choice the platform calls."""

from __future__ import annotations

import asyncio
from ipaddress import ip_address

import pytest

from mlhub.core.errors import InvalidInputError
from mlhub.core.security.destinations import (
    AllowedInside,
    DestinationError,
    check_url,
    is_public,
    resolve,
    resolve_blocking,
)

NOTHING = AllowedInside("MLHUB_SITE_ALLOW", ())


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "10.0.0.8", "172.16.3.4", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1",
        "::1", "fe80::1", "fc00::1", "::ffff:10.0.0.8", "2002:7f00:1::", "64:ff9b::a9fe:a9fe",
        "fec0::1", "::10.0.0.8", "::ffff:0:10.0.0.8", "64:ff9b:1::1",
    ],
)  # fmt: skip
def test_addresses_inside_are_not_public(address: str) -> None:
    assert not is_public(ip_address(address))


@pytest.mark.parametrize("address", ["93.184.215.14", "2606:2800:21f::1", "::ffff:93.184.215.14", "64:ff9b::5db8:d70e"])
def test_addresses_of_the_internet_are_public(address: str) -> None:
    assert is_public(ip_address(address))


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("example.org/hook", "begins with https://"),
        ("ftp://example.org/", "begins with https://"),
        ("https://user:password@example.org/", "user name or password"),
        ("https://127.0.0.1:8000/admin", "The address 127.0.0.1 is not a public one"),
        ("https://[::1]/", "not a public one"),
        ("http://93.184.215.14/", "plain http"),
        ("http://example.org/", "plain http"),
        ("https://example.org:99999/", "Port out of range"),
        ("https://exa mple.org/", "blanks"),
    ],
)
def test_an_address_that_may_not_be_called_is_refused_by_field(url: str, words: str) -> None:
    with pytest.raises(InvalidInputError, match=words) as refused:
        check_url(url, NOTHING)
    assert refused.value.field == "url"
    assert refused.value.remedy


def test_a_name_that_leads_inside_is_found_when_it_is_called() -> None:
    with pytest.raises(DestinationError, match="not a public one"):
        asyncio.run(resolve("https://localhost/hook", NOTHING))
    with pytest.raises(DestinationError, match="not a public one"):
        resolve_blocking("https://localhost/hook", NOTHING)


def test_a_site_may_allow_its_own_hosts_and_networks() -> None:
    inside = AllowedInside("MLHUB_SITE_ALLOW", ["chat.internal", "10.1.0.0/16", "localhost"])
    check_url("http://chat.internal/hook", inside)
    check_url("http://10.1.2.3/hook", inside)
    assert asyncio.run(resolve("http://localhost:9/hook", inside)).port == 9
    assert resolve_blocking("http://localhost:9/hook", inside).host == "localhost"
    with pytest.raises(InvalidInputError, match="not a public one") as refused:
        check_url("https://10.2.0.1/hook", inside)
    assert "MLHUB_SITE_ALLOW" in refused.value.remedy
