# SPDX-License-Identifier: Apache-2.0
"""Browser sessions of an account: ending one, or all of them."""

from __future__ import annotations

from django.contrib.sessions.models import Session
from django.db import transaction

from mlhub.tenants.audit import record
from mlhub.tenants.models import User, UserSession


def end_session(session: UserSession, *, actor: User) -> None:
    """The browser is signed out at once, and its streams end. Ending twice is ending once."""
    with transaction.atomic():
        if _end([session.session_key]):
            _record(session.user, actor, n_sessions=1)


def end_sessions(user: User, *, actor: User, keep: str | None = None) -> int:
    """Signs the account out of all browsers but the one whose session key is `keep`; returns how many those were."""
    with transaction.atomic():
        keys = list(user.sessions.exclude(session_key=keep or "").values_list("session_key", flat=True))
        n_sessions = _end(keys)
        if n_sessions:
            _record(user, actor, n_sessions=n_sessions)
    return n_sessions


def _end(keys: list[str]) -> int:
    n_ended, _ = UserSession.objects.filter(session_key__in=keys).delete()
    Session.objects.filter(session_key__in=keys).delete()
    return n_ended


def _record(user: User, actor: User, *, n_sessions: int) -> None:
    facts = {"username": user.username, "user_id": user.pk, "n_sessions": n_sessions}
    record("session.ended", organisation=None, subject_kind="user", subject_id=user.pk, actor=actor, **facts)
