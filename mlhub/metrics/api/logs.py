# SPDX-License-Identifier: Apache-2.0
"""A job's log: pages of it, search in it, where its errors are, and the whole of it as a file."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.core.handlers.asgi import ASGIRequest
from django.http import HttpResponseBase, StreamingHttpResponse
from django.utils.http import content_disposition_header
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.response import Response

from mlhub.core.api.views import AnyAccept, read_query
from mlhub.events.access import DownloadAccess
from mlhub.events.hub import hub
from mlhub.jobs.api.parts import JobPartView
from mlhub.jobs.cursor import cursor_of
from mlhub.metrics.api import log_serializers as s
from mlhub.metrics.logs import log_reads
from mlhub.metrics.logs.log_overview import log_overview

if TYPE_CHECKING:
    from rest_framework.request import Request

DOWNLOAD_LINES = 5000  # read at once


class LogsView(JobPartView):
    @extend_schema(parameters=[s.LogQuerySerializer], responses=s.LogSerializer)
    def get(self, request: Request, **_: Any) -> Response:
        """Log lines after or before a seq or from a time on, oldest first; without any of them, from the beginning."""
        job = self.job(request)
        asked = read_query(s.LogQuerySerializer, request)
        wanted, limit = _filter(asked), asked["limit"]
        cursor = cursor_of(job.pk)
        if "before" in asked:
            page = log_reads.lines_before(job.pk, wanted, before=asked["before"], limit=limit)
        else:
            after = log_reads.seq_at(job.pk, asked["at"]) - 1 if "at" in asked else asked.get("after", 0)
            page = log_reads.lines_from(job.pk, wanted, after=after, limit=limit)
        n_found = log_reads.count_lines(job.pk, wanted) if wanted.search else None
        found = {"lines": page.lines, "is_end": page.is_end, "n_found": n_found, "cursor": str(cursor)}
        return Response(s.LogSerializer(found).data)


class LogOverviewView(JobPartView):
    @extend_schema(parameters=[s.LogOverviewQuerySerializer], responses=s.LogOverviewSerializer)
    def get(self, request: Request, **_: Any) -> Response:
        """Where in the whole log errors are, and what a search finds: counts by sections of equal length."""
        job = self.job(request)
        asked = read_query(s.LogOverviewQuerySerializer, request)
        found = log_overview(job.pk, _filter(asked), n_sections=asked["sections"])
        return Response(s.LogOverviewSerializer(found).data)


class LogDownloadView(JobPartView):
    content_negotiation_class = AnyAccept

    @extend_schema(parameters=[s.LogFilterSerializer], responses={(200, "text/plain"): OpenApiTypes.STR})
    def get(self, request: Request, **_: Any) -> HttpResponseBase:
        """The log as a text file, or what the filter leaves of it: one line each, after the name of its pod."""
        job = self.job(request)
        wanted = _filter(read_query(s.LogFilterSerializer, request))
        first = log_reads.lines_from(job.pk, wanted, after=0, limit=DOWNLOAD_LINES)
        access = DownloadAccess(request._request)
        # ASGI would collect a synchronous iterator in memory before it sends the first byte
        pieces = _pieces_async if isinstance(request._request, ASGIRequest) else _pieces
        response = StreamingHttpResponse(
            pieces(job.pk, wanted, first, access), content_type="text/plain; charset=utf-8"
        )
        response.headers["Content-Disposition"] = content_disposition_header(True, f"{job.name}.log") or "attachment"
        response.headers["Cache-Control"] = "private, no-store"
        response.headers["X-Content-Type-Options"] = "nosniff"
        return response


def _filter(asked: dict[str, Any]) -> log_reads.LogFilter:
    names = ("role", "index", "attempt", "search", "is_regex", "errors")
    return log_reads.LogFilter(**{name: asked[name] for name in names if name in asked})


def _text(page: log_reads.LogPage) -> bytes:
    return "".join(f"{line['role']}-{line['index']}  {line['text']}\n" for line in page.lines).encode()


def _next(job_id: UUID, wanted: log_reads.LogFilter, page: log_reads.LogPage) -> log_reads.LogPage:
    return log_reads.lines_from(job_id, wanted, after=page.lines[-1]["seq"], limit=DOWNLOAD_LINES)


def _pieces(
    job_id: UUID, wanted: log_reads.LogFilter, page: log_reads.LogPage, access: DownloadAccess
) -> Iterator[bytes]:
    yield _text(page)
    while not page.is_end:
        if access.is_due:
            access.check()
        page = _next(job_id, wanted, page)
        yield _text(page)


async def _pieces_async(
    job_id: UUID, wanted: log_reads.LogFilter, page: log_reads.LogPage, access: DownloadAccess
) -> AsyncIterator[bytes]:
    yield _text(page)
    while not page.is_end:
        if access.is_due:
            await hub().read(access.check)
        page = await hub().read(partial(_next, job_id, wanted, page))
        yield _text(page)
