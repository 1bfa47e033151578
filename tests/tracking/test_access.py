# SPDX-License-Identifier: Apache-2.0
"""Who reaches what by the MLflow protocol: tokens and their scopes, roles, organisations, and limits of requests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from mlflow.exceptions import MlflowException
from rest_framework.test import APIClient

from mlhub.core.rate_limits.limits import read_rate_limits
from mlhub.tenants.actions import create_token
from mlhub.tenants.models import Membership, Project, User
from mlhub.tracking.models import Run
from tests.cast import Cast

pytestmark = pytest.mark.django_db

MLFLOW = "/api/2.0/mlflow"


def token_client(user: User, *scopes: str, **limits: Any) -> APIClient:
    _, token = create_token(user, name="t", scopes=scopes or ("read", "submit"), expires_in_days=1, **limits)
    return APIClient(headers={"Authorization": f"Bearer {token}"})


@pytest.fixture
def run(cast: Cast) -> Run:
    return Run.objects.create(project=cast.project_a, name="r", created_by=cast.bob, started_ms=1)


def log(client: APIClient, run: Run) -> Any:
    return client.post(f"{MLFLOW}/runs/log-metric", {"run_id": str(run.pk), "key": "a", "value": 1, "timestamp": 1})


def test_another_organisation_s_run_is_not_there(cast: Cast, run: Run) -> None:
    client = token_client(cast.charlie)
    for answer in (
        client.get(f"{MLFLOW}/runs/get", {"run_id": str(run.pk)}),
        client.get(f"{MLFLOW}/metrics/get-history", {"run_id": str(run.pk), "metric_key": "a"}),
        client.get(f"{MLFLOW}/experiments/get", {"experiment_id": str(cast.project_a.pk)}),
        client.get(f"{MLFLOW}/experiments/get-by-name", {"experiment_name": "vision"}),
        client.post(f"{MLFLOW}/runs/search", {"experiment_ids": [str(cast.project_a.pk)]}),
        client.get("/api/2.0/mlflow-artifacts/artifacts", {"path": f"{cast.project_a.pk}/{run.pk}/artifacts"}),
        log(client, run),
    ):
        assert answer.status_code == 404
        assert answer.json()["error_code"] == "RESOURCE_DOES_NOT_EXIST"


def test_reading_needs_read_and_logging_needs_submit(cast: Cast, run: Run) -> None:
    reader = token_client(cast.bob, "read")
    assert reader.get(f"{MLFLOW}/runs/get", {"run_id": str(run.pk)}).status_code == 200
    assert reader.post(f"{MLFLOW}/runs/search", {"experiment_ids": [str(cast.project_a.pk)]}).status_code == 200
    refused = log(reader, run)
    assert (refused.status_code, refused.json()["error_code"]) == (403, "PERMISSION_DENIED")
    assert "scope submit" in refused.json()["message"]
    assert log(token_client(cast.bob, "read", "submit"), run).status_code == 200
    made = token_client(cast.bob, "read", "submit").post(f"{MLFLOW}/experiments/create", {"name": "new"})
    assert made.status_code == 403


def test_a_viewer_reads_and_does_not_log(cast: Cast, run: Run) -> None:
    client = token_client(cast.victor)
    assert client.get(f"{MLFLOW}/runs/get", {"run_id": str(run.pk)}).status_code == 200
    assert log(client, run).status_code == 403


def test_a_token_for_one_project_reaches_its_runs_alone_and_names_no_experiment(cast: Cast, run: Run) -> None:
    other = Project.objects.create(organisation=cast.a, name="speech")
    away = Run.objects.create(project=other, name="away", created_by=cast.bob, started_ms=1)
    client = token_client(cast.bob, project=cast.project_a)
    assert log(client, run).status_code == 200
    assert log(client, away).status_code == 404
    made = client.post(f"{MLFLOW}/runs/create", {"experiment_id": "0"})
    assert made.json()["run"]["info"]["experiment_id"] == str(cast.project_a.pk)


def test_no_token_and_a_wrong_one_are_refused_in_mlflow_s_form(cast: Cast) -> None:
    for client in (APIClient(), APIClient(headers={"Authorization": "Bearer mlh_wrong"})):
        answer = client.post(f"{MLFLOW}/runs/create", {})
        assert (answer.status_code, answer.json()["error_code"]) == (401, "UNAUTHENTICATED")
    browser = cast.client(cast.bob)
    assert browser.post(f"{MLFLOW}/runs/create", {}).status_code == 401


def test_the_organisation_distinguishes_projects_of_one_name(cast: Cast) -> None:
    Membership.objects.create(user=cast.bob, organisation=cast.b, role="member")
    Project.objects.create(organisation=cast.b, name="vision")
    client = token_client(cast.bob)
    several = client.get(f"{MLFLOW}/experiments/get-by-name", {"experiment_name": "vision"})
    assert "A/vision" in several.json()["message"]
    one = client.get(f"{MLFLOW}/experiments/get-by-name", {"experiment_name": "B/vision"})
    assert one.json()["experiment"]["tags"] == [{"key": "mlhub.organisation", "value": "B"}]


def test_too_many_requests_are_answered_with_the_time_to_wait(cast: Cast, run: Run, settings: Any) -> None:
    settings.RATE_LIMITS = read_rate_limits({"tracking": "token=1/60"})
    client = token_client(cast.bob)
    assert log(client, run).status_code == 200
    refused = log(client, run)
    assert refused.status_code == 429
    assert refused.json()["error_code"] == "REQUEST_LIMIT_EXCEEDED"
    assert int(refused.headers["Retry-After"]) > 0


@pytest.mark.parametrize("path", ["../x", "a//b", "a/../../b", "a\\b", "x" * 501])
def test_a_path_out_of_the_run_s_folder_is_refused(cast: Cast, run: Run, path: str) -> None:
    client = token_client(cast.bob)
    address = f"/api/2.0/mlflow-artifacts/artifacts/{cast.project_a.pk}/{run.pk}/artifacts/{path}"
    answer = client.put(address, b"x", content_type="text/plain")
    assert (answer.status_code, answer.json()["error_code"]) == (400, "INVALID_PARAMETER_VALUE")


def test_a_route_that_is_not_there_is_answered_in_mlflow_s_form(cast: Cast) -> None:
    answer = token_client(cast.bob).post(f"{MLFLOW}/gateway-proxy", {})
    assert (answer.status_code, answer.json()["error_code"]) == (404, "ENDPOINT_NOT_FOUND")


@pytest.mark.django_db(transaction=True)
def test_the_client_itself_reports_what_is_missing(cast: Cast, acting: Callable[..., Any]) -> None:
    mlflow = acting(cast.bob, scopes=["read"])
    with pytest.raises(MlflowException, match="scope submit"):
        mlflow.MlflowClient().create_run(str(cast.project_a.pk))


def test_who_may_make_no_experiment_learns_what_is_missing(cast: Cast) -> None:
    def refused(client: APIClient) -> str:
        answer = client.post(f"{MLFLOW}/experiments/create", {"name": "new"})
        assert answer.status_code == 404
        return str(answer.json()["message"])

    everything = ("read", "write", "submit")
    stranger = User.objects.create(username="stranger")
    assert "you are a member of none. Have an admin of an organisation invite you" in refused(
        token_client(stranger, *everything)
    )
    said = refused(token_client(cast.victor, *everything))
    assert "needs the role member in an organisation, and in A yours is viewer" in said
    assert "ask an admin of A for the role member" in said
    assert "limited to one project" in refused(token_client(cast.bob, *everything, project=cast.project_a))
    root = token_client(cast.root, *everything, "admin")
    assert "Write ORGANISATION/new: administrators of the platform" in refused(root)
    assert root.post(f"{MLFLOW}/experiments/create", {"name": "A/new"}).status_code == 200
    assert Project.objects.get(name="new").organisation == cast.a
