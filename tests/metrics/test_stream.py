# SPDX-License-Identifier: Apache-2.0
"""A job's live stream: everything comes, from any cursor on, with Redis and without."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from django.db import connection
from django.test import AsyncClient

from mlhub.events import sse
from mlhub.events.models import Event
from mlhub.jobs import actions
from mlhub.metrics import actions as metrics
from tests.cast import Cast, make_cast
from tests.jobs.builders import job
from tests.metrics.test_ingest import metric, opened

pytestmark = pytest.mark.django_db(transaction=True)
Frame = tuple[str, Any, str | None]


class Viewer:
    """A browser's EventSource: reads frames, remembers the last id."""

    def __init__(self, cast: Cast, user: Any) -> None:
        self.client = AsyncClient()
        self.client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
        self.last_id = ""
        self.listens = asyncio.Event()  # once the first frame came: what happens from then on is news

    async def open(self, path: str) -> Any:
        return await self.client.get(path, headers={"Last-Event-ID": self.last_id} if self.last_id else {})

    async def frames(
        self, path: str, *, until: Callable[[list[Frame]], bool], seconds: float = 120, with_heartbeats: bool = False
    ) -> list[Frame]:
        """Events until there is enough; then the connection is dropped."""
        found: list[Frame] = []
        response = await self.open(path)
        assert response.status_code == 200, response.content
        stream: AsyncIterator[bytes] = response.streaming_content
        async with asyncio.timeout(seconds):
            async for chunk in stream:
                self.listens.set()
                fields = dict(line.split(": ", 1) for line in chunk.decode().strip().splitlines())
                self.last_id = fields.get("id", self.last_id)
                if fields["event"] == "heartbeat" and not with_heartbeats:
                    continue
                found.append((fields["event"], json.loads(fields["data"]), fields.get("id")))
                if until(found):
                    break
        await stream.aclose()  # type: ignore[attr-defined]
        return found


def store(attempt: Any, first: int, *lines: Any, stream: str = "reports") -> None:
    metrics.store_lines(attempt, metrics.ReportingPod("worker", 0), stream=stream, first=first, lines=lines)


async def store_from_another_thread(*arguments: Any, **options: Any) -> None:
    """From another thread, as another process would, whose connection does not stay."""

    def run() -> None:
        try:
            store(*arguments, **options)
        finally:
            connection.close()

    await asyncio.to_thread(run)


def prepare() -> tuple[Cast, Any, Any]:
    cast = make_cast()
    found = job(cast.project_a, cast.bob)
    return cast, found, opened(found)


def points_of(frames: list[Frame]) -> list[int]:
    return [p["step"] for event, data, _ in frames if event == "metrics" for p in data["points"]]


def test_a_dropped_connection_loses_and_repeats_nothing() -> None:
    cast, found, attempt = prepare()
    store(attempt, 0, metric(1, loss=1))
    viewer = Viewer(cast, cast.bob)
    path = f"/api/v1/jobs/{found.id}/stream?last_event_id=0-0"

    async def play() -> None:
        first = await viewer.frames(path, until=lambda frames: frames[-1][0] == "job")
        assert [event for event, *_ in first] == ["event", "metrics", "job"]
        # while no client listens, more happens
        await store_from_another_thread(attempt, 1, metric(2, loss=1), metric(3, loss=1))
        await store_from_another_thread(attempt, 0, "a line", stream="log")
        later = await viewer.frames(path, until=lambda frames: frames[-1][0] == "log")
        assert points_of(first) + points_of(later) == [1, 2, 3]
        assert later[-1][1]["lines"][0]["text"] == "a line"

    asyncio.run(play())


@pytest.mark.parametrize("is_redis_there", [True, False])
def test_news_arrives_while_one_listens(settings: Any, is_redis_there: bool) -> None:
    cast, found, attempt = prepare()
    if not is_redis_there:
        settings.REDIS_URL = "redis://127.0.0.1:1/0"

    viewer = Viewer(cast, cast.bob)
    path = f"/api/v1/jobs/{found.id}/stream"

    async def play() -> None:
        listening = asyncio.create_task(viewer.frames(path, until=lambda frames: bool(points_of(frames))))
        await viewer.listens.wait()
        await store_from_another_thread(attempt, 0, metric(10, loss=1))
        assert points_of(await listening) == [10]

    asyncio.run(play())


@pytest.mark.parametrize("is_redis_there", [True, False])
def test_a_stream_without_news_sends_heartbeats(
    settings: Any, is_redis_there: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sse, "HEARTBEAT_S", 0.1)
    cast, found, _ = prepare()
    if not is_redis_there:
        settings.REDIS_URL = "redis://127.0.0.1:1/0"
    viewer = Viewer(cast, cast.bob)

    def has_three(frames: list[Frame]) -> bool:
        return [event for event, *_ in frames].count("heartbeat") >= 3

    for path in (f"/api/v1/jobs/{found.id}/stream", "/api/v1/stream"):
        frames = asyncio.run(viewer.frames(path, until=has_three, with_heartbeats=True))
        assert all(data == {} for event, data, _ in frames if event == "heartbeat")
        viewer.last_id = ""


def test_the_stream_of_another_organisation_does_not_exist() -> None:
    cast, found, _ = prepare()

    charlie = Viewer(cast, cast.charlie)
    response = asyncio.run(charlie.open(f"/api/v1/jobs/{found.id}/stream"))
    assert response.status_code == 404


def test_a_stream_is_opened_by_the_name_of_its_job_and_by_nobody_else_s() -> None:
    cast, found, attempt = prepare()
    store(attempt, 0, metric(1, loss=1))
    path = f"/api/v1/jobs/name:{found.name}/stream?last_event_id=0-0"
    frames = asyncio.run(Viewer(cast, cast.bob).frames(path, until=lambda frames: frames[-1][0] == "job"))
    assert (points_of(frames), frames[-1][1]["id"]) == ([1], str(found.id))
    charlie = Viewer(cast, cast.charlie)
    theirs, absent = (asyncio.run(charlie.open(f"/api/v1/jobs/name:{name}/stream")) for name in (found.name, "absent"))
    assert theirs.status_code == absent.status_code == 404
    assert theirs.json()["detail"].replace(f"called {found.name}", "called absent") == absent.json()["detail"]
    job(cast.project_a, cast.bob, name=found.name)
    refused = asyncio.run(Viewer(cast, cast.bob).open(path))
    assert (refused.status_code, refused.json()["code"]) == (409, "ambiguous_name")


def test_the_organisation_wide_stream_shows_ones_own_organisations_only() -> None:
    cast, found, _ = prepare()
    start = Event.objects.order_by("-id").values_list("id", flat=True).first()
    other = job(cast.project_b, cast.charlie)
    actions.pause_job(other, actor=cast.charlie)
    actions.pause_job(found, actor=cast.bob)
    frames = asyncio.run(Viewer(cast, cast.bob).frames(f"/api/v1/stream?last_event_id={start}", until=bool))
    assert {data["subject_id"] for _, data, _ in frames} == {str(found.id)}
