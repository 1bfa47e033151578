# SPDX-License-Identifier: Apache-2.0
"""Cookies that a browser keeps and cannot read: what a sign-in has begun with, so that strangers fill no table."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from cryptography.fernet import InvalidToken
from django.conf import settings

from mlhub.core.security.encryption import cipher

if TYPE_CHECKING:
    from django.http import HttpRequest
    from django.http.response import HttpResponseBase

PURPOSE = "single sign-on"  # of all of them: what was encrypted before there were others still counts


def set_secret_cookie(
    response: HttpResponseBase, name: str, value: dict[str, Any], *, max_age_s: int, path: str
) -> None:
    """A cookie that the browser keeps and cannot read."""
    response.set_cookie(
        name,
        cipher(f"{PURPOSE}: {name}").encrypt(json.dumps(value).encode()).decode(),
        max_age=max_age_s,
        path=path,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def read_secret_cookie(request: HttpRequest, name: str, *, max_age_s: int) -> dict[str, Any] | None:
    """None when there is none, when it is too old, or when another key encrypted it."""
    try:
        text = cipher(f"{PURPOSE}: {name}").decrypt(request.COOKIES.get(name, "").encode(), ttl=max_age_s)
    except InvalidToken:
        return None
    found: dict[str, Any] = json.loads(text)
    return found
