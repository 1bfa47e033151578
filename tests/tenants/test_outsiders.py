# SPDX-License-Identifier: Apache-2.0
"""An outsider of an organisation, at every address: what is no part of their project is as if it were a stranger's."""

from __future__ import annotations

from typing import Any

import pytest

from mlhub.events.actions import append
from mlhub.jobs.models import Job
from mlhub.tenants.actions import bind_role, set_quota
from mlhub.tenants.models import Membership, Project, Team, User
from mlhub.tenants.roles import Role
from tests.cast import Cast
from tests.jobs.builders import job
from tests.openapi import operations
from tests.tenants.everything import address, everything_of_a
from tests.tracking.test_access import MLFLOW, token_client

API = "/api/v1"
SECRET = "hush"  # in the name of all that an outsider has no role in
# of an organisation, and yet for its outsiders: what they see of it
OF_OUTSIDERS = {f"{API}/organisations/{{id}}/quota-tree"}


@pytest.fixture
def dora(cast: Cast) -> User:
    """An outsider of A, who is a member of one project and a viewer of one team there."""
    found = User.objects.create(username="dora")
    Membership.objects.create(user=found, organisation=cast.a, role=Role.OUTSIDER)
    shared = Project.objects.create(organisation=cast.a, name="shared")
    guests = Team.objects.create(organisation=cast.a, name="guests")
    Project.objects.create(organisation=cast.a, name="of guests", team=guests)
    bind_role(shared, username="dora", role=Role.MEMBER, actor=cast.alice)
    bind_role(guests, username="dora", role=Role.VIEWER, actor=cast.alice)
    job(shared, cast.bob, name="shown")
    return found


@pytest.fixture
def ids(cast: Cast, dora: User) -> dict[str, Any]:
    """What A has outside of what dora has a role in."""
    return everything_of_a(cast, SECRET)


def test_an_outsider_is_answered_as_a_stranger_at_every_address(cast: Cast, dora: User, ids: dict[str, Any]) -> None:
    outsider, stranger = cast.client(dora), cast.client(cast.charlie)
    different, leaking = {}, {}
    for path, method in operations():
        if "/ingest/" in path or path.endswith("/stream") or "/auth/" in path:
            continue
        at = address(path, ids)
        answers = [getattr(client, method)(at, {} if method != "get" else None) for client in (outsider, stranger)]
        statuses = tuple(answer.status_code for answer in answers)
        if statuses[0] != statuses[1] and path not in OF_OUTSIDERS:
            different[path, method] = statuses
        seen = b"".join(answers[0].streaming_content) if answers[0].streaming else answers[0].content
        text = seen.decode(errors="replace").replace(f"{SECRET} organisation", "")  # which "shared" is of
        if SECRET in text or (SECRET.upper() in text and "/secrets/" not in path):
            leaking[path, method] = text[:300]
    assert different == {}
    assert leaking == {}


def test_an_outsider_works_in_their_project_and_reads_in_their_team(
    cast: Cast, dora: User, ids: dict[str, Any]
) -> None:
    client = cast.client(dora)
    shown = Job.objects.get(name="shown")
    append("job.submitted", organisation=cast.a, subject_kind="job", subject_id=shown.pk, actor=cast.bob)
    assert [row["name"] for row in client.get(f"{API}/jobs").json()["results"]] == ["shown"]
    assert [row["kind"] for row in client.get(f"{API}/jobs/{shown.pk}/events").json()["results"]] == ["job.submitted"]
    assert {row["name"] for row in client.get(f"{API}/projects").json()["results"]} == {"shared", "of guests"}
    assert client.get(f"{API}/events").json()["results"] == []
    assert client.get(f"{API}/organisations").json()["results"] == []
    me = client.get(f"{API}/auth/me").json()
    assert [row["role"] for row in me["memberships"]] == ["outsider"]
    assert sorted(row["role"] for row in me["project_roles"]) == ["member", "viewer"]
    people = client.get(f"{API}/projects/{shown.project_id}/roles").json()["results"]
    assert [row["user"]["username"] for row in people] == ["dora"]
    assert client.post(f"{API}/jobs/{shown.pk}/clone", {}).status_code == 201
    guests = job(Project.objects.get(name="of guests"), cast.bob, name="of guests")
    assert client.post(f"{API}/jobs/{guests.pk}/cancel").json()["code"] == "role_too_low"
    assert client.delete(f"{API}/memberships/{me['memberships'][0]['id']}").status_code == 204
    assert client.get(f"{API}/jobs").json()["results"] == []


def test_an_outsider_sees_the_quotas_of_their_teams_and_projects(cast: Cast, dora: User, ids: dict[str, Any]) -> None:
    shared, guests = Project.objects.get(name="shared"), Team.objects.get(name="guests")
    Project.objects.filter(pk=shared.pk).update(team=ids["teams"])
    set_quota(guests, max_gpus=3, actor=cast.alice)
    address = f"{API}/organisations/{cast.a.pk}/quota-tree"
    found = cast.client(dora).get(address).json()
    above = {row["name"]: row["above"] for row in found["owners"]}
    assert above == {"shared": None, "guests": None, "of guests": str(guests.pk)}
    assert [row["max_gpus"] for row in found["owners"] if row["name"] == "guests"] == [3]
    assert (found["may_edit"], found["editable"]) == (False, [])
    assert cast.client(dora).get(f"{API}/organisations/{cast.b.pk}/quota-tree").status_code == 404
    assert cast.client(dora).get(f"{API}/organisations/{cast.a.pk}/quota").status_code == 404
    dora.memberships.get().role_bindings.get(team=guests).delete()
    assert [row["name"] for row in cast.client(dora).get(address).json()["owners"]] == ["shared"]
    bind_role(guests, username="dora", role=Role.ADMIN, actor=cast.alice)
    editable = cast.client(dora).get(address).json()["editable"]
    assert editable == [str(Project.objects.get(name="of guests").pk)]
    Membership.objects.create(user=dora, organisation=cast.b, role=Role.VIEWER)
    other = token_client(dora, organisation=cast.b)
    assert other.get(address).status_code in (403, 404)


def test_an_outsider_reaches_nothing_of_another_project_by_mlflow(cast: Cast, dora: User, ids: Any) -> None:
    client = token_client(dora)
    found = client.post(f"{MLFLOW}/experiments/search", {"max_results": 100}).json()["experiments"]
    assert {one["name"].rpartition("/")[2] for one in found} == {"shared", "of guests"}
    for run in (ids["runs"], ids["jobs"]):
        assert client.get(f"{MLFLOW}/runs/get", {"run_id": run.hex}).status_code == 404
        assert client.post(f"{MLFLOW}/runs/set-tag", {"run_id": run.hex, "key": "a", "value": "b"}).status_code == 404
    asked = {"experiment_ids": [cast.project_a.pk.hex], "max_results": 100}
    searched = client.post(f"{MLFLOW}/runs/search", asked)
    assert SECRET not in searched.content.decode().replace(f"{SECRET} organisation", "")
    models = client.get(f"{MLFLOW}/registered-models/search")
    assert SECRET not in models.content.decode()
