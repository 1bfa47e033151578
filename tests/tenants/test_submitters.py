# SPDX-License-Identifier: Apache-2.0
"""Submitters run jobs of the data and models that are there, and change nothing else of a project."""

from __future__ import annotations

from typing import Any

import pytest
from rest_framework.test import APIClient

from mlhub.datasets.models import Dataset
from mlhub.jobs.models import Job
from mlhub.registry.models import Model
from mlhub.tenants.actions import bind_role
from mlhub.tenants.models import ApiToken, Invitation, Membership, Project, QuotaRequest, RoleBinding, Team, User
from mlhub.tenants.roles import Role
from mlhub.tracking.models import Run
from tests.cast import Cast
from tests.datasets import files
from tests.jobs.builders import builtin, job, ready_dataset
from tests.tracking.test_access import MLFLOW, log, token_client
from tests.tracking.test_jobs import opened

API = "/api/v1"
KEPT = (ApiToken, Dataset, Invitation, Membership, Model, Project, QuotaRequest, RoleBinding, Run, Team)
everywhere = pytest.mark.parametrize("sam", ["organisation", "team", "project"], indirect=True)


@pytest.fixture
def sam(request: pytest.FixtureRequest, cast: Cast) -> User:
    """A submitter by the organisation, or an outsider of it who is a submitter by the team or the project."""
    team = Team.objects.create(organisation=cast.a, name="core")
    Project.objects.filter(pk=cast.project_a.pk).update(team=team)
    cast.project_a.refresh_from_db()
    found = User.objects.create(username="sam")
    where = getattr(request, "param", "project")
    whole = where == "organisation"
    role = Role.SUBMITTER if whole else Role.OUTSIDER
    Membership.objects.create(user=found, organisation=cast.a, role=role)
    if not whole:
        place = team if where == "team" else cast.project_a
        bind_role(place, username="sam", role=Role.SUBMITTER, actor=cast.alice)
    return found


def submit(client: APIClient, cast: Cast, dataset: Any, **over: Any) -> Any:
    body = {"dataset": str(dataset.dataset_id), "model": str(builtin().model_id), "project": str(cast.project_a.pk)}
    return client.post(f"{API}/jobs", {**body, "epochs": 1, "batch_size": 4, **over})


def test_a_submitter_submits_changes_stops_clones_and_deletes_own_jobs(cast: Cast, sam: User) -> None:
    client = cast.client(sam)
    made = submit(client, cast, ready_dataset(cast.project_a, cast.bob))
    assert made.status_code == 201, made.json()
    own = f"{API}/jobs/{made.json()['id']}"
    assert client.patch(own, {"tags": ["mine"], "notes": "a try"}).status_code == 200
    assert client.post(f"{own}/pause").status_code == 200
    assert client.post(f"{own}/clone").status_code == 201
    assert client.post(f"{own}/cancel").status_code == 200
    assert client.delete(own).status_code == 204
    notebook = {"kind": "notebook", "project": str(cast.project_a.pk), "name": "look"}
    assert client.post(f"{API}/jobs", notebook).status_code == 201


def test_a_submitter_asks_for_quota_and_starts_studies(cast: Cast, sam: User) -> None:
    ready_dataset(cast.project_a, cast.bob)
    builtin("mlp")
    client = cast.client(sam)
    asked = client.post(f"{API}/projects/{cast.project_a.pk}/quota/requests", {"extra_guarantee": 1, "reason": "paper"})
    assert asked.status_code == 201, asked.json()
    space = {"learning_rate": {"log_uniform": [1e-4, 0.1]}}
    made = client.post(
        f"{API}/studies",
        {"name": "s", "job": {"dataset": "blobs", "model": "mlp", "epochs": 2}, "space": space,
         "metric": "eval/accuracy", "direction": "maximize"},
        format="json",
    )  # fmt: skip
    assert made.status_code == 201, made.json()
    assert client.post(f"{API}/studies/{made.json()['id']}/stop").status_code == 200


def test_a_submitter_changes_nothing_else_of_the_project(cast: Cast, sam: User) -> None:
    version, foreign = ready_dataset(cast.project_a, cast.bob), job(cast.project_a, cast.bob)
    model = Model.objects.create(project=cast.project_a, name="net", created_by=cast.bob)
    project, dataset = f"{API}/projects/{cast.project_a.pk}", f"{API}/datasets/{version.dataset_id}"
    table = files.form("d.csv", files.csv(), name="d", project=cast.project_a.pk)
    code = files.form("m.py", b"x = 1\n", name="m", project=cast.project_a.pk)
    address = {"source": {"uri": "https://example.org/d.csv"}, "name": "r", "project": str(cast.project_a.pk)}
    before, client = _everything(), cast.client(sam)
    answers = {
        "upload data": client.post(f"{API}/datasets", table, format="multipart"),
        "upload a version": client.post(f"{dataset}/versions", files.form("d.csv", files.csv()), format="multipart"),
        "name data elsewhere": client.post(f"{API}/datasets/references", address, format="json"),
        "choose columns": client.post(f"{API}/dataset-versions/{version.pk}/columns", {"target": "y"}),
        "delete data": client.delete(dataset),
        "upload a model": client.post(f"{API}/models", code, format="multipart"),
        "set an alias": client.put(f"{API}/models/{model.pk}/aliases/best", {"version": 1}),
        "delete a model": client.delete(f"{API}/models/{model.pk}"),
        "begin an upload": _begin(client, cast.project_a),
        "set a secret": client.put(f"{project}/secrets/TOKEN", {"value": "a-secret-value"}),
        "rename the project": client.patch(project, {"name": "x"}),
        "delete the project": client.delete(project),
        "give a role": client.post(f"{project}/roles", {"username": "victor", "role": "member"}),
        "limit users": client.patch(f"{project}/quota/users", {"username": None, "max_gpus": 1, "version": 1}),
        "change the quota": client.patch(f"{project}/quota", {"max_gpus": 1, "version": 1}),
        "cancel another's job": client.post(f"{API}/jobs/{foreign.pk}/cancel"),
        "tag another's job": client.patch(f"{API}/jobs/{foreign.pk}", {"tags": ["x"]}),
        "delete another's job": client.delete(f"{API}/jobs/{foreign.pk}"),
    }  # fmt: skip
    assert {what: answer.status_code for what, answer in answers.items()} == dict.fromkeys(answers, 403)
    assert "needs the role member in the project vision of A" in answers["upload data"].json()["detail"]
    assert _everything() == before


@everywhere
def test_a_submitter_makes_no_project(cast: Cast, sam: User) -> None:
    body = {"organisation": str(cast.a.pk), "name": "new", "team": str(cast.project_a.team_id)}
    assert cast.client(sam).post(f"{API}/projects", body).status_code in (403, 404)
    assert Project.objects.filter(name="new").count() == 0


def test_by_mlflow_a_submitter_writes_to_own_jobs_alone(cast: Cast, sam: User) -> None:
    own = opened(job(cast.project_a, sam, name="own")).job
    run = Run.objects.create(project=cast.project_a, name="r", created_by=cast.bob, started_ms=1)
    client = token_client(sam)
    assert log(client, run).status_code == 403
    tag = {"key": "a", "value": "b"}
    assert client.post(f"{MLFLOW}/runs/set-tag", {**tag, "run_id": str(own.pk)}).status_code == 200
    assert client.post(f"{MLFLOW}/runs/set-tag", {**tag, "run_id": str(run.pk)}).status_code == 403
    new = {"experiment_id": str(cast.project_a.pk), "start_time": 1}
    assert client.post(f"{MLFLOW}/runs/create", new).status_code == 403
    assert client.post(f"{MLFLOW}/experiments/create", {"name": "mine"}).status_code in (403, 404)
    assert client.post(f"{MLFLOW}/registered-models/create", {"name": "net"}).status_code in (403, 404)


@everywhere
def test_it_is_said_why_one_may_submit_and_not_upload(cast: Cast, sam: User) -> None:
    found = cast.client(sam).get(f"{API}/projects/{cast.project_a.pk}/permissions").json()
    assert found["role"] == "submitter"
    answers = {one["action"]: one for one in found["permissions"]}
    assert all(answers[word]["is_allowed"] for word in ("read", "submit", "request_quota"))
    assert not answers["upload"]["is_allowed"]
    assert (answers["submit"]["needed_role"], answers["upload"]["needed_role"]) == ("submitter", "member")
    assert "for the role member" in answers["upload"]["remedy"]


def test_members_submit_and_auditors_and_viewers_do_not(cast: Cast) -> None:
    dataset, roles = ready_dataset(cast.project_a, cast.bob), ("member", "submitter", "auditor", "viewer")
    found = {}
    for role in roles:
        Membership.objects.filter(user=cast.victor).update(role=role)
        found[role] = submit(cast.client(cast.victor), cast, dataset, name=role).status_code
    assert found == {"member": 201, "submitter": 201, "auditor": 403, "viewer": 403}
    assert Job.objects.count() == 2


def test_one_is_invited_as_submitter_and_a_service_account_is_one(cast: Cast) -> None:
    alice, organisation = cast.client(cast.alice), f"{API}/organisations/{cast.a.pk}"
    body = {"username": "charlie", "role": "submitter"}
    invited = alice.post(f"{organisation}/invitations", body)
    assert (invited.status_code, invited.json()["role"]) == (201, "submitter")
    robot = alice.post(f"{organisation}/service-accounts", {"name": "nightly", "role": "submitter"})
    assert (robot.status_code, robot.json()["role"]) == (201, "submitter")
    of_robot = f"{API}/service-accounts/{robot.json()['id']}/tokens"
    token = alice.post(of_robot, {"name": "t", "scopes": ["read", "submit"]}).json()["token"]
    program = APIClient(headers={"Authorization": f"Bearer {token}"})
    table = files.form("d.csv", files.csv(), name="d", project=cast.project_a.pk)
    assert submit(program, cast, ready_dataset(cast.project_a, cast.bob)).status_code == 201
    assert program.post(f"{API}/datasets", table, format="multipart").status_code == 403


def _begin(client: APIClient, project: Project) -> Any:
    named = "filename ZC5jc3Y=,project dmlzaW9u"  # d.csv, vision
    assert project.name == "vision"
    return client.post(
        f"{API}/uploads", headers={"Tus-Resumable": "1.0.0", "Upload-Length": "9", "Upload-Metadata": named}
    )


def _everything() -> list[Any]:
    return [list(model._default_manager.order_by("pk").values()) for model in KEPT]
