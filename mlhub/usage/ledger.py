# SPDX-License-Identifier: Apache-2.0
"""Writing the ledger, and comparing it with the attempts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import structlog
from django.db import transaction
from django.db.models import Exists, Max, OuterRef, Q, QuerySet
from django.utils import timezone

from mlhub.clusters.models import Node
from mlhub.jobs.models import Allocation, Attempt, Checkpoint
from mlhub.tenants.models import Team
from mlhub.usage.integral import GpuHolding, gpu_seconds
from mlhub.usage.models import UsageEntry

logger = structlog.stdlib.get_logger(__name__)
LOSING = ("preempted", "failed")  # outcomes after which training goes on from the last checkpoint, or not at all
TOLERANCE_S = 1.0  # of an attempt's interval, between attempt and entry
BATCH = 500
ALWAYS = datetime.min.replace(tzinfo=UTC)


def enter_closed_attempt(*, attempt_id: UUID, **_: Any) -> None:
    """Appends the entries of an attempt that has just released its GPUs; those that are there already stay.

    What fails here costs no attempt its end: it is logged, and check_ledger appends what is missing.
    """
    try:
        with transaction.atomic():
            for allocation in _allocations().filter(attempt=attempt_id, released_at__isnull=False):
                append(allocation)
    except Exception:
        logger.exception("usage.not_entered", attempt=str(attempt_id))


def append(allocation: Allocation) -> None:
    """Appends the entry of a released allocation, once."""
    entry = entry_of(allocation, now=timezone.now())
    fields = {f.attname: getattr(entry, f.attname) for f in UsageEntry._meta.concrete_fields if not f.primary_key}
    UsageEntry.objects.get_or_create(allocation_id=fields.pop("allocation_id"), defaults=fields)


def running_entries(
    *,
    now: datetime,
    organisations: Sequence[UUID] | None = None,
    project: UUID | None = None,
    job: UUID | None = None,
) -> list[UsageEntry]:
    """Returns what live attempts have held until now, as entries that are not stored. None = of all."""
    live = _allocations().filter(released_at=None)
    if organisations is not None:
        live = live.filter(attempt__job__project__organisation__in=organisations)
    if project is not None:
        live = live.filter(attempt__job__project=project)
    if job is not None:
        live = live.filter(attempt__job=job)
    found = list(live)
    teams = {team for allocation in found if (team := allocation.attempt.job.project.team_id) is not None}
    lines = Team.objects.lines_of(teams)
    return [_entry(allocation, lines, now=now) for allocation in found]


def entry_of(allocation: Allocation, *, now: datetime) -> UsageEntry:
    """The entry of one allocation, which is not stored."""
    team = allocation.attempt.job.project.team_id
    return _entry(allocation, Team.objects.lines_of([team] if team is not None else []), now=now)


def _entry(allocation: Allocation, lines: Mapping[UUID, Sequence[UUID]], *, now: datetime) -> UsageEntry:
    """lines: by team, itself and those above it."""
    attempt, job = allocation.attempt, allocation.attempt.job
    project, team = job.project, job.project.team
    ended_at = allocation.released_at or now
    own = GpuHolding(frozenset(allocation.slots), min(attempt.created_at, ended_at), ended_at)
    others = list(_others(allocation, own))
    training_at = attempt.training_at or ended_at
    return UsageEntry(
        allocation_id=allocation.pk,
        attempt_id=attempt.pk,
        attempt_number=attempt.number,
        outcome=attempt.outcome,
        job_id=job.pk,
        job=job.name,
        user_id=job.created_by_id,
        user=job.created_by.username,
        project_id=project.pk,
        project=project.name,
        team_id=project.team_id,
        team=team.name if team else "",
        teams_above=list(lines.get(team.pk, ())[1:]) if team else [],
        organisation_id=project.organisation_id,
        organisation=project.organisation.name,
        node=allocation.node,
        gpu_type=Node.objects.filter(name=allocation.node).values_list("gpu_type", flat=True).first() or "",
        slots=allocation.slots,
        began_at=own.began_at,
        ended_at=ended_at,
        gpu_s=gpu_seconds(own, others, since=own.began_at, until=ended_at),
        startup_gpu_s=gpu_seconds(own, others, since=own.began_at, until=training_at),
        lost_gpu_s=gpu_seconds(own, others, since=_kept_until(attempt, training_at, ended_at), until=ended_at),
    )


def append_missing(limit: int = BATCH) -> int:
    """Appends entries of released allocations that have none, such as those of before the ledger; returns how many."""
    is_entered = Exists(UsageEntry.objects.filter(allocation_id=OuterRef("pk")))
    missing = _allocations().filter(~is_entered, released_at__isnull=False).order_by("id")[:limit]
    found = list(missing)
    for allocation in found:
        append(allocation)
    return len(found)


def mismatches(*, since: datetime = ALWAYS) -> list[int]:
    """Returns the allocations released since then whose entry is not of their interval, or whose parts exceed it."""
    released = Allocation.objects.filter(released_at__gte=since)
    rows = released.values_list("id", "attempt__created_at", "released_at")
    intervals = {pk: (min(began_at, ended_at), ended_at) for pk, began_at, ended_at in rows if ended_at is not None}
    entries = UsageEntry.objects.filter(allocation_id__in=intervals).order_by("allocation_id")
    return [entry.allocation_id for entry in entries if not _agrees(entry, *intervals[entry.allocation_id])]


def _agrees(row: UsageEntry, began_at: datetime, ended_at: datetime) -> bool:
    tolerance = timedelta(seconds=TOLERANCE_S)
    is_same = abs(row.ended_at - ended_at) <= tolerance and abs(row.began_at - began_at) <= tolerance
    most_s = len(row.slots) * ((row.ended_at - row.began_at) / timedelta(seconds=1))
    parts_s = row.startup_gpu_s + row.lost_gpu_s
    return is_same and row.gpu_s <= most_s + TOLERANCE_S and parts_s <= row.gpu_s + TOLERANCE_S


def _kept_until(attempt: Attempt, training_at: datetime, ended_at: datetime) -> datetime:
    """Up to when the attempt's training was of use: its end, or its last checkpoint where the rest was lost."""
    if attempt.outcome not in LOSING:
        return ended_at
    newest = Checkpoint.objects.filter(attempt=attempt).aggregate(at=Max("at"))["at"]
    return min(ended_at, max(training_at, newest or training_at))


def _others(allocation: Allocation, own: GpuHolding) -> Iterable[GpuHolding]:
    """Who held GPUs of the same node at that time: attempts, and in the ledger those whose jobs were deleted."""
    there = Allocation.objects.filter(node=allocation.node, attempt__created_at__lt=own.ended_at)
    there = there.filter(Q(released_at=None) | Q(released_at__gt=own.began_at)).exclude(pk=allocation.pk)
    for slots, began_at, ended_at in there.values_list("slots", "attempt__created_at", "released_at"):
        yield GpuHolding(frozenset(slots), began_at, ended_at or own.ended_at)
    is_there = Exists(Allocation.objects.filter(pk=OuterRef("allocation_id")))
    deleted = UsageEntry.objects.filter(~is_there, node=allocation.node).overlapping(own.began_at, own.ended_at)
    for slots, began_at, ended_at in deleted.values_list("slots", "began_at", "ended_at"):
        yield GpuHolding(frozenset(slots), began_at, ended_at)


def _allocations() -> QuerySet[Allocation]:
    paths = ("attempt__job__project__organisation", "attempt__job__project__team", "attempt__job__created_by")
    return Allocation.objects.select_related(*paths)
