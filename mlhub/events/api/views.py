"""What happened: the audit list, a job's story, and the organisation-wide live stream."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import django_filters
from django.db.models import Max, QuerySet
from django.http import HttpRequest, HttpResponseBase
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import generics

from mlhub.core.api.views import VisibleMixin
from mlhub.core.pagination import NewestFirst
from mlhub.core.problems import problem
from mlhub.events import sse
from mlhub.events.api.serializers import EventSerializer
from mlhub.events.hub import hub
from mlhub.events.models import Event
from mlhub.events.wakeups import EVENTS

BATCH = 200


class EventFilter(django_filters.FilterSet):
    organisation = django_filters.UUIDFilter()
    subject = django_filters.UUIDFilter("subject_id")
    kind = django_filters.CharFilter()

    class Meta:
        model = Event
        fields: list[str] = []


class EventsView(VisibleMixin, generics.ListAPIView[Event]):
    """Newest first: who did what, in the organisations that one belongs to."""

    queryset = Event.objects.select_related("actor")
    serializer_class = EventSerializer
    filterset_class = EventFilter


class OldestFirst(NewestFirst):
    ordering = "id"


class JobEventsView(VisibleMixin, generics.ListAPIView[Event]):
    queryset = Event.objects.select_related("actor")
    serializer_class = EventSerializer
    pagination_class = OldestFirst
    filterset_class = None

    def get_queryset(self) -> QuerySet[Event]:
        found = super().get_queryset().filter(subject_kind="job", subject_id=self.kwargs.get("id"))
        after = self.request.query_params.get("after", "")
        return found.filter(id__gt=int(after)) if after.isdecimal() else found

    @extend_schema(parameters=[OpenApiParameter("after", int, description="Only events with a greater id.")])
    def get(self, *args: Any, **kwargs: Any) -> Any:
        """A job's story, oldest first."""
        return super().get(*args, **kwargs)


async def stream(request: HttpRequest) -> HttpResponseBase:
    """GET /stream: `event: event` for everything that happens in one's organisations; ids are those of events."""
    user = await hub().read(lambda: sse.asker(request))
    if not user.is_authenticated:
        return problem(401, "not_authenticated", "Sign in, or send an API token that may read.")
    seen = sse.last_event_id(request)
    if seen and not seen.isdecimal():
        return problem(422, "invalid_input", "last_event_id is no event's id.")

    def newest() -> int:
        return Event.objects.aggregate(newest=Max("id"))["newest"] or 0

    def after(cursor: int) -> list[dict[str, Any]]:
        rows = Event.objects.visible_to(user).after(cursor).select_related("actor")[:BATCH]
        return [dict(EventSerializer(row).data) for row in rows]

    async def frames() -> AsyncIterator[bytes]:
        async with hub().listen(EVENTS) as listener:
            cursor = int(seen) if seen else await hub().read(newest)
            yield sse.HEARTBEAT
            while True:
                found = await hub().read(partial(after, cursor))
                for event in found:
                    cursor = event["id"]
                    yield sse.frame("event", event, id=str(cursor))
                if len(found) < BATCH and not await listener.wait(sse.HEARTBEAT_S):
                    yield sse.HEARTBEAT

    return sse.respond(frames())
