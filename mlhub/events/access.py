# SPDX-License-Identifier: Apache-2.0
"""Does the client of a stream still have the rights it began with? What ends a stream otherwise, and says why."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from django.contrib import auth
from django.http import HttpRequest

from mlhub.events import sse
from mlhub.events.changes import ChangeTopics
from mlhub.events.hub import Listener, hub
from mlhub.events.wakeups import access_topic
from mlhub.tenants.models import User
from mlhub.tenants.reach import projects_of_own_teams
from mlhub.tenants.roles import SEES_ALL
from mlhub.tenants.sign_in.impersonation import seen_as


@dataclass(frozen=True)
class Rights:
    """Who reads, and as what: a stream ends when any of it changes.

    roles: (organisation's id, role), sorted. bindings: (id of a team or a project, role), sorted. projects: of the
    teams, since one that moves elsewhere is no longer reached.
    """

    user_id: Any
    is_staff: bool
    roles: tuple[tuple[str, str], ...]
    bindings: tuple[tuple[str, str], ...]
    projects: tuple[str, ...]

    def contain(self, others: Rights) -> bool:
        """Whether nothing of the others is missing; more may be there."""
        return (
            self.user_id == others.user_id
            and self.is_staff >= others.is_staff
            and all(
                set(mine) >= set(theirs)
                for mine, theirs in (
                    (self.roles, others.roles),
                    (self.bindings, others.bindings),
                    (self.projects, others.projects),
                )
            )
        )


@dataclass(frozen=True)
class StreamEnd:
    """Why a stream ends. code: for programs, one of ENDINGS; detail: for people."""

    code: str
    detail: str


ENDINGS = {
    "signed_out": "The session has ended. Sign in again.",
    "token_ended": "The API token was revoked or has expired. Use another one.",
    "access_changed": "The rights of this user have changed. Connect again to go on with the present ones.",
    "gone": "What this stream is about was deleted.",
}


class StreamAccess:
    """The rights of one stream's client, asked again at once when the user's access changes and every ACCESS_S."""

    def __init__(self, request: HttpRequest, user: User) -> None:
        self.user = user
        self.topic = access_topic(user.pk)
        self._request = request
        self._rights = rights_of(user)
        self._checked_at = time.monotonic()

    def changes(self) -> ChangeTopics:
        """Of which organisations this stream reports changes: those whose events it shows."""
        seen = (organisation for organisation, role in self._rights.roles if role in SEES_ALL)
        return ChangeTopics(seen, sees_all=self._rights.is_staff)

    async def ended(self, listener: Listener) -> StreamEnd | None:
        """None while nothing has changed, or while it is not yet time to ask the database again."""
        is_due = time.monotonic() - self._checked_at >= sse.ACCESS_S
        if not listener.heard(self.topic) and not is_due:
            return None
        self._checked_at = time.monotonic()
        return await hub().read(self._changed)

    def _changed(self) -> StreamEnd | None:
        user = current_user(self._request)
        if user is None:
            return ending("token_ended" if sse.has_token(self._request) else "signed_out")
        self.user = user
        return None if rights_of(user) == self._rights else ending("access_changed")


class DownloadAccess:
    """Whether a download may go on: asked between pieces, every ACCESS_S. Pods, which are no users, always may.

    Unlike a stream it goes on when its reader gets further rights: it shows nothing that depends on these.
    """

    def __init__(self, request: HttpRequest) -> None:
        user = current_user(request)
        self._request = request
        self._rights = None if user is None else rights_of(user)
        self._checked_at = time.monotonic()

    @property
    def is_due(self) -> bool:
        return self._rights is not None and time.monotonic() - self._checked_at >= sse.ACCESS_S

    def check(self) -> None:
        """Raises AccessEndedError when any right that the download began with is gone. Reads the database."""
        self._checked_at = time.monotonic()
        user = current_user(self._request)
        if user is None or self._rights is None or not rights_of(user).contain(self._rights):
            raise AccessEndedError("The rights that this download began with were taken away.")


class AccessEndedError(ConnectionAbortedError):
    """Breaks a download off: its client sees that bytes are missing."""


def ending(code: str) -> StreamEnd:
    return StreamEnd(code, ENDINGS[code])


def end_frame(ended: StreamEnd) -> bytes:
    """The last frame of a stream; it has no id, so that a reconnect goes on where the stream was."""
    return sse.frame("end", {"code": ended.code, "detail": ended.detail})


def rights_of(user: User) -> Rights:
    """Reads the database."""
    bound = ("role_bindings__role", "role_bindings__team", "role_bindings__project")
    held = list(user.memberships.values_list("organisation", "role", *bound))
    reached = projects_of_own_teams(user) if any(team is not None for _, _, _, team, _ in held) else []
    return Rights(
        user.pk,
        user.is_staff,
        tuple(sorted({(str(organisation), role) for organisation, role, *_ in held})),
        tuple(sorted((str(team or project), role) for _, _, role, team, project in held if role is not None)),
        tuple(map(str, reached)),
    )


def current_user(request: HttpRequest) -> User | None:
    """Who the request's token or session stands for now; None when that has ended. Reads the database."""
    if sse.has_token(request):
        found = sse.authenticated_user(request)
        return found if isinstance(found, User) else None
    session = getattr(request, "session", None)
    if session is None:
        return None
    asked = HttpRequest()
    asked.session = type(session)(session.session_key)  # read anew
    user = auth.get_user(asked)
    if not isinstance(user, User):
        return None
    return seen_as(asked.session, user) or user
