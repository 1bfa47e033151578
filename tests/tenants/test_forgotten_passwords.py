# SPDX-License-Identifier: Apache-2.0
"""A forgotten password: a link by mail, and nothing that tells a stranger who has an account."""

from __future__ import annotations

import re

import pytest
from django.core import mail
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from mlhub.core.rate_limits.limits import read_rate_limits
from mlhub.events.models import Event
from mlhub.tenants.actions.sign_in import forgotten_passwords
from mlhub.tenants.models import ExternalIdentity, User
from mlhub.tenants.tasks import send_password_links

ASK, LINK = "/api/v1/auth/forgotten-password", "/api/v1/auth/password-link"
PASSWORD = "correct horse battery"


@pytest.fixture
def asked(settings, monkeypatch):
    """What the worker was told, each in turn."""
    settings.HAS_MAIL_SERVER = True
    told: list[str] = []

    def take(task: str, account: str) -> bool:
        assert task == send_password_links.name
        told.append(account)
        return True

    monkeypatch.setattr(forgotten_passwords, "send", take)
    return told


def ask(account: str, **kwargs):
    return APIClient(**kwargs).post(ASK, {"account": account})


def with_password(user: User) -> User:
    user.set_password(PASSWORD)
    user.save()
    return user


@pytest.mark.parametrize("typed", ["bob", "bob@example.org", "BOB@Example.org"])
def test_who_forgot_the_password_gets_a_link_at_the_stored_address(
    cast, asked, typed, django_capture_on_commit_callbacks
):
    with_password(cast.bob)
    assert ask(typed, HTTP_USER_AGENT="Firefox").status_code == 204
    with django_capture_on_commit_callbacks(execute=True):
        assert send_password_links(asked.pop()) == 1
    (message,) = mail.outbox
    assert message.to == ["bob@example.org"]
    secret = re.search(r"/set-password#(\S+)", message.body)
    assert secret is not None
    done = APIClient().post(LINK, {"secret": secret[1], "password": "staple battery horse"})
    assert done.json()["username"] == "bob"
    assert APIClient().post(LINK, {"secret": secret[1], "password": PASSWORD}).json()["code"] == "link_void"
    kinds = list(Event.objects.filter(subject_kind="user").order_by("id").values_list("kind", "actor__username"))
    assert [k for k in kinds if k[0].startswith("user.")] == [
        ("user.password_link_asked", None), ("user.password_link_sent", None), ("user.password_set", "bob")
    ]  # fmt: skip
    facts = Event.objects.get(kind="user.password_link_asked").facts
    assert (facts["username"], facts["user_agent"]) == (typed, "Firefox")
    assert secret[1] not in str(list(Event.objects.values_list("facts", flat=True)))


def test_all_names_are_answered_with_the_same_queries(cast, asked):
    with_password(cast.bob)
    ask("somebody")  # the first one also reads what stays
    seen = []
    for name in ("bob", "bob@example.org", "nobody"):
        with CaptureQueriesContext(connection) as queries:
            answer = ask(name)
        assert not any("tenants_user" in query["sql"] for query in queries)
        seen.append((answer.status_code, answer.content, sorted(answer.headers), len(queries)))
    assert seen[0][0] == 204
    assert seen[0] == seen[1] == seen[2]
    assert asked == ["somebody", "bob", "bob@example.org", "nobody"]


def test_no_link_for_who_cannot_use_one(cast, asked, settings):
    for user in (cast.alice, cast.bob, cast.victor, cast.charlie):
        with_password(user)
    cast.alice.is_active = False
    cast.alice.save()
    cast.bob.email = ""
    cast.bob.save()
    ExternalIdentity.objects.create(user=cast.victor, issuer="https://idp.example", subject="v")
    cast.victor.set_unusable_password()
    cast.victor.save()
    for name in ("alice", "bob", "victor", "nobody"):
        assert forgotten_passwords.send_links(name) == 0
    settings.PASSWORD_USERS = ["root"]
    assert [forgotten_passwords.send_links(name) for name in ("charlie", "root")] == [0, 1]


def test_too_many_are_refused_alike_for_names_that_exist_and_that_do_not(cast, asked, settings):
    settings.RATE_LIMITS = read_rate_limits({"password_links": "address=6/900,name=2/900"})
    codes = {name: [ask(name).status_code for _ in range(3)] for name in ("bob", "nobody")}
    assert codes == {"bob": [204, 204, 429], "nobody": [204, 204, 429]}
    others = [ask(f"name{i}") for i in range(3)]
    assert [answer.status_code for answer in others] == [204, 204, 429]
    assert "password_links" in others[-1].json()["limit"]
    assert int(others[-1].headers["Retry-After"]) > 0
    assert len(asked) == 6


def test_without_a_mail_server_the_answer_says_who_helps(cast):
    refused = ask("bob")
    assert (refused.status_code, refused.json()["code"]) == (409, "no_mail_server")
    assert "administrator" in refused.json()["remedy"]
    assert APIClient().get("/api/v1/auth/methods").json()["sends_password_links"] is False


def test_a_broker_that_is_away_is_said_for_every_name(cast, asked, monkeypatch):
    monkeypatch.setattr(forgotten_passwords, "send", lambda *_: False)
    assert {ask(name).status_code for name in ("bob", "nobody")} == {503}
