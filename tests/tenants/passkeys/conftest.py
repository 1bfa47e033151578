# SPDX-License-Identifier: Apache-2.0
"""A person with a password, a browser and an authenticator."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from rest_framework.test import APIClient

from mlhub.tenants.models import User
from tests.tenants.passkeys.authenticator import SoftAuthenticator

AUTH, PASSWORD = "/api/v1/auth", "correct horse battery"
OWN, LOGIN, SIGN_IN = f"{AUTH}/passkeys", f"{AUTH}/login", f"{AUTH}/passkey-login"


@dataclass
class Holder:
    user: User
    browser: APIClient = field(default_factory=APIClient)
    device: SoftAuthenticator = field(default_factory=SoftAuthenticator)

    def sign_in_by_password(self, browser: APIClient | None = None, **proof: Any) -> Any:
        body = {"username": self.user.username, "password": PASSWORD, **proof}
        return (browser or self.browser).post(LOGIN, body, format="json")

    def begin(self, **proof: Any) -> Any:
        """The answer with the options for a new passkey."""
        return self.browser.post(f"{OWN}/options", proof or {"password": PASSWORD}, format="json")

    def add(self, name: str = "laptop", **making: Any) -> Any:
        """The answer to a new passkey, which the password vouches for, or an earlier passkey."""
        proof = {"passkey": self.sign()} if self.device.passkeys else {"password": PASSWORD}
        begun = self.begin(**proof)
        assert begun.status_code == 200, begun.json()
        return self.browser.post(OWN, {"name": name, **self.device.create(begun.json()["options"], **making)})

    def sign(self, browser: APIClient | None = None, **signing: Any) -> dict[str, str]:
        """What the device signs for a challenge that the browser asked for just now."""
        return self.device.sign(challenge(browser or self.browser), **signing)


def challenge(browser: APIClient) -> dict[str, Any]:
    answer = browser.post(f"{AUTH}/passkey-challenge")
    assert answer.status_code == 200, answer.json()
    return answer.json()["options"]


def enter(browser: APIClient, signed: dict[str, str]) -> Any:
    return browser.post(SIGN_IN, {"passkey": signed}, format="json")


@pytest.fixture
def alice(cast, settings) -> Holder:
    settings.PUBLIC_URL = "http://127.0.0.1:8000"
    return make_holder(cast.alice)


def make_holder(user: User) -> Holder:
    """Signed in by password."""
    user.set_password(PASSWORD)
    user.save()
    holder = Holder(user)
    assert holder.sign_in_by_password().status_code == 200
    return holder
