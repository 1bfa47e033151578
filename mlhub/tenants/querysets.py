# SPDX-License-Identifier: Apache-2.0
"""Reads, filtered by who asks. visible_to(user) is the one wall between organisations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from django.db import models
from django.utils import timezone

from mlhub.core.errors import NotFoundError

if TYPE_CHECKING:
    from uuid import UUID

    from django.contrib.auth.models import AnonymousUser

    from mlhub.tenants.models import User


class TenantOwnedQuerySet(models.QuerySet[Any]):
    """Rows that belong to an organisation through `organisation_path`."""

    organisation_path = "organisation"

    def visible_to(self, user: User | AnonymousUser) -> Self:
        """Platform administrators see all; others the organisations that they are members of."""
        if not user.is_authenticated:
            return self.none()
        if user.is_staff:
            return self.all()
        # by sub-query, not join: a person in two organisations must not see a row twice
        path = f"{self.organisation_path}__in" if self.organisation_path else "pk__in"
        return self.filter(**{path: user.memberships.values("organisation")})

    def get_visible(self, user: User | AnonymousUser, pk: UUID | str, *, field: str | None = None) -> Any:
        """The row of that id. Raises NotFoundError alike for rows that are not there and rows of others.

        field: the input that named it, when it was not the address.
        """
        found = self.visible_to(user).filter(pk=pk).first()
        if found is None:
            noun = str(self.model._meta.verbose_name)
            raise NotFoundError(
                f"There is no {noun} {pk} that you may see.",
                field=field,
                remedy=f"Name a {noun} of an organisation that you belong to." if field else "",
            )
        return found


class InvitationQuerySet(TenantOwnedQuerySet):
    def waiting(self) -> Self:
        """Neither answered nor expired."""
        return self.filter(answer="", expires_at__gt=timezone.now())

    def to_user(self, user: User) -> Self:
        """Those that this user may answer."""
        return self.waiting().filter(username=user.username)


class OrganisationQuerySet(TenantOwnedQuerySet):
    organisation_path = ""

    def with_role_of(self, user: User | AnonymousUser) -> Self:
        """Each with `role`: that person's there; platform administrators count as owners."""
        if not user.is_authenticated or user.is_staff:
            return self.annotate(role=models.Value("owner"))
        own = user.memberships.filter(organisation=models.OuterRef("pk"))
        return self.annotate(role=models.Subquery(own.values("role")[:1]))


class ProjectQuerySet(TenantOwnedQuerySet):
    organisation_path = "organisation"


class ProjectOwnedQuerySet(TenantOwnedQuerySet):
    """Rows with a `project` foreign key."""

    organisation_path = "project__organisation"


class TeamOwnedQuerySet(TenantOwnedQuerySet):
    """Rows with a `team` foreign key."""

    organisation_path = "team__organisation"


class TokenQuerySet(models.QuerySet[Any]):
    def visible_to(self, user: User | AnonymousUser) -> Self:
        """Tokens are personal: no user sees another's, not even an administrator."""
        return self.filter(user=user) if user.is_authenticated else self.none()

    def usable(self) -> Self:
        now = timezone.now()
        return self.filter(revoked_at=None).filter(models.Q(expires_at=None) | models.Q(expires_at__gt=now))
