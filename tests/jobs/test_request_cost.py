# SPDX-License-Identifier: Apache-2.0
"""How many queries a submission and the usual lists take, and that it is as many however many rows there are."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from mlhub.events.actions import append
from mlhub.jobs.execution import validations
from mlhub.jobs.models import Attempt, Job
from mlhub.tenants.actions import create_token
from tests.cast import Cast, make_cast
from tests.jobs.builders import builtin, job, ready_dataset

OF_TRANSACTIONS = ("SAVEPOINT", "RELEASE SAVEPOINT")  # the test's own transaction makes those of requests savepoints
MOST_BY_ID, MOST_BY_NAME = 20, 23  # with every kind of limit set, those of users too
PASSING = {"waited_s", "trained_s"}  # fields that change with time
FEW, MANY = 10, 1000
LISTS = (
    "/api/v1/jobs?limit=200", "/api/v1/jobs?limit=200&sort=-name", "/api/v1/events?limit=200",
    "/api/v1/datasets?limit=200", "/api/v1/models?limit=200", "/api/v1/organisations",
)  # fmt: skip


@pytest.fixture
def cast(db: None) -> Cast:
    return make_cast(max_gpus=64, max_storage_bytes=10**12)


@pytest.fixture
def client(cast: Cast) -> APIClient:
    token = create_token(cast.bob, name="measured", scopes=["read", "write"], expires_in_days=None)[1]
    client = APIClient(HTTP_AUTHORIZATION=f"Bearer {token}")
    client.get("/api/v1/auth/me")  # notes when the token was used
    return client


def queries_of(client: APIClient, verb: str, path: str, body: Any = None) -> tuple[list[str], Any]:
    with CaptureQueriesContext(connection) as captured:
        answer = getattr(client, verb)(path, body)
    assert answer.status_code in (200, 201), answer.content
    return [q["sql"] for q in captured if not q["sql"].startswith(OF_TRANSACTIONS)], answer.json()


def test_a_submission_takes_few_queries(cast, client):
    dataset = ready_dataset(cast.project_a, cast.bob)
    by_id = {"dataset": str(dataset.dataset_id), "model": str(builtin().model_id), "project": str(cast.project_a.pk)}
    by_name = {"dataset": dataset.dataset.name, "model": "mlp", "project": cast.project_a.name}
    queries, _ = queries_of(client, "post", "/api/v1/jobs", {**by_id, "epochs": 1, "batch_size": 4})
    assert len(queries) <= MOST_BY_ID, [query[:90] for query in queries]
    queries, _ = queries_of(client, "post", "/api/v1/jobs", {**by_name, "epochs": 1, "batch_size": 4})
    assert len(queries) <= MOST_BY_NAME, [query[:90] for query in queries]


def test_a_submission_that_an_earlier_dry_run_counts_for_is_stored_once(cast, client):
    dataset = ready_dataset(cast.project_a, cast.bob)
    by_id = {"dataset": str(dataset.dataset_id), "model": str(builtin().model_id), "project": str(cast.project_a.pk)}
    asked: dict[str, Any] = by_id | {"epochs": 2, "batch_size": 4}
    first = Job.objects.get(pk=queries_of(client, "post", "/api/v1/jobs", asked)[1]["id"])
    validations.keep(first, {"parameters_bytes": 10, "steps_per_epoch": 3, "steps_total": 3})
    queries, made = queries_of(client, "post", "/api/v1/jobs", {**asked, "epochs": 5})
    _, read = queries_of(client, "get", "/api/v1/jobs")
    assert (made["preflight"], made["steps_total"]) == ("passed", 15)
    assert {k: v for k, v in made.items() if k not in PASSING} == {
        k: v for k, v in read["results"][0].items() if k not in PASSING
    }
    assert not [query for query in queries if query.startswith('UPDATE "jobs_job"')]
    assert len(queries) <= MOST_BY_ID + 5, [query[:90] for query in queries]  # two events, of three queries each
    _, events = queries_of(client, "get", f"/api/v1/events?subject={made['id']}")
    kinds = [event["kind"] for event in events["results"] if event["subject_id"] == made["id"]]
    assert kinds == ["job.preflight_passed", "job.submitted"]


def test_the_answer_to_a_submission_is_what_reading_the_job_gives(cast, client):
    dataset = ready_dataset(cast.project_a, cast.bob)
    asked = {
        "dataset": str(dataset.dataset_id), "model": str(builtin().model_id), "epochs": 3, "batch_size": 16,
        "hyperparameters": {"learning_rate": 0.25}, "resources": {"cpus": 2}, "limits": {"stall_s": 900},
        "environment": {"A": "b"}, "strategy": {"name": "ssp", "staleness": 3}, "target_metric": "eval/accuracy",
        "target_value": 1, "seed": 7,
    }  # fmt: skip
    _, made = queries_of(client, "post", "/api/v1/jobs", asked)
    _, read = queries_of(client, "get", "/api/v1/jobs")
    assert {k: v for k, v in made.items() if k not in PASSING} == {
        k: v for k, v in read["results"][0].items() if k not in PASSING
    }
    _, cloned = queries_of(client, "post", f"/api/v1/jobs/{made['id']}/clone", {"epochs": 4})
    assert (cloned["epochs"], cloned["strategy"]) == (4, made["strategy"])


def test_jobs_are_shown_without_a_look_at_the_large_columns_of_their_data_and_code(cast, client):
    fill(cast, 0, FEW)
    for path in ("/api/v1/jobs", f"/api/v1/jobs/{Job.objects.order_by('name')[0].pk}"):
        queries, _ = queries_of(client, "get", path)
        read = [query for query in queries if '"datasets_datasetversion"."number"' in query]
        assert len(read) == 1
        assert not [name for name in ("preview", "statistics", "schema", "contract") if f'"{name}"' in read[0]]


@pytest.mark.slow
def test_lists_take_as_many_queries_with_a_hundred_times_the_rows(cast, client):
    fill(cast, 0, FEW)
    few = {path: len(queries_of(client, "get", path)[0]) for path in LISTS}
    fill(cast, FEW, MANY)
    many = {path: queries_of(client, "get", path)[0] for path in LISTS}
    assert {path: len(queries) for path, queries in many.items()} == few
    assert max(few.values()) <= 6


def fill(cast: Cast, first: int, last: int) -> None:
    model = job(cast.project_a, cast.bob, name=f"job {first}")
    numbers = range(first + 1, last)
    fields = {f.attname: getattr(model, f.attname) for f in Job._meta.fields if f.attname not in ("id", "name")}
    jobs = Job.objects.bulk_create(Job(**fields, name=f"job {i}") for i in numbers)
    Attempt.objects.bulk_create(
        Attempt(job=one, number=1, mode="all_reduce", n_workers=1, n_servers=0, token_hash=f"{one.pk}") for one in jobs
    )
    for i in range(first, min(last, first + 20)):
        ready_dataset(cast.project_a, cast.bob, name=f"data {i}")
        append("job.submitted", organisation=cast.a, subject_kind="job", subject_id=model.pk, actor=cast.bob)
