# SPDX-License-Identifier: Apache-2.0
"""ASGI: requests to a notebook's own host go to its pod, each after session and right were checked; all others pass.

The cookie of this origin is all that counts here; the platform's session is looked up by it and never travels.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs
from uuid import UUID

import structlog
from asgiref.sync import ThreadSensitiveContext, sync_to_async
from django.conf import settings
from django.db import InterfaceError, OperationalError, connections
from rest_framework.exceptions import APIException

from mlhub.core.errors import DomainError, NotAllowedError, NotFoundError, RateLimitedError, UnavailableError
from mlhub.core.problems import CONTENT_TYPE, describe
from mlhub.notebooks.access import NotebookTarget, target_of
from mlhub.notebooks.actions import COOKIE_S, ENTER, exchange_ticket
from mlhub.notebooks.addresses import job_of_host, origin_of
from mlhub.notebooks.forwarding import forward_request
from mlhub.notebooks.headers import cookie_name, cookie_of, header_of, is_navigation
from mlhub.notebooks.sockets import forward_socket
from mlhub.storage.streamed_uploads import AsgiApplication, Receive, Scope, Send

logger = structlog.stdlib.get_logger(__name__)
CHECK_EVERY_S = 2.0  # of what stays open
MAX_OPEN = 64  # requests and sockets of one notebook at a time, in this process
MAX_CHECKS = 16  # at a time, in this process: each takes a thread and a connection to the database
PATIENCE_S = 30.0  # for which what is open stays so while the database is away
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
LANDING = "/lab"


class NotebookHosts:
    """Wraps the application."""

    def __init__(self, application: AsgiApplication, *, check_every_s: float = CHECK_EVERY_S) -> None:
        self._application, self._check_every_s = application, check_every_s
        self._n_open: Counter[UUID] = Counter()
        self._checks = asyncio.Semaphore(MAX_CHECKS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._application(scope, receive, send)
            return
        job_id = job_of_host(header_of(scope, b"host"), pattern=settings.NOTEBOOK_ORIGIN)
        if job_id is not None:
            await self._serve(job_id, scope, receive, send)
        elif scope["type"] == "websocket":  # the platform itself has none
            await receive()
            await send({"type": "websocket.close", "code": 1008})
        else:
            await self._application(scope, receive, send)

    async def _serve(self, job_id: UUID, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            if scope["type"] == "http" and scope["path"] == ENTER:
                await self._enter(job_id, scope, send)
                return
            _check_own_origin(job_id, scope)
            target = await self._target(job_id, scope)
            if self._n_open[job_id] >= MAX_OPEN:
                raise RateLimitedError(
                    f"The notebook has {MAX_OPEN} requests under way.", remedy="Close some pages.", retry_after_s=1
                )
        except (DomainError, APIException) as error:
            await _refuse(error, job_id, scope, receive, send)
            return
        self._n_open[job_id] += 1
        try:
            await self._forward(job_id, target, scope, receive, send)
        finally:
            self._n_open[job_id] -= 1
            if not self._n_open[job_id]:
                del self._n_open[job_id]

    async def _forward(self, job_id: UUID, target: NotebookTarget, scope: Scope, receive: Receive, send: Send) -> None:
        """Until it is answered, or the right to it has ended."""
        answered = Answered(send)
        forward = forward_socket if scope["type"] == "websocket" else forward_request
        work = asyncio.ensure_future(forward(target, scope, receive, answered))
        watch = asyncio.ensure_future(self._wait_for_end_of_right(job_id, target, scope))
        try:
            await asyncio.wait({work, watch}, return_when=asyncio.FIRST_COMPLETED)
            problem: DomainError | APIException | None = None
            if work.done():
                error = work.exception()
                if isinstance(error, OSError):
                    problem = UnavailableError(
                        "The notebook's server cannot be reached.", remedy="Try again in a moment.", retry_after_s=2
                    )
                elif error is not None:
                    raise error
            else:
                problem = watch.result()
            if problem is not None:
                await _end(problem, answered, job_id, scope, receive)
        finally:
            for task in (work, watch):
                task.cancel()
            await asyncio.gather(work, watch, return_exceptions=True)

    async def _wait_for_end_of_right(
        self, job_id: UUID, target: NotebookTarget, scope: Scope
    ) -> DomainError | APIException:
        loop = asyncio.get_running_loop()
        checked_at = loop.time()
        while True:
            await asyncio.sleep(self._check_every_s)
            try:
                if await self._target(job_id, scope) != target:
                    return NotFoundError("The notebook was started again.", remedy="Load the page again.")
                checked_at = loop.time()
            except UnavailableError as error:
                if loop.time() - checked_at > PATIENCE_S:
                    return error
            except (DomainError, APIException) as error:
                return error

    async def _target(self, job_id: UUID, scope: Scope) -> NotebookTarget:
        """Raises DomainError, APIException."""
        async with self._checks, ThreadSensitiveContext():
            return await sync_to_async(_looked_up)(job_id, cookie_of(scope))

    async def _enter(self, job_id: UUID, scope: Scope, send: Send) -> None:
        """The ticket becomes the cookie of this origin. Raises NotAllowedError, UnavailableError."""
        ticket = parse_qs(scope["query_string"].decode("latin-1")).get("ticket", [""])[0]
        cookie = None
        if ticket and scope["method"] == "GET":
            async with self._checks, ThreadSensitiveContext():
                cookie = await sync_to_async(_exchanged)(job_id, ticket)
        await _answer_entry(cookie, send)


class Answered:
    """A Send that knows how far the answer is."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.has_begun = self.has_ended = False

    async def __call__(self, message: Any) -> None:
        self.has_begun = True
        kind = message["type"]
        if kind == "websocket.close" or (kind == "http.response.body" and not message.get("more_body")):
            self.has_ended = True
        await self._send(message)


def _looked_up(job_id: UUID, cookie: str) -> NotebookTarget:
    with _database():
        return target_of(job_id, cookie)


def _exchanged(job_id: UUID, ticket: str) -> str | None:
    with _database():
        return exchange_ticket(job_id, ticket)


@contextmanager
def _database() -> Iterator[None]:
    """Raises UnavailableError while it is away."""
    try:
        yield
    except (OperationalError, InterfaceError) as error:
        raise UnavailableError(
            "The platform's database is away.", remedy="Try again in a moment.", retry_after_s=2
        ) from error
    finally:
        connections.close_all()


async def _answer_entry(cookie: str | None, send: Send) -> None:
    """Raises NotAllowedError without a cookie."""
    if cookie is None:
        raise NotAllowedError(
            "This address was used before, or is too old.",
            code="ticket_used",
            remedy="Open the notebook from its job's page.",
        )
    secure = "; Secure" if settings.NOTEBOOK_ORIGIN.startswith("https:") else ""
    value = f"{cookie_name()}={cookie}; Path=/; Max-Age={COOKIE_S:.0f}; HttpOnly; SameSite=Lax{secure}"
    headers = [
        (b"location", LANDING.encode()),
        (b"set-cookie", value.encode()),
        (b"cache-control", b"no-store"),
        (b"referrer-policy", b"no-referrer"),
    ]
    await _answer(send, 303, headers, b"")


def _check_own_origin(job_id: UUID, scope: Scope) -> None:
    """Other pages may only lead here; all else comes from the notebook's own. Raises NotAllowedError."""
    origin, site = header_of(scope, b"origin"), header_of(scope, b"sec-fetch-site")
    is_safe = scope["type"] == "http" and scope["method"] in SAFE_METHODS
    is_own = origin == origin_of(job_id, pattern=settings.NOTEBOOK_ORIGIN) or (not origin and is_safe)
    is_led_here = is_safe and header_of(scope, b"sec-fetch-mode") == "navigate"
    if not is_own or not (is_led_here or site in ("", "same-origin", "none")):
        raise NotAllowedError(
            "Only the notebook's own pages may send this.", code="foreign_origin", remedy="Use the notebook's page."
        )


async def _refuse(error: DomainError | APIException, job_id: UUID, scope: Scope, receive: Receive, send: Send) -> None:
    """A page that is opened leads to the job's; all else gets the problem. The handshake of a socket ends with 403."""
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 1008})
    elif is_navigation(scope) and not isinstance(error, RateLimitedError):
        location = f"{settings.PUBLIC_URL}/jobs/{job_id}".encode()
        await _answer(send, 303, [(b"location", location), (b"cache-control", b"no-store")], b"")
    else:
        described = describe(error)
        assert described is not None
        status, body, extra = described
        headers = [(b"content-type", CONTENT_TYPE.encode()), (b"cache-control", b"no-store")]
        headers += [(name.lower().encode(), value.encode()) for name, value in extra.items()]
        await _answer(send, status, headers, json.dumps(body, default=str).encode())


async def _end(
    error: DomainError | APIException, answered: Answered, job_id: UUID, scope: Scope, receive: Receive
) -> None:
    if answered.has_ended:
        return
    logger.info("notebook.closed", job=str(job_id), error=str(error))
    if scope["type"] == "websocket":
        await answered({"type": "websocket.close", "code": 1008})
    elif not answered.has_begun:
        await _refuse(error, job_id, scope, receive, answered)
    else:  # half an answer: the server cuts the connection when the application ends without the rest
        raise ConnectionAbortedError(str(error))


async def _answer(send: Send, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
    length = [(b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers + length})
    await send({"type": "http.response.body", "body": body})
