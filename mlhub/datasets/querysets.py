# SPDX-License-Identifier: Apache-2.0
"""Reads of datasets."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Self

from django.db.models import Prefetch
from django.utils import timezone

from mlhub.tenants.querysets import ProjectOwnedQuerySet, TenantOwnedQuerySet

if TYPE_CHECKING:
    from mlhub.tenants.models import Organisation


class DatasetQuerySet(ProjectOwnedQuerySet):
    def with_latest_version(self, *, preview: bool) -> Self:
        """Each with `latest_versions`: its newest version, in a list of one; read with one query for a whole page.

        preview: False leaves the samples in the database, which would make a page of datasets megabytes large.
        """
        versions = self.model._meta.get_field("versions").related_model.objects
        newest = versions.select_related("dataset").order_by("dataset_id", "-number").distinct("dataset_id")
        if not preview:
            newest = newest.defer("preview", "statistics")
        return self.prefetch_related(Prefetch("versions", queryset=newest, to_attr="latest_versions"))


class DatasetVersionQuerySet(TenantOwnedQuerySet):
    organisation_path = "dataset__project__organisation"

    def stuck_in_inspection(self, *, for_s: float) -> Self:
        """Created longer ago than that and still not fetched or inspected: their task was lost, or waits."""
        unfinished = self.filter(state__in=["fetching", "inspecting"])
        return unfinished.filter(created_at__lt=timezone.now() - timedelta(seconds=for_s))

    def partly_fetched(self, organisation: Organisation) -> Self:
        """Of whose files bytes wait in the store's spool, until it is the turn of their fetches again."""
        fetching = self.filter(state="fetching", dataset__project__organisation=organisation)
        return fetching.filter(source__partial__n_bytes__gt=0)
