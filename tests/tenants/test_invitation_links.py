# SPDX-License-Identifier: Apache-2.0
"""Invitations by link: what they offer is shown first, they work once, and they end."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.core import mail
from django.utils import timezone
from rest_framework.test import APIClient

from mlhub.events.models import Event
from mlhub.tenants.models import Invitation, Membership, User

OFFER, ACCEPT, ME = "/api/v1/auth/invitation", "/api/v1/auth/invitation/accept", "/api/v1/auth/me"
PASSWORD = "correct horse battery"


def made(cast, role: str = "member", **body: str) -> dict[str, str]:
    address = f"/api/v1/organisations/{cast.a.id}/invitations"
    answer = cast.client(cast.alice).post(address, {"role": role, **body})
    assert answer.status_code == 201, answer.json()
    return answer.json()


def secret_of(invitation: dict[str, str]) -> str:
    return invitation["link"].partition("/join#")[2]


def newcomer(secret: str, name: str = "dora"):
    return APIClient().post(ACCEPT, {"secret": secret, "username": name, "password": PASSWORD})


def test_a_person_without_an_account_sees_the_offer_makes_one_and_is_a_member(cast):
    secret, browser = secret_of(made(cast)), APIClient()
    offer = browser.post(OFFER, {"secret": secret}).json()
    assert (offer["organisation"]["name"], offer["role"], offer["invited_by"]["username"]) == ("A", "member", "alice")
    assert not User.objects.filter(username="dora").exists()
    joined = browser.post(ACCEPT, {"secret": secret, "username": "dora", "password": PASSWORD})
    assert [(m["organisation"]["name"], m["role"]) for m in joined.json()["memberships"]] == [("A", "member")]
    assert browser.get(ME).json()["username"] == "dora"
    kinds = Event.objects.filter(actor__username="dora").order_by("id").values_list("kind", flat=True)
    assert list(kinds) == ["user.created", "invitation.accepted", "membership.created", "session.started"]
    assert secret not in str(list(Event.objects.values_list("facts", flat=True)) + list(Invitation.objects.values()))


def test_a_link_works_once(cast):
    secret = secret_of(made(cast))
    assert newcomer(secret).status_code == 200
    again = newcomer(secret, "eve")
    assert (again.status_code, again.json()["code"]) == (403, "link_void")
    assert not User.objects.filter(username="eve").exists()


def test_a_new_account_takes_no_name_to_which_another_organisation_offers_something(cast):
    offer = {"username": "carol", "role": "owner"}
    assert cast.client(cast.charlie).post(f"/api/v1/organisations/{cast.b.id}/invitations", offer).status_code == 201
    secret = secret_of(made(cast))
    refused = newcomer(secret, "carol")
    assert (refused.status_code, refused.json()["code"]) == (409, "name_taken")
    assert not User.objects.filter(username="carol").exists()
    assert newcomer(secret, "dora").status_code == 200


def test_who_is_signed_in_joins_with_that_account(cast):
    secret = secret_of(made(cast, "viewer"))
    answer = cast.client(cast.charlie).post(ACCEPT, {"secret": secret})
    assert answer.status_code == 200
    assert Membership.objects.get(user=cast.charlie, organisation=cast.a).role == "viewer"


def test_an_expired_a_withdrawn_and_a_made_up_link_offer_nothing(cast):
    expired, withdrawn = made(cast), made(cast)
    Invitation.objects.filter(pk=expired["id"]).update(expires_at=timezone.now() - timedelta(seconds=1))
    assert cast.client(cast.alice).delete(f"/api/v1/invitations/{withdrawn['id']}").status_code == 204
    for secret in (secret_of(expired), secret_of(withdrawn), "made-up"):
        assert APIClient().post(OFFER, {"secret": secret}).status_code == 403
        assert newcomer(secret).status_code == 403
    assert not User.objects.filter(username="dora").exists()


def test_a_link_of_a_person_who_lost_the_role_makes_no_member_and_no_account(cast):
    secret = secret_of(made(cast))
    Membership.objects.filter(user=cast.alice).update(role="member")
    answer = newcomer(secret)
    assert (answer.status_code, answer.json()["code"]) == (409, "sender_lost_role")
    assert not User.objects.filter(username="dora").exists()


@pytest.mark.parametrize(("left_out", "status"), [("username", 422), ("password", 422)])
def test_a_new_account_needs_a_name_and_a_password(cast, left_out, status):
    body = {"secret": secret_of(made(cast)), "username": "dora", "password": PASSWORD}
    del body[left_out]
    answer = APIClient().post(ACCEPT, body)
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (status, left_out)


def test_several_links_wait_at_once_and_a_name_that_is_taken_costs_no_link(cast):
    first, second = secret_of(made(cast)), secret_of(made(cast))
    assert newcomer(first, "bob").json()["code"] == "name_taken"
    assert (newcomer(first, "dora").status_code, newcomer(second, "eve").status_code) == (200, 200)


def test_the_link_is_sent_where_a_mail_server_is_configured(cast, settings, django_capture_on_commit_callbacks):
    with django_capture_on_commit_callbacks(execute=True):
        made(cast, email="dora@example.org")
    assert mail.outbox == []
    settings.HAS_MAIL_SERVER = True
    with django_capture_on_commit_callbacks(execute=True):
        invitation = made(cast, email="dora@example.org")
    (message,) = mail.outbox
    assert message.to == ["dora@example.org"]
    assert invitation["link"] in message.body
    assert "as member" in message.body


@pytest.mark.django_db(transaction=True)
def test_the_answer_says_whether_the_link_was_mailed(cast, settings):
    address = "dora@example.org"
    assert made(cast)["is_mailed"] is None
    assert made(cast, email=address)["is_mailed"] is False
    settings.HAS_MAIL_SERVER = True
    assert made(cast, email=address)["is_mailed"] is True
    settings.EMAIL_BACKEND, settings.EMAIL_HOST, settings.EMAIL_PORT = (
        "django.core.mail.backends.smtp.EmailBackend",
        "127.0.0.1",
        1,
    )
    assert made(cast, email=address)["is_mailed"] is False


def test_an_admin_offers_no_ownership(cast):
    address = f"/api/v1/organisations/{cast.a.id}/invitations"
    assert cast.client(cast.alice).post(address, {"role": "owner"}).status_code == 403
    assert cast.client(cast.bob).post(address, {"role": "viewer"}).status_code == 403
