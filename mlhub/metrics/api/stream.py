# SPDX-License-Identifier: Apache-2.0
"""GET /jobs/{id}/stream: a job's state, events, points and lines as they come, from any cursor on; nothing is lost.

Frames have the id "<event id>-<seq>" (mlhub/jobs/cursor.py), which is where a reconnect goes on.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponseBase
from rest_framework import exceptions

from mlhub.core.api.names import AddressName, id_in_request
from mlhub.core.errors import InvalidInputError
from mlhub.events import sse
from mlhub.events.access import StreamAccess, end_frame, ending
from mlhub.events.api.serializers import EventSerializer
from mlhub.events.hub import hub
from mlhub.events.models import Event
from mlhub.events.wakeups import job_topic
from mlhub.jobs.api.serializers import job_json
from mlhub.jobs.cursor import Cursor, cursor_of
from mlhub.jobs.models import Job
from mlhub.metrics import reads
from mlhub.tenants.models import User

BATCH_EVENTS = 200
BATCH_ROWS = 2000
SCHEMAS = "#/components/schemas/"
POINT = {
    "allOf": [
        {"$ref": f"{SCHEMAS}Point"},
        {
            "type": "object",
            "properties": {
                "key": {"type": "string", "description": "Which curve the point is of."},
                "seq": {"type": "integer", "description": "Its place in the job's stream."},
            },
            "required": ["key", "seq"],
        },
    ]
}


def _listed(name: str, item: dict[str, Any]) -> dict[str, Any]:
    """The JSON schema of an object with one list."""
    return {"type": "object", "properties": {name: {"type": "array", "items": item}}, "required": [name]}


@dataclass(frozen=True)
class News:
    """What came after a cursor, and the cursor after it. is_all: there is no more at this moment."""

    cursor: Cursor
    job: dict[str, Any]
    events: list[dict[str, Any]]
    points: list[dict[str, Any]]
    lines: list[dict[str, Any]]
    is_all: bool


def news_after(job_id: UUID, cursor: Cursor) -> News | None:
    """None when the job is gone."""
    job = Job.objects.with_what_is_shown().filter(pk=job_id).first()
    if job is None:
        return None
    newest = cursor_of(job_id)
    until = min(newest.seq, cursor.seq + BATCH_ROWS)
    rows = Event.objects.filter(subject_id=job_id, subject_kind="job").after(cursor.event_id)
    events = [dict(EventSerializer(e).data) for e in rows.select_related("actor")[:BATCH_EVENTS]]
    return News(
        cursor=Cursor(events[-1]["id"] if events else cursor.event_id, max(cursor.seq, until)),
        job=job_json(job),
        events=events,
        points=reads.points_after(job_id, cursor.seq, until=until),
        lines=reads.lines_after(job_id, cursor.seq, until=until),
        is_all=len(events) < BATCH_EVENTS and until >= newest.seq,
    )


@sse.described_stream(
    "A job's state, events, points and log lines as they come; the id of a frame is a cursor of the job.",
    {
        "job": ("the job as lists show it, whenever something of it changed", {"$ref": f"{SCHEMAS}Job"}),
        "event": ("what happened to the job", {"$ref": f"{SCHEMAS}Event"}),
        "metrics": (
            "new points of its curves",
            _listed("points", POINT),
        ),
        "log": ("new lines of its log", _listed("lines", {"$ref": f"{SCHEMAS}LogLine"})),
    },
    begins="`cursor` of GET /jobs/{id} is such an id: what came after that answer is reported from there on.",
)
class JobStreamView(sse.EventStreamView):
    async def get(self, request: HttpRequest, id: UUID | AddressName) -> HttpResponseBase:
        def access_to_job() -> tuple[StreamAccess, UUID]:
            user = sse.authenticated_user(request)
            if not isinstance(user, User):
                raise exceptions.NotAuthenticated("Sign in, or send an API token that may read.")
            job_id = id_in_request(id, request, query=request.GET, user=user)
            if not Job.objects.visible_to(user).filter(pk=job_id).exists():
                raise exceptions.NotFound("There is no such job that you may see.")
            return StreamAccess(request, user), job_id

        access, job_id = await hub().read(access_to_job)
        seen = sse.last_event_id(request)
        try:
            start = Cursor.parse(seen) if seen else None
        except ValueError as error:
            raise InvalidInputError(f"{error}.", field="last_event_id", remedy="Leave it out to begin now.") from error
        return sse.respond(_frames(job_id, start, access))


async def _frames(job_id: UUID, start: Cursor | None, access: StreamAccess) -> AsyncIterator[bytes]:
    async with hub().listen(job_topic(job_id), access.topic) as listener:
        cursor = await hub().read(partial(cursor_of, job_id)) if start is None else start
        yield sse.frame("heartbeat", {}, id=str(cursor))
        heartbeats = sse.HeartbeatTimer()
        shown: dict[str, Any] | None = None
        while True:
            news = await hub().read(partial(news_after, job_id, cursor))
            # asked after reading: what was read while a right was taken away is not sent
            ended = await access.ended(listener) or (ending("gone") if news is None else None)
            if news is None or ended is not None:
                yield end_frame(ended or ending("gone"))
                return
            for event in news.events:
                yield sse.frame("event", event, id=str(Cursor(event["id"], cursor.seq)))
            cursor = news.cursor
            if news.points:
                yield sse.frame("metrics", {"points": news.points})
            if news.lines:
                yield sse.frame("log", {"lines": news.lines})
            if _figures(news.job) != shown or news.points or news.lines:
                shown = _figures(news.job)
                yield sse.frame("job", news.job, id=str(cursor))
                heartbeats.restart()
            if not news.is_all:
                continue
            async for heartbeat in heartbeats.until_news(listener):
                yield heartbeat
            await asyncio.sleep(sse.COALESCE_S)


def _figures(job: dict[str, Any]) -> dict[str, Any]:
    """Without what changes by the mere passing of time."""
    return {key: value for key, value in job.items() if key not in ("waited_s", "trained_s")}
