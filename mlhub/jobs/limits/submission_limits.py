# SPDX-License-Identifier: Apache-2.0
"""Limits that depend on what there is already: waiting jobs of a user and an organisation, and room for the result.

They hold for each way into the queue: submitting, cloning, resuming.
"""

from __future__ import annotations

from collections.abc import Sequence

from django.conf import settings
from django.db.models import Count, Q

from mlhub.core.errors import QuotaExceededError
from mlhub.core.locks import lock_until_commit
from mlhub.jobs.limits.capacity import check_capacity
from mlhub.jobs.limits.host_limits import check_host_limits_of
from mlhub.jobs.limits.priorities import check_priority
from mlhub.jobs.limits.user_limits import check_user_room, check_user_waiting_jobs
from mlhub.jobs.models import Job
from mlhub.jobs.states import Intent
from mlhub.storage import actions as storage
from mlhub.tenants.actions import require_open
from mlhub.tenants.actions.limits.quotas import raised_by, rules_above, within
from mlhub.tenants.models import Project, User, UserQuota
from mlhub.tenants.quota_terms.user_quotas import of_organisation, quotas_above
from mlhub.wire.words import counted


def check_resumption(job: Job, *, actor: User) -> None:
    """What a submission is checked for, of a paused job; called in the transaction that lets it wait again.

    Raises ConflictError for an archived project, InvalidInputError for a priority above the actor's ceiling, and
    QuotaExceededError.
    """
    require_open(job.project)
    check_priority(job.project, job.priority, actor=actor, is_resumed=True)
    is_actor = job.created_by_id == actor.id
    limits = quotas_above(job.project, job.created_by)
    check_storage_left(job.project, job.created_by, limits, is_actor=is_actor)
    gpu_types = (job.resources or {}).get("gpu_types") or ()
    check_capacity(job.project, job.min_workers, gpu_types)
    check_host_limits_of(job, limits, whose="you" if is_actor else job.created_by.username)
    check_user_room(limits, job.created_by, n_gpus=job.min_workers, gpu_types=gpu_types, is_actor=is_actor)
    check_waiting_jobs(job.project, job.created_by, limits, is_actor=is_actor)


def check_waiting_jobs(project: Project, user: User, limits: Sequence[UserQuota], *, is_actor: bool = True) -> None:
    """Called in the transaction that makes the job: submissions of one organisation are counted one after the other.

    user: whose job it is; limits: quotas_above() its project; is_actor: that person asks. Raises QuotaExceededError.
    """
    organisation = project.organisation
    lock_until_commit(f"waiting-jobs:{organisation.pk}")
    waiting = (
        Job.objects.queued()
        .filter(project__organisation=organisation, intent=Intent.RUN)
        .aggregate(of_all=Count("pk"), of_user=Count("pk", filter=Q(created_by=user)))
    )
    of_organisation, of_user = settings.MAX_WAITING_JOBS_PER_ORGANISATION, settings.MAX_WAITING_JOBS_PER_USER
    whose = "You have" if is_actor else f"{user.username} has"
    _require(waiting["of_user"], of_user, whose=whose, limit="max_waiting_jobs_per_user")
    _require(
        waiting["of_all"], of_organisation, whose=f"{organisation.name} has", limit="max_waiting_jobs_per_organisation"
    )
    _check_waiting_jobs_above(project)
    check_user_waiting_jobs(limits, user, is_actor=is_actor)


def _check_waiting_jobs_above(project: Project) -> None:
    """Whether the project, the teams above it and its organisation let one more job wait. Raises QuotaExceededError.

    Jobs that return to the queue count, and are never refused.
    """
    for owner, rules in rules_above(project):
        if rules.max_waiting_jobs is None:
            continue
        waiting = Job.objects.queued().filter(intent=Intent.RUN, **within(owner)).count()
        if waiting >= rules.max_waiting_jobs:
            raise QuotaExceededError(
                f"{owner.name} has {counted(waiting, 'job')} waiting, and its quota lets "
                f"{rules.max_waiting_jobs:,} wait.",
                remedy=f"Wait until some have started, cancel or pause some, or ask {raised_by(owner)} to raise "
                f"max_waiting_jobs of {owner.name} on the page Quotas.",
                limit="max_waiting_jobs",
                waiting_jobs=waiting,
                max_waiting_jobs=rules.max_waiting_jobs,
                owner=owner.name,
            )


def check_storage_left(project: Project, user: User, limits: Sequence[UserQuota], *, is_actor: bool = True) -> None:
    """Nothing that a job makes could be stored once the quota, or the limit of its user, is used up.

    limits: quotas_above() the job's project. Raises QuotaExceededError.
    """
    organisation = project.organisation
    own_left = storage.bytes_left_within(of_organisation(limits), organisation, user)
    if own_left is not None and own_left <= 0:
        used, may = storage.used_bytes_of_user(organisation, user), "you may" if is_actor else f"{user.username} may"
        raise QuotaExceededError(
            f"In {organisation.name} {may} store {used + own_left:,} bytes, of which {used:,} are used, so the job's "
            "result has no room.",
            remedy=f"Delete datasets or models that are no longer needed, or ask an admin of "
            f"{organisation.name} to raise the limit of users.",
            limit="user_max_storage_bytes",
            limit_bytes=used + own_left,
            used_bytes=used,
        )
    for owner, most in storage.storage_limits(project):
        used = storage.used_bytes_within(owner)
        if used >= most:
            raise QuotaExceededError(
                f"{owner.name} may store {most:,} bytes and uses {used:,}, so the job's result has no room.",
                remedy=f"Delete datasets or models that are no longer needed, or ask {raised_by(owner)} to raise "
                f"max_storage_bytes of {owner.name} on the page Quotas.",
                limit="max_storage_bytes",
                limit_bytes=most,
                used_bytes=used,
                owner=owner.name,
            )
    left = storage.bytes_left(organisation)
    if left is not None and left <= 0:
        used = storage.used_bytes(organisation)
        raise QuotaExceededError(
            f"{organisation.name} may store {used + left:,} bytes and uses {used:,}, so the job's result has no room.",
            remedy="Delete datasets or models that are no longer needed, or ask a platform administrator for a larger "
            "quota.",
            limit="max_storage_bytes",
            limit_bytes=used + left,
            used_bytes=used,
        )


def _require(n: int, most: int, *, whose: str, limit: str) -> None:
    if n >= most:
        raise QuotaExceededError(
            f"{whose} {counted(n, 'job')} waiting, and {most:,} may wait.",
            remedy=f"Wait until some have started, cancel or pause some, or ask a platform administrator to raise "
            f"MLHUB_{limit.upper()}.",
            limit=limit,
            waiting_jobs=n,
            max_waiting_jobs=most,
        )
