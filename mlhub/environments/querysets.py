# SPDX-License-Identifier: Apache-2.0
"""Reads of environments."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, Self

from django.db.models import Count, Prefetch, QuerySet

from mlhub.tenants.querysets import TenantOwnedQuerySet

if TYPE_CHECKING:
    from mlhub.environments.models import PythonEnvironment

MOST_SHOWN = 5  # versions of code that an environment names


class EnvironmentQuerySet(TenantOwnedQuerySet):
    def with_users(self) -> Self:
        """Each with `n_versions`, how many versions of code require it, and `newest_versions`, the newest of these."""
        versions = self.model._meta.get_field("versions").related_model.objects
        newest = versions.select_related("model").order_by("-id")[:MOST_SHOWN]
        counted = self.select_related("organisation").annotate(n_versions=Count("versions"))
        return counted.prefetch_related(Prefetch("versions", queryset=newest, to_attr="newest_versions"))

    def unused_since(self, before: datetime) -> Self:
        """Built, or failed, before that time, and required by no version of code; the oldest first."""
        return self.filter(versions=None, finished_at__lt=before).order_by("finished_at", "id")


def usable_versions(environment: PythonEnvironment) -> QuerySet[Any]:
    """The versions of code that require it, newest first, but for refused ones, which nothing can use."""
    versions: QuerySet[Any] = environment.versions.exclude(state="refused")
    return versions.select_related("model").order_by("-id")


def n_jobs_of(versions: QuerySet[Any]) -> int:
    """How many jobs were submitted with these versions, or with what was trained by them."""
    found = versions.order_by().aggregate(
        own=Count("jobs", distinct=True), of_trained=Count("trained__jobs", distinct=True)
    )
    return int(found["own"] + found["of_trained"])
