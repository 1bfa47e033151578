# SPDX-License-Identifier: Apache-2.0
"""Setting passwords: one's own with the present one, or by a link, which an administrator makes or a mail brings.

The link's secret is Django's token for resetting passwords: signed, good for settings.PASSWORD_RESET_TIMEOUT, and void
once the account signs in or its password changes. Nothing of it is stored.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.contrib import auth
from django.contrib.auth.tokens import default_token_generator
from django.db import transaction
from django.http import HttpRequest
from django.utils import timezone

from mlhub.core.errors import ConflictError, InvalidInputError, NotAllowedError
from mlhub.tenants.actions.sign_in.accounts import put_password
from mlhub.tenants.actions.sign_in.credentials import check_credentials
from mlhub.tenants.actions.sign_in.password_sign_in import may_use_password, passwords_are_off
from mlhub.tenants.actions.sign_in.second_factor import require_second_factor
from mlhub.tenants.actions.sign_in.sessions import end_sessions
from mlhub.tenants.audit import record
from mlhub.tenants.models import User, UserSession
from mlhub.tenants.passkeys.ceremonies import Assertion

BACKEND = "django.contrib.auth.backends.ModelBackend"


def password_link(user: User, *, actor: User) -> tuple[str, datetime]:
    """The address at which the account's password is set, and until when it works. For platform administrators.

    Raises ConflictError for an account that is deactivated or of a service.
    """
    if not user.is_active:
        raise ConflictError(
            f"{user.username} is deactivated.", code="account_inactive", remedy="Reactivate the account first."
        )
    if user.service_of_id is not None:
        raise ConflictError(
            f"{user.username} is a service account, which signs in with tokens only.",
            code="service_account",
            remedy="Make a token for it on the page Members.",
        )
    _record("user.password_link_made", user, actor)
    return make_link(user)


def make_link(user: User) -> tuple[str, datetime]:
    """As password_link(), for who has recorded it."""
    secret = f"{user.pk.hex}.{default_token_generator.make_token(user)}"
    return (
        f"{settings.PUBLIC_URL}/set-password#{secret}",
        timezone.now() + timedelta(seconds=settings.PASSWORD_RESET_TIMEOUT),
    )


def set_password_by_link(
    request: HttpRequest, *, secret: str, password: str, code: str = "", passkey: Assertion | None = None
) -> User:
    """Sets the password, ends the account's sessions and starts one. Raises NotAllowedError for a link that is void,
    and for accounts that may not sign in with a password.

    code, passkey: the second factor, if there is one; raises what require_second_factor raises.
    """
    with transaction.atomic():
        user = _user_of(secret)
    if not may_use_password(user):
        raise passwords_are_off()
    # in no transaction: a wrong code counts although the request fails
    require_second_factor(request, user, code, passkey)
    with transaction.atomic():
        user = _user_of(secret)  # its row is held: of two at once the second finds the link used
        put_password(user, password)
        user.save(update_fields=["password"])
        end_sessions(user, actor=user)
        _record("user.password_set", user, user)
        auth.login(request, user, backend=BACKEND)
    return user


def change_password(request: HttpRequest, user: User, *, current: str, new: str) -> None:
    """Keeps this session and ends all others. Raises InvalidInputError when the present password is another.

    Guesses count as failed attempts to sign in do: TooManyAttemptsError.
    """
    require_password(request, user, current, field="current_password")
    with transaction.atomic():
        put_password(user, new, field="new_password")
        user.save(update_fields=["password"])
        before = request.session.session_key
        auth.update_session_auth_hash(request, user)
        UserSession.objects.filter(session_key=before).update(session_key=request.session.session_key)
        end_sessions(user, actor=user, keep=request.session.session_key)
        _record("user.password_changed", user, user)


def require_password(request: HttpRequest, user: User, password: str, *, field: str = "password") -> None:
    """Raises InvalidInputError when it is not the user's, and TooManyAttemptsError after too many guesses."""
    if check_credentials(request, username=user.username, password=password) != user:
        raise InvalidInputError(
            "This is not your present password.",
            code="wrong_password",
            field=field,
            remedy="Type the password that you signed in with, or ask an administrator for a link.",
        )


def _user_of(secret: str) -> User:
    pk, _, token = secret.partition(".")
    try:
        user = User.objects.select_for_update().filter(pk=UUID(pk), is_active=True).first()
    except ValueError:
        user = None
    if user is None or not default_token_generator.check_token(user, token):
        raise NotAllowedError(
            "This link was used, has expired, or is not whole.",
            code="link_void",
            remedy="Ask for a new one: Forgot your password? on the sign-in page, or an administrator of the platform.",
        )
    return user


def _record(kind: str, user: User, actor: User) -> None:
    facts = {"username": user.username, "user_id": user.pk}
    record(kind, organisation=None, subject_kind="user", subject_id=user.pk, actor=actor, **facts)
