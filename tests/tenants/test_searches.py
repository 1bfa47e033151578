# SPDX-License-Identifier: Apache-2.0
"""Lists of people are searched by the server, a page at a time; addresses are found by admins alone."""

from __future__ import annotations

from typing import Any

import pytest

from mlhub.environments.models import ProjectSecret
from mlhub.tenants.actions import create_project, create_team, invite, set_archived
from mlhub.tenants.actions.administration.service_accounts import create_service_account
from mlhub.tenants.actions.membership.role_bindings import bind_role
from mlhub.tenants.models import Invitation, Membership, Organisation, User
from mlhub.tenants.roles import Role
from tests.cast import Cast, make_cast
from tests.jobs.builders import builtin, ready_dataset

pytestmark = pytest.mark.django_db
N = 450


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def people(cast: Cast) -> None:
    """Many members of A: person0000@uni.example and so on."""
    users = [User(username=f"person{n:04}", email=f"p{n:04}@uni.example") for n in range(N)]
    User.objects.bulk_create(users)
    Membership.objects.bulk_create(Membership(organisation=cast.a, user=user, role=Role.MEMBER) for user in users)


def found(cast: Cast, user: Any, path: str, **query: Any) -> list[Any]:
    answer = cast.client(user).get(f"/api/v1{path}", query)
    assert answer.status_code == 200, answer.content
    return list(answer.json()["results"])


def names(rows: list[Any]) -> set[str]:
    return {row["user"]["username"] for row in rows}


def test_members_are_found_by_name_and_by_admins_by_address_a_page_at_a_time(cast: Cast) -> None:
    people(cast)
    path = f"/organisations/{cast.a.id}/members"
    assert names(found(cast, cast.bob, path, search="ERSON004")) == {f"person{n:04}" for n in range(40, 50)}
    assert names(found(cast, cast.alice, path, search="p0007@UNI")) == {"person0007"}
    assert found(cast, cast.bob, path, search="p0007@uni") == []
    assert names(found(cast, cast.alice, path, role=["owner", "admin"])) == {"alice"}
    first = cast.client(cast.bob).get(f"/api/v1{path}", {"search": "person"}).json()
    assert (len(first["results"]), first["next"] is not None) == (50, True)
    second = cast.client(cast.bob).get(first["next"]).json()
    assert not names(first["results"]) & names(second["results"])
    assert all(name.startswith("person") for name in names(second["results"]))
    assert found(cast, cast.bob, path, search="%") == []
    assert cast.client(cast.charlie).get(f"/api/v1{path}", {"search": "person"}).status_code == 404
    assert cast.client(cast.bob).get(f"/api/v1{path}", {"serach": "person"}).status_code == 400


def test_roles_are_searched_by_name_and_by_a_role_that_counts_there(cast: Cast) -> None:
    people(cast)
    bind_role(cast.project_a, username="person0003", role=Role.ADMIN, actor=cast.root)
    person = User.objects.get(username="person0003")
    path = f"/projects/{cast.project_a.id}/roles"
    assert names(found(cast, cast.bob, path, search="n0003")) == {"person0003"}
    assert names(found(cast, cast.bob, path, role=["owner", "admin"])) == {"alice", "person0003"}
    assert names(found(cast, cast.alice, path, search="P0003@uni")) == {"person0003"}
    assert found(cast, cast.bob, path, search="p0003@uni") == []
    assert found(cast, person, path, search="p0003@uni") == []  # an admin of the project, not of the organisation


def test_accounts_are_found_by_name_full_name_and_address_by_administrators_of_the_platform(cast: Cast) -> None:
    people(cast)
    User.objects.filter(username="person0007").update(first_name="Ada", last_name="King")
    assert {row["username"] for row in found(cast, cast.root, "/users", search="ERSON004")} == {
        f"person{n:04}" for n in range(40, 50)
    }
    for text in ("da ki", "P0007@UNI.example", "person0007"):
        assert [row["username"] for row in found(cast, cast.root, "/users", search=text)] == ["person0007"], text
    assert found(cast, cast.root, "/users", search="p0007", is_active=False) == []
    assert found(cast, cast.root, "/users", search="%") == []
    assert cast.client(cast.alice).get("/api/v1/users", {"search": "p0007"}).status_code == 403
    members = f"/organisations/{cast.a.id}/members"
    assert names(found(cast, cast.bob, members, search="ada king")) == {"person0007"}


def test_projects_are_searched_and_narrowed_to_those_that_take_uploads_or_jobs_of_the_caller(cast: Cast) -> None:
    team = create_team(cast.a, name="Optics", actor=cast.alice)
    streets = create_project(cast.a, name="streets", team=team, actor=cast.alice)
    old = create_project(cast.a, name="old streets", actor=cast.alice)
    set_archived(old, is_archived=True, actor=cast.alice)
    path, own = "/projects", {str(cast.project_a.id), str(streets.id)}

    def ids(user: Any, **query: Any) -> set[str]:
        return {row["id"] for row in found(cast, user, path, **query)}

    assert ids(cast.bob, search="STREETS") == {str(streets.id), str(old.id)}
    assert ids(cast.bob, search="optic") == {str(streets.id)}
    assert ids(cast.bob, search=cast.a.name) == own | {str(old.id)}
    assert ids(cast.charlie, search="streets") == set()
    assert ids(cast.bob, may="upload") == ids(cast.bob, may="submit") == own
    membership = Membership.objects.get(user=cast.bob, organisation=cast.a)
    Membership.objects.filter(pk=membership.pk).update(role=Role.SUBMITTER)
    assert (ids(cast.bob, may="upload"), ids(cast.bob, may="submit")) == (set(), own)
    bind_role(team, username="bob", role=Role.MEMBER, actor=cast.alice)
    assert ids(cast.bob, may="upload") == {str(streets.id)}
    Membership.objects.filter(pk=membership.pk).update(role=Role.VIEWER)
    assert (ids(cast.bob, may="submit"), ids(cast.bob)) == ({str(streets.id)}, own | {str(old.id)})
    assert cast.client(cast.bob).get("/api/v1/projects", {"may": "paint"}).status_code == 422


def test_invitations_service_accounts_secrets_datasets_and_models_are_searched(cast: Cast) -> None:
    for name in ("dora", "emil"):
        invite(cast.a, username=name, role=Role.MEMBER, actor=cast.alice)
    Invitation.objects.filter(username="emil").update(email="e@uni.example")
    path = f"/organisations/{cast.a.id}/invitations"
    assert [row["username"] for row in found(cast, cast.alice, path, search="DOR")] == ["dora"]
    assert [row["username"] for row in found(cast, cast.alice, path, search="uni.ex")] == ["emil"]
    for name in ("nightly", "release"):
        create_service_account(cast.a, name=name, role=Role.MEMBER, actor=cast.root)
    accounts = found(cast, cast.bob, f"/organisations/{cast.a.id}/service-accounts", search="night")
    assert len(accounts) == 1
    assert "nightly" in accounts[0]["username"]
    for name in ("HF_TOKEN", "S3_KEY"):
        ProjectSecret.objects.create(project=cast.project_a, name=name, encrypted=b"", set_by=cast.bob)
    secrets = found(cast, cast.bob, f"/projects/{cast.project_a.id}/secrets", search="hf")
    assert [row["name"] for row in secrets] == ["HF_TOKEN"]
    ready_dataset(cast.project_a, cast.bob)
    builtin("mlp")
    assert [row["name"] for row in found(cast, cast.bob, "/datasets", search="LOB")] == ["blobs"]
    assert found(cast, cast.charlie, "/datasets", search="blob") == []
    assert [row["name"] for row in found(cast, cast.bob, "/models", search="ml")] == ["mlp"]


def test_organisations_are_found_by_name_and_by_the_role_that_one_has_in_them(cast: Cast) -> None:
    made = Organisation.objects.bulk_create(Organisation(name=f"Institute {n:03}") for n in range(300))
    Membership.objects.bulk_create(Membership(organisation=one, user=cast.bob, role=Role.VIEWER) for one in made[:120])

    def listed(user: Any, **query: Any) -> list[str]:
        return [row["name"] for row in found(cast, user, "/organisations", **query)]

    assert listed(cast.root, search="TITUTE 29") == [f"Institute {n}" for n in range(299, 289, -1)]
    assert listed(cast.bob, search="institute 1") == [f"Institute {n}" for n in range(119, 99, -1)]
    assert listed(cast.charlie, search="institute") == []
    assert listed(cast.bob, role=["owner", "admin", "member"]) == ["A"]
    assert listed(cast.alice, role="viewer") == []
    assert len(listed(cast.root, role="owner", limit=200)) == 200
    first = cast.client(cast.root).get("/api/v1/organisations", {"search": "institute"}).json()
    second = cast.client(cast.root).get(first["next"]).json()["results"]
    assert [row["name"] for row in second] == [f"Institute {n:03}" for n in range(249, 199, -1)]
