# SPDX-License-Identifier: Apache-2.0
"""Accounts: made, changed and deleted by administrators; passwords and sessions in their users' own hands."""

from __future__ import annotations

import pytest
from django.apps import apps
from django.db import connection
from rest_framework.test import APIClient

from mlhub.datasets.models import Dataset
from mlhub.events.models import Event
from mlhub.tenants.models import Membership, User, UserSession
from mlhub.tenants.roles import Role
from tests.jobs.builders import job

USERS, ME, LOGIN = "/api/v1/users", "/api/v1/auth/me", "/api/v1/auth/login"
LINK, PASSWORD_ROUTE, SESSIONS = "/api/v1/auth/password-link", "/api/v1/auth/password", "/api/v1/auth/sessions"
PASSWORD, OTHER = "correct horse battery", "staple battery horse"


def signed_in(user: User, password: str = PASSWORD) -> APIClient:
    client = APIClient(HTTP_USER_AGENT="Firefox")
    assert client.post(LOGIN, {"username": user.username, "password": password}).status_code == 200
    return client


def with_password(user: User) -> User:
    user.set_password(PASSWORD)
    user.save()
    return user


def secret_of(link: str) -> str:
    return link.partition("#")[2]


def test_an_administrator_makes_an_account_whose_user_sets_the_password_by_the_link(cast):
    body = {"username": "dora", "email": "dora@example.org", "organisation": str(cast.a.id), "role": "admin"}
    made = cast.client(cast.root).post(USERS, body)
    assert made.status_code == 201
    assert (made.json()["has_password"], made.json()["memberships"][0]["role"]) == (False, "admin")
    browser = APIClient()
    secret = secret_of(made.json()["link"])
    weak = browser.post(LINK, {"secret": secret, "password": "short"})
    assert (weak.status_code, weak.json()["errors"][0]["field"]) == (422, "password")
    assert browser.post(LINK, {"secret": secret, "password": PASSWORD}).json()["username"] == "dora"
    assert browser.get(ME).status_code == 200
    again = APIClient().post(LINK, {"secret": secret, "password": OTHER})
    assert (again.status_code, again.json()["code"]) == (403, "link_void")
    signed_in(User.objects.get(username="dora"))
    about = Event.objects.filter(subject_kind="user", kind__startswith="user.").order_by("id")
    assert list(about.values_list("kind", "actor__username")) == [
        ("user.created", "root"),
        ("user.password_link_made", "root"),
        ("user.password_set", "dora"),
    ]
    assert secret not in str(list(Event.objects.values_list("facts", flat=True)))


@pytest.mark.parametrize("secret", ["", "x.y", "0" * 32 + ".abc-def"])
def test_a_made_up_link_sets_no_password(cast, secret):
    assert APIClient().post(LINK, {"secret": secret or "-", "password": PASSWORD}).status_code == 403


def test_accounts_are_listed_with_their_last_sign_in_and_found_by_name(cast):
    signed_in(with_password(cast.bob))
    listed = cast.client(cast.root).get(USERS, {"username": "OB"}).json()["results"]
    assert [row["username"] for row in listed] == ["bob"]
    assert listed[0]["last_sign_in_at"] is not None
    assert listed[0]["memberships"][0]["organisation"]["name"] == "A"


def test_deactivating_ends_sessions_and_reactivating_admits_again(cast):
    bob, root = signed_in(with_password(cast.bob)), cast.client(cast.root)
    answer = root.patch(f"{USERS}/{cast.bob.id}", {"is_active": False})
    assert (answer.status_code, answer.json()["is_active"]) == (200, False)
    assert bob.get(ME).status_code == 401
    assert not UserSession.objects.filter(user=cast.bob).exists()
    assert root.post(f"{USERS}/{cast.bob.id}/password-link").json()["code"] == "account_inactive"
    root.patch(f"{USERS}/{cast.bob.id}", {"is_active": True})
    signed_in(cast.bob)
    changed = Event.objects.filter(kind="user.changed").order_by("id").values_list("facts", flat=True)
    assert [(f["before"], f["after"]) for f in changed] == [
        ({"is_active": True}, {"is_active": False}),
        ({"is_active": False}, {"is_active": True}),
    ]


@pytest.mark.parametrize("change", [{"is_active": False}, {"is_staff": False}])
def test_the_last_administrator_stays_one(cast, change):
    root = cast.client(cast.root)
    assert root.patch(f"{USERS}/{cast.root.id}", change).json()["code"] == "last_administrator"
    assert root.delete(f"{USERS}/{cast.root.id}").json()["code"] == "last_administrator"
    root.patch(f"{USERS}/{cast.alice.id}", {"is_staff": True})
    assert root.patch(f"{USERS}/{cast.root.id}", change).status_code == 200


def test_who_changes_the_password_stays_signed_in_here_and_is_signed_out_elsewhere(cast):
    with_password(cast.bob)
    here, elsewhere = signed_in(cast.bob), signed_in(cast.bob)
    wrong = here.post(PASSWORD_ROUTE, {"current_password": "wrong", "new_password": OTHER})
    assert (wrong.status_code, wrong.json()["errors"][0]["field"]) == (422, "current_password")
    assert here.post(PASSWORD_ROUTE, {"current_password": PASSWORD, "new_password": OTHER}).status_code == 204
    assert (here.get(ME).status_code, elsewhere.get(ME).status_code) == (200, 401)
    assert [row["is_current"] for row in here.get(SESSIONS).json()["results"]] == [True]
    signed_in(cast.bob, OTHER)


def test_guesses_of_the_present_password_are_counted_and_locked_out(cast, settings):
    with_password(cast.bob)
    here = signed_in(cast.bob)
    body = {"current_password": "wrong", "new_password": OTHER}
    answers = [here.post(PASSWORD_ROUTE, body).status_code for _ in range(settings.AXES_FAILURE_LIMIT)]
    assert set(answers[:-1]) == {422}
    assert here.post(PASSWORD_ROUTE, {**body, "current_password": PASSWORD}).status_code == 429
    assert Event.objects.filter(kind="session.refused").exists()


def test_sessions_are_listed_with_where_they_are_from_and_ended_one_by_one(cast):
    with_password(cast.bob)
    here, elsewhere = signed_in(cast.bob), signed_in(cast.bob)
    listed = here.get(SESSIONS).json()["results"]
    assert [(row["is_current"], row["user_agent"], row["address"]) for row in listed] == [
        (False, "Firefox", "127.0.0.1"),
        (True, "Firefox", "127.0.0.1"),
    ]
    assert here.delete(f"{SESSIONS}/{listed[0]['id']}").status_code == 204
    assert (here.get(ME).status_code, elsewhere.get(ME).status_code) == (200, 401)
    here.post("/api/v1/auth/logout")
    assert not UserSession.objects.exists()


def test_an_administrator_signs_a_user_out_everywhere(cast):
    bob = signed_in(with_password(cast.bob))
    assert cast.client(cast.root).delete(f"{USERS}/{cast.bob.id}/sessions").json() == {"n_sessions": 1}
    assert bob.get(ME).status_code == 401


def test_a_token_changes_no_password(cast):
    made = cast.client(cast.bob).post("/api/v1/tokens", {"name": "t", "scopes": ["read", "write"]}).json()
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {made['token']}")
    body = {"current_password": PASSWORD, "new_password": OTHER}
    assert client.post(PASSWORD_ROUTE, body).json()["code"] == "session_needed"


def test_what_a_deleted_user_made_passes_to_the_heir_and_the_audit_keeps_the_name(cast):
    made = Dataset.objects.create(project=cast.project_a, name="digits", created_by=cast.bob)
    cast.client(cast.bob).post("/api/v1/tokens", {"name": "t", "scopes": ["read"]})
    root, address = cast.client(cast.root), f"{USERS}/{cast.bob.id}"
    assert root.get(f"{address}/deletion").json() == {
        "remains": [{"kind": "datasets", "n": 1, "n_running": 0}],
        "sole_owner_of": [],
    }
    refused = root.delete(address)
    assert (refused.status_code, refused.json()["code"]) == (409, "heir_needed")
    assert refused.json()["detail"] == "bob made 1 dataset."
    job(cast.project_a, cast.bob, state="succeeded")
    job(cast.project_a, cast.bob, state="running")
    jobs = [one for one in root.get(f"{address}/deletion").json()["remains"] if one["kind"] == "jobs"]
    assert jobs == [{"kind": "jobs", "n": 2, "n_running": 1}]
    stranger = root.delete(f"{address}?reassign_to={cast.charlie.id}")
    assert (stranger.status_code, stranger.json()["errors"][0]["field"]) == (422, "reassign_to")
    assert root.delete(f"{address}?reassign_to={cast.alice.id}").status_code == 204
    removed = Event.objects.filter(kind="membership.removed", organisation=cast.a)
    assert [event.facts["username"] for event in removed.order_by("id")] == ["bob"]
    made.refresh_from_db()
    assert made.created_by == cast.alice
    assert not User.objects.filter(username="bob").exists()
    by_bob = root.get("/api/v1/events", {"actor": "bob", "kind": "token.created"}).json()["results"]
    assert [row["actor"] for row in by_bob] == [{"username": "bob"}]


def places_of(text: str) -> set[str]:
    """The tables of which a row holds the text in any column."""
    found = set()
    for model in apps.get_models(include_auto_created=True):
        of_row = model.objects.extra(
            where=[f"{connection.ops.quote_name(model._meta.db_table)}::text LIKE %s"], params=[f"%{text}%"]
        )
        found |= {model._meta.label} if of_row.exists() else set()
    return found


def test_of_a_deleted_person_the_audit_alone_keeps_the_name(cast):
    with_password(cast.bob)
    User.objects.filter(pk=cast.bob.pk).update(username="ROBERTA", email="ROBERTA@example.org")
    cast.bob.refresh_from_db()
    browser = signed_in(cast.bob)
    browser.post("/api/v1/auth/logout")
    for client in (APIClient(), browser):  # the second one is known
        assert client.post(LOGIN, {"username": "ROBERTA", "password": OTHER}).status_code == 401
    offer = {"username": "ROBERTA", "role": "member"}
    assert cast.client(cast.charlie).post(f"/api/v1/organisations/{cast.b.id}/invitations", offer).status_code == 201
    assert {"axes.AccessAttempt", "tenants.Invitation", "tenants.User"} <= places_of("ROBERTA")
    assert cast.client(cast.root).delete(f"{USERS}/{cast.bob.id}").status_code == 204
    assert places_of("ROBERTA") == {"events.Event"}


def test_the_only_owner_of_an_organisation_is_not_deleted(cast):
    root, address = cast.client(cast.root), f"{USERS}/{cast.charlie.id}"
    assert root.get(f"{address}/deletion").json()["sole_owner_of"] == ["B"]
    assert root.delete(address).json()["code"] == "last_owner"
    Membership.objects.create(user=cast.alice, organisation=cast.b, role=Role.OWNER)
    assert root.delete(address).status_code == 204
