# SPDX-License-Identifier: Apache-2.0
"""Audit events of sessions, for every way to sign in: the API's and that of Django's admin page.

Django and django-axes report both by signals; the API's actions alone would miss the admin page.
"""

from __future__ import annotations

from typing import Any

from axes.signals import user_locked_out
from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed
from django.db import transaction
from django.http import HttpRequest

from mlhub.core.web.origin import current_origin
from mlhub.tenants.audit import record
from mlhub.tenants.models import SignInMethod, User, UserSession
from mlhub.tenants.sign_in import impersonation
from mlhub.tenants.sign_in.authentication import BY_RECOVERY_CODE, METHOD

MAX_NAME = 150  # characters of a name that somebody tried


def connect() -> None:
    """Called once, when the apps are ready."""
    user_logged_in.connect(_started, dispatch_uid="audit")
    user_logged_out.connect(_ended, dispatch_uid="audit")
    user_login_failed.connect(_refused, dispatch_uid="audit")
    user_locked_out.connect(_locked_out, dispatch_uid="audit")


def _started(user: User, request: HttpRequest, **_: Any) -> None:
    """The session gets its row in the user's list, in place of rows whose sessions are over."""
    if request.session.session_key is None:  # Django ended the session of another account in this browser
        request.session.create()
    with transaction.atomic():
        user.sessions.exclude(pk__in=UserSession.objects.visible_to(user).values("pk")).delete()
        key, origin = request.session.session_key, current_origin()
        seen = {"address": origin.address, "user_agent": origin.user_agent} if origin else {}
        method: dict[str, Any] = {"method": getattr(request, METHOD)} if hasattr(request, METHOD) else {}
        request.session[METHOD] = method.get("method", SignInMethod.PASSWORD)
        request.session[BY_RECOVERY_CODE] = getattr(request, BY_RECOVERY_CODE, False)
        UserSession.objects.update_or_create(session_key=key, defaults={"user": user, **seen, **method})
        _record("session.started", user, **method)


def _ended(user: User | None, request: HttpRequest, **_: Any) -> None:
    if user is not None:  # None when there was no session
        impersonation.end(request.session, administrator=user, reason="signed_out")
        UserSession.objects.filter(session_key=request.session.session_key).delete()
        _record("session.ended", user)


def _refused(credentials: dict[str, Any], request: HttpRequest | None = None, **_: Any) -> None:
    """Not while the name is locked: an attacker could fill the audit with what is refused anyway."""
    if not getattr(request, "axes_locked_out", False) or _has_locked_just_now(request):
        _record_name("session.refused", credentials.get("username"))


def _locked_out(request: HttpRequest, **_: Any) -> None:
    """Once a lock: axes sends its signal again for each attempt that comes while the name is locked."""
    if _has_locked_just_now(request):
        _record_name("session.locked_out", (getattr(request, "axes_credentials", None) or {}).get("username"))


def _has_locked_just_now(request: HttpRequest | None) -> bool:
    """Whether this very attempt locked the name: axes counts failures only of attempts that it lets pass."""
    return getattr(request, "axes_failures_since_start", None) is not None


def _record(kind: str, user: User, **facts: Any) -> None:
    facts = {"username": user.username, "user_id": user.pk, **facts}
    record(kind, organisation=None, subject_kind="user", subject_id=user.pk, actor=user, **facts)


def _record_name(kind: str, username: Any) -> None:
    """Without an actor: who tried is not known. The name may be one that does not exist."""
    name = "".join(c for c in str(username or "")[:MAX_NAME] if c.isprintable())
    user_id = User.objects.filter(username=name).values_list("pk", flat=True).first()
    record(kind, organisation=None, subject_kind="user", subject_id=user_id, actor=None, username=name)
