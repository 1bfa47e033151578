# SPDX-License-Identifier: Apache-2.0
"""Where the request that is being answered came from: what the audit notes of sign-ins and tokens."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass

from django.http import HttpRequest

from mlhub.core.web.addresses import client_address

MAX_USER_AGENT = 200  # characters


@dataclass(frozen=True)
class RequestOrigin:
    """address and user_agent as texts; "" where the client gave none."""

    address: str
    user_agent: str

    @classmethod
    def of(cls, request: HttpRequest) -> RequestOrigin:
        agent = request.META.get("HTTP_USER_AGENT") or ""
        printable = "".join(character for character in agent if character.isprintable())
        return cls(client_address(request), printable[:MAX_USER_AGENT])


_current: ContextVar[RequestOrigin | None] = ContextVar("origin", default=None)


def set_origin(origin: RequestOrigin | None) -> None:
    """For the present context: RequestLogMiddleware calls it as each request begins and ends."""
    _current.set(origin)


def current_origin() -> RequestOrigin | None:
    """None outside of requests: in Celery tasks, in the control loop and in commands."""
    return _current.get()
