# SPDX-License-Identifier: Apache-2.0
"""The second factor: asked for after the password, each code once, and not removed by a session alone."""

from __future__ import annotations

from datetime import timedelta

import pyotp
import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from mlhub.events.models import Event
from mlhub.tenants.actions.sign_in import second_factor
from mlhub.tenants.models import SecondFactor, User

AUTH, PASSWORD = "/api/v1/auth", "correct horse battery"
OWN_STATE = {"has_password": True, "is_recovering": False}
OWN, LOGIN = f"{AUTH}/second-factor", f"{AUTH}/login"


class Phone:
    """An authenticator app, whose clock is the platform's and is moved by hand."""

    def __init__(self, monkeypatch) -> None:
        self.step, self.secret = 59_000_000, ""
        monkeypatch.setattr(second_factor, "now_step", lambda: self.step)

    def code(self, *, late_by: int = 0) -> str:
        return pyotp.TOTP(self.secret).generate_otp(self.step - late_by)

    def next_code(self) -> str:
        self.step += 1
        return self.code()


@pytest.fixture
def phone(monkeypatch) -> Phone:
    return Phone(monkeypatch)


@pytest.fixture
def alice(cast) -> User:
    cast.alice.set_password(PASSWORD)
    cast.alice.save()
    return cast.alice


def sign_in(client: APIClient, code: str = "", password: str = PASSWORD, username: str = "alice"):
    return client.post(LOGIN, {"username": username, "password": password, "code": code})


def enrol(client: APIClient, phone: Phone) -> list[str]:
    begun = client.post(OWN, {"password": PASSWORD})
    assert begun.status_code == 201, begun.json()
    phone.secret = begun.json()["secret"]
    assert begun.json()["address"].startswith("otpauth://totp/MLHub:alice?secret=" + phone.secret)
    assert begun.json()["qr_svg"].startswith("<svg")
    confirmed = client.post(f"{OWN}/confirm", {"code": phone.code()})
    assert confirmed.status_code == 200, confirmed.json()
    return confirmed.json()["recovery_codes"]


@pytest.fixture
def browser(alice) -> APIClient:
    client = APIClient()
    assert sign_in(client).status_code == 200
    return client


def test_after_the_password_the_code_is_asked_for_and_works_once(browser, phone):
    assert browser.get(OWN).json() == {
        "is_enabled": False,
        "n_recovery_codes": 0,
        "has_password": True,
        "is_recovering": False,
    }
    enrol(browser, phone)
    assert browser.get(OWN).json() == {
        "is_enabled": True,
        "n_recovery_codes": 10,
        "has_password": True,
        "is_recovering": False,
    }
    missing = sign_in(APIClient())
    assert (missing.status_code, missing.json()["code"]) == (403, "second_factor_needed")
    assert sign_in(APIClient(), phone.code()).json()["code"] == "wrong_code"  # the enrolment has used it
    code = phone.next_code()
    assert sign_in(APIClient(), f"{code[:3]} {code[3:]}").status_code == 200
    assert sign_in(APIClient(), code).json()["code"] == "wrong_code"
    phone.step += 2
    assert sign_in(APIClient(), phone.code(late_by=1)).status_code == 200
    phone.step += 3
    assert sign_in(APIClient(), phone.code(late_by=2)).json()["code"] == "wrong_code"


def test_who_knows_no_password_does_not_learn_of_the_second_factor(browser, phone):
    enrol(browser, phone)
    assert sign_in(APIClient(), phone.next_code(), password="wrong").status_code == 401


def test_a_recovery_code_signs_in_once(browser, phone):
    codes = enrol(browser, phone)
    assert len(set(codes)) == 10
    assert sign_in(APIClient(), codes[3].upper()).status_code == 200
    assert sign_in(APIClient(), codes[3]).json()["code"] == "wrong_code"
    assert browser.get(OWN).json()["n_recovery_codes"] == 9
    stored = SecondFactor.objects.get()
    assert phone.secret not in stored.encrypted_secret
    assert codes[0] not in str(stored.recovery_hashes)


def test_wrong_codes_lock_the_name_as_wrong_passwords_do(browser, phone, settings):
    enrol(browser, phone)
    settings.AXES_FAILURE_LIMIT = 3
    stranger = APIClient()
    assert [sign_in(stranger, "000000").status_code for _ in range(4)] == [422, 422, 429, 429]
    assert sign_in(stranger, phone.next_code()).json()["code"] == "locked_out"
    assert Event.objects.filter(kind="session.locked_out").count() == 1


def test_a_session_without_password_and_code_can_neither_set_it_up_nor_remove_it(alice, browser, phone):
    assert browser.post(OWN, {"password": "wrong"}).json()["code"] == "wrong_password"
    codes = enrol(browser, phone)
    code = phone.next_code()
    for body in ({"password": PASSWORD, "code": "123"}, {"password": "wrong", "code": code}):
        assert browser.post(f"{OWN}/remove", body).status_code == 422
    assert browser.post(OWN, {"password": PASSWORD}).json()["code"] == "second_factor_exists"
    assert SecondFactor.objects.filter(user=alice).exists()
    assert browser.post(f"{OWN}/remove", {"password": PASSWORD, "code": codes[0]}).status_code == 204
    assert sign_in(APIClient()).status_code == 200
    kinds = Event.objects.filter(kind__contains="factor").order_by("id").values_list("kind", flat=True)
    assert list(kinds) == ["user.second_factor_added", "user.second_factor_removed"]


def test_a_secret_that_was_not_confirmed_asks_for_no_code(browser, phone):
    browser.post(OWN, {"password": PASSWORD})
    assert browser.post(f"{OWN}/confirm", {"code": "000000"}).json()["code"] == "wrong_code"
    assert sign_in(APIClient()).status_code == 200


def test_setting_it_up_ends_the_other_sessions(browser, phone):
    elsewhere = APIClient()
    sign_in(elsewhere)
    enrol(browser, phone)
    assert (browser.get(f"{AUTH}/me").status_code, elsewhere.get(f"{AUTH}/me").status_code) == (200, 401)


def test_tokens_need_no_code_and_change_no_second_factor(browser, phone):
    enrol(browser, phone)
    made = browser.post("/api/v1/tokens", {"name": "t", "scopes": ["read", "write"]}).json()
    program = APIClient()
    program.credentials(HTTP_AUTHORIZATION=f"Bearer {made['token']}")
    assert program.get(f"{AUTH}/me").status_code == 200
    body = {"password": PASSWORD, "code": phone.next_code()}
    assert program.post(f"{OWN}/remove", body).json()["code"] == "session_needed"


def test_a_password_link_asks_for_the_code_too(cast, alice, browser, phone):
    enrol(browser, phone)
    link = cast.client(cast.root).post(f"/api/v1/users/{alice.id}/password-link").json()["link"]
    body = {"secret": link.partition("#")[2], "password": "staple battery horse"}
    assert APIClient().post(f"{AUTH}/password-link", body).json()["code"] == "second_factor_needed"
    assert APIClient().post(f"{AUTH}/password-link", {**body, "code": "000000"}).json()["code"] == "wrong_code"
    assert APIClient().post(f"{AUTH}/password-link", {**body, "code": phone.next_code()}).status_code == 200


def test_an_administrator_resets_it_and_the_audit_says_so(cast, alice, browser, phone):
    enrol(browser, phone)
    assert cast.client(cast.root).delete(f"/api/v1/users/{alice.id}/second-factor").status_code == 204
    assert sign_in(APIClient()).status_code == 200
    event = Event.objects.get(kind="user.second_factor_removed")
    assert (event.actor, event.facts["username"]) == (cast.root, "alice")


def test_where_it_is_required_an_administrator_has_no_rights_without_it(cast, alice, browser, phone, settings):
    User.objects.filter(pk=alice.pk).update(is_staff=True, is_superuser=True)
    assert browser.get("/api/v1/users").status_code == 200
    settings.REQUIRE_SECOND_FACTOR = True
    refused = browser.get("/api/v1/users")
    assert (refused.status_code, refused.json()["code"]) == (403, "second_factor_needed")
    me = browser.get(f"{AUTH}/me").json()
    assert (me["is_staff"], me["needs_second_factor"]) == (False, True)
    assert browser.get("/admin/").status_code == 302
    enrol(browser, phone)
    assert browser.get("/api/v1/users").status_code == 200
    assert browser.get("/admin/").status_code == 200
    assert User.objects.get(pk=alice.pk).is_staff


def test_the_admin_page_which_asks_for_no_code_admits_nobody_by_password_alone(alice, browser, phone):
    User.objects.filter(pk=alice.pk).update(is_staff=True, is_superuser=True)
    enrol(browser, phone)
    answer = APIClient().post("/admin/login/", {"username": "alice", "password": PASSWORD}, format="multipart")
    assert (answer.status_code, b"asks for code or passkey" in answer.content) == (200, True)


def test_the_last_recovery_code_leads_to_a_new_second_factor_and_to_new_codes(browser, phone):
    codes = enrol(browser, phone)
    SecondFactor.objects.update(recovery_hashes=SecondFactor.objects.get().recovery_hashes[:1])
    anew = APIClient()
    assert sign_in(anew, codes[0]).status_code == 200
    assert anew.get(OWN).json() == {
        "is_enabled": True, "n_recovery_codes": 0, "has_password": True, "is_recovering": True
    }  # fmt: skip
    assert anew.post(f"{OWN}/recovery-codes", {"password": "wrong"}).json()["code"] == "wrong_password"
    renewed = anew.post(f"{OWN}/recovery-codes", {"password": PASSWORD})
    assert renewed.status_code == 200, renewed.json()
    assert len(set(renewed.json()["recovery_codes"]) - set(codes)) == 10
    assert anew.post(f"{OWN}/remove", {"password": PASSWORD}).status_code == 204
    assert Event.objects.filter(kind="user.recovery_codes_renewed", actor__username="alice").exists()


def test_new_recovery_codes_need_the_second_factor_and_void_the_earlier_ones(browser, phone):
    assert browser.post(f"{OWN}/recovery-codes", {"password": PASSWORD}).json()["code"] == "no_second_factor"
    old = enrol(browser, phone)
    refused = browser.post(f"{OWN}/recovery-codes", {"password": PASSWORD})
    assert (refused.status_code, refused.json()["code"]) == (403, "second_factor_needed")
    made = browser.post(f"{OWN}/recovery-codes", {"password": PASSWORD, "code": phone.next_code()})
    assert sign_in(APIClient(), old[0]).json()["code"] == "wrong_code"
    assert sign_in(APIClient(), made.json()["recovery_codes"][0]).status_code == 200


def test_a_session_that_began_with_a_recovery_code_long_ago_proves_nothing(browser, phone, alice):
    codes = enrol(browser, phone)
    anew = APIClient()
    assert sign_in(anew, codes[0]).status_code == 200
    alice.sessions.update(created_at=timezone.now() - timedelta(minutes=11))
    assert anew.post(f"{OWN}/remove", {"password": PASSWORD}).json()["code"] == "second_factor_needed"
    assert browser.post(f"{OWN}/remove", {"password": PASSWORD}).json()["code"] == "second_factor_needed"


def test_the_owner_gets_an_email_of_each_change(
    cast, alice, browser, phone, settings, mailoutbox, django_capture_on_commit_callbacks
):
    settings.HAS_MAIL_SERVER = True
    with django_capture_on_commit_callbacks(execute=True):
        codes = enrol(browser, phone)
        assert sign_in(APIClient(), codes[0]).status_code == 200
        assert (
            browser.post(f"{OWN}/recovery-codes", {"password": PASSWORD, "code": phone.next_code()}).status_code == 200
        )
        assert cast.client(cast.root).delete(f"/api/v1/users/{alice.pk}/second-factor").status_code == 204
    assert [(mail.to, mail.subject) for mail in mailoutbox] == [
        (["alice@example.org"], "MLHub: An authenticator app was set up for your account"),
        (["alice@example.org"], "MLHub: A recovery code of your account was used"),
        (["alice@example.org"], "MLHub: New recovery codes were made for your account"),
        (["alice@example.org"], "MLHub: The authenticator app of your account was removed"),
    ]
    assert "was used: 9 left" in mailoutbox[1].body
    assert "by the administrator root" in mailoutbox[3].body
    assert not any(code in mail.body for mail in mailoutbox for code in codes)
