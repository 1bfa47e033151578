# SPDX-License-Identifier: Apache-2.0
"""What happens before a stream is there, or while it is interrupted, is reported by it: no more, and no less."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import redis
from django.db import connection
from django.test import Client
from rest_framework.test import APIClient

from mlhub.events import wakeups
from mlhub.events.changes import ChangeKind, report_change
from mlhub.jobs import actions
from tests.cast import Cast, make_cast
from tests.jobs.builders import job
from tests.metrics.test_stream import Frame, Viewer

pytestmark = pytest.mark.django_db(transaction=True)
ALL = [kind.value for kind in ChangeKind]
STREAM = "/api/v1/stream"


@pytest.fixture
def cast() -> Cast:
    return make_cast()


@pytest.fixture
def memory(servers: Any) -> Iterator[redis.Redis]:
    client = redis.Redis.from_url(servers.redis_url)
    report_change(ChangeKind.ROUND, organisation_id=None)  # one that is empty reports everything once
    yield client
    client.close()


def cursor_of(user: Any) -> str:
    """As a page learns it, with its first answer."""
    browser = APIClient()
    browser.force_authenticate(user)
    answer = browser.get("/api/v1/auth/me")
    assert answer.status_code == 200, answer.content
    return str(answer.json()["stream_cursor"])


def events_and_kinds(frames: list[Frame]) -> tuple[list[str], list[str]]:
    kinds = [kind for event, data, _ in frames if event == "changed" for kind in data["kinds"]]
    return [data["kind"] for event, data, _ in frames if event == "event"], kinds


async def frames_up_to(viewer: Viewer, last: Callable[[], Any], *, cursor: str = "") -> list[Frame]:
    """The frames of a stream up to the event of `last`, which happens once the stream is there."""
    path = f"{STREAM}?last_event_id={cursor}" if cursor else STREAM
    viewer.listens.clear()

    def run() -> None:
        try:
            last()
        finally:
            connection.close()

    reading = asyncio.create_task(viewer.frames(path, until=lambda found: found[-1][0] == "event"))
    await viewer.listens.wait()
    await asyncio.to_thread(run)
    return await reading


def test_a_stream_reports_what_happened_since_the_page_was_read(cast: Cast, memory: redis.Redis) -> None:
    found = job(cast.project_a, cast.bob)
    report_change(ChangeKind.DELIVERY, organisation_id=cast.a.pk)
    cursor = cursor_of(cast.bob)
    # the page is read, and then, before its stream is there
    report_change(ChangeKind.BUILD, organisation_id=cast.a.pk)
    report_change(ChangeKind.RUN, organisation_id=cast.b.pk)
    report_change(ChangeKind.QUEUED_WORK, organisation_id=None)
    actions.pause_job(found, actor=cast.bob)
    path = f"{STREAM}?last_event_id={cursor}"
    frames = asyncio.run(Viewer(cast, cast.bob).frames(path, until=lambda found: found[-1][0] == "changed"))
    assert events_and_kinds(frames) == (["job.pause_asked", "job.state"], ["build", "queued_work"])
    assert {data["subject_id"] for event, data, _ in frames if event == "event"} == {str(found.pk)}


def test_nothing_is_reported_where_nothing_happened(cast: Cast, memory: redis.Redis) -> None:
    found = job(cast.project_a, cast.bob)
    report_change(ChangeKind.RUN, organisation_id=cast.a.pk)
    viewer = Viewer(cast, cast.bob)
    pause = asyncio.run(
        frames_up_to(viewer, lambda: actions.pause_job(found, actor=cast.bob), cursor=cursor_of(cast.bob))
    )
    assert events_and_kinds(pause) == (["job.pause_asked"], [])


def test_a_break_before_the_first_event_loses_nothing(cast: Cast, memory: redis.Redis) -> None:
    """The first frame says already where the stream is."""
    found = job(cast.project_a, cast.bob)
    viewer = Viewer(cast, cast.bob)
    frames = asyncio.run(viewer.frames(STREAM, until=bool, with_heartbeats=True))
    assert [event for event, *_ in frames] == ["heartbeat"]
    actions.pause_job(found, actor=cast.bob)
    report_change(ChangeKind.RUN, organisation_id=cast.a.pk)
    frames = asyncio.run(viewer.frames(STREAM, until=lambda found: found[-1][0] == "changed"))
    assert events_and_kinds(frames) == (["job.pause_asked", "job.state"], ["run"])
    # and what was reported is not reported again
    resume = asyncio.run(frames_up_to(viewer, lambda: actions.resume_job(found, actor=cast.bob)))
    assert events_and_kinds(resume) == (["job.resume_asked"], [])


@pytest.mark.parametrize("loss", ["memory", "report", "mark"])
def test_where_a_change_may_have_been_lost_every_kind_is_reported(
    cast: Cast, memory: redis.Redis, settings: Any, loss: str
) -> None:
    cursor = cursor_of(cast.bob)
    if loss == "memory":  # Redis was restarted without its disk
        memory.delete(wakeups.MARKS)
    elif loss == "report":  # it was away when a change was to be reported, and is there again
        publisher = wakeups._publisher()
        publisher._client.connection_pool.disconnect()
        there, publisher._client = publisher._client, redis.Redis.from_url("redis://127.0.0.1:1/0")
        report_change(ChangeKind.RUN, organisation_id=cast.a.pk)
        publisher._client, publisher._not_before = there, 0.0
        report_change(ChangeKind.RUN, organisation_id=cast.b.pk)
    else:
        cursor = cursor.partition("-")[0]
    path = f"{STREAM}?last_event_id={cursor}"
    frames = asyncio.run(Viewer(cast, cast.bob).frames(path, until=bool))
    assert events_and_kinds(frames) == ([], ALL)


def test_without_redis_a_page_is_read_and_its_cursor_says_that_everything_may_have_changed(
    cast: Cast, settings: Any
) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    cursor = cursor_of(cast.bob)
    assert cursor.isdecimal()


@pytest.mark.parametrize("cursor", ["x", "1-", "-1", "1-2-3", "1" * 20, "١", "1-" + "9" * 20, "1 2"])
def test_what_is_no_cursor_is_refused_with_a_remedy(cast: Cast, cursor: str) -> None:
    browser = Client()
    browser.force_login(cast.bob, backend="django.contrib.auth.backends.ModelBackend")
    answer = browser.get(STREAM, {"last_event_id": cursor})
    assert answer.status_code == 422
    assert "leave it out to begin now" in str(answer.json()), answer.json()
    assert "last_event_id" in str(answer.json())
