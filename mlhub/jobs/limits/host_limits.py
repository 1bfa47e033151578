# SPDX-License-Identifier: Apache-2.0
"""Whether limits of CPUs and memory, of a project, of what is above it and of one user there, could ever let a job's
pods run.

What pods request is decided where they are launched, in a room above this one: settings.POD_RESOURCES names it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

from django.conf import settings
from django.utils.module_loading import import_string

from mlhub.core.errors import QuotaExceededError
from mlhub.jobs.models import Job, ModeChoice
from mlhub.tenants.actions.limits.quotas import Owner, raised_by, rules_above
from mlhub.tenants.models import Project, QuotaRules, UserQuota
from mlhub.tenants.quota_terms.user_quotas import limits_raised_by, owner_name
from mlhub.wire.launch import Resources
from mlhub.wire.words import counted, figure

CPUS, MEMORY = "CPUs", "GiB of memory"
LEAST_GIB = 0.01  # less is said in bytes
GIB = 2**30
DEFAULT_POD_RESOURCES = "mlhub.control.pods.pod_resources.least_resources"


def check_host_limits(
    project: Project, request: Mapping[str, Any], limits: Iterable[UserQuota], *, whose: str = "you"
) -> None:
    """Checks the pods of a job that is submitted, before its dry run: where that measures more memory, the job waits
    and says so. limits, whose: as of check_host_limits_of(). Raises QuotaExceededError.
    """
    check_host_limits_of(
        Job(
            project=project,
            resources=request.get("resources") or {},
            min_workers=request.get("min_workers", 1),
            max_workers=request.get("max_workers", 64),
            mode=request.get("mode", ModeChoice.AUTO),
        ),
        limits,
        whose=whose,
    )


def check_host_limits_of(job: Job, limits: Iterable[UserQuota], *, whose: str = "you") -> None:
    """Checks the pods of a job. limits: quotas_above() its project. whose: the job is, as a message names that person.

    Raises QuotaExceededError that names whose limit it is, and who can raise it.
    """
    held = [
        *(_of_user(row, whose) for row in limits),
        *(_of_place(owner, rules) for owner, rules in rules_above(job.project)),
    ]
    held = [one for one in held if one.max_cpus is not None or one.max_memory_bytes is not None]
    if not held:
        return
    least = _least_of(getattr(settings, "POD_RESOURCES", DEFAULT_POD_RESOURCES))(job)
    workers = counted(job.min_workers, "worker")
    for one in held:
        for limit, resource, asked, most, unit in (
            ("max_cpus", "cpus", least.cpus, one.max_cpus, CPUS),
            (
                "max_memory_bytes",
                "memory_gib",
                least.memory_bytes / GIB,
                None if one.max_memory_bytes is None else one.max_memory_bytes / GIB,
                MEMORY,
            ),
        ):
            if most is not None and asked > most:
                raise QuotaExceededError(
                    f"It requests {in_words(asked, unit)} for {workers}, and {one.subject} may request "
                    f"{in_words(most, unit)}{one.scope}.",
                    field=f"resources.{resource}" if resource in job.resources else "min_workers",
                    remedy=f"Give fewer workers or less of resources.{resource}, or ask {one.raised_by} to raise "
                    f"{limit} of {one.limited} on the page Quotas.",
                    limit=f"{one.prefix}{limit}",
                    limit_amount=most,
                    asked_amount=asked,
                    owner=one.owner,
                )


def in_words(amount: float, unit: str) -> str:
    """As in: 1 CPU, 1.5 GiB of memory, 1,000 bytes of memory."""
    if unit == MEMORY and 0 < amount < LEAST_GIB:
        return f"{round(amount * GIB):,} bytes of memory"
    text = f"{figure(amount)} {unit}"
    return text.removesuffix("s") if unit == CPUS and amount == 1 else text


@dataclass(frozen=True)
class _Limit:
    """A limit in words. subject: whose pods it counts; scope: where. limited: what an admin changes."""

    max_cpus: int | None
    max_memory_bytes: int | None
    subject: str
    scope: str
    limited: str
    raised_by: str
    owner: str
    prefix: str = ""


def _of_place(owner: Owner, rules: QuotaRules) -> _Limit:
    limits = (rules.max_cpus, rules.max_memory_bytes)
    return _Limit(*limits, f"pods of {owner.name}", "", owner.name, raised_by(owner), owner.name)


def _of_user(row: UserQuota, whose: str) -> _Limit:
    limits, name = (row.max_cpus, row.max_memory_bytes), owner_name(row)
    return _Limit(*limits, whose, f" in {name}", f"users in {name}", limits_raised_by(row), name, "user_")


@cache
def _least_of(path: str) -> Callable[[Job], Resources]:
    return cast("Callable[[Job], Resources]", import_string(path))
