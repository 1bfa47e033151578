# SPDX-License-Identifier: Apache-2.0
"""What is read besides allocations to count them: who else held their GPUs, and how busy their workers kept them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from django.db.models import Exists, OuterRef

from mlhub.jobs.models import Allocation
from mlhub.metrics.models import GpuBusyTime
from mlhub.usage.integral import BusyTime, GpuHolding
from mlhub.usage.models import UsageEntry

Holdings = defaultdict[str, list[tuple[int, GpuHolding]]]


def holdings_on(nodes: Collection[str], *, since: datetime, now: datetime) -> Holdings:
    """By node, with their allocations' ids: who holds its GPUs, or has released them since then. At most one query."""
    found: Holdings = defaultdict(list)
    if not nodes:
        return found
    there = Allocation.objects.filter(node__in=nodes)
    there = there.filter(released_at=None) | there.filter(released_at__gt=since)
    for pk, node, slots, began_at, ended_at in there.order_by("id").values_list(
        "id", "node", "slots", "attempt__created_at", "released_at"
    ):
        end = ended_at or now
        found[node].append((pk, GpuHolding(frozenset(slots), min(began_at, end), end)))
    return found


def deleted_holdings_on(nodes: Collection[str], *, since: datetime, now: datetime) -> Holdings:
    """The same of jobs that were deleted, which the ledger alone knows."""
    found: Holdings = defaultdict(list)
    if not nodes:
        return found
    is_there = Exists(Allocation.objects.filter(pk=OuterRef("allocation_id")))
    rows = UsageEntry.objects.filter(~is_there, node__in=nodes).overlapping(since, now).order_by("id")
    for pk, node, slots, began_at, ended_at in rows.values_list(
        "allocation_id", "node", "slots", "began_at", "ended_at"
    ):
        found[node].append((pk, GpuHolding(frozenset(slots), began_at, ended_at)))
    return found


def busy_times(attempts: Collection[UUID]) -> dict[int, dict[int, BusyTime]]:
    """By allocation and slot, of those for which there is a measurement. One query, or two.

    Ranks are numbered along the allocations (Attempt.placement()), and each worker has one GPU.
    """
    measured: defaultdict[UUID, dict[int, BusyTime]] = defaultdict(dict)
    rows = GpuBusyTime.objects.filter(attempt__in=attempts)
    for attempt, worker, measured_s, busy_s in rows.values_list("attempt", "worker", "measured_s", "busy_s"):
        measured[attempt][worker] = BusyTime(measured_s, busy_s)
    found: dict[int, dict[int, BusyTime]] = {}
    if not measured:
        return found
    ranks: defaultdict[UUID, int] = defaultdict(int)
    held = Allocation.objects.filter(attempt__in=measured).order_by("id")
    for pk, attempt, slots in held.values_list("id", "attempt", "slots"):
        numbered = enumerate(slots, start=ranks[attempt])
        ranks[attempt] += len(slots)
        found[pk] = {slot: measured[attempt][rank] for rank, slot in numbered if rank in measured[attempt]}
    return found
