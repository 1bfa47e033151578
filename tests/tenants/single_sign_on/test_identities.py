# SPDX-License-Identifier: Apache-2.0
"""Linking an identity to one's account and unlinking it; signing in without passwords."""

from __future__ import annotations

import pytest
from rest_framework.test import APIClient

from mlhub.events.models import Event
from mlhub.tenants.models import Membership
from tests.tenants.single_sign_on.conftest import ME

IDENTITIES, LOGIN, PASSWORD = "/api/v1/auth/identities", "/api/v1/auth/login", "correct horse battery"


@pytest.fixture
def bob(cast):
    cast.bob.set_password(PASSWORD)
    cast.bob.save()
    return cast.bob


@pytest.fixture
def browser(bob) -> APIClient:
    client = APIClient()
    assert client.post(LOGIN, {"username": "bob", "password": PASSWORD}).status_code == 200
    return client


def link(site, browser: APIClient) -> str:
    begun = browser.post(IDENTITIES, {"password": PASSWORD})
    assert begun.status_code == 200, begun.json()
    return browser.get(site.provider.visit(begun.json()["address"]))["Location"]


def test_the_signed_in_owner_links_an_identity_with_the_password_and_signs_in_with_it(site, browser):
    assert browser.post(IDENTITIES, {"password": "wrong"}).json()["code"] == "wrong_password"
    assert link(site, browser) == "/account"
    (found,) = browser.get(IDENTITIES).json()["results"]
    assert (found["issuer"], found["subject"], found["label"]) == (site.provider.issuer, "1", "ada")
    elsewhere = APIClient()
    site.enter(elsewhere)
    assert elsewhere.get(ME).json()["username"] == "bob"
    assert Event.objects.get(kind="user.identity_linked").facts["by"] == "its owner"


def test_an_identity_belongs_to_one_account_and_an_account_has_one_of_a_provider(cast, site, browser):
    site.enter(APIClient())  # ada
    assert link(site, browser) == "/account?refused=1"
    assert site.refusal(browser) == "identity_taken"
    site.provider.person["sub"] = "2"
    assert link(site, browser) == "/account"
    site.provider.person["sub"] = "3"
    link(site, browser)
    assert site.refusal(browser) == "identity_exists"


def test_linking_ends_in_the_session_that_began_it(cast, site, browser):
    answer = site.provider.visit(browser.post(IDENTITIES, {"password": PASSWORD}).json()["address"])
    browser.force_login(cast.charlie, backend="django.contrib.auth.backends.ModelBackend")
    assert browser.get(answer)["Location"] == "/account?refused=1"
    assert not cast.charlie.identities.exists()
    assert not cast.bob.identities.exists()


def test_others_neither_see_nor_unlink_an_identity(cast, site, browser):
    link(site, browser)
    identity = cast.bob.identities.get()
    for other in (cast.charlie, cast.alice, cast.root):
        assert cast.client(other).get(IDENTITIES).json()["results"] == []
        assert cast.client(other).delete(f"{IDENTITIES}/{identity.pk}").status_code == 404
    assert APIClient().get(IDENTITIES).status_code == 401


def test_unlinking_takes_the_roles_of_groups_and_the_other_sessions_away(cast, site, browser):
    link(site, browser)
    Membership.objects.filter(user=cast.bob).delete()
    elsewhere = APIClient()
    site.enter(elsewhere)
    assert Membership.objects.get(user=cast.bob).from_groups
    assert browser.delete(f"{IDENTITIES}/{cast.bob.identities.get().pk}").status_code == 204
    assert (browser.get(ME).status_code, elsewhere.get(ME).status_code) == (200, 401)
    assert not cast.bob.memberships.exists()


def test_the_only_way_in_stays(site):
    browser = APIClient()
    site.enter(browser)
    (found,) = browser.get(IDENTITIES).json()["results"]
    refused = browser.delete(f"{IDENTITIES}/{found['id']}")
    assert (refused.status_code, refused.json()["code"]) == (409, "only_way_in")


def test_where_passwords_are_off_only_named_administrators_sign_in_with_one(cast, site, settings, bob):
    cast.root.set_password(PASSWORD)
    cast.root.save()
    link_of_bob = cast.client(cast.root).post(f"/api/v1/users/{bob.pk}/password-link").json()["link"]
    settings.PASSWORD_USERS = frozenset({"root", "alice"})
    cast.alice.set_password(PASSWORD)
    cast.alice.save()
    for name in ("bob", "nobody", "alice"):
        refused = APIClient().post(LOGIN, {"username": name, "password": PASSWORD})
        assert (refused.status_code, refused.json()["code"]) == (403, "password_sign_in_off"), name
    assert "Keycloak" in refused.json()["remedy"]
    assert APIClient().post(LOGIN, {"username": "root", "password": PASSWORD}).status_code == 200
    body = {"secret": link_of_bob.partition("#")[2], "password": "staple battery horse"}
    assert APIClient().post("/api/v1/auth/password-link", body).json()["code"] == "password_sign_in_off"
    settings.PASSWORD_USERS = frozenset({"alice"})
    page = APIClient().post("/admin/login/", {"username": "root", "password": PASSWORD}, format="multipart")
    assert b"without a password" in page.content


def test_where_passwords_are_off_an_invitation_makes_no_account_with_one(cast, site, settings):
    path = f"/api/v1/organisations/{cast.a.id}/invitations"
    secret = cast.client(cast.alice).post(path, {"role": "viewer"}).json()["link"].partition("#")[2]
    settings.PASSWORD_USERS = frozenset({"root"})
    body = {"secret": secret, "username": "dora", "password": PASSWORD}
    assert APIClient().post("/api/v1/auth/invitation/accept", body).json()["code"] == "password_sign_in_off"
    browser = APIClient()
    site.provider.person["groups"] = []
    site.set(new_users="all")
    site.enter(browser)
    assert browser.post("/api/v1/auth/invitation/accept", {"secret": secret}).status_code == 200
