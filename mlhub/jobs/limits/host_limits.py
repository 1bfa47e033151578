# SPDX-License-Identifier: Apache-2.0
"""Whether limits of CPUs and memory, of a project and of what is above it, could ever let a job's pods run.

What pods request is decided where they are launched, in a room above this one: settings.POD_RESOURCES names it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, cast

from django.conf import settings
from django.utils.module_loading import import_string

from mlhub.core.errors import QuotaExceededError
from mlhub.jobs.models import Job, ModeChoice
from mlhub.tenants.actions.limits.quotas import raised_by, rules_above
from mlhub.tenants.models import Project
from mlhub.wire.launch import Resources

GIB = 2**30
DEFAULT_POD_RESOURCES = "mlhub.control.pods.pod_resources.least_resources"


def check_host_limits(project: Project, request: Mapping[str, Any]) -> None:
    """Checks the pods of a job that is submitted, before its dry run: where that measures more memory, the job waits
    and says so. Raises QuotaExceededError.
    """
    check_host_limits_of(
        Job(
            project=project,
            resources=request.get("resources") or {},
            min_workers=request.get("min_workers", 1),
            max_workers=request.get("max_workers", 64),
            mode=request.get("mode", ModeChoice.AUTO),
        )
    )


def check_host_limits_of(job: Job) -> None:
    """Checks the pods of a job. Raises QuotaExceededError that names whose limit it is, and who can raise it."""
    limits = [
        (owner, rules)
        for owner, rules in rules_above(job.project)
        if rules.max_cpus is not None or rules.max_memory_bytes is not None
    ]
    if not limits:
        return
    least = _least_of(getattr(settings, "POD_RESOURCES", DEFAULT_POD_RESOURCES))(job)
    workers = "1 worker" if job.min_workers == 1 else f"{job.min_workers} workers"
    for owner, rules in limits:
        for limit, resource, asked, most, unit in (
            ("max_cpus", "cpus", least.cpus, rules.max_cpus, "CPUs"),
            (
                "max_memory_bytes",
                "memory_gib",
                least.memory_bytes / GIB,
                None if rules.max_memory_bytes is None else rules.max_memory_bytes / GIB,
                "GiB of memory",
            ),
        ):
            if most is not None and asked > most:
                raise QuotaExceededError(
                    f"It requests {asked:,.12g} {unit} for {workers}, and pods of {owner.name} may request "
                    f"{most:,.12g}.",
                    field=f"resources.{resource}" if resource in job.resources else "min_workers",
                    remedy=f"Give fewer workers or less of resources.{resource}, or ask {raised_by(owner)} to raise "
                    f"{limit} of {owner.name} on the page Quotas.",
                    limit=limit,
                    limit_amount=most,
                    asked_amount=asked,
                    owner=owner.name,
                )


@cache
def _least_of(path: str) -> Callable[[Job], Resources]:
    return cast("Callable[[Job], Resources]", import_string(path))
