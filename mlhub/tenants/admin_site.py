# SPDX-License-Identifier: Apache-2.0
"""Django's admin site with the platform's rules for a second factor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib.admin import AdminSite
from django.contrib.admin.forms import AdminAuthenticationForm
from django.core.exceptions import ValidationError

from mlhub.tenants.actions.sign_in.password_sign_in import may_use_password
from mlhub.tenants.actions.sign_in.second_factor import has_second_factor
from mlhub.tenants.sign_in.authentication import lacks_second_factor

if TYPE_CHECKING:
    from django.http import HttpRequest


class PasswordOnlyForm(AdminAuthenticationForm):
    """The form of the admin site, which asks for no code: accounts that need one sign in on the dashboard."""

    def confirm_login_allowed(self, user: Any) -> None:
        super().confirm_login_allowed(user)
        if not may_use_password(user):
            raise ValidationError("Sign in on the dashboard, without a password, then open this page again.")
        if has_second_factor(user):
            raise ValidationError(
                "Sign in on the dashboard, which asks for code or passkey, then open this page again."
            )


class PlatformAdminSite(AdminSite):
    login_form = PasswordOnlyForm

    def has_permission(self, request: HttpRequest) -> bool:
        """Not for an administrator who must set a second factor up first."""
        return super().has_permission(request) and not lacks_second_factor(request.user, request.session)
