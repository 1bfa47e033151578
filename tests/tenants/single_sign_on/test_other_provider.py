# SPDX-License-Identifier: Apache-2.0
"""Signing in at a provider that somebody else wrote (oidc-provider-mock, made of Authlib): both sides read the standard
alike."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from oidc_provider_mock import User as Person
from oidc_provider_mock import run_server_in_thread
from rest_framework.test import APIClient

from mlhub.tenants.roles import Role
from mlhub.tenants.single_sign_on.options import SingleSignOn
from tests.tenants.single_sign_on.conftest import BEGIN, ME


@pytest.fixture
def issuer() -> Iterator[str]:
    claims = {"preferred_username": "ada", "email": "ada@example.org", "email_verified": True, "groups": ["ml"]}
    with run_server_in_thread(user_claims=[Person(sub="1", claims=claims)], require_nonce=True) as server:
        yield f"http://localhost:{server.server_port}"


def visit(address: str, **form: str) -> str:
    answer = httpx.post(address, data=form, timeout=60)
    assert answer.status_code == 302, answer.text
    return answer.headers["Location"].removeprefix("http://127.0.0.1:8000")


def test_a_person_signs_in(cast, settings, issuer):
    settings.SINGLE_SIGN_ON = SingleSignOn(
        issuer=issuer, client_id="mlhub", client_secret="secret", name="Mock", roles={"ml": {"A": Role.MEMBER}}
    )
    browser = APIClient()
    address = browser.post(BEGIN, {"next": "/jobs"}).json()["address"]
    assert browser.get(visit(address, sub="1"))["Location"] == "/jobs"
    me = browser.get(ME).json()
    assert (me["username"], me["memberships"][0]["role"]) == ("ada", "member")
