"""Server-sent events: frames, the response, and who is asking (a session, or a token in the header)."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.core.serializers.json import DjangoJSONEncoder
from django.http import HttpRequest, StreamingHttpResponse
from rest_framework import exceptions

from mlhub.tenants.authentication import ApiTokenAuthentication
from mlhub.tenants.models import User

HEARTBEAT_S = 15.0
HEARTBEAT = b": still here\n\n"
COALESCE_S = 0.1  # what comes within this time after a frame goes into the next one


def frame(event: str, data: Any, *, id: str | None = None) -> bytes:
    """One event; id: what Last-Event-ID will hold once the browser has seen it."""
    lines = [f"event: {event}", f"data: {json.dumps(data, cls=DjangoJSONEncoder)}"]
    if id is not None:
        lines.insert(0, f"id: {id}")
    return ("\n".join(lines) + "\n\n").encode()


def respond(frames: AsyncIterator[bytes]) -> StreamingHttpResponse:
    headers = {"Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no"}
    return StreamingHttpResponse(frames, content_type="text/event-stream", headers=headers)


def asker(request: HttpRequest) -> User | AnonymousUser:
    """Reads the database. Nobody, for a wrong token or one that may not read."""
    try:
        found = ApiTokenAuthentication().authenticate(request)  # type: ignore[arg-type]
    except exceptions.AuthenticationFailed:
        return AnonymousUser()
    if found is not None:
        user, token = found
        return user if "read" in token.scopes else AnonymousUser()
    user_of_session = request.user
    return user_of_session if isinstance(user_of_session, User) else AnonymousUser()


def last_event_id(request: HttpRequest) -> str:
    """What the client saw last: the browser's own header on a reconnect, else the query parameter; "" = nothing."""
    return request.headers.get("Last-Event-ID") or request.GET.get("last_event_id", "")
