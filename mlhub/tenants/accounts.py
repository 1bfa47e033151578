# SPDX-License-Identifier: Apache-2.0
"""How accounts are made: never with a password that the validators refuse, whichever command makes them."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import UserManager
from django.contrib.auth.password_validation import validate_password


class AccountManager(UserManager[Any]):
    """Django's `createsuperuser --noinput` and User.objects.create_user check no password; forms and MLHub's own
    command do."""

    use_in_migrations = False

    def _create_user_object(self, username: str, email: str | None, password: str | None, **extra: Any) -> Any:
        """Raises ValidationError for a weak password; None makes an account that cannot sign in with one."""
        if password is not None:
            validate_password(password, self.model(username=username, email=email or ""))
        return super()._create_user_object(username, email, password, **extra)  # type: ignore[misc]
