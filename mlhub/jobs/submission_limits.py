# SPDX-License-Identifier: Apache-2.0
"""Limits that depend on what there is already: waiting jobs of a user and an organisation, and room for the result."""

from __future__ import annotations

from django.conf import settings

from mlhub.core.errors import QuotaExceededError
from mlhub.core.locks import lock_until_commit
from mlhub.jobs.models import Job
from mlhub.jobs.states import Intent
from mlhub.storage import actions as storage
from mlhub.tenants.models import Organisation, User


def check_waiting_jobs(organisation: Organisation, user: User) -> None:
    """Called in the transaction that makes the job: submissions of one organisation are counted one after the other.

    Raises QuotaExceededError.
    """
    lock_until_commit(f"waiting-jobs:{organisation.pk}")
    waiting = Job.objects.queued().filter(project__organisation=organisation, intent=Intent.RUN)
    of_organisation, of_user = settings.MAX_WAITING_JOBS_PER_ORGANISATION, settings.MAX_WAITING_JOBS_PER_USER
    _require(waiting.filter(created_by=user).count(), of_user, whose="You have", limit="max_waiting_jobs_per_user")
    _require(
        waiting.count(), of_organisation, whose=f"{organisation.name} has", limit="max_waiting_jobs_per_organisation"
    )


def check_storage_left(organisation: Organisation) -> None:
    """Nothing that a job makes could be stored once the quota is used up. Raises QuotaExceededError."""
    left = storage.bytes_left(organisation)
    if left is not None and left <= 0:
        raise QuotaExceededError(
            f"The storage quota of {organisation.name} is used up: the job's result could not be stored.",
            remedy="Delete datasets or models that are no longer needed, or ask an administrator for a larger quota.",
            limit="max_storage_bytes",
        )


def _require(n: int, most: int, *, whose: str, limit: str) -> None:
    if n >= most:
        raise QuotaExceededError(
            f"{whose} {n:,} jobs waiting, and {most:,} may wait.",
            remedy="Wait until some have started, or cancel or pause some.",
            limit=limit,
            waiting_jobs=n,
            max_waiting_jobs=most,
        )
