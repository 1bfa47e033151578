# SPDX-License-Identifier: Apache-2.0
"""What one user may have within a project, the teams above it and its organisation.

Looked at wherever a job enters the queue.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mlhub.core.errors import QuotaExceededError
from mlhub.jobs.limits.capacity import usable_types
from mlhub.jobs.models import Job
from mlhub.jobs.states import Intent
from mlhub.tenants.actions.limits.quotas import within
from mlhub.tenants.models import User, UserQuota
from mlhub.tenants.quota_terms.user_quotas import limits_raised_by, owner_name
from mlhub.wire.words import counted


def check_user_room(
    limits: Iterable[UserQuota], user: User, *, n_gpus: int, gpu_types: Sequence[str] = (), is_actor: bool = True
) -> None:
    """Whether limits of the user could ever give so many GPUs of one type. Raises QuotaExceededError.

    limits: quotas_above() the job's project. gpu_types: those that the job may use; () = any.
    """
    for row in limits:
        if row.max_running_jobs == 0:
            raise QuotaExceededError(
                f"In {owner_name(row)} {_may(user, is_actor)} run no jobs: the limit of jobs at a time is 0.",
                remedy=f"Ask {limits_raised_by(row)} to raise the limit of users.",
                limit="user_max_running_jobs",
                owner=owner_name(row),
            )
        most = row.max_gpus
        by_type = _most_of_one_type(row, gpu_types)
        if by_type is not None and (most is None or by_type < most):
            most = by_type
        if most is not None and n_gpus > most:
            kind = f" of type {' or '.join(gpu_types)}" if gpu_types and most == by_type else ""
            raise QuotaExceededError(
                f"min_workers is {n_gpus}, and {_may(user, is_actor)} use {counted(most, 'GPU')}{kind} in "
                f"{owner_name(row)}.",
                field="min_workers",
                remedy=f"Give fewer, or ask {limits_raised_by(row)} to raise the limit of users.",
                limit="user_max_gpus",
                limit_gpus=most,
                asked_gpus=n_gpus,
                owner=owner_name(row),
            )


def check_user_waiting_jobs(limits: Iterable[UserQuota], user: User, *, is_actor: bool = True) -> None:
    """Called under the lock under which an organisation's waiting jobs are counted. Raises QuotaExceededError."""
    for row in limits:
        if row.max_waiting_jobs is None:
            continue
        waiting = Job.objects.queued().filter(created_by=user, intent=Intent.RUN, **within(row.owner)).count()
        if waiting >= row.max_waiting_jobs:
            whose = "You have" if is_actor else f"{user.username} has"
            raise QuotaExceededError(
                f"{whose} {counted(waiting, 'job')} waiting in {owner_name(row)}, and one person may have "
                f"{row.max_waiting_jobs:,} there.",
                remedy=f"Wait until some have started, cancel or pause some, or ask {limits_raised_by(row)} to "
                "raise the limit of users.",
                limit="user_max_waiting_jobs",
                waiting_jobs=waiting,
                max_waiting_jobs=row.max_waiting_jobs,
                owner=owner_name(row),
            )


def _most_of_one_type(row: UserQuota, gpu_types: Sequence[str]) -> int | None:
    """The most GPUs of one type that the job could have; None where a type has no limit."""
    types = usable_types(gpu_types) if row.gpus_by_type else []
    if not types or any(t not in row.gpus_by_type for t in types):
        return None
    return max(int(row.gpus_by_type[t]) for t in types)


def _may(user: User, is_actor: bool) -> str:
    return "you may" if is_actor else f"{user.username} may"
