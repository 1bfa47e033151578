# SPDX-License-Identifier: Apache-2.0
"""What of a project is stored by kind, and what rules of retention would remove of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Count, Q, QuerySet, Sum
from django.db.models.functions import Length

from mlhub.jobs.artifacts import checkpoint_files
from mlhub.jobs.models import RESULTS, Artifact, Checkpoint, Job
from mlhub.jobs.retention.checkpoint_retention import jobs_over
from mlhub.jobs.retention.retention_rules import CHECKPOINTS, FAILED_CHECKPOINTS, Cutoffs, cutoffs
from mlhub.metrics.models import LogLine, MetricPoint, UsageSample
from mlhub.retention.rules import due_attempts, due_results
from mlhub.tenants.models import Project

POINT_BYTES, SAMPLE_BYTES = 64, 256  # about what a row takes


@dataclass(frozen=True)
class StoredAmount:
    """Holds how much of a kind there is, of how many jobs. n_bytes: as stored; of rows, about so many."""

    n_items: int = 0
    n_jobs: int = 0
    n_bytes: int = 0


def stored(project: Project, kind: str) -> StoredAmount:
    """Returns all that there is of a kind. Checkpoints: of all jobs, under one kind."""
    if kind == CHECKPOINTS:
        return _checkpoints(Job.objects.filter(project=project), pinned_too=True)
    if kind == FAILED_CHECKPOINTS:
        return StoredAmount()
    return _rows(kind, project, None)


def reclaimable(project: Project, days: Mapping[str, float | None], *, now: datetime) -> dict[str, StoredAmount]:
    """Returns what would be removed of the project if it kept so many days, by kind; None or 0 = nothing would.

    Pinned checkpoints stay, and do not count.
    """
    found = {}
    for kind, kept in days.items():
        due = cutoffs(kind, now=now).only(project.pk, kept or None)
        if kind in (CHECKPOINTS, FAILED_CHECKPOINTS):
            found[kind] = _checkpoints(jobs_over(due, is_failed=kind == FAILED_CHECKPOINTS), pinned_too=False)
        else:
            found[kind] = _rows(kind, project, due)
    return found


def _rows(kind: str, project: Project, due: Cutoffs | None) -> StoredAmount:
    """due: None = all that there is."""
    if kind == "results":
        which = Q(name__in=RESULTS, attempt__job__project=project) if due is None else due_results(due)
        return _counted(Artifact.objects.filter(which), "id", "attempt__job", size=Sum("blob__size_bytes"))
    if kind == "metrics":
        which = Q(series__job__project=project)
        if due is not None:
            which = due.due(project="series__job__project", ended_at="series__job__finished_at")
        return _counted(MetricPoint.objects.filter(which), "step", "series__job", each=POINT_BYTES)
    of_attempts = Q(attempt__job__project=project) if due is None else Q(attempt__in=due_attempts(due))
    if kind == "logs":
        return _counted(LogLine.objects.filter(of_attempts), "seq", "attempt__job", size=Sum(Length("text")))
    return _counted(UsageSample.objects.filter(of_attempts), "number", "attempt__job", each=SAMPLE_BYTES)


def _counted(rows: QuerySet[Any], item: str, job: str, *, size: Sum | None = None, each: int = 0) -> StoredAmount:
    """size: the sum of bytes; without it each row counts for so many."""
    sums = {"n": Count(item), "jobs": Count(job, distinct=True), **({} if size is None else {"size": size})}
    found = rows.aggregate(**sums)
    return StoredAmount(found["n"], found["jobs"], found["n"] * each if size is None else found["size"] or 0)


def _checkpoints(jobs: QuerySet[Job], *, pinned_too: bool) -> StoredAmount:
    """Those whose files are there; where the platform does not reach them, as pods reported them."""
    rows = Checkpoint.objects.filter(attempt__job__in=jobs)
    rows = rows if pinned_too else rows.filter(is_pinned=False)
    by_job: defaultdict[UUID, dict[str, int]] = defaultdict(dict)
    for job, name, size in rows.values_list("attempt__job", "name", "size_bytes"):
        by_job[job][name] = size
    there = {job: _there(job, sizes) for job, sizes in by_job.items()}
    sizes = [size for found in there.values() for size in found]
    return StoredAmount(len(sizes), sum(bool(found) for found in there.values()), sum(sizes))


def _there(job: UUID, sizes: Mapping[str, int]) -> list[int]:
    if not checkpoint_files.are_reachable(job):
        return list(sizes.values())
    names = checkpoint_files.names(job)
    return [size for name, size in sizes.items() if name in names]
