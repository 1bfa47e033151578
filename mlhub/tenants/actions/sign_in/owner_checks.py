# SPDX-License-Identifier: Apache-2.0
"""Is it the owner who asks, and not only their browser? Asked before what opens the account is changed."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.http import HttpRequest
from django.utils import timezone

from mlhub.core.errors import InvalidInputError, NotAllowedError
from mlhub.tenants.actions.sign_in.passkey_proofs import accept_passkey
from mlhub.tenants.actions.sign_in.password_sign_in import has_password
from mlhub.tenants.actions.sign_in.passwords import require_password
from mlhub.tenants.actions.sign_in.second_factor import require_second_factor
from mlhub.tenants.models import User
from mlhub.tenants.passkeys.ceremonies import Assertion
from mlhub.tenants.sign_in.authentication import BY_RECOVERY_CODE

RECENT = timedelta(minutes=10)


def require_owner(
    request: HttpRequest, user: User, *, password: str = "", code: str = "", passkey: Assertion | None = None
) -> None:
    """A passkey, or the password with a code where there is one; of accounts without a password a recent sign-in.

    A session that has just begun with a recovery code needs no second one: it may have been the last.
    Raises what accept_passkey, require_password and require_second_factor raise; InvalidInputError without a password,
    and NotAllowedError when the sign-in is too long ago.
    """
    if passkey is not None:
        accept_passkey(request, passkey, user=user)
    elif has_password(user):
        if not password:
            raise InvalidInputError("The password is missing.", field="password", remedy="Give your present password.")
        require_password(request, user, password)
        if code or not is_recovering(request, user):
            require_second_factor(request, user, code)
    elif not _is_recent(request, user):
        name = settings.SINGLE_SIGN_ON.name if settings.SINGLE_SIGN_ON else "your passkey"
        raise NotAllowedError(
            "Your account has no password, and you signed in too long ago.",
            code="recent_sign_in_needed",
            remedy=f"Sign out, sign in with {name} again, and do this within 10 minutes.",
        )


def is_recovering(request: HttpRequest, user: User) -> bool:
    """Whether this session began with a recovery code, a short time ago."""
    return bool(request.session.get(BY_RECOVERY_CODE)) and _is_recent(request, user)


def _is_recent(request: HttpRequest, user: User) -> bool:
    key, since = request.session.session_key, timezone.now() - RECENT
    return user.sessions.filter(session_key=key, created_at__gte=since).exists()
