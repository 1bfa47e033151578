# SPDX-License-Identifier: Apache-2.0
"""What the MLflow protocol refuses instead of failing, and what a search and a run may have at most."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from rest_framework.test import APIClient

from mlhub.metrics.points.tracked_points import TrackedPoint, store_tracked_points
from mlhub.tenants.models import Project
from mlhub.tracking import actions, limits
from mlhub.tracking.models import Run, RunParam
from tests.cast import Cast, make_cast
from tests.jobs.builders import job
from tests.tracking.test_access import MLFLOW, token_client
from tests.tracking.test_jobs import opened

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast(db: Any) -> Cast:
    return make_cast()


@pytest.fixture
def client(cast: Cast) -> APIClient:
    return token_client(cast.bob)


def run_of(project: Project, by: Any, name: str = "r", started_ms: int = 1) -> Run:
    return Run.objects.create(project=project, name=name, created_by=by, started_ms=started_ms)


def search(client: APIClient, project: Project, **fields: Any) -> Any:
    return client.post(f"{MLFLOW}/runs/search", {"experiment_ids": [str(project.pk)], **fields})


@pytest.mark.parametrize(
    "fields",
    [
        {"page_token": "9" * 20},
        {"page_token": "-1"},
        {"max_results": 50_001},
        {"experiment_ids": [f"00000000-0000-0000-0000-{n:012}" for n in range(101)]},
        {"order_by": ["metrics.a"] * 21},
    ],
)
def test_a_search_beyond_the_limits_is_refused(cast: Cast, client: APIClient, fields: dict[str, Any]) -> None:
    answer = search(client, cast.project_a, **fields)
    assert (answer.status_code, answer.json()["error_code"]) == (400, "INVALID_PARAMETER_VALUE")


@pytest.mark.parametrize("run_id", [{"run_uuid": 5}, {"run_id": 5}, {"run_uuid": ["a"]}, {}])
def test_a_run_s_id_that_is_no_text_is_refused(client: APIClient, run_id: dict[str, Any]) -> None:
    answer = client.post(f"{MLFLOW}/runs/update", run_id, format="json")
    assert (answer.status_code, answer.json()["error_code"]) == (400, "INVALID_PARAMETER_VALUE")


def test_pages_of_runs_and_jobs_together_go_on_where_the_last_one_ended(cast: Cast, client: APIClient) -> None:
    of_jobs = [str(job(cast.project_a, cast.bob, name=f"job{n}").pk) for n in range(3)]
    of_runs = [str(run_of(cast.project_a, cast.bob, started_ms=n).pk) for n in range(3)]
    twice = [str(cast.project_a.pk)] * 2
    found: list[str] = []
    token = ""
    for _ in range(6):
        answer = search(client, cast.project_a, experiment_ids=twice, max_results=1, page_token=token).json()
        found += [run["info"]["run_id"] for run in answer["runs"]]
        token = answer.get("next_page_token", "")
    assert found == [*reversed(of_jobs), *reversed(of_runs)]
    assert token == ""


def test_a_search_costs_as_many_queries_for_many_jobs_as_for_one(cast: Cast, client: APIClient) -> None:
    def n_queries() -> int:
        queries: list[str] = []

        def count(execute: Any, sql: str, *given: Any) -> Any:
            queries.append(sql)
            return execute(sql, *given)

        with connection.execute_wrapper(count):
            assert search(client, cast.project_a).status_code == 200
        return len(queries)

    first = opened(job(cast.project_a, cast.bob, name="first"))
    store_tracked_points(first, [TrackedPoint("train/loss", 1, 1.0, 0.5)])
    n_queries()  # the first one also marks the token as used
    alone = n_queries()
    for n in range(4):
        store_tracked_points(opened(job(cast.project_a, cast.bob, name=f"j{n}")), [TrackedPoint("a/b", 1, 1.0, n)])
    assert n_queries() == alone
    metrics = {run["info"]["run_name"]: run["data"]["metrics"] for run in search(client, cast.project_a).json()["runs"]}
    assert {(one["key"], one["value"]) for one in metrics["first"]} == {("loss", 0.5), ("train/loss", 0.5)}
    assert [one["value"] for one in metrics["j3"]] == [3]


def test_a_page_of_a_job_s_curve_begins_behind_the_former_one(cast: Cast, client: APIClient) -> None:
    attempt = opened(job(cast.project_a, cast.bob, name="t"))
    store_tracked_points(attempt, [TrackedPoint("train/loss", step, 1.0, step) for step in range(5)])
    query = {"run_id": str(attempt.job_id), "metric_key": "loss", "max_results": 2, "page_token": "2"}
    answer = client.get(f"{MLFLOW}/metrics/get-history", query).json()
    assert ([one["step"] for one in answer["metrics"]], answer["next_page_token"]) == ([2, 3], "4")
    assert client.get(f"{MLFLOW}/metrics/get-history", {**query, "page_token": "9999"}).json() == {"metrics": []}


def test_parameters_and_runs_beyond_the_limit_are_refused_and_leave_nothing(
    cast: Cast, client: APIClient, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(actions, "MAX_RUN_PARAMS", 1)
    run = run_of(cast.project_a, cast.bob)
    body = {"run_id": str(run.pk), "params": [{"key": key, "value": "1"} for key in "ab"]}
    refused = client.post(f"{MLFLOW}/runs/log-batch", body, format="json")
    assert refused.json()["error_code"] == "RESOURCE_EXHAUSTED"
    assert not RunParam.objects.exists()
    settings.MAX_RUNS_PER_PROJECT = 1
    second = client.post(f"{MLFLOW}/runs/create", {"experiment_id": str(cast.project_a.pk)})
    assert second.json()["error_code"] == "RESOURCE_EXHAUSTED"
    assert limits.MAX_RUN_PARAMS > limits.MAX_PARAMS
