# SPDX-License-Identifier: Apache-2.0
"""Middleware: gives each request an id, binds what is known of it to the logs, and reports how it was answered.

The id is X-Request-ID of the request when that is a plausible one (a proxy made it), else a new one. The answer carries
it as X-Request-ID, and a problem document as `request_id`, so that a person can name the entries that explain an error.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import structlog
from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from mlhub.core.ids import new_id
from mlhub.core.web.addresses import client_address
from mlhub.core.web.origin import RequestOrigin, set_origin

logger = structlog.stdlib.get_logger(__name__)
HEADER = "X-Request-ID"
PLAUSIBLE = re.compile(r"[A-Za-z0-9._:-]{1,64}")
RESOURCE = re.compile(r"(\w+?)(ies|s)/<(?:uuid|named):(\w+)>")  # jobs/<uuid:id> is a job, studies/... a study
QUIET = ("/healthz", "/readyz", "/metrics", "/static/", "/assets/", "/api/v1/ingest/")
PROBLEM = "application/problem+json"


class RequestLogMiddleware:
    """It stands first, so that what it measures and binds covers all other middleware."""

    sync_capable = True
    async_capable = True

    def __init__(self, get_response: Callable[[HttpRequest], Any]) -> None:
        self.get_response = get_response
        self.is_async = iscoroutinefunction(get_response)
        if self.is_async:
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        if self.is_async:
            return self._answer(request)
        began, request_id = time.perf_counter(), _bind(request)
        set_origin(RequestOrigin.of(request))
        try:
            response: HttpResponseBase = self.get_response(request)
            return _finish(request, response, request_id=request_id, began=began)
        finally:
            if not isinstance(request, ASGIRequest):  # there the context is the request's own, and a stream logs in it
                structlog.contextvars.clear_contextvars()
                set_origin(None)

    async def _answer(self, request: HttpRequest) -> HttpResponseBase:
        began, request_id = time.perf_counter(), _bind(request)
        set_origin(RequestOrigin.of(request))
        response: HttpResponseBase = await self.get_response(request)
        return _finish(request, response, request_id=request_id, began=began)

    def process_view(self, request: HttpRequest, _view: Any, _args: Any, kwargs: dict[str, Any]) -> None:
        """Binds the ids that the address names: `job` of /jobs/{id}, `attempt` of /ingest/attempts/{id}, and so on."""
        bind_ids(request.resolver_match.route if request.resolver_match else "", kwargs)


def bind_ids(route: str, kwargs: Mapping[str, Any]) -> None:
    """Binds what the route names to the logs of this request: its id, or its name until that is resolved."""
    found = [(stem + "y" if ending == "ies" else stem, name) for stem, ending, name in RESOURCE.findall(route)]
    ids = {kind: str(kwargs[name]) for kind, name in found if name in kwargs}
    if ids:
        structlog.contextvars.bind_contextvars(**ids)


def _bind(request: HttpRequest) -> str:
    given = request.headers.get(HEADER, "")
    request_id = given if PLAUSIBLE.fullmatch(given) else str(new_id())
    structlog.contextvars.clear_contextvars()
    structlog.contextvars.bind_contextvars(request_id=request_id)
    return request_id


def _finish(request: HttpRequest, response: HttpResponseBase, *, request_id: str, began: float) -> HttpResponseBase:
    response[HEADER] = request_id
    if isinstance(response, HttpResponse) and response.get("Content-Type", "").startswith(PROBLEM):
        _name_request(response, request_id)
    duration_ms = round(1000 * (time.perf_counter() - began), 1)
    facts = {"method": request.method, "path": request.path, "status": response.status_code, "duration_ms": duration_ms}
    address = client_address(request)
    logger.log(_level(request, response.status_code), "request.answered", **facts, client=address)
    return response


def _name_request(response: HttpResponse, request_id: str) -> None:
    problem = json.loads(response.content)
    problem["request_id"] = request_id
    response.content = json.dumps(problem, ensure_ascii=False).encode()
    if "Content-Length" in response:
        response["Content-Length"] = str(len(response.content))


def _level(request: HttpRequest, status: int) -> int:
    """Errors and what changes something are reported; reads, probes and the reports of pods only when debugging."""
    if status >= 500:
        return 40
    is_read = request.method in ("GET", "HEAD", "OPTIONS")
    return 20 if status >= 400 or not (is_read or request.path.startswith(QUIET)) else 10
