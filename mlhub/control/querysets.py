# SPDX-License-Identifier: Apache-2.0
"""Reads of what the scheduler wrote about jobs: visible to users who may see the job."""

from __future__ import annotations

from mlhub.tenants.querysets import TenantOwnedQuerySet


class JobOwnedQuerySet(TenantOwnedQuerySet):
    organisation_path = "job__project__organisation"
