# SPDX-License-Identifier: Apache-2.0
"""Passkeys: added by the owner, enough to sign in, and a second factor after the password."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from mlhub.events.models import Event
from mlhub.tenants.actions.sign_in import passkeys
from mlhub.tenants.models import ApiToken, Passkey, UsedChallenge, User, UserSession
from tests.tenants.passkeys.authenticator import PRESENT, SYNCED, VERIFIED
from tests.tenants.passkeys.conftest import AUTH, OWN, PASSWORD, Holder, enter, make_holder

ME, FACTOR, METHODS = f"{AUTH}/me", f"{AUTH}/second-factor", f"{AUTH}/methods"


def kinds() -> list[str]:
    return list(Event.objects.order_by("id").values_list("kind", flat=True))


def test_a_passkey_is_added_and_signs_in_as_both_factors(alice: Holder):
    added = alice.add("laptop", flags=PRESENT | VERIFIED | SYNCED)
    assert added.status_code == 201, added.json()
    assert (added.json()["name"], added.json()["is_synced"], added.json()["last_used_at"]) == ("laptop", True, None)
    browser = APIClient()
    entered = enter(browser, alice.sign(browser))
    assert (entered.status_code, entered.json()["username"]) == (200, "alice")
    assert browser.get(ME).json()["username"] == "alice"
    assert browser.get(f"{AUTH}/sessions").json()["results"][0]["method"] == "passkey"
    [listed] = browser.get(OWN).json()["results"]
    assert listed["last_used_at"] is not None
    assert Event.objects.filter(kind="session.started").last().facts["method"] == "passkey"
    assert "user.passkey_added" in kinds()
    assert enter(APIClient(), alice.sign(browser)).json()["code"] == "challenge_void"  # of another browser


def test_the_first_one_comes_with_recovery_codes_ends_other_sessions_and_is_asked_for_after_the_password(alice: Holder):
    elsewhere = APIClient()
    alice.sign_in_by_password(elsewhere)
    codes = alice.add().json()["recovery_codes"]
    assert len(set(codes)) == 10
    assert (alice.browser.get(ME).status_code, elsewhere.get(ME).status_code) == (200, 401)
    state = {"is_enabled": False, "n_recovery_codes": 10, "has_password": True, "is_recovering": False}
    assert alice.browser.get(FACTOR).json() == state
    missing = alice.sign_in_by_password(elsewhere)
    assert (missing.status_code, missing.json()["code"]) == (403, "second_factor_needed")
    assert missing.json()["has_passkey"] is True
    assert alice.sign_in_by_password(elsewhere, passkey=alice.sign(elsewhere)).status_code == 200
    assert alice.sign_in_by_password(APIClient(), code="000000").json()["code"] == "wrong_code"
    assert alice.sign_in_by_password(APIClient(), code=codes[0]).status_code == 200
    assert alice.sign_in_by_password(APIClient(), code=codes[0]).json()["code"] == "wrong_code"
    assert alice.add("phone").json()["recovery_codes"] == []


def test_it_is_renamed_and_removed_by_its_owner_only(alice: Holder):
    made = alice.add().json()
    renamed = alice.browser.patch(f"{OWN}/{made['id']}", {"name": "work laptop"})
    assert (renamed.status_code, renamed.json()["name"]) == (200, "work laptop")
    address = f"{OWN}/{made['id']}/remove"
    for body, code in (
        ({}, "invalid_input"),
        ({"password": "wrong"}, "wrong_password"),
        ({"password": PASSWORD}, "second_factor_needed"),
    ):
        assert alice.browser.post(address, body).json()["code"] == code
    elsewhere = APIClient()
    enter(elsewhere, alice.sign(elsewhere))
    assert alice.browser.post(address, {"passkey": alice.sign()}, format="json").status_code == 204
    assert elsewhere.get(ME).status_code == 401
    assert alice.browser.get(FACTOR).json()["n_recovery_codes"] == 0
    assert alice.sign_in_by_password(APIClient()).status_code == 200
    events = Event.objects.filter(kind__startswith="user.passkey").order_by("id")
    assert [(event.kind, event.facts["name"]) for event in events] == [
        ("user.passkey_added", "laptop"),
        ("user.passkey_renamed", "work laptop"),
        ("user.passkey_removed", "work laptop"),
    ]


def test_the_last_passkey_of_who_has_nothing_else_stays(alice: Holder):
    made = alice.add().json()
    alice.user.set_unusable_password()
    alice.user.save()
    browser = APIClient()
    enter(browser, alice.sign(browser))
    refused = browser.post(f"{OWN}/{made['id']}/remove", {})  # signed in just now: that is proof enough
    assert (refused.status_code, refused.json()["code"]) == (409, "only_way_in")


def test_who_has_no_password_adds_one_shortly_after_signing_in_only(alice: Holder):
    alice.add()
    User.objects.filter(pk=alice.user.pk).update(password="!none")
    browser = alice.browser = APIClient()
    enter(browser, alice.sign(browser))
    assert browser.get(FACTOR).json()["has_password"] is False
    assert alice.begin(code="").status_code == 200
    UserSession.objects.update(created_at=timezone.now() - timedelta(minutes=11))
    assert alice.begin(code="").json()["code"] == "recent_sign_in_needed"
    assert alice.add("another").status_code == 201  # by the first one


def test_an_account_has_no_more_than_so_many(alice: Holder, monkeypatch):
    monkeypatch.setattr(passkeys, "MAX_PASSKEYS", 1)
    alice.add()
    refused = alice.begin(passkey=alice.sign())
    assert (refused.status_code, refused.json()["code"], refused.json()["limit"]) == (409, "too_many_passkeys", 1)


def test_an_app_may_be_added_and_removed_beside_it_and_the_recovery_codes_stay(alice: Holder):
    alice.add()
    assert alice.browser.post(FACTOR, {"password": PASSWORD}).json()["code"] == "second_factor_needed"
    begun = alice.browser.post(FACTOR, {"passkey": alice.sign()}, format="json")
    assert begun.status_code == 201
    assert alice.browser.get(FACTOR).json()["n_recovery_codes"] == 10
    assert alice.browser.post(f"{FACTOR}/confirm", {"code": "000000"}).json()["code"] == "wrong_code"
    assert alice.browser.post(f"{FACTOR}/remove", {"passkey": alice.sign()}, format="json").status_code == 204
    assert alice.browser.get(FACTOR).json()["n_recovery_codes"] == 10


def test_an_administrator_removes_all_of_a_person_who_has_lost_them(cast, alice: Holder):
    alice.add()
    assert cast.client(cast.root).delete(f"/api/v1/users/{alice.user.id}/second-factor").status_code == 204
    assert not Passkey.objects.exists()
    assert alice.sign_in_by_password(APIClient()).status_code == 200
    assert Event.objects.get(kind="user.passkey_removed").actor == cast.root


def test_where_administrators_need_a_second_factor_a_passkey_is_one(alice: Holder, settings):
    User.objects.filter(pk=alice.user.pk).update(is_staff=True, is_superuser=True)
    settings.REQUIRE_SECOND_FACTOR = True
    assert alice.browser.get("/api/v1/users").json()["code"] == "second_factor_needed"
    alice.add()
    assert alice.browser.get("/api/v1/users").status_code == 200
    assert alice.browser.get("/admin/").status_code == 200


def test_a_password_link_takes_a_passkey(cast, alice: Holder):
    alice.add()
    link = cast.client(cast.root).post(f"/api/v1/users/{alice.user.id}/password-link").json()["link"]
    body = {"secret": link.partition("#")[2], "password": "staple battery horse"}
    browser = APIClient()
    assert browser.post(f"{AUTH}/password-link", body).json()["code"] == "second_factor_needed"
    body |= {"passkey": alice.sign(browser)}
    assert browser.post(f"{AUTH}/password-link", body, format="json").status_code == 200


def test_where_the_provider_is_the_door_a_passkey_alone_opens_nothing_unless_it_is_allowed(alice: Holder, settings):
    alice.add()
    settings.PASSKEY_SIGN_IN, settings.PASSWORD_USERS = False, frozenset({"root"})
    browser = APIClient()
    assert browser.get(METHODS).json()["has_passkeys"] is False
    refused = enter(browser, alice.sign(browser))
    assert (refused.status_code, refused.json()["code"]) == (403, "passkey_sign_in_off")
    settings.PASSKEY_SIGN_IN = True
    assert enter(browser, alice.sign(browser)).status_code == 200


def test_a_deactivated_account_stays_outside(alice: Holder):
    alice.add()
    User.objects.filter(pk=alice.user.pk).update(is_active=False)
    browser = APIClient()
    assert enter(browser, alice.sign(browser)).json()["code"] == "account_inactive"


@pytest.mark.parametrize(
    ("public_url", "origin", "rp_id"),
    [
        ("http://127.0.0.1:8000", "http://localhost:8000", "localhost"),
        ("http://[::1]:80", "http://localhost", "localhost"),
        ("https://MLHub.example.org/", "https://mlhub.example.org", "mlhub.example.org"),
        ("https://mlhub.example.org:8443/x", "https://mlhub.example.org:8443", "mlhub.example.org"),
        ("http://mlhub.example.org", None, None),
        ("https://10.0.0.7", None, None),
    ],
)
def test_the_address_of_the_platform_says_where_passkeys_work(db, settings, public_url, origin, rp_id):
    settings.PUBLIC_URL = public_url
    browser = APIClient()
    found = browser.get(METHODS).json()
    assert (found["passkey_origin"], found["has_passkeys"]) == (origin, origin is not None)
    begun = browser.post(f"{AUTH}/passkey-challenge")
    assert begun.json().get("options", {}).get("rpId") == rp_id
    assert begun.status_code == (200 if rp_id else 404)


def test_challenges_that_were_used_are_kept_no_longer_than_they_could_count(alice: Holder):
    alice.add()
    UsedChallenge.objects.update(expires_at=timezone.now())
    [used] = UsedChallenge.objects.all()
    browser = APIClient()
    assert enter(browser, alice.sign(browser)).status_code == 200
    assert UsedChallenge.objects.get() != used


def test_tokens_neither_see_limited_nor_change_passkeys(cast, alice: Holder):
    made = alice.add().json()
    token = alice.browser.post("/api/v1/tokens", {"name": "t", "scopes": ["read", "write"]}).json()["token"]
    program = APIClient()
    program.credentials(HTTP_AUTHORIZATION=f"Bearer {token}")
    for path in (f"{OWN}/options", f"{OWN}/{made['id']}/remove"):
        assert program.post(path, {"password": PASSWORD}).json()["code"] == "session_needed"
    assert program.patch(f"{OWN}/{made['id']}", {"name": "x"}).json()["code"] == "session_needed"
    ApiToken.objects.update(organisation=cast.a)
    assert program.get(OWN).json()["results"] == []


def test_a_stranger_sees_and_touches_no_passkey(cast, alice: Holder):
    made = alice.add().json()
    charlie = make_holder(cast.charlie)
    assert charlie.browser.get(OWN).json()["results"] == []
    assert charlie.browser.patch(f"{OWN}/{made['id']}", {"name": "x"}).status_code == 404
    assert charlie.browser.post(f"{OWN}/{made['id']}/remove", {"password": PASSWORD}).status_code == 404
