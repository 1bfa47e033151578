# SPDX-License-Identifier: Apache-2.0
"""May this person do this here? Asked by every action; visibility itself is querysets.py's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rest_framework.permissions import SAFE_METHODS, BasePermission

from mlhub.core.errors import NotAllowedError
from mlhub.tenants.access_control.assignments import TenantNode, allows, described, granting, role_assignments
from mlhub.tenants.models import ApiToken, User
from mlhub.tenants.roles import Role, greatest

if TYPE_CHECKING:
    from rest_framework.request import Request
    from rest_framework.views import APIView


# In these apps people work with data, models and jobs; all other writes manage projects, people and the platform.
WORK = (
    "mlhub.datasets.", "mlhub.registry.", "mlhub.storage.", "mlhub.jobs.", "mlhub.metrics.", "mlhub.tracking.",
    "mlhub.experiments.", "mlhub.environments.api.builds",
)  # fmt: skip


class IsAuthenticatedInScope(BasePermission):
    """Signed in; and when by token, one whose scopes cover the request. Raises NotAllowedError naming the scope."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        if not request.user or not request.user.is_authenticated:
            return False
        if isinstance(request.auth, ApiToken):
            require_scope(request.auth, needed_scope(request, view))
        return True


class IsPlatformAdministrator(IsAuthenticatedInScope):
    """Staff only; by token only with the scope "admin". Raises NotAllowedError for others who are signed in."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        if not super().has_permission(request, view):
            return False
        if getattr(request.user, "needs_second_factor", False):
            raise NotAllowedError(
                "Administrators need a second factor here.",
                code="second_factor_needed",
                remedy="Set one up, or add a passkey, on the page Account.",
            )
        if not request.user.is_staff:
            raise administrator_needed()
        if isinstance(request.auth, ApiToken):
            require_scope(request.auth, "admin")
        return True


def needed_scope(request: Request, view: APIView) -> str:
    """read for what changes nothing, submit for work with data, models and jobs, write for the rest."""
    declared: str | None = getattr(view, "required_scope", None)
    if declared or request.method in SAFE_METHODS:
        return declared or "read"
    return "submit" if type(view).__module__.startswith(WORK) else "write"


def require_scope(token: ApiToken, needed: str) -> None:
    """Raises NotAllowedError. The scope write contains submit."""
    if needed in token.scopes or (needed == "submit" and "write" in token.scopes):
        return
    raise NotAllowedError(
        f"This needs a token with the scope {needed}; this one has {', '.join(token.scopes)}.",
        code="scope_missing",
        remedy=f"Make a token with the scope {needed} on the page API tokens.",
        needed_scope=needed,
    )


def require_administrator(request: Request, view: APIView) -> None:
    """Raises NotAllowedError for all users but platform administrators."""
    if not IsPlatformAdministrator().has_permission(request, view):
        raise administrator_needed()


def administrator_needed() -> NotAllowedError:
    """What to raise for who is no platform administrator."""
    return NotAllowedError(
        "Only administrators of the platform may do this.",
        code="administrator_needed",
        remedy="Ask an administrator of the platform to do it.",
    )


def role_of(user: User, place: TenantNode) -> Role | None:
    """The person's role there, the greatest that counts; platform administrators count as owners; None for strangers.

    In a team and a project also roles in what is above count. None also with a token for another organisation.
    """
    return greatest([found.role for found in role_assignments(user, place)])


def require_role(user: User, place: TenantNode, needed: Role) -> None:
    """Raises NotAllowedError when no role of the person there covers `needed`."""
    found = role_assignments(user, place)
    if allows(found, needed):
        return
    role = greatest([one.role for one in found])
    raise NotAllowedError(
        f"This needs the role {needed} in {described(place)}; yours is {role or 'none'}.",
        code="role_too_low",
        remedy=granting(place, needed, asked_by=user),
        needed_role=str(needed),
    )
