# SPDX-License-Identifier: Apache-2.0
"""May this person do this here? Asked by every action; visibility itself is querysets.py's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rest_framework.exceptions import PermissionDenied
from rest_framework.permissions import SAFE_METHODS, BasePermission

from mlhub.core.errors import NotAllowedError
from mlhub.tenants.models import ApiToken, Organisation, User
from mlhub.tenants.roles import Role

if TYPE_CHECKING:
    from rest_framework.request import Request
    from rest_framework.views import APIView


class IsAuthenticatedInScope(BasePermission):
    """Signed in; and when by token, one whose scopes cover the verb: read for GET, write for the rest."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        if not request.user or not request.user.is_authenticated:
            return False
        if not isinstance(request.auth, ApiToken):
            return True
        needed = getattr(view, "required_scope", None) or ("read" if request.method in SAFE_METHODS else "write")
        return needed in request.auth.scopes


class IsPlatformAdministrator(IsAuthenticatedInScope):
    """Staff only; by token only with the scope "admin"."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        if not super().has_permission(request, view) or not request.user.is_staff:
            return False
        return not isinstance(request.auth, ApiToken) or "admin" in request.auth.scopes


def require_administrator(request: Request, view: APIView) -> None:
    """Raises PermissionDenied for all users but platform administrators."""
    if not IsPlatformAdministrator().has_permission(request, view):
        raise PermissionDenied("Only platform administrators may do this.")


def role_of(user: User, organisation: Organisation) -> Role | None:
    """The person's role there; platform administrators count as owners; None for strangers."""
    if user.is_staff:
        return Role.OWNER
    membership = organisation.memberships.filter(user=user).first()
    return Role(membership.role) if membership else None


def require_role(user: User, organisation: Organisation, needed: Role) -> None:
    """Raises NotAllowedError when the person's role there does not cover `needed`."""
    role = role_of(user, organisation)
    if role is None or not role.covers(needed):
        raise NotAllowedError(
            f"This needs the role {needed} in {organisation.name}; yours is {role or 'none'}.",
            code="role_too_low",
            remedy=f"Ask an owner of {organisation.name} for the role {needed}.",
            needed_role=str(needed),
        )
