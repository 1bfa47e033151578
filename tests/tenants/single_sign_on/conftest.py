# SPDX-License-Identifier: Apache-2.0
"""A provider, an MLHub that is set up for it, and a browser that signs in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from rest_framework.test import APIClient

from mlhub.tenants.roles import Role
from mlhub.tenants.single_sign_on.options import SingleSignOn
from tests.tenants.single_sign_on.oidc_provider import CLIENT_ID, CLIENT_SECRET, OidcProvider, running_provider

BEGIN, METHODS, ME = "/api/v1/auth/single-sign-on", "/api/v1/auth/methods", "/api/v1/auth/me"


@pytest.fixture
def provider() -> Iterator[OidcProvider]:
    with running_provider() as started:
        yield started


class Site:
    """MLHub with its provider: options are changed with `set`, browsers sign in with `enter`."""

    def __init__(self, settings: Any, provider: OidcProvider) -> None:
        self.settings, self.provider = settings, provider
        self.settings.SINGLE_SIGN_ON = SingleSignOn(
            issuer=provider.issuer,
            client_id=CLIENT_ID,
            client_secret=CLIENT_SECRET,
            name="Keycloak",
            roles={"ml": {"A": Role.MEMBER}, "leads": {"A": Role.ADMIN}},
        )

    def set(self, **options: Any) -> None:
        self.settings.SINGLE_SIGN_ON = replace(self.settings.SINGLE_SIGN_ON, **options)

    def begin(self, browser: APIClient, **body: str) -> str:
        """The path and query with which the provider sends the browser back."""
        begun = browser.post(BEGIN, body)
        assert begun.status_code == 200, begun.json()
        return self.provider.visit(begun.json()["address"])

    def enter(self, browser: APIClient, **body: str) -> str:
        """Where the browser is led in the end."""
        return browser.get(self.begin(browser, **body))["Location"]

    def refusal(self, browser: APIClient) -> str | None:
        refusal = browser.get(METHODS).json()["refusal"]
        return refusal and refusal["code"]


@pytest.fixture
def site(cast, settings, provider) -> Site:
    return Site(settings, provider)
