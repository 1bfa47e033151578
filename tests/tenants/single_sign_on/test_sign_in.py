# SPDX-License-Identifier: Apache-2.0
"""Signing in at a provider: accounts, memberships by group, sessions, the second factor, and the audit of it all."""

from __future__ import annotations

import pyotp
import pytest
from rest_framework.test import APIClient

from mlhub.events.models import Event
from mlhub.tenants.actions.sign_in import second_factor
from mlhub.tenants.models import ExternalIdentity, Invitation, Membership, User, UserSession
from tests.tenants.passkeys.authenticator import SoftAuthenticator
from tests.tenants.single_sign_on.conftest import BEGIN, ME, METHODS
from tests.tenants.single_sign_on.oidc_provider import signing_key


def test_a_person_of_a_mapped_group_gets_an_account_a_role_and_a_session(cast, site):
    browser = APIClient()
    methods = browser.get(METHODS).json()
    assert (methods["single_sign_on"], methods["has_passwords"], methods["refusal"]) == ("Keycloak", True, None)
    assert site.enter(browser, next="/jobs?state=RUNNING") == "/jobs?state=RUNNING"
    me = browser.get(ME).json()
    assert (me["username"], me["is_staff"]) == ("ada", False)
    (membership,) = me["memberships"]
    assert (membership["organisation"], membership["role"]) == ({"id": str(cast.a.id), "name": "A"}, "member")
    assert [s["method"] for s in browser.get("/api/v1/auth/sessions").json()["results"]] == ["single_sign_on"]
    assert not User.objects.get(username="ada").has_usable_password()
    kinds = Event.objects.order_by("id").values_list("kind", "actor__username")
    made = ["user.created", "user.identity_linked", "membership.created", "session.started"]
    assert list(kinds) == [(kind, "ada") for kind in made]
    assert Event.objects.get(kind="session.started").facts["method"] == "single_sign_on"
    assert Event.objects.get(kind="membership.created").facts["source"] == "single_sign_on"


def test_the_same_person_comes_back_to_the_same_account_whatever_they_are_called_now(site):
    site.enter(APIClient())
    site.provider.person |= {"preferred_username": "countess", "email": "ada@example.org", "email_verified": True}
    browser = APIClient()
    site.enter(browser)
    assert browser.get(ME).json()["username"] == "ada"
    assert ExternalIdentity.objects.get().label == "ada@example.org"


def test_groups_give_change_and_take_away_roles_at_each_sign_in_and_leave_others_alone(cast, site):
    browser = APIClient()
    site.enter(browser)
    ada = User.objects.get(username="ada")
    Membership.objects.create(user=ada, organisation=cast.b, role="viewer")

    def roles() -> dict[str, str]:
        return dict(ada.memberships.order_by("role").values_list("organisation__name", "role"))

    site.provider.person["groups"] = ["ml", "leads", "others"]
    site.enter(browser)
    assert roles() == {"A": "admin", "B": "viewer"}
    site.provider.person["groups"] = ["others"]
    site.enter(browser)
    assert roles() == {"B": "viewer"}
    assert browser.get(f"/api/v1/organisations/{cast.a.id}").status_code == 404
    kinds = Event.objects.filter(kind__startswith="membership.").order_by("id").values_list("kind", flat=True)
    assert list(kinds) == ["membership.created", "membership.changed", "membership.removed"]


def test_a_membership_that_was_made_here_is_neither_raised_nor_taken_by_groups(cast, site):
    site.enter(APIClient())
    Membership.objects.filter(user__username="ada").update(from_groups=False, role="viewer")
    for groups in (["leads"], []):
        site.provider.person["groups"] = groups
        site.enter(APIClient())
        assert Membership.objects.get(user__username="ada").role == "viewer"


def test_groups_that_only_the_userinfo_endpoint_knows_count(site):
    del site.provider.person["groups"]
    site.provider.userinfo = {"groups": ["leads"]}
    site.enter(APIClient())
    assert Membership.objects.get(user__username="ada").role == "admin"


@pytest.mark.parametrize(
    ("new_users", "groups", "is_let_in"),
    [("mapped", ["others"], False), ("none", ["ml"], False), ("all", [], True)],
)
def test_who_gets_an_account_is_a_setting(site, new_users, groups, is_let_in):
    site.set(new_users=new_users)
    site.provider.person["groups"] = groups
    browser = APIClient()
    assert site.enter(browser) == ("/" if is_let_in else "/sign-in?refused=1&next=%2F")
    assert site.refusal(browser) == (None if is_let_in else "no_account")
    assert User.objects.filter(username="ada").exists() == is_let_in
    refused = Event.objects.filter(kind="session.refused")
    assert [event.facts["reason"] for event in refused] == ([] if is_let_in else ["no_account"])


def test_a_name_that_is_taken_or_offered_something_is_not_given_to_a_newcomer(cast, site):
    later = "2099-01-01T00:00:00Z"
    Invitation.objects.create(organisation=cast.b, username="Alice-2", role="owner", expires_at=later)
    site.provider.person["preferred_username"] = "Alice"  # looks like alice
    browser = APIClient()
    site.enter(browser)
    assert browser.get(ME).json()["username"] == "Alice-3"


def test_a_deactivated_account_stays_outside(site):
    site.enter(APIClient())
    User.objects.filter(username="ada").update(is_active=False)
    browser = APIClient()
    assert site.enter(browser) == "/sign-in?refused=1&next=%2F"
    assert site.refusal(browser) == "account_inactive"
    assert browser.get(ME).status_code == 401


def test_keys_that_the_provider_has_rotated_are_read_anew(site):
    site.enter(APIClient())
    site.provider.key = signing_key("two")
    site.provider.published = [signing_key("two")]
    assert site.enter(APIClient()) == "/"


def test_the_session_ends_after_the_hours_of_the_settings(site):
    site.set(session_hours=2)
    browser = APIClient()
    site.enter(browser)
    assert 3600 < browser.session.get_expiry_age() <= 7200  # two weeks by default


def test_without_a_provider_there_is_no_way_in(cast, settings):
    browser = APIClient()
    assert browser.post(BEGIN).status_code == 404
    assert browser.get("/single-sign-on/callback?code=x&state=y")["Location"] == "/sign-in?refused=1"
    assert browser.get(METHODS).json()["single_sign_on"] is None


def test_a_provider_that_is_away_is_named_with_a_remedy(site):
    site.set(issuer="http://127.0.0.1:9")
    answer = APIClient().post(BEGIN)
    assert (answer.status_code, answer.json()["code"]) == (503, "single_sign_on_unavailable")
    assert "Keycloak" in answer.json()["detail"]


def enrol_ada() -> str:
    """A second factor of the account; returns its secret."""
    begun = second_factor.begin_enrolment(User.objects.get(username="ada"))
    row = second_factor.SecondFactor.objects.get()
    row.confirmed_at = row.created_at
    row.save()
    return begun.secret


def test_the_second_factor_is_asked_for_only_where_the_provider_does_not_replace_it(site, monkeypatch):
    site.enter(APIClient())
    secret = enrol_ada()
    assert site.enter(APIClient()) == "/"
    site.set(replaces_second_factor=False)
    browser = APIClient()
    assert site.enter(browser, next="/jobs") == "/sign-in?code=1&next=%2Fjobs"
    assert browser.get(ME).status_code == 401
    assert browser.post(f"{BEGIN}/code", {"code": "000000"}).json()["code"] == "wrong_code"
    right = pyotp.TOTP(secret).generate_otp(second_factor.now_step())
    assert APIClient().post(f"{BEGIN}/code", {"code": right}).json()["code"] == "sign_in_not_begun"
    assert browser.post(f"{BEGIN}/code", {"code": right}).json()["username"] == "ada"
    assert browser.get(ME).status_code == 200


def test_a_person_without_a_password_adds_a_passkey_which_is_the_second_factor_and_a_way_in(site):
    browser, device = APIClient(), SoftAuthenticator()
    site.enter(browser)
    options = browser.post("/api/v1/auth/passkeys/options").json()["options"]
    added = browser.post("/api/v1/auth/passkeys", {"name": "phone", **device.create(options)})
    assert added.status_code == 201, added.json()
    site.set(replaces_second_factor=False)
    browser = APIClient()
    assert site.enter(browser, next="/jobs") == "/sign-in?code=1&next=%2Fjobs"
    options = browser.post("/api/v1/auth/passkey-challenge").json()["options"]
    entered = browser.post(f"{BEGIN}/code", {"passkey": device.sign(options)}, format="json")
    assert (entered.status_code, entered.json()["username"]) == (200, "ada")
    browser = APIClient()
    options = browser.post("/api/v1/auth/passkey-challenge").json()["options"]
    signed = {"passkey": device.sign(options)}
    assert browser.post("/api/v1/auth/passkey-login", signed, format="json").json()["username"] == "ada"
    identity = ExternalIdentity.objects.get()
    assert browser.delete(f"/api/v1/auth/identities/{identity.id}").status_code == 204  # the passkey is another way in


@pytest.mark.parametrize("replaces", [True, False])
def test_where_administrators_need_a_second_factor_the_providers_sign_in_may_count_for_it(site, settings, replaces):
    site.enter(APIClient())
    User.objects.filter(username="ada").update(is_staff=True, is_superuser=True)
    settings.REQUIRE_SECOND_FACTOR = True
    site.set(replaces_second_factor=replaces)
    browser = APIClient()
    site.enter(browser)
    assert browser.get("/api/v1/users").status_code == (200 if replaces else 403)
    assert browser.get("/admin/").status_code == (200 if replaces else 302)


def test_signing_in_ends_with_signing_out(site):
    browser = APIClient()
    site.enter(browser)
    assert browser.post("/api/v1/auth/logout").status_code == 204
    assert browser.get(ME).status_code == 401
    assert not UserSession.objects.exists()
