# SPDX-License-Identifier: Apache-2.0
"""Tokens limited to an organisation, a project and verbs: what they reach, and refusals that name what is missing."""

from __future__ import annotations

import pytest
from rest_framework.test import APIClient

from mlhub.datasets.models import Dataset
from mlhub.tenants.models import ApiToken, Membership, Project, User
from mlhub.tenants.roles import Role
from mlhub.tenants.sign_in.authentication import hash_token

API = "/api/v1"


@pytest.fixture
def both(cast) -> User:
    """bob, who is a member of both organisations, with a dataset in each project."""
    Membership.objects.create(user=cast.bob, organisation=cast.b, role=Role.ADMIN)
    for project in (cast.project_a, cast.project_b, Project.objects.create(organisation=cast.a, name="audio")):
        Dataset.objects.create(project=project, name=f"of {project.name}", created_by=cast.bob)
    return cast.bob


def token(cast, user: User, **body: object) -> APIClient:
    made = cast.client(user).post(f"{API}/tokens", {"name": "ci", "scopes": ["read", "write"], **body})
    assert made.status_code == 201, made.json()
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {made.json()['token']}")
    return client


def names(client: APIClient, route: str) -> list[str]:
    return sorted(row["name"] for row in client.get(f"{API}/{route}").json()["results"])


def test_a_token_for_an_organisation_sees_and_changes_nothing_of_another(cast, both):
    client = token(cast, both, organisation=str(cast.a.id))
    assert names(client, "organisations") == ["A"]
    assert names(client, "projects") == ["audio", "vision"]
    assert [m["organisation"]["name"] for m in client.get(f"{API}/auth/me").json()["memberships"]] == ["A"]
    assert client.get(f"{API}/auth/sessions").json()["results"] == []
    assert names(client, "datasets") == ["of audio", "of vision"]
    for answer in (
        client.get(f"{API}/projects/{cast.project_b.id}"),
        client.patch(f"{API}/projects/{cast.project_b.id}", {"name": "x"}),
        client.post(f"{API}/projects", {"organisation": str(cast.b.id), "name": "x"}),
    ):
        assert (answer.status_code, answer.json()["code"], answer.json()["limit"]) == (403, "token_limited", "A")
    assert client.post(f"{API}/projects", {"organisation": str(cast.a.id), "name": "x"}).status_code == 201


def test_a_version_that_knows_no_limits_does_not_know_a_limited_token(cast, both):
    made = cast.client(both).post(
        f"{API}/tokens", {"name": "ci", "scopes": ["read"], "project": str(cast.project_a.id)}
    )
    secret = made.json()["token"]
    assert not ApiToken.objects.filter(token_hash=hash_token(secret)).exists()
    assert ApiToken.objects.get(token_hash=hash_token(secret, is_limited=True)).project == cast.project_a


def test_a_token_for_a_project_reaches_what_is_in_it_and_no_organisation(cast, both):
    client = token(cast, both, project=str(cast.project_a.id))
    assert names(client, "projects") == ["vision"]
    assert names(client, "datasets") == ["of vision"]
    assert names(client, "organisations") == names(client, "teams") == []
    assert client.get(f"{API}/events").json()["results"] == []
    refused = client.post(f"{API}/projects", {"organisation": str(cast.a.id), "name": "x"})
    assert (refused.status_code, refused.json()["code"]) == (403, "token_limited")
    assert client.get(f"{API}/projects/{cast.project_b.id}").status_code == 403


def test_what_its_user_cannot_see_stays_hidden_from_a_limited_token(cast):
    client = token(cast, cast.bob, organisation=str(cast.a.id))
    assert client.get(f"{API}/projects/{cast.project_b.id}").status_code == 404


def test_a_limited_token_of_a_platform_administrator_is_no_administrators(cast):
    Membership.objects.create(user=cast.root, organisation=cast.a, role=Role.VIEWER)
    client = token(cast, cast.root, organisation=str(cast.a.id))
    assert names(client, "projects") == ["vision"]
    assert client.get(f"{API}/users").status_code == 403
    assert client.patch(f"{API}/projects/{cast.project_a.id}", {"name": "x"}).json()["code"] == "role_too_low"
    assert User.objects.get(pk=cast.root.pk).is_staff


def test_a_limited_token_answers_no_invitation_and_sees_no_other_token(cast, both):
    invitation = cast.client(cast.charlie).post(
        f"{API}/organisations/{cast.b.id}/invitations", {"username": "alice", "role": "viewer"}
    )
    token(cast, cast.alice)
    client = token(cast, cast.alice, organisation=str(cast.a.id), name="limited")
    assert client.get(f"{API}/invitations").json()["results"] == []
    assert client.post(f"{API}/invitations/{invitation.json()['id']}/accept").status_code == 404
    assert [row["organisation"]["name"] for row in client.get(f"{API}/tokens").json()["results"]] == ["A"]


@pytest.mark.parametrize(
    ("scopes", "verb", "route", "missing"),
    [
        (["submit"], "get", "projects", "read"),
        (["read"], "post", "jobs", "submit"),
        (["read"], "post", "datasets", "submit"),
        (["read", "submit"], "post", "projects", "write"),
        (["read", "submit"], "post", "teams", "write"),
    ],
)
def test_a_refusal_names_the_missing_scope(cast, scopes, verb, route, missing):
    answer = getattr(token(cast, cast.alice, scopes=scopes), verb)(f"{API}/{route}")
    assert (answer.status_code, answer.json()["code"], answer.json()["needed_scope"]) == (403, "scope_missing", missing)
    assert missing in answer.json()["remedy"]


@pytest.mark.parametrize("scopes", [["submit"], ["write"]])
def test_submit_and_write_let_a_token_submit(cast, scopes):
    answer = token(cast, cast.bob, scopes=scopes).post(f"{API}/jobs", {})
    assert answer.status_code == 422  # it is the body that is refused


def test_a_limit_that_makes_no_sense_is_refused_by_its_field(cast):
    def refused(user: User, **body: object) -> tuple[int, str]:
        answer = cast.client(user).post(f"{API}/tokens", {"name": "t", "scopes": ["read"], **body})
        return answer.status_code, answer.json()["errors"][0]["field"]

    assert refused(cast.bob, organisation=str(cast.b.id)) == (404, "organisation")
    assert refused(cast.root, organisation=str(cast.a.id)) == (422, "organisation")
    assert refused(cast.root, project=str(cast.project_a.id), scopes=["admin"]) == (422, "scopes")
