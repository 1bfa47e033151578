# SPDX-License-Identifier: Apache-2.0
"""An administrator's session that sees the dashboard as a user, and changes nothing.

The session stays the administrator's: it notes whom it sees as and until when. Requests that read are answered as to
that user; all others are refused, but for ending it and for signing out. Checked with every request: that the time is
not over, that the administrator still is one, and that the user is active and no administrator.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import structlog
from django.conf import settings
from django.utils import timezone
from django.utils.deprecation import MiddlewareMixin
from rest_framework.permissions import SAFE_METHODS

from mlhub.core.errors import NotAllowedError
from mlhub.core.problems import problem_of
from mlhub.tenants.audit import record
from mlhub.tenants.models import User
from mlhub.tenants.sign_in.authentication import lacks_second_factor

if TYPE_CHECKING:
    from django.contrib.sessions.backends.base import SessionBase
    from django.http import HttpRequest, HttpResponse

KEY = "impersonation"  # of a session: {"user_id", "username", "ends_at"}
ENDING = ("/api/v1/auth/impersonation/end", "/api/v1/auth/logout")
# what is the user's alone: tokens, sessions, second factors, identities, names of secrets
PRIVATE = re.compile(
    r"/api/v1/(auth/(sessions|passkeys|passkey-|identities|second-factor|password)|tokens|projects/[^/]+/secrets"
    r"|service-accounts/[^/]+/tokens)"
)


@dataclass(frozen=True)
class Impersonation:
    """by: the administrator's user name."""

    by: str
    ends_at: datetime


def begin(request: HttpRequest, user: User, *, administrator: User) -> datetime:
    """Notes it in the session and the audit; returns when it ends. Raises NotAllowedError for whom it is not for."""
    if user.is_staff or user.is_superuser:
        raise NotAllowedError(
            f"{user.username} is an administrator of the platform, whom no one sees as.",
            code="impersonates_administrator",
            remedy="Choose a user who is no administrator.",
        )
    if not user.is_active or user.service_of_id is not None:
        raise NotAllowedError(
            f"{user.username} has no dashboard: the account is deactivated, or is one for programs.",
            code="impersonates_no_person",
            remedy="Choose a person whose account is active.",
        )
    ends_at = timezone.now() + timedelta(minutes=settings.IMPERSONATION_MINUTES)
    _record("impersonation.started", user.pk, user.username, administrator, ends_at=ends_at)
    request.session[KEY] = {"user_id": str(user.pk), "username": user.username, "ends_at": ends_at.isoformat()}
    return ends_at


def end(session: SessionBase, *, administrator: User, reason: str) -> bool:
    """reason: asked | signed_out | expired | rights. Returns whether there was one."""
    found: dict[str, Any] | None = session.pop(KEY, None)
    if found is None:
        return False
    _record("impersonation.ended", found["user_id"], found["username"], administrator, reason=reason)
    return True


def seen_as(session: SessionBase, administrator: User) -> User | None:
    """The user whom the session of this administrator sees as; None where it sees as no one, or may no longer."""
    found = session.get(KEY)
    if found is None or _ended_by(found, session, administrator):
        return None
    user = User.objects.filter(pk=found["user_id"], is_active=True, is_staff=False, is_superuser=False).first()
    if user is not None:
        ends_at = datetime.fromisoformat(found["ends_at"])
        user.impersonated_by = administrator  # of this object, not of the class
        user.impersonation = Impersonation(administrator.username, ends_at)
    return user


def _ended_by(found: dict[str, Any], session: SessionBase, administrator: User) -> str:
    if timezone.now() >= datetime.fromisoformat(found["ends_at"]):
        return "expired"
    is_one = administrator.is_active and administrator.is_staff and not lacks_second_factor(administrator, session)
    return "" if is_one else "rights"


class ImpersonationMiddleware(MiddlewareMixin):
    """After AuthenticationMiddleware: what asks for request.user later finds the user who is seen as."""

    def process_request(self, request: HttpRequest) -> HttpResponse | None:
        if settings.SESSION_COOKIE_NAME not in request.COOKIES or (found := request.session.get(KEY)) is None:
            return None
        administrator = request.user
        if not isinstance(administrator, User):
            return None
        is_read = request.method in SAFE_METHODS
        if request.path in ENDING:
            return None  # as the administrator
        user = seen_as(request.session, administrator)
        if user is None:
            reason = _ended_by(found, request.session, administrator) or "rights"
            end(request.session, administrator=administrator, reason=reason)
            return None if is_read else problem_of(_is_over(found["username"]))
        if not is_read:
            return problem_of(_changes_nothing(user))
        if PRIVATE.match(request.path):
            return problem_of(_is_private(user))
        structlog.contextvars.bind_contextvars(impersonated_by=str(administrator.pk))
        request.user = user
        return None


def _changes_nothing(user: User) -> NotAllowedError:
    return NotAllowedError(
        f"You see MLHub as {user.username}, and change nothing while you do.",
        code="impersonating",
        remedy="Press End at the top of the page first, then do it as yourself.",
    )


def _is_over(username: str) -> NotAllowedError:
    return NotAllowedError(
        f"You do not see MLHub as {username} any more: the time is over, or the rights for it ended.",
        code="impersonation_ended",
        remedy="Load the page again; you act as yourself then.",
    )


def _is_private(user: User) -> NotAllowedError:
    return NotAllowedError(
        f"Tokens, secrets, sessions and second factors of {user.username} are not shown to others.",
        code="impersonating",
        remedy="Press End at the top of the page to see your own.",
    )


def no_session() -> NotAllowedError:
    return NotAllowedError(
        "Only a browser session sees MLHub as a user, not a token.",
        code="session_needed",
        remedy="Sign in to the dashboard, and begin on the page Users.",
    )


def _record(kind: str, user_id: Any, username: str, administrator: User, **facts: Any) -> None:
    facts = {"user_id": user_id, "username": username} | facts
    record(kind, organisation=None, subject_kind="user", subject_id=user_id, actor=administrator, **facts)
