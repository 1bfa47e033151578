# SPDX-License-Identifier: Apache-2.0
"""Jobs on the same node that slow each other by its CPUs, memory bandwidth or disk, as pairs that were measured say."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from scheduler.api.sharing_measurements import PairObservation, PairResource
from scheduler.api.snapshot import GangAllocation, JobSnapshot, Mode, NodeAllocation
from scheduler.placement.free_resources import FreeResources

CLEARLY = 0.95  # of its speed alone: a job that keeps less is slowed


class NodeNeighbours:
    """Knows who is on which node, and what a job keeps of its speed there."""

    def __init__(self, pairs: Sequence[PairObservation]) -> None:
        self._norms: dict[tuple[str, str], float] = {}
        for pair in pairs:
            if pair.resource is PairResource.NODE:
                self._norms[pair.family_a, pair.family_b] = pair.norm_a
                self._norms[pair.family_b, pair.family_a] = pair.norm_b
        self._slowed = {family for pair, norm in self._norms.items() if norm < CLEARLY for family in pair}
        self._on_node: dict[str, dict[str, JobSnapshot]] = {}

    @property
    def is_needed(self) -> bool:
        """Returns whether any pair was measured in which one slows the other."""
        return bool(self._slowed)

    def add(self, job: JobSnapshot, allocation: GangAllocation) -> None:
        """Records that the job is there."""
        for share in allocation.shares:
            self._on_node.setdefault(share.node, {})[job.id] = job

    def remove(self, job: JobSnapshot, allocation: GangAllocation) -> None:
        """Records that the job is there no more."""
        for share in allocation.shares:
            self._on_node.get(share.node, {}).pop(job.id, None)

    def others(self, job: JobSnapshot, allocation: GangAllocation) -> list[JobSnapshot]:
        """Returns the other jobs on the allocation's nodes, each once."""
        found = {o.id: o for share in allocation.shares for o in self._on_node.get(share.node, {}).values()}
        return [other for id, other in sorted(found.items()) if id != job.id]

    def norm(self, job: JobSnapshot, others: Iterable[JobSnapshot]) -> float:
        """Returns what the job keeps of its speed among these, if what they take multiplies."""
        kept = 1.0
        for other in others:
            kept *= min(1.0, self._norms.get((job.family, other.family), 1.0))
        return max(kept, 1e-3)

    def bad_nodes(self, job: JobSnapshot) -> set[str]:
        """Returns the nodes with a job that slows this one, or is slowed by it."""
        if job.family not in self._slowed:
            return set()
        return {
            node
            for node, there in self._on_node.items()
            if any(self._is_bad(job, other) for other in there.values() if other.id != job.id)
        }

    def _is_bad(self, one: JobSnapshot, other: JobSnapshot) -> bool:
        norms = (self._norms.get((a.family, b.family), 1.0) for a, b in ((one, other), (other, one)))
        return min(norms) < CLEARLY


def without_nodes(free: FreeResources, nodes: Collection[str]) -> FreeResources:
    """Returns a copy in which these nodes have no free GPU."""
    copy = free.copy()
    shares = tuple(NodeAllocation(node, tuple(sorted(copy.gpus[node]))) for node in sorted(nodes) if node in copy.gpus)
    copy.reserve_gpus(GangAllocation(Mode.ALL_REDUCE, 0, 0, shares))
    return copy
