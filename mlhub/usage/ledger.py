# SPDX-License-Identifier: Apache-2.0
"""Writing the ledger, and comparing it with the attempts."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import structlog
from django.db import transaction
from django.db.models import Exists, F, Max, OuterRef, Q, QuerySet
from django.utils import timezone

from mlhub.clusters.models import Node
from mlhub.jobs.models import Allocation, Attempt, Checkpoint, JobKind
from mlhub.registry.models import Kind
from mlhub.tenants.models import Team
from mlhub.usage.holdings import Holdings, busy_times, deleted_holdings_on, holdings_on
from mlhub.usage.integral import BusyTime, GpuHolding, busy_gpu_seconds, gpu_seconds
from mlhub.usage.models import UsageEntry

logger = structlog.stdlib.get_logger(__name__)
LOSING = ("preempted", "failed")  # outcomes after which training goes on from the last checkpoint, or not at all
PROGRAM_BEGUN = "inputs_ready"  # of Attempt.startup: a script runs from then on
TOLERANCE_S = 1.0  # of an attempt's interval, between attempt and entry
BATCH = 500
ALWAYS = datetime.min.replace(tzinfo=UTC)


def enter_closed_attempt(*, attempt_id: UUID, **_: Any) -> None:
    """Appends the entries of an attempt that has just released its GPUs; those that are there already stay.

    What fails here costs no attempt its end: it is logged, and check_ledger appends what is missing.
    """
    try:
        with transaction.atomic():
            append(list(_allocations().filter(attempt=attempt_id, released_at__isnull=False)))
    except Exception:
        logger.exception("usage.not_entered", attempt=str(attempt_id))


def append(released: Sequence[Allocation]) -> None:
    """Appends the entries of allocations of one attempt, each once."""
    for entry in _entries(released, {allocation.node for allocation in released}, now=timezone.now()):
        fields = {f.attname: getattr(entry, f.attname) for f in UsageEntry._meta.concrete_fields if not f.primary_key}
        UsageEntry.objects.get_or_create(allocation_id=fields.pop("allocation_id"), defaults=fields)


def running_entries(
    *,
    now: datetime,
    organisations: Sequence[UUID] | None = None,
    projects: Sequence[UUID] = (),
    project: UUID | None = None,
    job: UUID | None = None,
) -> list[UsageEntry]:
    """Returns what live attempts have held until now, as entries that are not stored.

    organisations: theirs, None = of all; projects: and those of these projects of others. project, job: only of it.
    """
    live = _allocations().filter(released_at=None)
    if organisations is not None:
        of_whole = Q(attempt__job__project__organisation__in=organisations)
        live = live.filter(of_whole | Q(attempt__job__project__in=projects))
    if project is not None:
        live = live.filter(attempt__job__project=project)
    if job is not None:
        live = live.filter(attempt__job=job)
    found = list(live)
    return _entries(found, _shared_nodes(found), now=now)


def _shared_nodes(live: Sequence[Allocation]) -> set[str]:
    """Nodes whose GPUs several jobs may hold at once, of those of these allocations. One query."""
    nodes = {allocation.node for allocation in live}
    return nodes - set(Node.objects.filter(name__in=nodes, max_jobs_per_gpu=1).values_list("name", flat=True))


def _entries(allocations: Sequence[Allocation], shared: Collection[str], *, now: datetime) -> list[UsageEntry]:
    """The queries are as many for a thousand as for one. shared: nodes on which others may have held the same GPUs."""
    own = {allocation.pk: _holding(allocation, now=now) for allocation in allocations}
    since = min((own[one.pk].began_at for one in allocations if one.node in shared), default=now)
    teams = {team for one in allocations if (team := one.attempt.job.project.team_id) is not None}
    nodes = {allocation.node for allocation in allocations}
    known = _Known(
        lines=Team.objects.lines_of(teams),
        gpu_types=dict(Node.objects.filter(name__in=nodes).values_list("name", "gpu_type")) if nodes else {},
        present=holdings_on(shared, since=since, now=now),
        deleted=deleted_holdings_on(shared, since=since, now=now),
        busy=busy_times({allocation.attempt_id for allocation in allocations}),
    )
    return [_entry(allocation, own[allocation.pk], known) for allocation in allocations]


@dataclass(frozen=True)
class _Known:
    """What entries are made of besides their allocations.

    lines: by team, itself and those above it. gpu_types: by node. present, deleted: by node, who held its GPUs.
    busy: by allocation and slot.
    """

    lines: Mapping[UUID, Sequence[UUID]]
    gpu_types: Mapping[str, str]
    present: Holdings
    deleted: Holdings
    busy: Mapping[int, Mapping[int, BusyTime]]

    def others(self, allocation: Allocation, own: GpuHolding) -> list[GpuHolding]:
        """Who held GPUs of the allocation at that time: attempts, and in the ledger those whose jobs were deleted."""
        there = [*self.present[allocation.node], *self.deleted[allocation.node]]
        return [one for pk, one in there if pk != allocation.pk and one.slots & own.slots]


def _holding(allocation: Allocation, *, now: datetime) -> GpuHolding:
    ended_at = allocation.released_at or now
    return GpuHolding(frozenset(allocation.slots), min(allocation.attempt.created_at, ended_at), ended_at)


def _entry(allocation: Any, own: GpuHolding, known: _Known) -> UsageEntry:
    attempt, job = allocation.attempt, allocation.attempt.job
    project, team = job.project, job.project.team
    others, ended_at = known.others(allocation, own), own.ended_at
    training_at = _startup_end(attempt, own, is_script=allocation.code_kind == Kind.SCRIPT)
    measured_gpu_s, busy_gpu_s = busy_gpu_seconds(own, others, known.busy.get(allocation.pk, {}))
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
        teams_above=list(known.lines.get(team.pk, ())[1:]) if team else [],
        organisation_id=project.organisation_id,
        organisation=project.organisation.name,
        node=allocation.node,
        gpu_type=known.gpu_types.get(allocation.node, ""),
        slots=allocation.slots,
        began_at=own.began_at,
        ended_at=ended_at,
        gpu_s=gpu_seconds(own, others, since=own.began_at, until=ended_at),
        startup_gpu_s=gpu_seconds(own, others, since=own.began_at, until=training_at),
        lost_gpu_s=gpu_seconds(own, others, since=_kept_until(attempt, training_at, ended_at), until=ended_at),
        measured_gpu_s=measured_gpu_s,
        busy_gpu_s=busy_gpu_s,
    )


def append_missing(limit: int = BATCH) -> int:
    """Appends entries of released allocations that have none, such as those of before the ledger; returns how many."""
    is_entered = Exists(UsageEntry.objects.filter(allocation_id=OuterRef("pk")))
    missing = _allocations().filter(~is_entered, released_at__isnull=False).order_by("id")[:limit]
    found = list(missing)
    for allocation in found:
        append([allocation])
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
    parts_s = max(row.startup_gpu_s + row.lost_gpu_s, row.measured_gpu_s)
    is_part = parts_s <= row.gpu_s + TOLERANCE_S and row.busy_gpu_s <= row.measured_gpu_s + TOLERANCE_S
    return is_same and row.gpu_s <= most_s + TOLERANCE_S and is_part


def _startup_end(attempt: Attempt, own: GpuHolding, *, is_script: bool) -> datetime:
    """When the attempt made its first step; a script or notebook, which need not report any, works once it runs."""
    if attempt.training_at is not None:
        return attempt.training_at
    begun = attempt.startup.get(PROGRAM_BEGUN) if is_script else None
    if begun is None:
        return own.ended_at
    return min(max(datetime.fromtimestamp(begun, tz=UTC), own.began_at), own.ended_at)


def _kept_until(attempt: Attempt, training_at: datetime, ended_at: datetime) -> datetime:
    """Up to when the attempt's training was of use: its end, or its last checkpoint where the rest was lost.

    A notebook is used as long as it runs.
    """
    if attempt.outcome not in LOSING or attempt.job.kind == JobKind.NOTEBOOK:
        return ended_at
    newest = Checkpoint.objects.filter(attempt=attempt).aggregate(at=Max("at"))["at"]
    return min(ended_at, max(training_at, newest or training_at))


def _allocations() -> QuerySet[Any]:
    """With the `code_kind` of the jobs' code, and what entries name."""
    paths = ("attempt__job__project__organisation", "attempt__job__project__team", "attempt__job__created_by")
    code_kind = F("attempt__job__model_version__kind")
    return Allocation.objects.select_related(*paths).annotate(code_kind=code_kind)
