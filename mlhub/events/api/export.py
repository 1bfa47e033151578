# SPDX-License-Identifier: Apache-2.0
"""The audit as a file, with the filters of the list."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import generics, serializers
from rest_framework.request import Request

from mlhub.core.api.strict import StrictSerializer
from mlhub.core.api.views import AnyAccept, VisibleMixin, read_query
from mlhub.core.errors import InvalidInputError
from mlhub.events import export
from mlhub.events.api.serializers import EventSerializer
from mlhub.events.api.views import EventFilter
from mlhub.events.models import Event
from mlhub.events.origins import OriginReader

MAX_EVENTS = 50_000
FORMS = {"csv": (export.as_csv, "text/csv"), "jsonl": (export.as_json_lines, "application/jsonl")}


class ExportQuerySerializer(StrictSerializer):
    form = serializers.ChoiceField(
        choices=[(name, name) for name in FORMS], required=False, default="csv", help_text="csv, or jsonl: JSON lines."
    )


class EventsExportView(VisibleMixin, generics.ListAPIView[Event]):
    queryset = Event.objects.prefetch_related("actor")
    serializer_class = EventSerializer
    filterset_class = EventFilter
    pagination_class = None
    content_negotiation_class = AnyAccept

    @extend_schema(
        parameters=[ExportQuerySerializer],
        filters=True,
        responses={(200, "text/csv"): OpenApiTypes.STR, (200, "application/jsonl"): OpenApiTypes.STR},
    )
    def get(self, request: Request, *_: Any, **__: Any) -> HttpResponse:  # type: ignore[override]  # a file, no Response
        """The events that the filters leave, oldest first, as a file: who, what, before, after, from where, and hash.

        422 when there are more than 50,000: narrow them by `since` and `until`.
        """
        write, media_type = FORMS[form := read_query(ExportQuerySerializer, request)["form"]]
        events = list(self.filter_queryset(self.get_queryset()).order_by("id")[: MAX_EVENTS + 1])
        if len(events) > MAX_EVENTS:
            raise InvalidInputError(
                f"There are more than {MAX_EVENTS:,} such events.",
                code="too_many_events",
                field="since",
                remedy="Narrow them by since and until, and export one span after the other.",
            )
        headers = {"Content-Disposition": f'attachment; filename="mlhub-audit.{form}"'}
        return HttpResponse(
            write(events, OriginReader(request.user)), content_type=f"{media_type}; charset=utf-8", headers=headers
        )
