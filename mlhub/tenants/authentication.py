# SPDX-License-Identifier: Apache-2.0
"""Who is asking: a browser session or an API token."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import structlog
from django.utils import timezone
from rest_framework import authentication, exceptions

from mlhub.tenants.models import ApiToken, User

if TYPE_CHECKING:
    from rest_framework.request import Request

TOKEN_PREFIX = "mlh_"


def hash_token(token: str, *, is_limited: bool = False) -> str:
    """Tokens carry 256 random bits, so one fast hash is enough.

    Those with limits have another one: a version of MLHub that knows no limits finds no such token, and refuses it.
    """
    return hashlib.sha256(f"limited:{token}".encode() if is_limited else token.encode()).hexdigest()


def caller(request: Request) -> User:
    """The person behind a request. Raises NotAuthenticated (401) when there is none."""
    if not isinstance(request.user, User):
        raise exceptions.NotAuthenticated
    return request.user


def acting(user: User, token: ApiToken) -> User:
    """The user as the token lets act: within its organisation or project, and there not as a platform administrator."""
    if token.organisation_id is not None:
        user.acting_token = token  # type: ignore[misc]  # of this object, not of the class
        user.is_staff = user.is_superuser = False
    return user


class ApiTokenAuthentication(authentication.BaseAuthentication):
    """Authorization: Bearer mlh_..."""

    def authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not token.startswith(TOKEN_PREFIX):
            return None
        hashes = [hash_token(token), hash_token(token, is_limited=True)]
        found = ApiToken.objects.usable().select_related("user").filter(token_hash__in=hashes).first()
        if found is None or not found.user.is_active:
            raise exceptions.AuthenticationFailed("This API token is unknown, revoked or expired.")
        now = timezone.now()
        if found.last_used_at is None or (now - found.last_used_at).total_seconds() > 60:
            ApiToken.objects.filter(pk=found.pk).update(last_used_at=now)
        structlog.contextvars.bind_contextvars(user=str(found.user_id), token_id=str(found.pk))
        return acting(found.user, found), found

    def authenticate_header(self, request: Request) -> str:  # noqa: ARG002 (DRF's signature)
        return "Bearer"


class SessionAuthentication(authentication.SessionAuthentication):
    """Django's session with CSRF; 401 rather than 403 when signed out, so that the dashboard knows to sign in."""

    def authenticate(self, request: Request) -> tuple[User, None] | None:
        found: tuple[User, None] | None = super().authenticate(request)
        if found is not None:
            structlog.contextvars.bind_contextvars(user=str(found[0].pk))
        return found

    def authenticate_header(self, request: Request) -> str:  # noqa: ARG002 (DRF's signature)
        return "Session"
