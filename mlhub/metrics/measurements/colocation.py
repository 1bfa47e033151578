# SPDX-License-Identifier: Apache-2.0
"""Which other gangs use the same hardware as an attempt at this moment, and which part of the hardware that is."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
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
    near = Allocation.objects.filter(node__in=own, released_at=None).values("attempt")
    others = _places(Allocation.objects.filter(attempt__in=near).exclude(attempt=attempt))
    rack_of: dict[str, str] = {}
    if len(own) > 1:
        rack_of = dict(Node.objects.values_list("name", "rack_id"))
        racks = {rack_of.get(node, "") for node in own}
        if len(racks) > 1:
            there = Allocation.objects.filter(node__in=[node for node, rack in rack_of.items() if rack in racks])
            others |= _places(Allocation.objects.filter(attempt__in=there.values("attempt")).exclude(attempt=attempt))
    resource, found = _tightest(own, others, rack_of)
    return ColocatedAttempts(resource, found, _family_of(found[0]) if len(found) == 1 else "")


def colocations(attempts: Collection[UUID]) -> dict[UUID, ColocatedAttempts]:
    """Returns the same of each of these attempts that holds nodes, by few queries however many they are."""
    places = _places(Allocation.objects.all())
    rack_of = dict(Node.objects.values_list("name", "rack_id"))
    on_node: defaultdict[str, set[UUID]] = defaultdict(set)
    leaving: defaultdict[str, set[UUID]] = defaultdict(set)  # a rack
    for attempt, there in places.items():
        racks = {rack_of.get(node, "") for node in there}
        for node in there:
            on_node[node].add(attempt)
        for rack in racks if len(racks) > 1 else ():
            leaving[rack].add(attempt)
    found: dict[UUID, tuple[SharedResource | None, tuple[UUID, ...]]] = {}
    for attempt in places.keys() & set(attempts):
        own = places[attempt]
        near = {other for node in own for other in on_node[node] | leaving[rack_of.get(node, "")]} - {attempt}
        found[attempt] = _tightest(own, {other: places[other] for other in near}, rack_of)
    single = [others[0] for _, others in found.values() if len(others) == 1]
    families = dict(SpeedSample.objects.filter(attempt__in=single).values_list("attempt_id", "family"))
    return {
        attempt: ColocatedAttempts(resource, others, families.get(others[0], "") if len(others) == 1 else "")
        for attempt, (resource, others) in found.items()
    }


def _tightest(
    own: Mapping[str, frozenset[int]], others: Places, rack_of: Mapping[str, str]
) -> tuple[SharedResource | None, tuple[UUID, ...]]:
    """The tightest resource that any of the others uses, too, and who does; own: GPUs by node.

    A link counts for gangs of several nodes: those on its nodes that leave theirs, and those that leave the same rack.
    """
    racks = {rack_of.get(node, "") for node in own}
    by_resource: defaultdict[SharedResource, list[UUID]] = defaultdict(list)
    for other, there in others.items():
        common = own.keys() & there.keys()
        racks_there = {rack_of.get(node, "") for node in there}
        if any(own[node] & there[node] for node in common):
            by_resource[SharedResource.GPU].append(other)
        elif common:
            by_resource[SharedResource.NODE].append(other)
        elif len(racks) > 1 and len(racks_there) > 1 and racks & racks_there:
            by_resource[SharedResource.UPLINK].append(other)
    if len(own) > 1:
        by_resource[SharedResource.NIC] = [
            other for other, there in others.items() if len(there) > 1 and own.keys() & there.keys()
        ]
    for resource in SharedResource:
        if by_resource[resource]:
            return resource, tuple(sorted(by_resource[resource]))
    return None, ()


def _places(allocations: QuerySet[Allocation]) -> dict[UUID, dict[str, frozenset[int]]]:
    found: defaultdict[UUID, dict[str, frozenset[int]]] = defaultdict(dict)
    live = allocations.filter(released_at=None, attempt__ended_at=None)
    for attempt, node, slots in live.values_list("attempt_id", "node", "slots"):
        found[attempt][node] = frozenset(slots)
    return dict(found)


def _family_of(attempt: UUID) -> str:
    """ "" until the attempt has reported a step: it still starts, and what it costs others now is not what it will."""
    return SpeedSample.objects.filter(attempt=attempt).values_list("family", flat=True).first() or ""
