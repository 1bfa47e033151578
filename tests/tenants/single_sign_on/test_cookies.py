# SPDX-License-Identifier: Apache-2.0
"""The cookies of a sign-in reach the addresses that read them, through a cookie jar that keeps to paths, over HTTP."""

from __future__ import annotations

from typing import Any

import httpx
import pyotp
import pytest

from mlhub.tenants.actions.sign_in import second_factor
from mlhub.tenants.models import SecondFactor, User
from tests.tenants.single_sign_on.conftest import BEGIN, ME, METHODS

pytestmark = pytest.mark.slow


def post(browser: httpx.Client, path: str, body: dict[str, Any]) -> httpx.Response:
    headers = {"X-CSRFToken": browser.cookies["csrftoken"], "Referer": str(browser.base_url)}
    return browser.post(path, json=body, headers=headers)


@pytest.mark.django_db(transaction=True)
def test_a_sign_in_goes_through_with_the_code_of_a_second_factor_and_a_refusal_is_shown(live_server, site):
    site.settings.PUBLIC_URL = live_server.url
    with httpx.Client(base_url=live_server.url, timeout=60) as browser:
        browser.get("/api/v1/auth/csrf")
        address = post(browser, BEGIN, {}).json()["address"]
        assert browser.get(site.provider.visit(address)).headers["Location"] == "/"
        assert browser.get(ME).json()["username"] == "ada"
        ada = User.objects.get(username="ada")
        secret = second_factor.begin_enrolment(ada).secret
        SecondFactor.objects.update(confirmed_at=ada.date_joined)
        site.set(replaces_second_factor=False)
        assert post(browser, "/api/v1/auth/logout", {}).status_code == 204

        address = post(browser, BEGIN, {"next": "/jobs"}).json()["address"]
        assert browser.get(site.provider.visit(address)).headers["Location"] == "/sign-in?code=1&next=%2Fjobs"
        code = pyotp.TOTP(secret).generate_otp(second_factor.now_step())
        assert post(browser, f"{BEGIN}/code", {"code": code}).status_code == 200
        assert browser.get(ME).json()["username"] == "ada"

        answer = browser.get("/single-sign-on/callback?code=x&state=y")
        assert answer.headers["Location"] == "/sign-in?refused=1"
        assert browser.get(METHODS).json()["refusal"]["code"] == "sign_in_not_begun"
