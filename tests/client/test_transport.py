# SPDX-License-Identifier: Apache-2.0
"""What the typed client repeats, resumes and refuses, over real connections; with calls that block and with async."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mlhub.client import (
    Absent,
    AsyncClient,
    BadRequest,
    Client,
    ClientError,
    NotAllowed,
    NotSignedIn,
    OverLimit,
    PlatformFailed,
    Refused,
    Unreachable,
    by_name,
)
from tests.client.scripted import Scripted, of_json, scripted_platform

JOB = {"id": "j1", "name": "first", "state": "queued"}
Call = Callable[[Any], Any]


def blocking(url: str, call: Call, **options: Any) -> Any:
    with Client(url, "mlh_token", **options) as client:
        found = call(client)
        return list(found) if hasattr(found, "__next__") else found


def awaited(url: str, call: Call, **options: Any) -> Any:
    async def run() -> Any:
        async with AsyncClient(url, "mlh_token", **options) as client:
            found = call(client)
            return [item async for item in found] if hasattr(found, "__anext__") else await found

    return asyncio.run(run())


@pytest.fixture(params=[blocking, awaited])
def sent(request: pytest.FixtureRequest) -> Any:
    return request.param


def test_a_read_is_repeated_while_the_platform_is_away(sent: Any) -> None:
    away = of_json({"detail": "away"}, 503, Retry_After="0")
    with scripted_platform(away, Scripted(502, b"<html>"), Scripted(is_cut=True), of_json(JOB)) as platform:
        assert sent(platform.url, lambda c: c.jobs.get("j1")).name == "first"
    assert [request.path for request in platform.arrived] == ["/api/v1/jobs/j1"] * 4
    assert platform.arrived[0].headers["Authorization"] == "Bearer mlh_token"


def test_a_submission_is_repeated_with_one_key(sent: Any) -> None:
    with scripted_platform(Scripted(is_cut=True), of_json({}, 503, Retry_After="0"), of_json(JOB, 201)) as platform:
        assert sent(platform.url, lambda c: c.jobs.submit(dataset="iris", model="mlp", epochs=3)).id == "j1"
    assert len({request.headers["Idempotency-Key"] for request in platform.arrived}) == 1
    assert json.loads(platform.arrived[2].body) == {"dataset": "iris", "model": "mlp", "epochs": 3}


def test_a_write_that_may_have_been_done_is_not_repeated(sent: Any) -> None:
    with scripted_platform(Scripted(is_cut=True), of_json({"detail": "The database is away."}, 503)) as platform:
        with pytest.raises(Unreachable, match="does not answer"):
            sent(platform.url, lambda c: c.jobs.pause("j1"))
        with pytest.raises(PlatformFailed, match="The database is away"):
            sent(platform.url, lambda c: c.jobs.pause("j1"))
    assert len(platform.arrived) == 2


def test_any_request_is_repeated_after_the_time_that_429_names(sent: Any) -> None:
    with scripted_platform(of_json({"detail": "too many"}, 429, Retry_After="0"), of_json(JOB)) as platform:
        assert sent(platform.url, lambda c: c.jobs.pause("j1")).state == "queued"
    assert len(platform.arrived) == 2


def test_a_429_beyond_the_patience_is_a_refusal(sent: Any) -> None:
    late = of_json({"detail": "too many", "code": "rate_limited"}, 429, Retry_After="3600")
    with scripted_platform(late) as platform, pytest.raises(OverLimit) as found:
        sent(platform.url, lambda c: c.jobs.pause("j1"))
    assert (found.value.status, found.value.code) == (429, "rate_limited")


@pytest.mark.parametrize(
    ("status", "kind"), [(400, BadRequest), (401, NotSignedIn), (403, NotAllowed), (404, Absent), (422, BadRequest)]
)
def test_a_problem_is_an_exception_with_field_and_remedy(sent: Any, status: int, kind: type[Refused]) -> None:
    problem = {"detail": "No.", "code": "x", "remedy": "Ask.", "errors": [{"field": "epochs", "message": "No."}]}
    with scripted_platform(of_json(problem, status)) as platform, pytest.raises(kind) as found:
        sent(platform.url, lambda c: c.jobs.get("j1"))
    error = found.value
    assert (error.field, error.remedy, error.status, error.code) == ("epochs", "Ask.", status, "x")
    assert isinstance(error, ClientError)
    assert str(error) == "No. Ask."


@pytest.mark.parametrize("body", [b"<html>a proxy</html>", b"[1]", b'"text"'])
def test_an_error_that_is_no_problem_document_is_a_refusal_too(sent: Any, body: bytes) -> None:
    with scripted_platform(Scripted(418, body)) as platform, pytest.raises(BadRequest, match="HTTP 418"):
        sent(platform.url, lambda c: c.jobs.get("j1"))


@pytest.mark.parametrize("body", [b"<html>a login page</html>", b"[]"])
def test_a_success_that_is_not_of_the_api_is_a_refusal(sent: Any, body: bytes) -> None:
    with scripted_platform(Scripted(200, body)) as platform, pytest.raises(Refused, match="the answer is no"):
        sent(platform.url, lambda c: c.jobs.get("j1"))


def frames(*found: tuple[str, str, Any]) -> bytes:
    return "".join(f"id: {i}\nevent: {event}\ndata: {json.dumps(data)}\n\n" for i, event, data in found).encode()


def test_a_stream_that_is_cut_goes_on_where_it_was(sent: Any) -> None:
    headers = {"Content-Type": "text/event-stream"}
    first = frames(("c1", "job", {"state": "running"}), ("c2", "heartbeat", {}))
    second = frames(("c3", "log", {"lines": []}), ("c4", "end", {"code": "gone", "detail": ""}))
    changed = frames(("c5", "end", {"code": "access_changed", "detail": ""}))
    with scripted_platform(
        Scripted(body=first, headers=headers, announced=10_000),
        Scripted(is_cut=True),
        Scripted(503, headers={"Retry-After": "0"}),
        Scripted(body=changed, headers=headers, announced=-1),
        Scripted(body=second, headers=headers, announced=-1),
    ) as platform:
        found = sent(platform.url, lambda c: c.jobs.stream("j1", cursor="c0"))
    assert [(frame.event, frame.cursor) for frame in found] == [("job", "c1"), ("log", "c3"), ("end", "c4")]
    cursors = [request.headers["Last-Event-ID"] for request in platform.arrived]
    assert cursors == ["c0", "c2", "c2", "c2", "c5"]


def test_a_stream_of_a_name_says_in_which_project_each_time_it_is_opened(sent: Any) -> None:
    headers = {"Content-Type": "text/event-stream"}
    ended = frames(("c1", "end", {"code": "gone", "detail": ""}))
    with scripted_platform(Scripted(is_cut=True), Scripted(body=ended, headers=headers, announced=-1)) as platform:
        sent(platform.url, lambda c: c.jobs.stream(by_name("50% tour"), project="vision"))
    paths = [request.path for request in platform.arrived]
    assert paths == ["/api/v1/jobs/name%3A50%25%20tour/stream?project=vision"] * 2


def test_a_stream_of_what_is_not_there_is_a_refusal(sent: Any) -> None:
    with scripted_platform(of_json({"detail": "Not found."}, 404)) as platform, pytest.raises(Absent):
        sent(platform.url, lambda c: c.jobs.stream("j1"))


def test_a_download_that_is_cut_goes_on_where_it_was(sent: Any, tmp_path: Path) -> None:
    target = tmp_path / "result.npz"
    whole = Scripted(body=b"abc", headers={"ETag": '"t"'}, announced=6)
    rest = Scripted(206, b"def", {"ETag": '"t"', "Content-Range": "bytes 3-5/6"})
    with scripted_platform(whole, rest) as platform:
        assert sent(platform.url, lambda c: c.jobs.download_result("j1", to=target)) == target
    assert target.read_bytes() == b"abcdef"
    assert platform.arrived[1].headers["Range"] == "bytes=3-"
    assert platform.arrived[1].headers["If-Range"] == '"t"'


def test_a_download_of_content_that_has_changed_begins_again(sent: Any, tmp_path: Path) -> None:
    target = tmp_path / "result.npz"
    old = Scripted(body=b"abc", headers={"ETag": '"t"'}, announced=6)
    with scripted_platform(old, Scripted(body=b"new", headers={"ETag": '"u"'})) as platform:
        sent(platform.url, lambda c: c.jobs.download_result("j1", to=target))
    assert target.read_bytes() == b"new"


def test_a_download_that_is_refused_leaves_the_old_file_and_nothing_else(sent: Any, tmp_path: Path) -> None:
    target = tmp_path / "result.npz"
    target.write_bytes(b"old")
    with scripted_platform(of_json({"detail": "No result."}, 409)) as platform, pytest.raises(Refused):
        sent(platform.url, lambda c: c.jobs.download_result("j1", to=target))
    assert target.read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["result.npz"]


def test_ids_cannot_leave_their_place_in_the_path(sent: Any) -> None:
    with scripted_platform(of_json(JOB)) as platform:
        sent(platform.url, lambda c: c.jobs.get("a/b?c=d#e"))
        for bad in ("", "..", "."):
            with pytest.raises(ValueError, match="is no id"):
                sent(platform.url, lambda c, bad=bad: c.jobs.get(bad))
    assert [request.path for request in platform.arrived] == ["/api/v1/jobs/a%2Fb%3Fc%3Dd%23e"]


def test_names_stand_for_ids_percent_encoded_and_without_a_slash(sent: Any) -> None:
    with scripted_platform(*[of_json(JOB)] * 2) as platform:
        sent(platform.url, lambda c: c.jobs.get(by_name("50% 名"), project="vision"))
        sent(platform.url, lambda c: c.jobs.get(by_name("..")))
        with pytest.raises(ValueError, match="has a slash"):
            sent(platform.url, lambda c: c.jobs.get(by_name("a/b")))
    assert [request.path for request in platform.arrived] == [
        "/api/v1/jobs/name%3A50%25%20%E5%90%8D?project=vision",
        "/api/v1/jobs/name%3A..",
    ]


def test_lists_dates_and_nulls_are_sent_as_the_schema_says(sent: Any) -> None:
    with scripted_platform(*[of_json({"results": [], "next": None})] * 2, of_json({})) as platform:
        sent(platform.url, lambda c: c.jobs.list(state=["running", "queued"], id=["a", "b"], tag=None).first(5))
        sent(platform.url, lambda c: c.jobs.list(page_size=7).all())
        sent(platform.url, lambda c: c.organisations.update_quota("o", max_storage_bytes=None))
    assert platform.arrived[0].path == "/api/v1/jobs?id=a%2Cb&state=running&state=queued&limit=100"
    assert platform.arrived[1].path == "/api/v1/jobs?limit=7"
    assert json.loads(platform.arrived[2].body) == {"max_storage_bytes": None}


def test_a_number_that_json_has_not_is_refused_with_its_field_before_anything_is_sent(sent: Any) -> None:
    rates = {"learning_rate": {"choices": [0.1, float("nan")]}}
    with scripted_platform() as platform:
        with pytest.raises(BadRequest, match=r"which is no number of JSON\. Give a finite number") as refused:
            sent(platform.url, lambda c: c.jobs.submit(model="mlp", hyperparameters=rates))
        assert (refused.value.field, refused.value.code) == ("hyperparameters.learning_rate.choices.1", "invalid_input")
        with pytest.raises(BadRequest, match="target_value is inf"):
            sent(platform.url, lambda c: c.jobs.submit(model="mlp", target_value=float("inf")))
    assert platform.arrived == []


@pytest.mark.parametrize(("url", "token", "named"), [("ftp://x", "t", "url"), ("http://x", "", "token")])
def test_a_client_without_address_or_token_says_what_is_missing(
    url: str, token: str, named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MLHUB_TOKEN", raising=False)
    with pytest.raises(ValueError, match=named):
        Client(url, token)
