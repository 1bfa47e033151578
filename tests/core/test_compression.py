# SPDX-License-Identifier: Apache-2.0
"""Small answers: compressed where that is safe, and with the members of rows that are wanted alone."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest
from django.http import HttpResponse, StreamingHttpResponse
from django.test import RequestFactory

from mlhub.core.web.compression import CompressedAnswers
from tests.cast import Cast, make_cast
from tests.jobs.builders import job

pytestmark = pytest.mark.django_db
N_JOBS = 25


@pytest.fixture
def cast() -> Cast:
    cast = make_cast()
    for _ in range(N_JOBS):
        job(cast.project_a, cast.bob)
    return cast


def listed(cast: Cast, query: str = "", **headers: str) -> Any:
    return cast.client(cast.bob).get(f"/api/v1/jobs?limit={N_JOBS}{query}", headers=headers)


def test_a_list_is_compressed_for_clients_that_accept_it(cast: Cast) -> None:
    plain, small = listed(cast), listed(cast, **{"Accept-Encoding": "gzip"})
    assert small["Content-Encoding"] == "gzip"
    assert "Accept-Encoding" in small["Vary"]
    assert "Content-Encoding" not in plain
    assert len(small.content) < len(plain.content) / 5
    ids = [row["id"] for row in plain.json()["results"]]
    assert [row["id"] for row in json.loads(gzip.decompress(small.content))["results"]] == ids


def test_a_post_that_only_reads_is_compressed_and_one_that_changes_something_is_not(cast: Cast) -> None:
    ids = [row["id"] for row in listed(cast).json()["results"]]
    client, accepting = cast.client(cast.bob), {"Accept-Encoding": "gzip"}
    read = client.post("/api/v1/runs/compare", {"runs": ids}, headers=accepting)
    assert (read.status_code, read["Content-Encoding"]) == (200, "gzip")
    assert json.loads(gzip.decompress(read.content))["missing"] == ids
    changed = client.post("/api/v1/jobs/bulk", {"jobs": ids, "action": "tag", "tag": "x"}, headers=accepting)
    assert changed.status_code == 200
    assert "Content-Encoding" not in changed


def test_only_the_fields_that_were_asked_for_are_sent(cast: Cast) -> None:
    answer = listed(cast, "&fields=id,name,state")
    assert all(row.keys() == {"id", "name", "state"} for row in answer.json()["results"])
    assert len(answer.json()["results"]) == N_JOBS
    assert len(answer.content) < len(listed(cast).content) / 8


def test_an_unknown_field_is_refused_with_the_nearest_one(cast: Cast) -> None:
    answer = listed(cast, "&fields=id,stat")
    assert answer.status_code == 400
    assert "`state`" in answer.json()["detail"]


@pytest.mark.parametrize(
    ("method", "path", "answer"),
    [
        ("post", "/api/v1/tokens", HttpResponse("x" * 5000, content_type="application/json")),
        ("get", "/api/v1/stream", StreamingHttpResponse(["x" * 5000], content_type="text/event-stream")),
        ("get", "/api/v1/results", HttpResponse("x" * 5000, content_type="application/octet-stream")),
        ("get", "/somewhere", HttpResponse("x" * 5000, content_type="application/json")),
    ],
)
def test_what_may_hold_a_secret_is_a_stream_or_a_file_is_not_compressed(method: str, path: str, answer: Any) -> None:
    request = RequestFactory(headers={"Accept-Encoding": "gzip"}).generic(method.upper(), path)
    found = CompressedAnswers(lambda _: answer)(request)
    assert "Content-Encoding" not in found.headers
