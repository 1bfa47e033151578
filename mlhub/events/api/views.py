# SPDX-License-Identifier: Apache-2.0
"""What happened: the audit list, a job's story, and the organisation-wide live stream."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

import django_filters
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework import exceptions, generics
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from mlhub.core.api.views import VisibleMixin, read_query
from mlhub.core.errors import InvalidInputError
from mlhub.core.paging.pagination import NewestFirst
from mlhub.events import sse
from mlhub.events.access import StreamAccess, end_frame
from mlhub.events.api.serializers import (
    EventSerializer,
    JobEventsQuerySerializer,
    VerificationSerializer,
    VerifyQuerySerializer,
)
from mlhub.events.changes import ChangeKind
from mlhub.events.cursor import EventCursor, newest_event_id
from mlhub.events.hub import hub
from mlhub.events.models import Event
from mlhub.events.querysets import job_is_seen_by
from mlhub.events.verification import verify
from mlhub.events.wakeups import EVENTS
from mlhub.tenants.access_control.permissions import IsPlatformAdministrator
from mlhub.tenants.models import Organisation, User
from mlhub.tenants.named import NamedFilter

BATCH = 200
CHANGED = {
    "type": "object",
    "properties": {
        "kinds": {
            "type": "array",
            "items": {"type": "string", "enum": [kind.value for kind in ChangeKind]},
            "description": "What changed; every kind where the server may have missed something.",
        }
    },
    "required": ["kinds"],
}


class TimeFilter(django_filters.IsoDateTimeFilter):
    """A time with any offset; PostgreSQL takes offsets below 16 hours only."""

    def filter(self, qs: QuerySet[Event], value: datetime | None) -> QuerySet[Event]:
        try:
            found: QuerySet[Event] = super().filter(qs, value and value.astimezone(UTC))
        except OverflowError as error:
            raise InvalidInputError(
                f"The time {value} is out of range.",
                field="since" if self.lookup_expr == "gte" else "until",
                remedy="Give a year from 1 to 9999.",
            ) from error
        return found


class EventFilter(django_filters.FilterSet):
    organisation = NamedFilter(Organisation, help_text="Only those of this organisation, by id or name.")
    subject = django_filters.UUIDFilter("subject_id", help_text="Only what happened to the object of this id.")
    kind = django_filters.CharFilter(help_text="Only events of this kind, such as job.submitted.")
    kind_prefix = django_filters.CharFilter(
        "kind", lookup_expr="startswith", help_text="Only events whose kind begins so, such as session. or token."
    )
    actor = django_filters.CharFilter(
        method="by_actor", help_text="Only what the user of this name did; also one that was deleted since."
    )
    username = django_filters.CharFilter(
        "facts__username", help_text="Only what happened to this user name, such as refused attempts to sign in."
    )
    since = TimeFilter("at", lookup_expr="gte", help_text="Only events of this time and later.")
    until = TimeFilter("at", lookup_expr="lt", help_text="Only events before this time.")

    class Meta:
        model = Event
        fields: list[str] = []

    def by_actor(self, rows: QuerySet[Event], name: str, value: str) -> QuerySet[Event]:  # noqa: ARG002
        deleted = Event.objects.filter(kind="user.deleted", facts__username=value).values("subject_id")
        present = User.objects.filter(username=value).values("pk")
        return rows.filter(Q(actor_id__in=present) | Q(actor_id__in=deleted))


class EventsView(VisibleMixin, generics.ListAPIView[Event]):
    """Newest first: who did what, in the organisations that one belongs to."""

    # no select_related: with the filter by actor, Django would join such that events of deleted accounts are left out
    queryset = Event.objects.prefetch_related("actor")
    serializer_class = EventSerializer
    filterset_class = EventFilter


class VerifyView(APIView):
    permission_classes = [IsPlatformAdministrator]

    @extend_schema(parameters=[VerifyQuerySerializer], responses=VerificationSerializer)
    def get(self, request: Request) -> Response:
        """Whether any event was changed, deleted or inserted since it was written; it reads all of them.

        Keep the head elsewhere: given back as `expect`, it finds a chain that was rewritten as a whole.
        """
        found = verify(expected=read_query(VerifyQuerySerializer, request)["expect"])
        return Response(VerificationSerializer(found).data)


class OldestFirst(NewestFirst):
    ordering = "id"


class JobEventsView(VisibleMixin, generics.ListAPIView[Event]):
    queryset = Event.objects.select_related("actor")
    serializer_class = EventSerializer
    pagination_class = OldestFirst
    filterset_class = None

    def get_queryset(self) -> QuerySet[Event]:
        found = super().get_queryset().of_job(self.kwargs.get("id"))
        if getattr(self, "swagger_fake_view", False):
            return found
        if job_is_seen_by(self.request.user, self.kwargs["id"]):  # also who sees nothing else of the organisation
            found = Event.objects.select_related("actor").of_job(self.kwargs["id"])
        return found.filter(id__gt=read_query(JobEventsQuerySerializer, self.request)["after"])

    @extend_schema(parameters=[JobEventsQuerySerializer])
    def get(self, *args: Any, **kwargs: Any) -> Any:
        """A job's story, oldest first."""
        return super().get(*args, **kwargs)


@sse.described_stream(
    "Everything that happens in the caller's organisations.",
    {
        "event": ("an event; the id of the frame begins with the event's", {"$ref": "#/components/schemas/Event"}),
        "changed": ("something changed of which no event is kept; read again what is shown of these kinds", CHANGED),
    },
    begins="`stream_cursor` of GET /auth/me is such an id: what came after that answer is reported from there on.",
)
class EventsStreamView(sse.EventStreamView):
    async def get(self, request: HttpRequest) -> HttpResponseBase:
        def access_to_events() -> StreamAccess:
            user = sse.authenticated_user(request)
            if not isinstance(user, User):
                raise exceptions.NotAuthenticated("Sign in, or send an API token that may read.")
            return StreamAccess(request, user)

        access = await hub().read(access_to_events)
        seen = sse.last_event_id(request)
        return sse.respond(_frames(access, EventCursor.parse(seen) if seen else None))


async def _frames(access: StreamAccess, start: EventCursor | None) -> AsyncIterator[bytes]:
    def after(cursor: int) -> list[dict[str, Any]]:
        rows = Event.objects.visible_to(access.user).after(cursor).select_related("actor")[:BATCH]
        return [dict(EventSerializer(row).data) for row in rows]

    changes = access.changes()
    async with hub().listen(EVENTS, access.topic, *changes.names()) as listener:
        await listener.begin()
        changes.heard(listener)  # from here on; what came before is asked for
        cursor = start or EventCursor(await hub().read(newest_event_id), listener.mark)
        missed = await hub().read(partial(changes.since, start.mark)) if start else []
        heartbeats = sse.HeartbeatTimer()
        yield sse.frame("heartbeat", {}, id=str(cursor))
        is_due = True
        while True:
            # changes come far more often than events: the database is asked for these only
            found = await hub().read(partial(after, cursor.event_id)) if is_due else []
            if ended := await access.ended(listener):
                yield end_frame(ended)
                return
            for event in found:
                cursor = replace(cursor, event_id=event["id"])
                yield sse.frame("event", event, id=str(cursor))
                heartbeats.restart()
            kinds = sorted({*missed, *changes.heard(listener)}, key=list(ChangeKind).index)
            missed, cursor = [], replace(cursor, mark=listener.mark)
            if kinds:
                yield sse.frame("changed", {"kinds": kinds}, id=str(cursor))
                heartbeats.restart()
            is_due = len(found) == BATCH
            if not is_due:
                async for heartbeat in heartbeats.until_news(listener):
                    yield heartbeat
                await asyncio.sleep(sse.COALESCE_S)
                is_due = listener.heard(EVENTS) or not listener.is_connected
