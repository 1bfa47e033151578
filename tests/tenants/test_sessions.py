# SPDX-License-Identifier: Apache-2.0
"""Signing in and out: sessions, CSRF, and the lock after repeated failures."""

from __future__ import annotations

import re
from importlib import import_module

import pytest
from axes.models import AccessAttempt
from django.apps import apps
from rest_framework.test import APIClient

from mlhub.core.web.addresses import networks
from mlhub.tenants.models import UserSession
from mlhub.tenants.sign_in.lockout import COOKIE

PASSWORD = "correct horse battery"
LOGIN, LOGOUT, ME = "/api/v1/auth/login", "/api/v1/auth/logout", "/api/v1/auth/me"


@pytest.fixture
def alice(cast):
    cast.alice.set_password(PASSWORD)
    cast.alice.save()
    return cast.alice


def sign_in(client: APIClient, password: str = PASSWORD, **extra: str):
    return client.post(LOGIN, {"username": "alice", "password": password}, **extra)


def test_who_signs_in_learns_where_they_belong_and_stays_signed_in(cast, alice):
    client = APIClient()
    me = {
        "id": str(alice.id),
        "username": "alice",
        "is_staff": False,
        "needs_second_factor": False,
        "impersonation": None,
        "memberships": [
            {
                "id": str(alice.memberships.get().id),
                "organisation": {"id": str(cast.a.id), "name": "A"},
                "role": "admin",
            }
        ],
        "project_roles": [],
    }
    answer = sign_in(client)
    for shown in (answer.json(), client.get(ME).json()):
        assert re.fullmatch(r"\d+-\d+", shown.pop("stream_cursor"))
        assert shown == me
    assert answer.status_code == 200
    assert client.cookies["sessionid"]["httponly"]


def test_signing_out_ends_the_session(alice):
    client = APIClient()
    sign_in(client)
    assert client.post(LOGOUT).status_code == 204
    assert client.get(ME).status_code == 401
    assert client.post(LOGOUT).status_code == 204


@pytest.mark.parametrize(("username", "password"), [("alice", "wrong"), ("nobody", PASSWORD)])
def test_a_wrong_name_and_a_wrong_password_sound_alike(alice, username, password):
    answer = APIClient().post(LOGIN, {"username": username, "password": password})
    assert answer.status_code == 401
    assert answer.json()["detail"] == "The name or the password is wrong."
    assert answer["Content-Type"] == "application/problem+json"


def test_an_inactive_account_cannot_sign_in(alice):
    alice.is_active = False
    alice.save()
    assert sign_in(APIClient()).status_code == 401


def test_a_login_without_a_password_names_the_field(db):
    answer = APIClient().post(LOGIN, {"username": "alice"})
    assert answer.status_code == 422
    assert [e["field"] for e in answer.json()["errors"]] == ["password"]


def test_no_one_is_asked_to_sign_in(db):
    answer = APIClient().get(ME)
    assert answer.status_code == 401
    assert answer["WWW-Authenticate"]


def test_a_browser_needs_the_csrf_token_to_sign_in_and_to_write(cast, alice):
    client = APIClient(enforce_csrf_checks=True)
    assert sign_in(client).status_code == 403
    assert client.get("/api/v1/auth/csrf").status_code == 204
    token = client.cookies["csrftoken"].value
    assert sign_in(client, HTTP_X_CSRFTOKEN=token).status_code == 200
    body = {"organisation": str(cast.a.id), "name": "speech"}
    assert client.post("/api/v1/projects", body).status_code == 403
    token = client.cookies["csrftoken"].value
    assert client.post("/api/v1/projects", body, HTTP_X_CSRFTOKEN=token).status_code == 201
    assert client.post(LOGOUT).status_code == 403


def test_after_ten_failures_the_name_is_locked_for_that_address_only(alice, settings):
    settings.AXES_FAILURE_LIMIT = 3
    client = APIClient()
    assert [sign_in(client, "wrong").status_code for _ in range(2)] == [401, 401]
    sign_in(client, "wrong")
    locked = sign_in(client)
    assert locked.status_code == 429
    assert locked.json()["code"] == "locked_out"
    assert locked["Retry-After"] == str(locked.json()["retry_after_s"])
    assert sign_in(client, REMOTE_ADDR="192.0.2.7").status_code == 200


def test_a_made_up_forwarded_address_does_not_get_round_the_lock(alice, settings):
    settings.AXES_FAILURE_LIMIT = 3
    client = APIClient(REMOTE_ADDR="127.0.0.1")
    answers = [sign_in(client, "wrong", HTTP_X_FORWARDED_FOR=f"198.51.100.{n}").status_code for n in range(13)]
    assert answers == [401, 401] + 11 * [429]


def test_behind_a_trusted_proxy_a_strangers_failures_lock_the_stranger_only(alice, settings):
    settings.AXES_FAILURE_LIMIT = 3
    settings.TRUSTED_PROXIES = networks(["10.0.0.0/24"])
    proxy = APIClient(REMOTE_ADDR="10.0.0.2")
    answers = [sign_in(proxy, "wrong", HTTP_X_FORWARDED_FOR="203.0.113.9").status_code for _ in range(4)]
    assert answers == [401, 401, 429, 429]
    assert sign_in(proxy, HTTP_X_FORWARDED_FOR="198.51.100.1").status_code == 200


def test_a_stranger_at_the_same_address_cannot_lock_a_browser_in_which_one_signed_in_before(alice, settings):
    settings.AXES_FAILURE_LIMIT = 3
    browser, stranger = APIClient(), APIClient()
    assert sign_in(browser).status_code == 200
    assert browser.cookies[COOKIE]["httponly"]
    browser.post(LOGOUT)
    assert [sign_in(stranger, "wrong").status_code for _ in range(4)] == [401, 401, 429, 429]
    assert sign_in(browser).status_code == 200


def test_a_known_browser_has_a_lock_of_its_own(alice, settings):
    settings.AXES_FAILURE_LIMIT = 3
    browser = APIClient()
    sign_in(browser)
    browser.post(LOGOUT)
    assert [sign_in(browser, "wrong").status_code for _ in range(4)] == [401, 401, 429, 429]
    assert sign_in(browser).status_code == 429
    assert sign_in(APIClient()).status_code == 200  # and does not lock other browsers


def test_a_forged_or_foreign_mark_of_a_known_browser_is_none(cast, alice, settings):
    cast.bob.set_password(PASSWORD)
    cast.bob.save()
    bobs = APIClient()
    bobs.post(LOGIN, {"username": "bob", "password": PASSWORD})
    bobs.post(LOGOUT)
    sign_in(bobs, "wrong")  # the mark is bob's, the name is alice's
    forged = APIClient()
    forged.cookies[COOKIE] = "made-up:1abc:signature"
    sign_in(forged, "wrong")
    assert set(AccessAttempt.objects.values_list("username", "failures_since_start")) == {("alice", 2)}


def test_a_session_that_is_on_no_list_ends_with_the_upgrade(cast, alice):
    listed = APIClient()
    sign_in(listed)
    unlisted = cast.client(cast.bob)
    assert unlisted.get("/api/v1/auth/me").status_code == 200
    UserSession.objects.filter(user=cast.bob).delete()
    migration = import_module("mlhub.tenants.migrations.0011_end_unlisted_sessions")
    migration.end_unlisted(apps, None)
    assert unlisted.get("/api/v1/auth/me").status_code in (401, 403)
    assert listed.get("/api/v1/auth/me").status_code == 200
