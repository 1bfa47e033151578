# SPDX-License-Identifier: Apache-2.0
"""How long a gang's start takes longer where its nodes do not hold its inputs."""

from __future__ import annotations

from collections.abc import Mapping

from scheduler.api.plan import Explanation, Reason
from scheduler.api.snapshot import ClusterSnapshot, GangAllocation, JobSnapshot

WORTH_S = 1.0  # fetching that takes less moves no job


class InputFetching:
    """Knows what of each job's inputs each node holds; what is missing is fetched by all nodes of a gang at once."""

    def __init__(self, snapshot: ClusterSnapshot) -> None:
        self._bytes_per_s = snapshot.fetch_bps / 8
        self._sets = {one.key: one for one in snapshot.input_sets}
        self._held: dict[str, Mapping[str, int]] = {}
        self._nodes = snapshot.nodes

    @property
    def is_needed(self) -> bool:
        """Returns whether it is known of any job what nodes hold of its inputs."""
        return bool(self._sets)

    def fetch_s(self, job: JobSnapshot, allocation: GangAllocation) -> float:
        """Returns the seconds until its last node has its inputs; 0 where it is not known what nodes hold of them."""
        held = self._held_by(job)
        if held is None:
            return 0.0
        return max(self._node_s(job, held, share.node) for share in allocation.shares)

    def usual_s(self, job: JobSnapshot) -> float:
        """Returns the mean of the seconds over the nodes that it may use: of a place that is not known yet."""
        held = self._held_by(job)
        if held is None:
            return 0.0
        usable = [node.name for node in self._nodes if not job.gpu_types or node.gpu_type in job.gpu_types]
        return sum(self._node_s(job, held, node) for node in usable) / max(1, len(usable))

    def differs(self, job: JobSnapshot) -> bool:
        """Returns whether any node holds any of its inputs: else fetching takes as long everywhere."""
        return bool(self._held_by(job))

    def colder(self, job: JobSnapshot, than_s: float) -> set[str]:
        """Returns the nodes on which fetching takes at least so long."""
        held = self._held_by(job)
        if held is None:
            return set()
        return {node.name for node in self._nodes if self._node_s(job, held, node.name) >= than_s}

    def why(self, job: JobSnapshot, allocation: GangAllocation) -> tuple[Explanation, ...]:
        """Returns where its inputs are; nothing where that is not known, or fetching them takes no time."""
        held = self._held_by(job)
        if held is None:
            return ()
        whole_s = self._sets[job.inputs].size_bytes / self._bytes_per_s
        fetch_s = self.fetch_s(job, allocation)
        if whole_s < WORTH_S:
            return ()
        place = ", ".join(sorted(share.node for share in allocation.shares))
        if fetch_s < WORTH_S:
            return (Explanation(Reason.INPUTS_CACHED, {"place": place, "fetch_s": whole_s}),)
        facts = {"place": place, "fetch_s": fetch_s, "gigabytes": fetch_s * self._bytes_per_s / 1e9}
        return (Explanation(Reason.INPUTS_FETCHED, facts),)

    def _held_by(self, job: JobSnapshot) -> Mapping[str, int] | None:
        """By node; None where it is not known what nodes hold of its inputs."""
        if job.inputs not in self._sets:
            return None
        if job.inputs not in self._held:
            self._held[job.inputs] = dict(self._sets[job.inputs].held)
        return self._held[job.inputs]

    def _node_s(self, job: JobSnapshot, held: Mapping[str, int], node: str) -> float:
        return max(0, self._sets[job.inputs].size_bytes - held.get(node, 0)) / self._bytes_per_s
