# SPDX-License-Identifier: Apache-2.0
"""Tests of what the audit notes of sign-ins, sign-outs, lock-outs and tokens: who, from where, with what."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from rest_framework.test import APIClient

from mlhub.core.web.addresses import networks
from mlhub.events.models import Event
from tests.tenants.test_sessions import LOGIN, LOGOUT, PASSWORD

ORIGIN = {"REMOTE_ADDR": "10.0.0.2", "HTTP_X_FORWARDED_FOR": "198.51.100.7", "HTTP_USER_AGENT": "Browser/1.0 \x1b[31m"}
NOTED = {"address": "198.51.100.7", "user_agent": "Browser/1.0 [31m"}


@pytest.fixture
def alice(cast, settings):
    settings.TRUSTED_PROXIES = networks(["10.0.0.0/24"])
    settings.AXES_FAILURE_LIMIT = 3
    cast.alice.set_password(PASSWORD)
    cast.alice.save()
    return cast.alice


def noted() -> list[tuple[str, str | None]]:
    return list(Event.objects.order_by("id").values_list("kind", "actor__username"))


def sign_in(client: Any, password: str = PASSWORD) -> Any:
    return client.post(LOGIN, {"username": "alice", "password": password})


def test_signing_in_and_out_is_noted_with_address_and_browser(alice):
    client = APIClient(**ORIGIN)
    sign_in(client)
    client.post(LOGOUT)
    client.post(LOGOUT)  # without a session: nothing happens
    assert noted() == [("session.started", "alice"), ("session.ended", "alice")]
    for event in Event.objects.all():
        assert event.facts == {"username": "alice", "user_id": str(alice.pk), **NOTED}
        assert (event.organisation, event.subject_id) == (None, alice.pk)


def test_refused_attempts_and_the_lock_are_noted_once_each(alice):
    client = APIClient(**ORIGIN)
    assert [sign_in(client, "wrong").status_code for _ in range(6)] == [401, 401, 429, 429, 429, 429]
    kinds = [kind for kind, _ in noted()]
    assert sorted(kinds) == ["session.locked_out"] + 3 * ["session.refused"]
    assert all(event.facts == {"username": "alice", **NOTED} for event in Event.objects.all())
    client.post(LOGIN, {"username": "no\u0007body", "password": "x"})
    newest = Event.objects.latest("id")
    assert (newest.kind, newest.facts["username"], newest.subject_id) == ("session.refused", "nobody", None)


def test_admins_see_from_where_members_do_something_and_other_members_do_not(cast, alice):
    bob = APIClient(**ORIGIN)
    bob.force_login(cast.bob)
    wanted = {"extra_guarantee": 1, "reason": "a deadline"}
    asked = bob.post(f"/api/v1/projects/{cast.project_a.pk}/quota/requests", wanted)
    assert asked.status_code == 201, asked.content
    assert Event.objects.get(kind="quota.requested").facts["address"] == NOTED["address"]
    for user, sees in ((cast.alice, True), (cast.bob, True), (cast.victor, False)):
        client = cast.client(user)
        (shown,) = client.get("/api/v1/events", {"kind": "quota.requested"}).json()["results"]
        assert (shown["facts"].get("address") == NOTED["address"], "user_agent" in shown["facts"]) == (sees, sees)
        file = client.get("/api/v1/events/export", {"kind": "quota.requested", "form": "jsonl"})
        assert (NOTED["address"] in file.content.decode(), "Browser" in file.content.decode()) == (sees, sees)


def test_no_event_holds_a_password(alice):
    client = APIClient(**ORIGIN)
    sign_in(client, "a-wrong-secret")
    sign_in(client)
    assert "a-wrong-secret" not in str(list(Event.objects.values_list("facts", flat=True)))
    assert PASSWORD not in str(list(Event.objects.values_list("facts", flat=True)))


def test_signing_in_on_the_admin_page_is_noted_too(cast, alice):
    alice.is_staff = True
    alice.save()
    client = Client(**ORIGIN)
    for password in ("wrong", PASSWORD):
        client.post("/admin/login/", {"username": "alice", "password": password, "next": "/admin/"})
    assert noted() == [("session.refused", None), ("session.started", "alice")]


def test_tokens_are_noted_with_address_and_browser(alice):
    client = APIClient(**ORIGIN)
    sign_in(client)
    pk = client.post("/api/v1/tokens", {"name": "ci", "scopes": ["read"]}).json()["id"]
    client.delete(f"/api/v1/tokens/{pk}")
    events = Event.objects.filter(kind__startswith="token.").order_by("id")
    assert [event.kind for event in events] == ["token.created", "token.revoked"]
    assert all(event.facts.items() >= {**NOTED, "name": "ci", "username": "alice"}.items() for event in events)


def test_sign_ins_are_shown_to_platform_administrators_only(cast, alice):
    sign_in(APIClient(**ORIGIN))
    address = "/api/v1/events?kind_prefix=session."
    rows = cast.client(cast.root).get(address).json()["results"]
    assert [(row["kind"], row["actor"]["username"]) for row in rows][-1] == ("session.started", "alice")
    assert cast.client(cast.bob).get(address).json()["results"] == []


def test_a_change_of_an_account_on_the_admin_page_is_noted(cast, alice):
    path = f"/admin/tenants/user/{cast.bob.pk}/password/"
    done = cast.client(cast.root).post(path, {"password1": PASSWORD, "password2": PASSWORD}, format="multipart")
    assert done.status_code == 302
    event = Event.objects.get(kind="user.changed")
    assert (event.actor, event.facts["username"]) == (cast.root, "bob")


def test_the_admin_page_of_an_account_leaves_the_last_administrator_one(cast):
    path = f"/admin/tenants/user/{cast.root.pk}/change/"
    fields = {
        "username": "root",
        "email": "new@example.org",
        "date_joined_0": "2026-01-01",
        "date_joined_1": "00:00:00",
    }
    done = cast.client(cast.root).post(path, fields, format="multipart")  # a box that is not ticked is not sent
    assert done.status_code == 302
    cast.root.refresh_from_db()
    assert (cast.root.email, cast.root.is_active, cast.root.is_staff) == ("new@example.org", True, True)
