# SPDX-License-Identifier: Apache-2.0
"""API tokens: shown once, kept as a hash, limited by scope, ended by time or by hand."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from mlhub.events.models import Event
from mlhub.tenants.models import ApiToken

TOKENS = "/api/v1/tokens"


def make(client: APIClient, **body):
    return client.post(TOKENS, {"name": "laptop", "scopes": ["read", "write"], **body})


def bearing(token: str) -> APIClient:
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {token}")
    return client


def test_a_token_is_shown_once_and_kept_as_a_hash(cast):
    alice = cast.client(cast.alice)
    made = make(alice, expires_in_days=30)
    assert made.status_code == 201
    token = made.json()["token"]
    assert token.startswith("mlh_")
    row = ApiToken.objects.get()
    assert token not in str(ApiToken.objects.values().get())
    assert len(row.token_hash) == 64
    listed = alice.get(TOKENS).json()["results"]
    shown = {"id", "name", "prefix", "scopes", "organisation", "project", "created_at", "expires_at", "last_used_at"}
    assert [set(t) for t in listed] == [shown]
    assert token.startswith(listed[0]["prefix"])
    assert token not in str(list(Event.objects.values_list("facts", flat=True)))


def test_a_token_opens_what_its_owner_may_see_and_remembers_its_use(cast):
    token = make(cast.client(cast.bob)).json()["token"]
    assert bearing(token).get("/api/v1/auth/me").json()["username"] == "bob"
    assert ApiToken.objects.get().last_used_at is not None


def test_a_token_to_read_writes_nothing(cast):
    client = bearing(make(cast.client(cast.alice), scopes=["read"]).json()["token"])
    assert client.get("/api/v1/projects").status_code == 200
    assert client.post("/api/v1/projects", {"organisation": str(cast.a.id), "name": "x"}).status_code == 403


def test_a_token_to_write_needs_no_csrf(cast):
    token = make(cast.client(cast.alice)).json()["token"]
    client = APIClient(enforce_csrf_checks=True)
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {token}")
    assert client.post("/api/v1/projects", {"organisation": str(cast.a.id), "name": "x"}).status_code == 201


@pytest.mark.parametrize(
    "ended", [{"expires_at": timezone.now() - timedelta(seconds=1)}, {"revoked_at": timezone.now()}]
)
def test_an_expired_and_a_revoked_token_open_nothing(cast, ended):
    token = make(cast.client(cast.alice)).json()["token"]
    ApiToken.objects.update(**ended)
    answer = bearing(token).get("/api/v1/auth/me")
    assert answer.status_code == 401
    assert answer["WWW-Authenticate"] == "Bearer"


def test_an_unknown_token_and_that_of_an_inactive_person_open_nothing(cast):
    token = make(cast.client(cast.alice)).json()["token"]
    assert bearing(token + "x").get("/api/v1/auth/me").status_code == 401
    cast.alice.is_active = False
    cast.alice.save()
    assert bearing(token).get("/api/v1/auth/me").status_code == 401


def test_revoking_ends_a_token_at_once_and_is_written_down(cast):
    alice = cast.client(cast.alice)
    made = make(alice).json()
    assert alice.delete(f"{TOKENS}/{made['id']}").status_code == 204
    assert bearing(made["token"]).get("/api/v1/auth/me").status_code == 401
    assert alice.get(TOKENS).json()["results"] == []
    assert alice.delete(f"{TOKENS}/{made['id']}").status_code == 404
    assert Event.objects.filter(kind="token.revoked").count() == 1


def test_a_token_makes_no_tokens(cast):
    client = bearing(make(cast.client(cast.alice)).json()["token"])
    assert make(client).status_code == 403
    assert ApiToken.objects.count() == 1


def test_only_administrators_of_the_platform_get_the_scope_admin(cast):
    answer = make(cast.client(cast.alice), scopes=["read", "admin"])
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == "scopes"
    token = make(cast.client(cast.root), scopes=["read", "write", "admin"]).json()["token"]
    assert bearing(token).post("/api/v1/organisations", {"name": "C"}).status_code == 201
    without = make(cast.client(cast.root)).json()["token"]
    assert bearing(without).post("/api/v1/organisations", {"name": "D"}).status_code == 403


@pytest.mark.parametrize("wrong", [{"scopes": []}, {"scopes": ["everything"]}, {"expires_in_days": 0}, {"name": ""}])
def test_a_wrong_wish_for_a_token_names_the_field(cast, wrong):
    answer = make(cast.client(cast.alice), **wrong)
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"].split(".")[0] == next(iter(wrong))


def test_tokens_are_personal_even_to_administrators(cast):
    made = make(cast.client(cast.bob)).json()
    for other in (cast.alice, cast.root, cast.charlie):
        assert cast.client(other).get(TOKENS).json()["results"] == []
        assert cast.client(other).delete(f"{TOKENS}/{made['id']}").status_code == 404
    assert sum(token.is_usable for token in ApiToken.objects.all()) == 1
