# SPDX-License-Identifier: Apache-2.0
"""Reads of models; built-ins belong to no project and are visible to all."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Self

from django.db.models import Count, OuterRef, Prefetch, Q, Subquery, Value
from django.db.models.functions import Coalesce
from django.utils import timezone

from mlhub.core.errors import NotFoundError
from mlhub.registry.builtins import NOTEBOOK_MODEL
from mlhub.tenants.querysets import ProjectOwnedQuerySet, TenantOwnedQuerySet

if TYPE_CHECKING:
    from uuid import UUID

    from django.contrib.auth.models import AnonymousUser

    from mlhub.registry.models import ModelVersion
    from mlhub.tenants.models import User

MAX_DIGITS = 9  # of a version's number


def of_notebook(path: str) -> Q:
    """path: to the model, such as model__."""
    return Q(**{f"{path}project": None, f"{path}name": NOTEBOOK_MODEL.name})


class ModelQuerySet(ProjectOwnedQuerySet):
    def visible_to(self, user: User | AnonymousUser) -> Self:
        if not user.is_authenticated:
            return self.none()
        return (super().visible_to(user) | self.filter(project=None)).exclude(of_notebook(""))

    def with_ready_code(self, is_ready: bool = True) -> Self:
        """Those whose newest code is ready, or all others: refused, in its check, or with trained weights alone."""
        versions = self.model._meta.get_field("versions").related_model.objects
        newest = versions.filter(model=OuterRef("pk"), source="upload").order_by("-number").values("state")[:1]
        ready = Q(newest_state="ready")
        return self.annotate(newest_state=Coalesce(Subquery(newest), Value(""))).filter(ready if is_ready else ~ready)

    def with_versions(self) -> Self:
        """Each with `latest_versions` (its newest code, in a list of one), `n_trained` and `n_logged`; four queries for
        a page."""
        versions = self.model._meta.get_field("versions").related_model.objects
        newest = versions.filter(source="upload").select_related("model", "environment")
        newest = newest.order_by("model_id", "-number").distinct("model_id").prefetch_related("aliases")
        n_trained = Count("versions", filter=Q(versions__source="training"))
        n_logged = Count("versions", filter=Q(versions__source="logged"))
        return self.annotate(n_trained=n_trained, n_logged=n_logged).prefetch_related(
            Prefetch("versions", queryset=newest, to_attr="latest_versions")
        )


class ModelAliasQuerySet(TenantOwnedQuerySet):
    organisation_path = "model__project__organisation"


class ModelFileQuerySet(TenantOwnedQuerySet):
    organisation_path = "version__model__project__organisation"


class ModelVersionQuerySet(TenantOwnedQuerySet):
    organisation_path = "model__project__organisation"

    def visible_to(self, user: User | AnonymousUser) -> Self:
        if not user.is_authenticated:
            return self.none()
        return (super().visible_to(user) | self.filter(model__project=None)).exclude(of_notebook("model__"))

    def stuck_in_validation(self, *, for_s: float) -> Self:
        """Uploaded longer ago than that and still not validated: their task was lost, or waits behind others."""
        return self.filter(state="inspecting", created_at__lt=timezone.now() - timedelta(seconds=for_s))

    def get_of_model(self, user: User | AnonymousUser, model_id: UUID, version: str) -> ModelVersion:
        """The version of a model that the user may see, by its number or its alias (@best). Raises NotFoundError."""
        found = self.visible_to(user).filter(model_id=model_id)
        if version.startswith("@"):
            found = found.filter(aliases__name=version[1:])
        else:
            found = found.filter(number=int(version) if version.isdecimal() and len(version) < MAX_DIGITS else -1)
        one: ModelVersion | None = found.first()
        if one is None:
            raise NotFoundError(f"The model has no version {version[:100]}.")
        return one

    def get_newest_trained(self, user: User | AnonymousUser, model_id: UUID) -> ModelVersion:
        """The newest version of a model that a job has trained and that the user may see. Raises NotFoundError."""
        found = self.visible_to(user).filter(model_id=model_id, source="training", state="ready")
        one: ModelVersion | None = found.order_by("-number").first()
        if one is None:
            raise NotFoundError("The model has no trained version.")
        return one
