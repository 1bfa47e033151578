# SPDX-License-Identifier: Apache-2.0
"""Random and hostile requests against every route: no answer is a server error, each conforms to the schema.

REQUESTS_EXAMPLES=200 makes it as many requests for each operation, instead of the few that every run makes.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import cache
from typing import Any
from uuid import uuid4

import pytest
import requests
import schemathesis
from django.db import connections
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.failures import FailureGroup
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from mlhub.tenants.actions import create_token
from mlhub.tenants.models import Team
from tests.cast import Cast, make_cast
from tests.jobs.builders import builtin, job, ready_dataset
from tests.openapi import schema

pytestmark = pytest.mark.slow
EXAMPLES = int(os.environ.get("REQUESTS_EXAMPLES", "2"))
LONGEST_ANSWER_S = 30.0  # POST /platform/checks says that it takes up to 15 s, and does where no worker runs
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
TEXTS = [
    "\x00",
    "a\x00b",
    "\ud800",
    "x" * 3000,
    "nan",
    "-1",
    "../..",
    "%00",
    "🦄",
    "'; --",
    "\r\nX: y",
    "",
]
NUMBERS = [2**31, 2**40, 2**63, 2**64, 10**19, -(10**19), 10**400, 1e308, float("nan"), float("inf"), -0.0]
SCALARS = st.one_of(
    st.sampled_from(TEXTS), st.sampled_from(NUMBERS), st.none(), st.booleans(), st.integers(), st.text(max_size=20)
)


@cache
def operations() -> list[Any]:
    """All but the streams, which never end; tests/metrics/test_stream.py reads them."""
    loaded = schemathesis.openapi.from_dict(deepcopy(schema()))
    loaded.config.generation.codec = None  # the same characters as those of UTF-8, which are first counted one by one
    every = [found.ok() for found in loaded.get_all_operations()]
    return [operation for operation in every if not operation.path.endswith("/stream")]


def nested(depth: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for _ in range(depth):
        found = {"a": found}
    return found


VALUES = st.one_of(
    SCALARS,
    st.sampled_from([nested(40), nested(400), [[]] * 100, {"": ""}]),
    st.lists(SCALARS, max_size=3),
    st.dictionaries(st.sampled_from(["name", "width", "a\x00b", "\ud800"]), SCALARS, max_size=3),
)


def quickly(strategy: st.SearchStrategy[Any], check: Callable[[Any], None]) -> None:
    """Runs the check on EXAMPLES values, the same ones in every run."""

    @seed(20261122)
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def run(value: Any) -> None:
        check(value)

    run()


class Live:
    """A live server, somebody who may do everything there, and real ids for the addresses."""

    def __init__(self, url: str) -> None:
        self.url, cast = url, make_cast()
        scopes = ["read", "write", "admin"]
        _, token = create_token(cast.root, name="hostile", scopes=scopes, expires_in_days=1)
        other, _ = create_token(cast.root, name="other", scopes=scopes, expires_in_days=1)
        self.ids = _ids(cast) | {"tokens": other.id}
        self.session = requests.Session()
        self.session.headers["Authorization"] = f"Bearer {token}"

    def address(self, path: str) -> str:
        return re.sub(r"([\w-]+)/\{\w+\}", lambda m: f"{m[1]}/{self.ids.get(m[1], uuid4())}", path)

    def parameters(self, path: str) -> dict[str, str]:
        return {name: str(self.ids.get(kind, uuid4())) for kind, name in re.findall(r"([\w-]+)/\{(\w+)\}", path)}


def _ids(cast: Cast) -> dict[str, Any]:
    dataset = ready_dataset(cast.project_a, cast.alice)
    return {
        "jobs": job(cast.project_a, cast.alice).id, "organisations": cast.a.id, "projects": cast.project_a.id,
        "teams": Team.objects.create(organisation=cast.a, name="team").id, "datasets": dataset.dataset_id,
        "dataset-versions": dataset.id, "models": builtin().model_id, "model-versions": builtin().id,
        "memberships": cast.a.memberships.get(user=cast.bob).id, "nodes": "node", "agents": "lab-1", "rounds": 1,
    }  # fmt: skip


@pytest.fixture
def live(transactional_db: None, live_server: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Live]:
    """Its one thread keeps its connection to the database: a new one costs as much as the rest of a short request."""
    monkeypatch.setitem(connections.databases["default"], "CONN_MAX_AGE", None)
    found = Live(live_server.url)
    with found.session:
        yield found


def failures_of(live: Live, strategy: Callable[[Any], Any], check: Callable[[Live, Any, Any], None]) -> list[str]:
    """What went wrong, by operation; each operation is tried whatever became of the others."""
    found = []
    for operation in operations():
        values = strategy(operation)
        if values is None:
            continue
        try:
            quickly(values, lambda value, op=operation: check(live, op, value))
        except Unsatisfiable:
            continue  # without parameters and body there is nothing to get wrong
        except (Exception, FailureGroup) as error:
            found.append(f"{operation.label}: {error}")
    return found


@pytest.mark.timeout(0 if EXAMPLES > 20 else 600)
@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
def test_generated_requests_are_answered_as_the_schema_says(live: Live, mode: GenerationMode) -> None:
    def strategy(operation: Any) -> Any:
        known = live.parameters(operation.path)
        return operation.as_strategy(generation_mode=mode, path_parameters=known or None)

    def check(live: Live, operation: Any, case: Any) -> None:
        case.validate_response(
            case.call(base_url=live.url, session=live.session, timeout=LONGEST_ANSWER_S), checks=CHECKS
        )

    failures = failures_of(live, strategy, check)
    assert not failures, "\n\n".join(failures)


@pytest.mark.timeout(0 if EXAMPLES > 20 else 600)
def test_hostile_values_in_every_field_are_refused_without_a_fault(live: Live) -> None:
    def strategy(operation: Any) -> Any:
        body = _properties(operation)
        given_fields = st.dictionaries(st.sampled_from(body), VALUES, max_size=3) if body else st.just({})
        query = [p["name"] for p in _raw(operation).get("parameters", []) if p["in"] == "query"]
        if not query and "requestBody" not in _raw(operation):
            return None  # the test before has asked for it already
        given_query = (
            st.dictionaries(st.sampled_from(query), st.sampled_from(TEXTS), max_size=2) if query else st.just({})
        )
        raw = st.sampled_from([b"", b"[", b"null", b"[]", b'"x"', b"\xff\xfe", b"[" * 5000, b'{"a":' * 3000, b"1e999"])
        return st.tuples(given_fields, given_query, st.one_of(st.none(), raw))

    def check(live: Live, operation: Any, value: Any) -> None:
        fields, query, raw = value
        declared = list(_raw(operation).get("requestBody", {}).get("content", {}))
        sent: dict[str, Any] = {"params": {k: v.encode("utf-8", "surrogatepass") for k, v in query.items()}}
        if declared == ["multipart/form-data"]:
            texts = {k: str(v).encode("utf-8", "replace") for k, v in fields.items() if k != "file"}
            sent |= {"data": texts, "files": {"file": ("x\x00.csv", b"a,b\n1,2\n")}}
        elif declared:
            sent |= {"data": raw or json.dumps(fields).encode(), "headers": {"Content-Type": declared[0]}}
        answer = live.session.request(operation.method, live.url + live.address(operation.path), **sent)
        case = operation.Case(path_parameters=live.parameters(operation.path))
        case.validate_response(answer, checks=CHECKS)
        if answer.status_code >= 400:
            assert answer.headers["Content-Type"] == "application/problem+json" or "/ingest/" in operation.path

    failures = failures_of(live, strategy, check)
    assert not failures, "\n\n".join(failures)


def _raw(operation: Any) -> dict[str, Any]:
    found: dict[str, Any] = schema()["paths"][operation.path][operation.method.lower()]
    return found


def _properties(operation: Any) -> list[str]:
    for content in _raw(operation).get("requestBody", {}).get("content", {}).values():
        name = content["schema"].get("$ref", "").rpartition("/")[2]
        return [*schema()["components"]["schemas"].get(name, {}).get("properties", {})]
    return []
