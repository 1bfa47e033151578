# SPDX-License-Identifier: Apache-2.0
"""What must not sign anybody in: forged and foreign ID tokens, answers of others, used codes, and ways off the site."""

from __future__ import annotations

import base64
import hmac
import json
import time
from typing import Any

import pytest
from joserfc import jwt
from rest_framework.test import APIClient

from mlhub.tenants.models import ApiToken, ExternalIdentity, User
from tests.tenants.single_sign_on.conftest import BEGIN, ME
from tests.tenants.single_sign_on.oidc_provider import signing_key


def assert_refused(site: Any, browser: APIClient, reason: str, led_to: str) -> None:
    assert led_to.startswith("/sign-in?refused=1")
    assert site.refusal(browser) == reason
    assert browser.get(ME).status_code == 401
    assert not ExternalIdentity.objects.exists()


WRONG_CLAIMS = {
    "a nonce of another sign-in": lambda claims: claims.update(nonce="another"),
    "no nonce": lambda claims: claims.pop("nonce"),
    "another client's token": lambda claims: claims.update(aud="another"),
    "no audience": lambda claims: claims.pop("aud"),
    "two audiences and no party": lambda claims: claims.update(aud=["mlhub", "another"]),
    "another party": lambda claims: claims.update(azp="another"),
    "another issuer": lambda claims: claims.update(iss="https://elsewhere.example"),
    "expired": lambda claims: claims.update(exp=int(time.time()) - 120),
    "no end": lambda claims: claims.pop("exp"),
    "issued in the future": lambda claims: claims.update(iat=int(time.time()) + 3600),
    "no subject": lambda claims: claims.pop("sub"),
    "an empty subject": lambda claims: claims.update(sub=""),
    "groups that are no names": lambda claims: claims.update(groups={"ml": True}),
}


@pytest.mark.parametrize("wrong", WRONG_CLAIMS)
def test_a_token_with_wrong_claims_signs_nobody_in(site, wrong):
    site.provider.tamper = WRONG_CLAIMS[wrong]
    browser = APIClient()
    assert_refused(site, browser, "identity_refused", site.enter(browser))


def joined(*parts: dict[str, Any]) -> str:
    return ".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in parts)


def unsigned(claims: dict[str, Any]) -> str:
    return joined({"alg": "none"}, claims) + "."


def signed_by_hmac(claims: dict[str, Any], *, kid: str, key: bytes) -> str:
    text = joined({"alg": "HS256", "kid": kid}, claims)
    return f"{text}.{base64.urlsafe_b64encode(hmac.digest(key, text.encode(), 'sha256')).rstrip(b'=').decode()}"


def signed_with_the_public_key(claims: dict[str, Any]) -> str:
    return signed_by_hmac(claims, kid="one", key=signing_key("one").as_pem(private=False))


def signed_with_the_shared_key_of_the_set(claims: dict[str, Any]) -> str:
    return signed_by_hmac(claims, kid="x", key=b"x")


def signed_with_a_key_of_somebody_else(claims: dict[str, Any]) -> str:
    return jwt.encode({"alg": "RS256", "kid": "one"}, claims, signing_key("two"))


def changed_after_signing(claims: dict[str, Any]) -> str:
    head, _, signature = jwt.encode({"alg": "RS256", "kid": "one"}, claims, signing_key("one")).split(".")
    forged = base64.urlsafe_b64encode(json.dumps({**claims, "sub": "2"}).encode()).rstrip(b"=").decode()
    return f"{head}.{forged}.{signature}"


FORGERIES = (
    unsigned,
    signed_with_the_public_key,
    signed_with_the_shared_key_of_the_set,
    signed_with_a_key_of_somebody_else,
    changed_after_signing,
    lambda claims: "no token",
)


@pytest.mark.parametrize("forge", FORGERIES)
def test_a_token_that_the_provider_did_not_sign_signs_nobody_in(site, forge):
    site.provider.metadata["id_token_signing_alg_values_supported"] = ["RS256", "HS256", "none"]
    site.provider.encode = forge
    browser = APIClient()
    assert_refused(site, browser, "identity_refused", site.enter(browser))


def test_a_provider_that_signs_only_with_a_shared_secret_is_refused(site):
    site.provider.metadata["id_token_signing_alg_values_supported"] = ["HS256"]
    site.provider.encode = signed_with_the_public_key
    browser = APIClient()
    assert_refused(site, browser, "identity_refused", site.enter(browser))


def test_an_answer_counts_only_in_the_browser_that_began(site):
    answer = site.begin(APIClient())
    victim = APIClient()
    assert_refused(site, victim, "sign_in_not_begun", victim.get(answer)["Location"])
    site.begin(victim)  # the victim has begun a sign-in of their own: the attacker's answer has another state
    assert_refused(site, victim, "sign_in_not_begun", victim.get(answer)["Location"])


def test_a_code_that_was_used_is_worth_nothing_even_with_its_cookie(site):
    browser = APIClient()
    answer = site.begin(browser)
    cookie = browser.cookies["mlhub_single_sign_on"].value
    assert browser.get(answer)["Location"] == "/"
    thief = APIClient()
    assert thief.get(answer)["Location"] == "/sign-in?refused=1"
    thief.cookies["mlhub_single_sign_on"] = cookie
    assert thief.get(answer)["Location"].startswith("/sign-in?refused=1")
    assert site.refusal(thief) == "provider_refused"
    assert thief.get(ME).status_code == 401


def test_a_code_is_worth_nothing_without_the_verifier_of_who_began(site):
    stolen = site.begin(APIClient()).partition("?code=")[2].partition("&")[0]
    thief = APIClient()
    own = site.begin(thief)
    forged = own.replace(own.partition("?code=")[2].partition("&")[0], stolen)
    assert_refused(site, thief, "provider_refused", thief.get(forged)["Location"])


@pytest.mark.parametrize("answer", ["&iss=https://elsewhere.example", ""])
def test_an_answer_that_does_not_name_its_provider_as_promised_is_refused(site, answer):
    site.provider.metadata["authorization_response_iss_parameter_supported"] = True
    browser = APIClient()
    assert_refused(site, browser, "identity_refused", browser.get(site.begin(browser) + answer)["Location"])


def test_what_the_provider_says_is_shown_as_text_and_only_to_who_began(site):
    browser = APIClient()
    state = site.begin(browser).partition("&state=")[2]
    words = "error=access_denied&error_description=Not%0ayou"
    assert_refused(
        site, browser, "provider_refused", browser.get(f"/single-sign-on/callback?{words}&state={state}")["Location"]
    )
    assert browser.get("/api/v1/auth/methods").json()["refusal"]["message"] == "Keycloak refused the sign-in: Notyou"
    assert site.refusal(APIClient()) is None


def test_userinfo_about_another_person_is_refused(site):
    del site.provider.person["groups"]
    site.provider.userinfo = {"sub": "2", "groups": ["leads"]}
    browser = APIClient()
    assert_refused(site, browser, "identity_refused", site.enter(browser))


@pytest.mark.parametrize(
    "next_",
    [
        "https://elsewhere.example/", "//elsewhere.example", "/\\elsewhere.example", "///elsewhere.example",
        "javascript:x", "jobs", "/jobs\r\nSet-Cookie: a=b", "\t//elsewhere.example", "",
    ],
)  # fmt: skip
def test_no_address_leads_off_the_site(site, next_):
    refused = APIClient().post(BEGIN, {"next": next_})
    assert refused.status_code == 422, refused.json()
    assert refused.json()["errors"][0]["field"] == "next"


def test_a_foreign_page_cannot_begin_a_sign_in(site):
    browser = APIClient(enforce_csrf_checks=True)
    assert browser.post(BEGIN).status_code == 403


@pytest.mark.parametrize(("links", "is_verified"), [(False, True), (True, False)])
def test_a_strangers_address_opens_no_account(cast, site, links, is_verified):
    site.set(links_by_email=links)
    site.provider.person |= {"email": "alice@example.org", "email_verified": is_verified, "preferred_username": "alice"}
    browser = APIClient()
    site.enter(browser)
    assert browser.get(ME).json()["username"] == "alice-2"
    assert not cast.alice.identities.exists()
    assert User.objects.get(username="alice-2").email == ("alice@example.org" if is_verified else "")


def test_where_the_settings_say_so_a_verified_address_links_and_shuts_out_who_used_the_account_before(cast, site):
    site.set(links_by_email=True)
    cast.bob.set_password("correct horse battery")
    cast.bob.save()
    squatter = cast.client(cast.bob)
    made = squatter.post("/api/v1/tokens", {"name": "t", "scopes": ["read"]}).json()["token"]
    site.provider.person |= {"email": "Bob@example.org", "email_verified": True}
    browser = APIClient()
    site.enter(browser)
    assert browser.get(ME).json()["username"] == "bob"
    assert squatter.get(ME).status_code == 401
    assert APIClient(headers={"Authorization": f"Bearer {made}"}).get(ME).status_code == 401
    assert not User.objects.get(pk=cast.bob.pk).has_usable_password()
    assert not any(token.is_usable for token in ApiToken.objects.all())


def test_an_address_never_opens_the_account_of_an_administrator(cast, site):
    site.set(links_by_email=True)
    site.provider.person |= {"email": "root@example.org", "email_verified": True}
    browser = APIClient()
    site.enter(browser)
    assert browser.get(ME).json()["username"] == "ada"
