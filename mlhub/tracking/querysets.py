# SPDX-License-Identifier: Apache-2.0
"""Reads of tracked runs."""

from __future__ import annotations

from typing import Self

from mlhub.tenants.querysets import ProjectOwnedQuerySet, TenantOwnedQuerySet


class RunQuerySet(ProjectOwnedQuerySet):
    def external(self) -> Self:
        """Those that are no job's own."""
        return self.filter(job=None)

    def active(self) -> Self:
        """Not deleted by a client of MLflow."""
        return self.filter(deleted_at=None)


class RunPartQuerySet(TenantOwnedQuerySet):
    """Rows with a `run` foreign key."""

    organisation_path = "run__project__organisation"


class RunPointQuerySet(TenantOwnedQuerySet):
    organisation_path = "series__run__project__organisation"


class LoggedModelQuerySet(ProjectOwnedQuerySet):
    """Rows with a `project` foreign key."""


class LoggedModelFileQuerySet(TenantOwnedQuerySet):
    organisation_path = "logged_model__project__organisation"
