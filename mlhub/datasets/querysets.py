"""Reads of datasets."""

from __future__ import annotations

from mlhub.tenants.querysets import ProjectOwnedQuerySet, TenantOwnedQuerySet


class DatasetQuerySet(ProjectOwnedQuerySet):
    pass


class DatasetVersionQuerySet(TenantOwnedQuerySet):
    organisation_path = "dataset__project__organisation"
