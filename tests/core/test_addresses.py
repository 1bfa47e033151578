# SPDX-License-Identifier: Apache-2.0
"""Tests of what a request behind proxies is taken for: its address, its scheme and its host."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory

from mlhub.core.web.addresses import client_address, networks, trusted_proxies_middleware

PROXY, STRANGER = "10.0.0.2", "203.0.113.9"


@pytest.fixture(autouse=True)
def _proxies(settings: Any) -> None:
    settings.TRUSTED_PROXIES = networks(["10.0.0.0/24", " 2001:db8::/64"])
    settings.ALLOWED_HOSTS = ["testserver", "ml.example.org"]


def request(peer: str, **meta: str) -> HttpRequest:
    return RequestFactory().get("/", REMOTE_ADDR=peer, **meta)


def passed(peer: str, **meta: str) -> HttpRequest:
    """The request as views see it."""
    seen: list[HttpRequest] = []

    def view(request: HttpRequest) -> HttpResponse:
        seen.append(request)
        return HttpResponse()

    trusted_proxies_middleware(view)(request(peer, **meta))
    return seen[0]


@pytest.mark.parametrize(
    ("peer", "forwarded", "address"),
    [
        (STRANGER, "", STRANGER),
        (STRANGER, "198.51.100.1", STRANGER),  # no proxy of ours wrote it
        ("127.0.0.1", "198.51.100.1", "127.0.0.1"),  # loopback is trusted only when it is named
        (PROXY, "198.51.100.1", "198.51.100.1"),
        (PROXY, "1.1.1.1, 198.51.100.1", "198.51.100.1"),  # the client wrote the first
        (PROXY, "1.1.1.1, 198.51.100.1, 10.0.0.7", "198.51.100.1"),  # two proxies of ours
        (PROXY, "10.0.0.8, 10.0.0.7", "10.0.0.8"),
        (PROXY, "", PROXY),
        (PROXY, "198.51.100.1, unknown", PROXY),
        (PROXY, "198.51.100.1:4711", "198.51.100.1"),
        (PROXY, "[2001:db8:1::5]:4711", "2001:db8:1::5"),
        ("::ffff:10.0.0.2", "::ffff:198.51.100.1", "198.51.100.1"),
        ("2001:db8::1", "198.51.100.1", "198.51.100.1"),
        ("", "198.51.100.1", ""),
    ],
)
def test_the_client_is_the_right_most_address_that_is_no_trusted_proxy(peer: str, forwarded: str, address: str) -> None:
    assert client_address(request(peer, HTTP_X_FORWARDED_FOR=forwarded)) == address


def test_scheme_and_host_are_believed_from_a_trusted_proxy_only() -> None:
    headers = {"HTTP_X_FORWARDED_PROTO": "https", "HTTP_X_FORWARDED_HOST": "ml.example.org"}
    assert passed(PROXY, **headers).build_absolute_uri("/x") == "https://ml.example.org/x"
    assert passed(STRANGER, **headers).build_absolute_uri("/x") == "http://testserver/x"
    assert passed("127.0.0.1", **headers).build_absolute_uri("/x") == "http://testserver/x"


def test_of_a_list_only_what_the_trusted_proxy_wrote_stays() -> None:
    found = passed(PROXY, HTTP_X_FORWARDED_PROTO="https, http", HTTP_X_FORWARDED_HOST="evil.org, ml.example.org")
    assert found.build_absolute_uri("/x") == "http://ml.example.org/x"


def test_a_forwarded_host_must_be_an_allowed_one() -> None:
    with pytest.raises(DisallowedHost):
        passed(PROXY, HTTP_X_FORWARDED_HOST="evil.org").get_host()


def test_a_setting_that_names_no_network_is_refused() -> None:
    with pytest.raises(ValueError, match="ingress"):
        networks(["10.0.0.0/8", "ingress"])
