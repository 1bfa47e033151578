# SPDX-License-Identifier: Apache-2.0
"""Service accounts: accounts of an organisation for programs, with tokens and without a password."""

from __future__ import annotations

import pytest
from django.db import IntegrityError, transaction
from rest_framework.test import APIClient

from mlhub.datasets.models import Dataset
from mlhub.events.models import Event
from mlhub.tenants.models import Membership, Project, User
from tests.datasets import files

API = "/api/v1"
ACCOUNTS, PASSWORD = f"{API}/service-accounts", "correct horse battery"


def made(cast, name: str = "ci", role: str = "member") -> dict[str, str]:
    answer = cast.client(cast.alice).post(
        f"{API}/organisations/{cast.a.id}/service-accounts", {"name": name, "role": role}
    )
    assert answer.status_code == 201, answer.json()
    return answer.json()


def token(cast, account: dict[str, str], **body: object) -> dict[str, str]:
    answer = cast.client(cast.alice).post(
        f"{ACCOUNTS}/{account['id']}/tokens", {"name": "runner", "scopes": ["read", "submit"], **body}
    )
    assert answer.status_code == 201, answer.json()
    return answer.json()


def program(secret: str) -> APIClient:
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")
    return client


def test_what_a_program_uploads_with_the_token_of_a_service_account_names_the_account(cast):
    account = made(cast)
    assert account["username"] == "ci@a.service"
    client = program(token(cast, account)["token"])
    assert client.get(f"{API}/auth/me").json()["username"] == "ci@a.service"
    body = files.form("digits.csv", files.csv(), name="digits", project=cast.project_a.id)
    answer = client.post(f"{API}/datasets", body, format="multipart")
    assert (answer.status_code, answer.json()["created_by"]["username"]) == (201, "ci@a.service")
    assert client.get(f"{API}/projects/{cast.project_b.id}").status_code == 404
    listed = cast.client(cast.victor).get(f"{API}/organisations/{cast.a.id}/service-accounts").json()["results"]
    assert [(row["username"], row["role"], row["last_used_at"] is None) for row in listed] == [
        ("ci@a.service", "member", False)
    ]


def test_the_token_expires_and_reaches_the_organisation_or_one_project_of_it_only(cast):
    account = made(cast)
    Project.objects.create(organisation=cast.a, name="audio")
    limited = token(cast, account, project=str(cast.project_a.id), expires_in_days=7)
    assert limited["expires_at"] is not None
    assert token(cast, account)["organisation"]["name"] == "A"
    names = [row["name"] for row in program(limited["token"]).get(f"{API}/projects").json()["results"]]
    assert names == ["vision"]
    alice = cast.client(cast.alice)
    for body, field, status in (
        ({"expires_in_days": None}, "expires_in_days", 422),
        ({"scopes": ["admin"]}, "scopes", 422),
        ({"project": str(cast.project_b.id)}, "project", 404),
    ):
        answer = alice.post(f"{ACCOUNTS}/{account['id']}/tokens", {"name": "t", "scopes": ["read"], **body})
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (status, field)
    assert program(limited["token"]).post(f"{ACCOUNTS}/{account['id']}/tokens", {}).status_code == 403


def test_a_service_account_cannot_sign_in_and_gets_no_password(cast):
    account = made(cast)
    body = {"username": account["username"], "password": PASSWORD}
    assert APIClient().post(f"{API}/auth/login", body).status_code == 401
    root = cast.client(cast.root)
    assert root.post(f"{API}/users/{account['id']}/password-link").json()["code"] == "service_account"
    assert root.patch(f"{API}/users/{account['id']}", {"is_staff": True}).json()["code"] == "service_account"
    user = User.objects.get(pk=account["id"])
    user.set_password(PASSWORD)
    with pytest.raises(IntegrityError, match="service_accounts_cannot_sign_in"), transaction.atomic():
        user.save()


def test_no_person_takes_a_name_that_looks_like_a_service_account(cast):
    answer = cast.client(cast.root).post(f"{API}/users", {"username": "bob@a.service"})
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "username")


def test_a_service_account_stays_a_member_or_a_viewer(cast):
    alice, account = cast.client(cast.alice), made(cast)
    own = Membership.objects.get(user_id=account["id"])
    for answer in (
        alice.post(f"{API}/organisations/{cast.a.id}/service-accounts", {"name": "boss", "role": "admin"}),
        alice.patch(f"{ACCOUNTS}/{account['id']}", {"role": "admin"}),
        alice.patch(f"{API}/memberships/{own.id}", {"role": "admin"}),
    ):
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "role")
    assert alice.delete(f"{API}/memberships/{own.id}").json()["code"] == "service_account"
    assert alice.patch(f"{ACCOUNTS}/{account['id']}", {"role": "viewer"}).json()["role"] == "viewer"


def test_a_deactivated_account_is_refused_until_it_is_active_again(cast):
    alice, account = cast.client(cast.alice), made(cast)
    client = program(token(cast, account)["token"])
    for is_active, status in ((False, 401), (True, 200)):
        answer = alice.patch(f"{ACCOUNTS}/{account['id']}", {"is_active": is_active})
        assert (answer.json()["is_active"], client.get(f"{API}/auth/me").status_code) == (is_active, status)


def test_a_revoked_token_is_refused_and_off_the_list(cast):
    alice, account = cast.client(cast.alice), made(cast)
    made_token = token(cast, account)
    route = f"{ACCOUNTS}/{account['id']}/tokens"
    assert [row["id"] for row in alice.get(route).json()["results"]] == [made_token["id"]]
    assert alice.delete(f"{route}/{made_token['id']}").status_code == 204
    assert program(made_token["token"]).get(f"{API}/auth/me").status_code == 401
    assert alice.get(route).json()["results"] == []


@pytest.mark.parametrize("who", ["bob", "victor"])
def test_members_see_service_accounts_and_manage_none(cast, who):
    account, client = made(cast), cast.client(getattr(cast, who))
    route = f"{ACCOUNTS}/{account['id']}"
    answers = (
        client.post(f"{API}/organisations/{cast.a.id}/service-accounts", {"name": "mine", "role": "viewer"}),
        client.patch(route, {"is_active": False}),
        client.delete(route),
        client.get(f"{route}/deletion"),
        client.get(f"{route}/tokens"),
        client.post(f"{route}/tokens", {"name": "t", "scopes": ["read"]}),
    )
    assert {(answer.status_code, answer.json()["code"]) for answer in answers} == {(403, "role_too_low")}


def test_what_a_deleted_account_made_passes_to_a_member_and_the_organisation_sees_it(cast):
    alice, account = cast.client(cast.alice), made(cast)
    data = Dataset.objects.create(project=cast.project_a, name="digits", created_by_id=account["id"])
    route = f"{ACCOUNTS}/{account['id']}"
    assert alice.get(f"{route}/deletion").json()["remains"] == [{"kind": "datasets", "n": 1, "n_running": 0}]
    assert alice.delete(route).json()["code"] == "heir_needed"
    assert alice.delete(f"{route}?reassign_to={cast.charlie.id}").status_code == 404
    assert alice.delete(f"{route}?reassign_to={cast.bob.id}").status_code == 204
    data.refresh_from_db()
    assert data.created_by == cast.bob
    about = Event.objects.filter(organisation=cast.a, subject_id=account["id"]).order_by("id")
    assert list(about.values_list("kind", "actor__username")) == [("user.created", "alice"), ("user.deleted", "alice")]


def test_an_empty_organisation_is_deleted_with_its_service_accounts(cast):
    charlie = cast.client(cast.charlie)
    answer = charlie.post(f"{API}/organisations/{cast.b.id}/service-accounts", {"name": "ci"})
    cast.project_b.delete()
    assert charlie.delete(f"{API}/organisations/{cast.b.id}").status_code == 204
    assert not User.objects.filter(pk=answer.json()["id"]).exists()


def test_two_organisations_of_the_same_slug_do_not_learn_of_each_others_names(cast):
    made(cast)
    cast.b.name = "a!"
    cast.b.save()
    route = f"{API}/organisations/{cast.b.id}/service-accounts"
    charlie = cast.client(cast.charlie)
    assert charlie.post(route, {"name": "ci"}).json()["username"] == f"ci@a-{cast.b.id.hex[-8:]}.service"
    again = charlie.post(route, {"name": "ci"})
    assert (again.status_code, again.json()["code"]) == (409, "name_taken")
