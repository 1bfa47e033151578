# SPDX-License-Identifier: Apache-2.0
"""Which failed sign-ins are counted together: those of a name from an address, or of a name in a known browser.

A browser in which a person has signed in before keeps a signed cookie. Its failures count apart from those of
strangers, so that a stranger behind the same proxy or the same office router cannot lock that person out.
Source: OWASP, "Slow Down Online Guessing Attacks with Device Cookies".
"""

from __future__ import annotations

import hashlib
import secrets
from typing import Any

from axes.models import AccessAttempt
from django.conf import settings
from django.core import signing
from django.db.models import Q
from django.http import HttpRequest
from django.http.response import HttpResponseBase

COOKIE = "mlhub_known_browser"
MAX_AGE_S = 180 * 24 * 3600


def counted_name(request: HttpRequest, credentials: dict[str, Any] | None) -> str:
    """The name under which django-axes counts a failure, together with the client's address.

    No user name contains brackets, so what a known browser's failures are counted under is no other user's name.
    """
    source = credentials if credentials is not None else request.POST
    username = str(source.get("username") or "")
    browser = _known_browser(request, username)
    return f"{username} [{hashlib.sha256(browser.encode()).hexdigest()[:16]}]" if browser else username


def forget_failures(username: str) -> None:
    """Removes what was counted under a name, in known browsers as well."""
    AccessAttempt.objects.filter(Q(username=username) | Q(username__startswith=f"{username} [")).delete()


def remember_browser(request: HttpRequest, response: HttpResponseBase, *, username: str) -> None:
    """Marks the browser as one in which this person signed in. One person a browser: the one who signed in last."""
    response.set_signed_cookie(
        COOKIE,
        _known_browser(request, username) or secrets.token_urlsafe(24),
        salt=_salt(username),
        max_age=MAX_AGE_S,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def _known_browser(request: HttpRequest, username: str) -> str:
    """The secret id of the browser; "" for one in which this person has not signed in."""
    try:
        return request.get_signed_cookie(COOKIE, default="", salt=_salt(username), max_age=MAX_AGE_S) or ""
    except signing.BadSignature:
        return ""


def _salt(username: str) -> str:
    return f"mlhub.known-browser:{username}"
