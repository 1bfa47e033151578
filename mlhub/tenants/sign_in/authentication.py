# SPDX-License-Identifier: Apache-2.0
"""Who is asking: a browser session or an API token."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import structlog
from django.conf import settings
from django.db import InternalError, transaction
from django.utils import timezone
from rest_framework import authentication, exceptions

from mlhub.core.database.columns import ModelColumns, read_first
from mlhub.core.database.refusals import is_of_read_only_database
from mlhub.core.errors import NotAllowedError
from mlhub.tenants.models import ApiToken, Passkey, SecondFactor, SignInMethod, User

if TYPE_CHECKING:
    from datetime import datetime

    from django.http import HttpRequest
    from rest_framework.request import Request

TOKEN_PREFIX = "mlh_"
TOKEN, USER = ModelColumns(ApiToken, "t"), ModelColumns(User, "u")
TOKEN_WITH_USER = f"""
SELECT {TOKEN.sql}, {USER.sql} FROM tenants_apitoken t JOIN tenants_user u ON u.id = t.user_id
WHERE t.token_hash IN (%s, %s)
"""  # noqa: S608 - names of columns
METHOD = "sign_in_method"  # of a session, and of the request that starts it; absent: by password
BY_RECOVERY_CODE = "by_recovery_code"  # of a request and of the session that it starts


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


def caller_of_session(request: HttpRequest, user_id: str) -> User:
    """The user whose browser this is, outside of the API. Raises NotAllowedError when it is not the one of the id."""
    user = request.user
    if not isinstance(user, User) or str(user.pk) != user_id or not user.is_active:
        raise NotAllowedError(
            "You are not signed in any more with the account that this was begun with.",
            code="session_needed",
            remedy="Sign in and begin again.",
        )
    return user


def acting(user: User, token: ApiToken) -> User:
    """The user as the token lets act: within its organisation or project, and there not as a platform administrator."""
    if token.organisation_id is not None:
        user.acting_token = token  # type: ignore[misc]  # of this object, not of the class
        user.is_staff = user.is_superuser = False
    return user


def lacks_second_factor(user: Any, session: Any) -> bool:
    """Whether it is an administrator who must set a second factor up first (MLHUB_REQUIRE_SECOND_FACTOR).

    Not in a session by single sign-on, where the provider's sign-in counts for it.
    """
    if not settings.REQUIRE_SECOND_FACTOR or not user.is_staff:
        return False
    provider = settings.SINGLE_SIGN_ON
    if provider and provider.replaces_second_factor and session.get(METHOD) == SignInMethod.SINGLE_SIGN_ON:
        return False
    has_app = SecondFactor.objects.filter(user_id=user.pk).exclude(confirmed_at=None).exists()
    return not has_app and not Passkey.objects.filter(user_id=user.pk).exists()


def _stored(token: str) -> ApiToken | None:
    """The row of a token, with its user; it may be revoked or expired."""
    hashes = [hash_token(token), hash_token(token, is_limited=True)]
    found = read_first(TOKEN_WITH_USER, hashes, (TOKEN, USER))
    if found is None:
        return None
    row, user = found
    row.user = user
    return row


def _mark_as_used(token: ApiToken, now: datetime) -> None:
    """A database that takes no changes at the moment is read all the same."""
    try:
        with transaction.atomic():
            ApiToken.objects.filter(pk=token.pk).update(last_used_at=now)
    except InternalError as error:
        if not is_of_read_only_database(error):
            raise


def _why_void(token: ApiToken) -> str | None:
    """For who holds the secret, such as a program in CI: what became of it, and who makes another. None: it counts."""
    if token.user.is_active and token.is_usable:
        return None
    is_service = token.user.service_of_id is not None
    if not token.user.is_active:
        who = "An admin of its organisation" if is_service else "An administrator of the platform"
        return f"The account {token.user.username} of this API token is deactivated. {who} can activate it."
    if token.revoked_at is not None:
        what = f"was revoked on {token.revoked_at:%Y-%m-%d %H:%M} UTC"
    else:
        what = f"expired on {token.expires_at:%Y-%m-%d %H:%M} UTC"
    remedy = (
        "An admin of its organisation makes another on the page Members, or by `mlhub service-account token create`."
        if is_service
        else "Make another one on the page API tokens, or by `mlhub login`."
    )
    return f"The API token {token.name!r} of {token.user.username} {what}. {remedy}"


class ApiTokenAuthentication(authentication.BaseAuthentication):
    """Authorization: Bearer mlh_..."""

    def authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not token.startswith(TOKEN_PREFIX):
            return None
        found = _stored(token)
        if found is None:
            raise exceptions.AuthenticationFailed("This API token is unknown. Sign in again, or make another one.")
        if (reason := _why_void(found)) is not None:
            raise exceptions.AuthenticationFailed(reason)
        now = timezone.now()
        if found.last_used_at is None or (now - found.last_used_at).total_seconds() > 60:
            _mark_as_used(found, now)
        structlog.contextvars.bind_contextvars(user=str(found.user_id), token_id=str(found.pk))
        return acting(found.user, found), found

    def authenticate_header(self, request: Request) -> str:  # noqa: ARG002 (DRF's signature)
        return "Bearer"


class SessionAuthentication(authentication.SessionAuthentication):
    """Django's session with CSRF; 401 rather than 403 when signed out, so that the dashboard knows to sign in."""

    def authenticate(self, request: Request) -> tuple[User, None] | None:
        found: tuple[User, None] | None = super().authenticate(request)
        if found is not None:
            user = found[0]
            structlog.contextvars.bind_contextvars(user=str(user.pk))
            if lacks_second_factor(user, request._request.session):
                user.is_staff = user.is_superuser = False  # of this request; the account keeps its rights
                user.needs_second_factor = True  # type: ignore[misc]  # of this object, not of the class
        return found

    def authenticate_header(self, request: Request) -> str:  # noqa: ARG002 (DRF's signature)
        return "Session"
