# SPDX-License-Identifier: Apache-2.0
"""The API refuses what it does not know: fields of bodies, query parameters, values that cannot be stored."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.utils import timezone
from rest_framework import serializers

from mlhub.announcements.actions import publish_announcement
from mlhub.control.models import PolicyReplay
from mlhub.core.api.operations import CONVERTER, METHODS, UNDESCRIBED, ApiOperation, operation_of
from mlhub.core.api.strict import FiniteFloatField, StrictSerializer
from mlhub.datasets.models import DatasetVersion
from mlhub.jobs.models import Job
from mlhub.tenants.actions import bind_role
from mlhub.tenants.actions.administration.service_accounts import create_service_account
from mlhub.tenants.models import Team
from mlhub.tenants.roles import Role
from mlhub.webhooks.models import Webhook
from tests.jobs.builders import builtin, job, ready_dataset
from tests.openapi import operations, schema


def of_people(*, with_body: bool) -> list[tuple[str, str]]:
    """The operations that people ask for, and that take a body, or could and do not."""
    mine = {key: found for key, found in operations().items() if "/ingest/" not in key[0]}
    return [key for key, found in mine.items() if ("requestBody" in found) == with_body and key[1] != "get"]


@pytest.fixture
def world(cast):
    """One of everything, and the address of each route."""
    found: Job = job(cast.project_a, cast.alice)
    dataset: DatasetVersion = ready_dataset(cast.project_a, cast.alice)
    team = Team.objects.create(organisation=cast.a, name="team")
    robot = create_service_account(cast.a, name="ci", role=Role.MEMBER, actor=cast.root)
    hook = Webhook.objects.create(organisation=cast.a, url="https://example.org", encrypted_secret=b"")
    announcement = publish_announcement(
        organisation=None, actor=cast.root, now=timezone.now(), text="New.", severity="warning",
        begins_at=timezone.now(), is_dismissible=True,
    )  # fmt: skip
    ids = {
        "jobs": found.id, "organisations": cast.a.id, "teams": team.id, "projects": cast.project_a.id,
        "datasets": dataset.dataset_id, "dataset-versions": dataset.id, "models": builtin().model_id,
        "model-versions": builtin().id, "memberships": cast.a.memberships.get(user=cast.bob).id,
        "role-bindings": bind_role(team, username="bob", role=Role.VIEWER, actor=cast.root).id,
        "tokens": found.id, "invitations": found.id,
        "rounds": 1, "nodes": "node", "agents": "lab-1", "attempts": found.id, "artifacts": "name", "blobs": "0" * 64,
        "sandbox-runs": found.id, "checkpoints": 1, "environments": found.id, "secrets": "KEY", "studies": found.id,
        "organisation-deletions": found.id, "project-deletions": found.id,
        "users": cast.bob.id, "sessions": found.id, "runs": found.id, "versions": 1, "aliases": "best",
        "announcements": announcement.id,
        "uploads": found.id, "webhooks": hook.id, "service-accounts": robot.id, "deliveries": found.id,
        "identities": found.id, "passkeys": found.id, "quota-boosts": found.id,
        "quota-requests": found.id, "profiles": found.id, "traces": 0, "server-traces": 0,
        "files": "MLmodel", "user-quotas": found.id,
        "replays": PolicyReplay.objects.create(trace="x").id, "clips": 0,
    }  # fmt: skip

    def address(path: str) -> str:
        return re.sub(r"([\w-]+)/\{\w+\}", lambda m: f"{m[1]}/{ids[m[1]]}", path)

    return cast, address


def send(client: Any, path: str, method: str, address: str, body: dict[str, Any]) -> Any:
    declared = operations().get((path, method), {}).get("requestBody", {}).get("content", {})
    kind = "multipart" if "multipart/form-data" in declared else "json"
    return getattr(client, method)(address, body, format=kind)


def fields_of(answer: Any) -> dict[str, str]:
    return {e["field"]: e["message"] for e in answer.json().get("errors", [])}


def refusals(world: Any, asked: Any, send_to: Any) -> dict[tuple[str, str], tuple[int, str, dict[str, str]]]:
    """What each operation answers: status, media type, messages by field. Nothing is changed by what is refused, so one
    world serves all; a route that takes the request shows among those that the tests compare with.
    """
    cast, address = world
    client = cast.client(cast.root)
    found = {}
    for path, method in asked:
        answer = send_to(client, path, method, address(path))
        found[path, method] = (answer.status_code, answer["Content-Type"], fields_of(answer))
    return found


def not_refused(answers: Any, *, status: int, message: str = "") -> dict[Any, Any]:
    """Those that were not refused with that status, naming the field `nonsense`."""
    return {
        operation: answer
        for operation, answer in answers.items()
        if answer[:2] != (status, "application/problem+json")
        or "nonsense" not in answer[2]
        or message not in answer[2]["nonsense"]
    }


@pytest.mark.slow
def test_every_body_refuses_a_field_that_it_does_not_know(world):
    answers = refusals(world, of_people(with_body=True), lambda *to: send(*to, {"nonsense": "x"}))
    assert len(answers) > 60
    assert not_refused(answers, status=422, message="Unknown field `nonsense`") == {}


def test_a_request_that_takes_no_body_refuses_one(world):
    answers = refusals(world, of_people(with_body=False), lambda *to: send(*to, {"nonsense": "x"}))
    assert len(answers) > 30
    assert not_refused(answers, status=422) == {}


def test_every_route_refuses_a_query_parameter_that_it_does_not_know(world):
    answers = refusals(world, operations(), lambda client, _, method, to: getattr(client, method)(to + "?nonsense=1"))
    assert len(answers) > 200
    assert not_refused(answers, status=400, message="Unknown query parameter `nonsense`") == {}


@pytest.mark.slow
def test_what_the_schema_declares_as_query_is_taken(world):
    cast, address = world
    client, n_taken = cast.client(cast.root), 0
    for (path, method), operation in operations().items():
        if method != "get" or "stream" in path or "/ingest/" in path:
            continue  # tests/metrics/test_stream.py and tests/events read streams
        for parameter in operation.get("parameters", []):
            if parameter["in"] != "query":
                continue
            value = {"limit": "1", "after": "0", "max_points": "10", "fields": "id"}.get(parameter["name"], "x")
            answer = client.get(address(path), {parameter["name"]: value})
            assert answer.status_code != 500, (path, parameter["name"])
            assert answer.status_code != 400 or "Unknown" not in answer.json()["detail"], (path, parameter["name"])
            n_taken += 1
    assert n_taken > 100


def bodies() -> list[tuple[str, dict[str, Any]]]:
    return [(n, c) for n, c in schema()["components"]["schemas"].items() if n.endswith("Request")]


def test_every_body_of_the_schema_admits_no_further_field():
    assert len(bodies()) > 15
    assert [name for name, component in bodies() if component.get("additionalProperties") is not False] == []


def test_every_serializer_of_requests_is_bounded():
    """A whole number has both bounds, a text a length, a list a number of items: none reaches PostgreSQL's limits."""
    loose = []
    for kind in serializers_of_requests():
        for name, field in kind().fields.items():
            inner = field.child if isinstance(field, serializers.ListField) else field
            if isinstance(field, serializers.ListField) and field.max_length is None and name != "scopes":
                loose.append(f"{kind.__name__}.{name}")
            if isinstance(inner, serializers.IntegerField) and None in (inner.min_value, inner.max_value):
                loose.append(f"{kind.__name__}.{name}")
            if isinstance(inner, serializers.CharField) and inner.max_length is None:
                loose.append(f"{kind.__name__}.{name}")
            if isinstance(inner, serializers.FloatField) and not isinstance(inner, FiniteFloatField):
                loose.append(f"{kind.__name__}.{name}")
    assert loose == []


def serializers_of_requests() -> list[type[StrictSerializer]]:
    found, waiting = [], [StrictSerializer]
    while waiting:
        kinds = waiting.pop().__subclasses__()
        found += kinds
        waiting += kinds
    assert len(found) > 20
    return [kind for kind in found if kind.__module__.startswith("mlhub.")]


def test_a_misspelt_field_of_a_job_names_the_nearest_one(cast):
    body = {"epochz": 1, "gpu_type": "H100", "dataset": str(ready_dataset(cast.project_a, cast.bob).dataset_id)}
    answer = cast.client(cast.bob).post("/api/v1/jobs", {**body, "model": str(builtin().model_id)})
    assert answer.status_code == 422
    assert fields_of(answer)["epochz"] == "Unknown field `epochz`; did you mean `epochs`?"
    assert "gpu_type" in fields_of(answer)
    assert not Job.objects.exists()


def test_unknown_fields_of_nested_bodies_are_named_with_their_path(cast):
    body = {"submit": {"epochz": 1}, "jobs": [{"job": str(cast.a.id), "prio": 3}]}
    answer = cast.client(cast.root).post("/api/v1/what-if", body)
    assert {"submit.epochz", "jobs.0.prio"} <= set(fields_of(answer))


def test_a_wrong_choice_is_refused_with_those_that_there_are(cast):
    body = {"name": "t", "scopes": ["read", "root"]}
    (error,) = cast.client(cast.bob).post("/api/v1/tokens", body).json()["errors"]
    assert error == {
        "field": "scopes.1",
        "message": '"root" is not a valid choice. Give one of: read, submit, write, admin.',
    }
    (error,) = cast.client(cast.bob).post("/api/v1/jobs", {"model": "mlp", "mode": "fast"}).json()["errors"]
    assert error["message"] == '"fast" is not a valid choice. Give one of: auto, all_reduce, parameter_server.'


@pytest.mark.parametrize(
    ("path", "body", "field", "message"),
    [
        ("quota", {"weight": 2e9}, "weight", "Give at most 1,000,000,000."),
        ("quota", {"weight": -1}, "weight", "Give at least 0."),
        ("", {"name": "x" * 101}, "name", "Give at most 100 characters."),
    ],
)
def test_limits_are_written_for_people(cast, path, body, field, message):
    answer = cast.client(cast.root).patch(f"/api/v1/organisations/{cast.a.id}/{path}".rstrip("/"), body)
    assert answer.status_code == 422
    assert answer.json()["errors"] == [{"field": field, "message": message}]
    assert answer.json()["detail"] == f"{field}: {message}"


def test_a_quota_of_gpu_hours_is_not_dropped_silently(cast):
    answer = cast.client(cast.root).patch(f"/api/v1/organisations/{cast.a.id}/quota", {"gpu_hours": 5})
    assert (answer.status_code, list(fields_of(answer))) == (422, ["gpu_hours"])


def test_a_number_that_the_database_cannot_hold_is_refused(cast):
    address = f"/api/v1/organisations/{cast.a.id}/quota"
    for body in ({"max_gpus": 2**40}, {"max_storage_bytes": 2**63}, {"weight": "nan"}, {"half_life_s": "inf"}):
        answer = cast.client(cast.root).patch(address, body)
        assert (answer.status_code, list(fields_of(answer))) == (422, list(body)), answer.content


@pytest.mark.parametrize(
    ("hyperparameters", "field"),
    [
        ('{"note": "a\\u0000b"}', "hyperparameters.note"),
        ('{"a\\u0000b": 1}', "hyperparameters.a�b"),
        ('{"note": "\\ud800"}', "hyperparameters.note"),
        ('{"width": 1e999}', "hyperparameters.width"),
        (f'{{"width": {10**30}}}', "hyperparameters.width"),
        ('{"a":' * 40 + "1" + "}" * 40, "hyperparameters"),
        ('{"a":' * 5000 + "1" + "}" * 5000, "hyperparameters"),
    ],
)
def test_values_that_cannot_be_stored_are_refused_naming_the_field(cast, hyperparameters, field):
    body = f'{{"name": "x", "hyperparameters": {hyperparameters}}}'
    answer = cast.client(cast.bob).post("/api/v1/jobs", body, content_type="application/json")
    assert (answer.status_code, answer["Content-Type"]) == (422, "application/problem+json"), answer.content
    assert list(fields_of(answer)) == [field]


def test_a_body_larger_than_the_limit_is_refused_unread(cast, settings):
    settings.MAX_JSON_BYTES = 1000
    answer = cast.client(cast.bob).post("/api/v1/jobs", {"name": "x" * 2000})
    assert (answer.status_code, answer.json()["limit_bytes"]) == (413, 1000)
    answer = cast.client(cast.bob).post("/api/v1/auth/logout", {"name": "x" * 2000})
    assert answer.status_code == 413


@pytest.mark.parametrize(
    "cursor", ["cD0xMDAwMDAwMDAwMDAwMDAwMDAwMA==", "cD0AAA==", "cD1ub25zZW5zZQ==", "%00", "nonsense"]
)
@pytest.mark.parametrize("path", ["events", "jobs", "rounds"])
def test_a_cursor_that_the_api_did_not_make_is_refused(cast, path, cursor):
    answer = cast.client(cast.root).get(f"/api/v1/{path}?cursor={cursor}")
    assert answer.status_code == 400, answer.content
    assert list(fields_of(answer)) == ["cursor"]


@pytest.mark.parametrize("limit", ["0", "-1", "many", "9" * 5000, "1.5"])
def test_a_page_size_that_is_no_number_is_refused(cast, limit):
    answer = cast.client(cast.root).get(f"/api/v1/jobs?limit={limit}")
    assert (answer.status_code, list(fields_of(answer))) == (400, ["limit"])


def test_the_cursors_of_the_api_itself_are_taken(cast):
    for number in range(3):
        job(cast.project_a, cast.bob, name=f"job-{number}")
    client, seen, address = cast.client(cast.bob), [], "/api/v1/jobs?limit=1"
    while address:
        page = client.get(address).json()
        seen += [row["name"] for row in page["results"]]
        address = page["next"]
    assert seen == ["job-2", "job-1", "job-0"]


def test_a_nul_character_in_an_address_names_nothing(cast):
    answer = cast.client(cast.root).post("/api/v1/cluster/nodes/a%00b/cordon", {})
    assert (answer.status_code, answer["Content-Type"]) == (404, "application/problem+json")
    answer = cast.client(cast.root).get("/api/v1/projects?name=a%00b")
    assert (answer.status_code, list(fields_of(answer))) == (400, ["name"])


@pytest.mark.parametrize(
    ("hyperparameters", "expected_text"),
    [
        ({"widht": 8}, "Did you mean width?"),
        ({"n_heads": 4}, "Known: width, n_layers, dropout"),
        ({"width": "8"}, "Give a value like 128."),
    ],
)
def test_a_built_in_model_refuses_hyperparameters_that_it_does_not_have(cast, hyperparameters, expected_text):
    dataset = str(ready_dataset(cast.project_a, cast.bob).dataset_id)
    body = {"dataset": dataset, "model": str(builtin().model_id), "hyperparameters": hyperparameters}
    for path, sent in (("jobs", body), ("what-if", {"submit": body})):
        answer = cast.client(cast.bob).post(f"/api/v1/{path}", sent)
        assert answer.status_code == 422, answer.content
        (error,) = answer.json()["errors"]
        assert error["field"] == f"hyperparameters.{next(iter(hyperparameters))}"
        assert expected_text in error["remedy"]


def test_an_uploaded_model_that_declares_nothing_takes_any_hyperparameter(cast):
    version = builtin()
    version.pk, version.kind, version.number = None, "package", 2
    version.save(force_insert=True)
    dataset = str(ready_dataset(cast.project_a, cast.bob).dataset_id)
    body = {"dataset": dataset, "model_version": str(version.pk), "hyperparameters": {"anything": {"at": ["all"]}}}
    answer = cast.client(cast.bob).post("/api/v1/jobs", body)
    assert answer.status_code == 201, answer.content


def api_routes() -> list[tuple[str, Any]]:
    """Each route below /api/v1/, and its view."""
    from mlhub.urls import api

    routes = []
    waiting = [("api/v1/", pattern) for pattern in api]
    while waiting:
        prefix, pattern = waiting.pop()
        route = prefix + str(pattern.pattern)
        if hasattr(pattern, "url_patterns"):
            waiting += [(route, inner) for inner in pattern.url_patterns]
        else:
            routes.append((route, pattern.callback))
    return routes


def test_the_schema_knows_every_route_of_the_url_conf():
    routes = api_routes()
    assert len(routes) > 50
    unknown = [r for r, view in routes if not any(operation_of(view, r, method.upper()) for method in METHODS)]
    assert unknown == []


def test_an_operation_that_is_made_alone_is_that_of_the_schema():
    made = {}
    for route, view in api_routes():
        path = "/" + CONVERTER.sub(r"{\1}", route)
        for method in METHODS:
            if path not in UNDESCRIBED and (found := operation_of(view, route, method.upper())) is not None:
                made[path, method] = found
    declared = {
        key: ApiOperation(
            frozenset(p["name"] for p in one.get("parameters", ()) if p["in"] == "query"),
            has_body="requestBody" in one,
        )
        for key, one in operations().items()
    }
    assert made == declared
