# SPDX-License-Identifier: Apache-2.0
"""Reads of events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self
from uuid import UUID

from django.apps import apps

from mlhub.tenants.querysets import TenantOwnedQuerySet

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser

    from mlhub.tenants.models import User


class EventQuerySet(TenantOwnedQuerySet):
    def after(self, event_id: int) -> Self:
        """Those that came later, oldest first."""
        return self.filter(id__gt=event_id).order_by("id")

    def of_job(self, job_id: UUID | None) -> Self:
        return self.filter(subject_kind="job", subject_id=job_id)


def job_is_seen_by(user: User | AnonymousUser, job_id: UUID) -> bool:
    """Reads the database. Jobs are above events, and so named, not imported."""
    jobs: TenantOwnedQuerySet = apps.get_model("jobs", "Job")._default_manager.all()
    return jobs.visible_to(user).filter(pk=job_id).exists()
