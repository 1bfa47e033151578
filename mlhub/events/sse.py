# SPDX-License-Identifier: Apache-2.0
"""Server-sent events: the base of their views, frames, and who is asking (a session, or a token in the header)."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any

from django.contrib.auth.models import AnonymousUser
from django.core.serializers.json import DjangoJSONEncoder
from django.http import HttpRequest, HttpResponseBase, StreamingHttpResponse
from django.views.decorators.csrf import csrf_exempt
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import exceptions

from mlhub.core.api.views import AddressedView
from mlhub.core.errors import DomainError
from mlhub.core.problems import problem, problem_of
from mlhub.tenants.models import ApiToken, User
from mlhub.tenants.sign_in.authentication import ApiTokenAuthentication
from mlhub.tenants.sign_in.rate_limits import charge_user

if TYPE_CHECKING:
    from mlhub.events.hub import Listener

HEARTBEAT_S = 5.0  # a stream is never silent for longer; a client that hears nothing for 10 s knows that it has stalled
ACCESS_S = 10.0  # how long a right that was taken away may go unnoticed when no wake-up comes
COALESCE_S = 0.1  # what comes within this time after a frame goes into the next one
LAST_EVENT_ID = "Last-Event-ID"
NO_FIELDS = {"type": "object", "properties": {}}
END = {
    "type": "object",
    "properties": {
        "code": {"type": "string", "description": "signed_out, token_ended, access_changed or gone."},
        "detail": {"type": "string", "description": "Why the stream ends, for people."},
    },
    "required": ["code", "detail"],
}

OF_EVERY_STREAM = {"heartbeat": NO_FIELDS, "end": END}


class EventStreamView(AddressedView):
    """A stream of server-sent events, whose `get` is a coroutine. DRF knows none, so as_view() gives one that calls it
    directly, with a name where the address has one; as a DRF view it is in the OpenAPI schema like all others."""

    @classmethod
    def as_view(cls, **initkwargs: Any) -> Callable[..., Any]:  # type: ignore[override]
        async def view(request: HttpRequest, **kwargs: Any) -> HttpResponseBase:
            if request.method not in ("GET", "HEAD"):
                allowed = {"Allow": "GET, HEAD"}
                return problem(405, "method_not_allowed", f"{request.method} is not allowed here.", headers=allowed)
            try:
                found: HttpResponseBase = await cls(**initkwargs).get(request, **kwargs)  # type: ignore[attr-defined]
            except (exceptions.APIException, DomainError) as error:
                return problem_of(error)
            return found

        view.cls = cls  # type: ignore[attr-defined]
        view.initkwargs = initkwargs  # type: ignore[attr-defined]
        return csrf_exempt(view)


def described_stream(
    summary: str, events: dict[str, tuple[str, dict[str, Any]]], *, begins: str
) -> Callable[[type], type]:
    """A decorator of an EventStreamView: its entry in the OpenAPI schema.

    events: the name of each kind of event, with its meaning and the JSON schema of its `data`. begins: a sentence, of
    which answer says where a stream begins that reports all that came after that answer.
    """
    listed = "\n".join(f"- `{name}`: {meaning}" for name, (meaning, _) in events.items())
    about = (
        f"{summary}\n\nFrames are server-sent events; each `data` is a line of JSON, with the schema in x-events:"
        f"\n\n{listed}\n- `heartbeat`: at once, and every {HEARTBEAT_S:.0f} s while nothing else comes, {{}}; a stream"
        f" that is silent for {2 * HEARTBEAT_S:.0f} s has stalled, and is to be opened anew\n\nAfter a reconnect, send"
        f" the id of the last frame that had one as the header {LAST_EVENT_ID} (browsers do) or as `last_event_id`:"
        f" nothing that happened between is lost. The first frame has an id already. {begins}"
        " The last frame is the event `end`, {code, detail}, when the caller's"
        " session, token, role or membership was taken away, or when there is nothing left to follow."
    )
    place = "The id of the last frame that was seen, or another cursor; without it, the stream begins now."
    return extend_schema(
        methods=["GET"],
        description=about,
        parameters=[
            OpenApiParameter(LAST_EVENT_ID, str, OpenApiParameter.HEADER, description=place),
            OpenApiParameter("last_event_id", str, description=f"As the header {LAST_EVENT_ID}, which comes first."),
        ],
        responses={(200, "text/event-stream"): OpenApiResponse(OpenApiTypes.STR, "Frames, until the client leaves.")},
        extensions={"x-events": {**{name: schema for name, (_, schema) in events.items()}, **OF_EVERY_STREAM}},
    )


def frame(event: str, data: Any, *, id: str | None = None) -> bytes:
    """One event; id: what Last-Event-ID will hold once the browser has seen it."""
    lines = [f"event: {event}", f"data: {json.dumps(data, cls=DjangoJSONEncoder)}"]
    if id is not None:
        lines.insert(0, f"id: {id}")
    return ("\n".join(lines) + "\n\n").encode()


HEARTBEAT = frame("heartbeat", {})


class HeartbeatTimer:
    """When a stream has to send a heartbeat, because nothing else was sent."""

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Something was sent."""
        self._sent_at = time.monotonic()

    async def until_news(self, listener: Listener) -> AsyncIterator[bytes]:
        """Heartbeats until something is published, and for ACCESS_S at most: then the rights are to be read again."""
        for _ in range(max(1, round(ACCESS_S / HEARTBEAT_S))):
            is_news = await listener.wait(HEARTBEAT_S)
            # news may be of what this stream does not show, and comes all the time while Redis is away
            if time.monotonic() - self._sent_at >= 0.9 * HEARTBEAT_S:
                self.restart()
                yield HEARTBEAT
            if is_news:
                return


def respond(frames: AsyncIterator[bytes]) -> StreamingHttpResponse:
    headers = {"Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no"}
    return StreamingHttpResponse(frames, content_type="text/event-stream", headers=headers)


def has_token(request: HttpRequest) -> bool:
    """Whether the request is authenticated by a token, which comes before a session."""
    return request.headers.get("Authorization", "").partition(" ")[0].lower() == "bearer"


def authenticated_user(request: HttpRequest) -> User | AnonymousUser:
    """Reads the database, and charges the request to the user's budget of reads.

    Returns AnonymousUser for a wrong token or one that may not read. Raises RateLimitedError.
    """
    user, token = _user_and_token(request)
    if isinstance(user, User):
        charge_user(request, user, token=token, budget="reads")
    return user


def _user_and_token(request: HttpRequest) -> tuple[User | AnonymousUser, ApiToken | None]:
    try:
        found = ApiTokenAuthentication().authenticate(request)  # type: ignore[arg-type]
    except exceptions.AuthenticationFailed:
        return AnonymousUser(), None
    if found is not None:
        user, token = found
        return (user, token) if "read" in token.scopes else (AnonymousUser(), None)
    user_of_session = request.user
    return (user_of_session if isinstance(user_of_session, User) else AnonymousUser()), None


def last_event_id(request: HttpRequest) -> str:
    """What the client saw last: the browser's own header on a reconnect, else the query parameter; "" = nothing."""
    return request.headers.get(LAST_EVENT_ID) or request.GET.get("last_event_id", "")
