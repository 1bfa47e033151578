# SPDX-License-Identifier: Apache-2.0
"""Until when an organisation's bounds forbid people to delete what an ended job left."""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta

from django.utils import timezone

from mlhub.core.errors import ConflictError
from mlhub.jobs.models import RESULTS, Artifact, Checkpoint, Job, JobKind
from mlhub.jobs.retention.retention_rules import CHECKPOINTS, FAILED_CHECKPOINTS, KINDS, organisation_rules
from mlhub.jobs.states import JobState

OF_ATTEMPTS = ("logs", "metrics", "usage")


def hold_on(job: Job, *, kinds: Collection[str] = KINDS) -> ConflictError | None:
    """Returns the refusal to delete what the job left of these kinds; None = no bound forbids it.

    Days count from the job's end, of what it has at all: a job that never began left nothing.
    """
    rules = organisation_rules(job.project.organisation)
    least = {kind: rule.least_days for kind, rule in rules.items() if rule.least_days and kind in kinds}
    if not least or job.finished_at is None:
        return None
    held = {kind: job.finished_at + timedelta(days=days) for kind, days in least.items() if _has(job, kind)}
    kind = max(held, key=lambda one: held[one], default=None)
    if kind is None or held[kind] <= timezone.now():
        return None
    name, until = job.project.organisation.name, f"{held[kind]:%d %B %Y, %H:%M} UTC"
    return ConflictError(
        f"{name} keeps {kind} for at least {least[kind]:g} days, and {job.name} ended on {job.finished_at:%d %B %Y}.",
        code="retention_bound",
        remedy=f"Delete it after {until}, or ask an owner or admin of {name} to lower its bound on the page Retention.",
        kind=kind,
        until=held[kind],
    )


def checkpoint_kind(job: Job) -> str:
    """Returns by which rule the checkpoints of an ended job go."""
    is_failed = job.state == JobState.FAILED or job.kind == JobKind.NOTEBOOK
    return FAILED_CHECKPOINTS if is_failed else CHECKPOINTS


def _has(job: Job, kind: str) -> bool:
    if kind in OF_ATTEMPTS:
        return job.attempts.exists()
    if kind == "results":
        return Artifact.objects.filter(attempt__job=job, name__in=RESULTS).exists()
    return kind == checkpoint_kind(job) and Checkpoint.objects.filter(attempt__job=job).exists()
