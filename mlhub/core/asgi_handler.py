# SPDX-License-Identifier: Apache-2.0
"""Django's ASGI handler, but with one way into a request's thread and back instead of one for each middleware.

Django runs middleware that can be both as coroutines, and each of them then hands the parts that must not block to the
request's thread: some forty changes of thread a request, which cost more than the middleware itself. All views of MLHub
but the event streams are synchronous, so the whole chain runs in that thread. Async views go to the event loop from
there; what a response streams is read outside of the chain, as before.

It also decides which requests come first in this process: those that somebody waits for before submissions, which take
turns by organisation, and reports of pods.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from asgiref.sync import sync_to_async
from django.conf import settings
from django.core.handlers.asgi import ASGIHandler
from django.core.handlers.base import BaseHandler
from django.db import connection
from django.urls import Resolver404, resolve

from mlhub.core.api.operations import API_PREFIX
from mlhub.core.errors import RateLimitedError
from mlhub.core.rate_limits.fair_seats import FairSeats
from mlhub.core.rate_limits.flows import flow_of
from mlhub.core.rate_limits.giving_way import GivesWay, precedence
from mlhub.core.rate_limits.middleware import REFUSED_FOR

if TYPE_CHECKING:
    from django.http import HttpRequest
    from django.http.response import HttpResponseBase

REPORTS = f"{API_PREFIX}v1/ingest/"
IS_SUBMISSION = "is_submission"  # of a view whose POST makes jobs
# submissions that wait, of one flow and of all: each keeps its body in memory, and nothing else
QUEUE_LENGTH, TOTAL_LENGTH = 16, 500


class OneThreadHandler(ASGIHandler):
    def __init__(self) -> None:
        BaseHandler.__init__(self)
        self.load_middleware(is_async=False)

    async def get_response_async(self, request: HttpRequest) -> HttpResponseBase:
        if not settings.SUBMISSION_SEATS or not is_submission(request):
            return await self._in_its_thread(request)
        flow, seats = flow_of(request), _submission_seats()
        with seats.passing(flow) as is_passing:
            if is_passing:
                return await self._in_its_thread(request)
        try:
            async with seats.taken_by_task(flow):
                return await self._in_its_thread(request, gives_way=True)
        except RateLimitedError as error:
            setattr(request, REFUSED_FOR, error)
            return await self._in_its_thread(request, gives_way=True)

    async def _in_its_thread(self, request: HttpRequest, *, gives_way: bool = False) -> HttpResponseBase:
        gives_way = gives_way or request.path.startswith(REPORTS)
        answer = self._giving_way if gives_way else self._with_precedence
        response: HttpResponseBase = await sync_to_async(answer, thread_sensitive=True)(request)
        return response

    def _with_precedence(self, request: HttpRequest) -> HttpResponseBase:
        with precedence.running():
            return self.get_response(request)

    def _giving_way(self, request: HttpRequest) -> HttpResponseBase:
        with connection.execute_wrapper(GivesWay(precedence)):
            return self.get_response(request)


def is_submission(request: HttpRequest) -> bool:
    if request.method != "POST" or not request.path.startswith(API_PREFIX):
        return False
    try:
        view = resolve(request.path).func
    except Resolver404:
        return False
    return getattr(getattr(view, "cls", None), IS_SUBMISSION, False)


@cache
def _submission_seats() -> FairSeats:
    return FairSeats(settings.SUBMISSION_SEATS, queue_length=QUEUE_LENGTH, total_length=TOTAL_LENGTH)
