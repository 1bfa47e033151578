"""Reads of models; built-ins belong to nobody and everybody."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from mlhub.tenants.querysets import ProjectOwnedQuerySet, TenantOwnedQuerySet

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser

    from mlhub.tenants.models import User


class ModelQuerySet(ProjectOwnedQuerySet):
    def visible_to(self, user: User | AnonymousUser) -> Self:
        if not user.is_authenticated:
            return self.none()
        return super().visible_to(user) | self.filter(project=None)


class ModelVersionQuerySet(TenantOwnedQuerySet):
    organisation_path = "model__project__organisation"

    def visible_to(self, user: User | AnonymousUser) -> Self:
        if not user.is_authenticated:
            return self.none()
        return super().visible_to(user) | self.filter(model__project=None)
