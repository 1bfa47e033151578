# SPDX-License-Identifier: Apache-2.0
"""Who may sign in with a password: everybody, or the administrators that MLHUB_PASSWORD_SIGN_IN names.

Those get in when the provider of single sign-on does not answer, or its settings are wrong.
"""

from __future__ import annotations

from django.conf import settings

from mlhub.core.errors import NotAllowedError
from mlhub.tenants.models import User


def is_password_name(username: str) -> bool:
    """Asked before the password is looked at, so that none can be guessed; the answer is the same for unknown names."""
    return settings.PASSWORD_USERS is None or username in settings.PASSWORD_USERS


def may_use_password(user: User) -> bool:
    return settings.PASSWORD_USERS is None or (user.is_staff and is_password_name(user.username))


def has_password(user: User) -> bool:
    """Whether the account has a password, and may be entered with it."""
    return user.has_usable_password() and may_use_password(user)


def passwords_are_off() -> NotAllowedError:
    name = settings.SINGLE_SIGN_ON.name if settings.SINGLE_SIGN_ON else "single sign-on"
    return NotAllowedError(
        f"Here people sign in with {name}, not with a password.",
        code="password_sign_in_off",
        remedy=f"Sign in with {name} in the browser; for programs, make a token on the page API tokens.",
    )
