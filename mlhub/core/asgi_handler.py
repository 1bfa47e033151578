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

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any

from asgiref.sync import ThreadSensitiveContext, sync_to_async
from django.conf import settings
from django.core import signals
from django.core.exceptions import RequestAborted
from django.core.handlers.asgi import ASGIHandler, get_script_prefix
from django.core.handlers.base import BaseHandler
from django.db import connection
from django.urls import Resolver404, resolve, set_script_prefix

from mlhub.core.api.operations import API_PREFIX
from mlhub.core.errors import RateLimitedError
from mlhub.core.rate_limits.fair_seats import FairSeats
from mlhub.core.rate_limits.flows import flow_of
from mlhub.core.rate_limits.giving_way import GivesWay, precedence
from mlhub.core.rate_limits.middleware import REFUSED_FOR

if TYPE_CHECKING:
    from django.http import HttpRequest
    from django.http.response import HttpResponseBase
    from django.urls import ResolverMatch

REPORTS = f"{API_PREFIX}v1/ingest/"
IS_SUBMISSION = "is_submission"  # of a view whose POST makes jobs
# submissions that wait, of one flow and of all: each keeps its body in memory, and nothing else
QUEUE_LENGTH, TOTAL_LENGTH = 16, 500
MOST_IDLE = 32  # threads that wait for a request


class OneThreadHandler(ASGIHandler):
    def __init__(self) -> None:
        BaseHandler.__init__(self)
        self.load_middleware(is_async=False)
        self._idle_threads: list[ThreadPoolExecutor] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """As Django's, but a request's thread is not started for it, and ended by one more thread."""
        if scope["type"] != "http":
            raise ValueError(f"Only HTTP is answered here, not {scope['type']}.")
        thread = self._idle_threads.pop() if self._idle_threads else ThreadPoolExecutor(1, "request")
        is_free = False
        try:
            async with ThreadSensitiveContext(executor=thread):
                is_free = await self._handled(scope, receive, send)
        finally:
            if is_free and len(self._idle_threads) < MOST_IDLE:
                self._idle_threads.append(thread)
            else:
                thread.submit(signals.request_finished.send, sender=type(self))
                thread.shutdown(wait=False)

    async def _handled(self, scope: Any, receive: Any, send: Any) -> bool:
        """As Django's handle(), but what that signals at the beginning and the end is signalled by _answered().

        Returns False where the client left first: the request's thread may be at work for it still.
        """
        try:
            body = await self.read_body(receive)
        except RequestAborted:
            return True
        with body:
            set_script_prefix(get_script_prefix(scope))
            request, refused = self.create_request(scope, body)
            if request is None:
                assert refused is not None
                await self.send_response(refused, send)
                return True
            leaving = asyncio.ensure_future(self.listen_for_disconnect(receive))
            answering = asyncio.ensure_future(self._answer(request, send))
            await asyncio.wait((leaving, answering), return_when=asyncio.FIRST_COMPLETED)
            for task in (leaving, answering):
                task.cancel()  # does nothing to one that has ended; views may handle it
                with suppress(asyncio.CancelledError, RequestAborted):
                    await task
            if answering.cancelled():
                return False
            response = answering.result()
            if response.streaming:
                await sync_to_async(response.close)()
            return True

    async def _answer(self, request: HttpRequest, send: Any) -> HttpResponseBase:
        response = await self.run_get_response(request)
        with suppress(asyncio.CancelledError):  # the client left
            await self.send_response(response, send)
        return response

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

    def resolve_request(self, request: HttpRequest) -> ResolverMatch:
        """Once for a request: is_submission() may have done it."""
        return request.resolver_match or super().resolve_request(request)

    def _with_precedence(self, request: HttpRequest) -> HttpResponseBase:
        with precedence.running():
            return self._answered(request)

    def _giving_way(self, request: HttpRequest) -> HttpResponseBase:
        with connection.execute_wrapper(GivesWay(precedence)):
            return self._answered(request)

    def _answered(self, request: HttpRequest) -> HttpResponseBase:
        """In the request's thread. A response that does not stream is complete, and so closed here: whatever becomes of
        the one who asked."""
        signals.request_started.send(sender=type(self), scope=getattr(request, "scope", None))
        response = self.get_response(request)
        if not response.streaming:
            response._handler_class = type(self)  # type: ignore[attr-defined]  # as Django's own handler does
            response.close()
        return response


def is_submission(request: HttpRequest) -> bool:
    if request.method != "POST" or not request.path.startswith(API_PREFIX):
        return False
    try:
        request.resolver_match = resolve(request.path_info)
    except Resolver404:
        return False
    view = request.resolver_match.func
    return getattr(getattr(view, "cls", None), IS_SUBMISSION, False)


@cache
def _submission_seats() -> FairSeats:
    return FairSeats(settings.SUBMISSION_SEATS, queue_length=QUEUE_LENGTH, total_length=TOTAL_LENGTH)
