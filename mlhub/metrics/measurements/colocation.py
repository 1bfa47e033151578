# SPDX-License-Identifier: Apache-2.0
"""Which other gangs use the same hardware as an attempt at this moment, and which part of the hardware that is."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from django.db.models import QuerySet

from mlhub.clusters.models import Node
from mlhub.jobs.models import Allocation, Attempt
from mlhub.metrics.models import SharedResource, SpeedSample

Places = Mapping[UUID, Mapping[str, frozenset[int]]]  # by attempt and node, the GPUs


@dataclass(frozen=True)
class ColocatedAttempts:
    """The attempts that share the tightest shared resource; resource None: the attempt is alone.

    family: of the only co-located attempt, once it has reported a step; "" where there are several, or it has not.
    """

    resource: SharedResource | None = None
    attempts: tuple[UUID, ...] = ()
    family: str = ""

    @property
    def key(self) -> str:
        """Equal for two moments with the same co-located attempts."""
        return " ".join([self.resource or "", *map(str, self.attempts)])[:500]


def colocation_of(attempt: Attempt) -> ColocatedAttempts:
    """Returns the attempts that hold the same GPUs; else those that send over the same NIC, are on the same node, or
    send over the uplink of the same rack, the first of these that there are."""
    own = {a.node: frozenset(a.slots) for a in attempt.allocations.all() if a.released_at is None}
    near = _places(Allocation.objects.filter(node__in=own).exclude(attempt=attempt))
    by_resource: defaultdict[SharedResource, set[UUID]] = defaultdict(set)
    for other, there in near.items():
        is_on_gpu = any(own[node] & gpus for node, gpus in there.items())
        by_resource[SharedResource.GPU if is_on_gpu else SharedResource.NODE].add(other)
    if len(own) > 1 and SharedResource.GPU not in by_resource:
        _add_links(by_resource, own, set(near))
    for resource in SharedResource:
        if found := tuple(sorted(by_resource[resource])):
            return ColocatedAttempts(resource, found, _family_of(found[0]) if len(found) == 1 else "")
    return ColocatedAttempts()


def _add_links(by_resource: dict[SharedResource, set[UUID]], own: Mapping[str, object], near: set[UUID]) -> None:
    """Of an attempt on several nodes: those on its nodes that leave theirs, and those that leave the same rack."""
    by_resource[SharedResource.NIC] = {
        other for other, there in _places(Allocation.objects.filter(attempt__in=near)).items() if len(there) > 1
    }
    rack_of = dict(Node.objects.values_list("name", "rack_id"))
    racks = {rack_of.get(node, "") for node in own}
    if len(racks) < 2:
        return
    in_racks = [node for node, rack in rack_of.items() if rack in racks]
    there = Allocation.objects.filter(node__in=in_racks).exclude(attempt__in=near).values("attempt")
    for other, places in _places(Allocation.objects.filter(attempt__in=there)).items():
        if not places.keys() & own.keys() and len({rack_of.get(node, "") for node in places}) > 1:
            by_resource[SharedResource.UPLINK].add(other)


def _places(allocations: QuerySet[Allocation]) -> Places:
    found: defaultdict[UUID, dict[str, frozenset[int]]] = defaultdict(dict)
    live = allocations.filter(released_at=None, attempt__ended_at=None)
    for attempt, node, slots in live.values_list("attempt_id", "node", "slots"):
        found[attempt][node] = frozenset(slots)
    return found


def _family_of(attempt: UUID) -> str:
    """ "" until the attempt has reported a step: it still starts, and what it costs others now is not what it will."""
    return SpeedSample.objects.filter(attempt=attempt).values_list("family", flat=True).first() or ""
