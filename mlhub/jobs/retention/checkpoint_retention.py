# SPDX-License-Identifier: Apache-2.0
"""How long the checkpoints of ended jobs are kept."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db.models import Q, QuerySet

from mlhub.jobs.models import Job, JobKind
from mlhub.jobs.retention.retention_rules import CHECKPOINTS, FAILED_CHECKPOINTS, Cutoffs, cutoffs
from mlhub.jobs.states import ENDED, JobState


def jobs_without_checkpoints(now: datetime, *, within: timedelta | None = None) -> QuerySet[Job]:
    """Jobs that ended longer ago than their checkpoints are kept. within: only those of which that time came since.

    A failed job may be resumed from its checkpoints, and they have a rule of their own.
    """
    usual, failed = cutoffs(CHECKPOINTS, now=now), cutoffs(FAILED_CHECKPOINTS, now=now)
    return Job.objects.filter(
        _over(usual, is_failed=False, within=within) | _over(failed, is_failed=True, within=within)
    )


def jobs_over(cutoffs: Cutoffs, *, is_failed: bool) -> QuerySet[Job]:
    """Jobs whose checkpoints go by these cutoffs, those that failed or the others."""
    return Job.objects.filter(_over(cutoffs, is_failed=is_failed, within=None))


def _over(cutoffs: Cutoffs, *, is_failed: bool, within: timedelta | None) -> Q:
    # a notebook's folder is what somebody wrote by hand, however it ended
    failed = Q(state=JobState.FAILED) | Q(kind=JobKind.NOTEBOOK)
    which = Q(state__in=ENDED) & (failed if is_failed else ~failed)
    return which & cutoffs.due(project="project", ended_at="finished_at", within=within)
