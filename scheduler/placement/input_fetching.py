# SPDX-License-Identifier: Apache-2.0
"""How long a gang's start takes longer where its nodes do not hold its inputs."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Mapping
from itertools import accumulate

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

    def levels(self, job: JobSnapshot, free: Mapping[str, int], *, gpu_type: str = "") -> FetchingLevels | None:
        """Returns how long fetching takes by the size of a gang; None where it is not known what nodes hold.

        free: GPUs by node. gpu_type: "" = any that the job may use.
        """
        held = self._held_by(job)
        if held is None:
            return None
        types = (gpu_type,) if gpu_type else job.gpu_types
        usable = [node.name for node in self._nodes if not types or node.gpu_type in types]
        seconds = {name: self._node_s(job, held, name) for name in usable}
        usual_s = sum(seconds.values()) / max(1, len(seconds))
        return FetchingLevels([(seconds[name], free[name]) for name in usable if free.get(name)], usual_s)

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


class FetchingLevels:
    """Holds the seconds of fetching by the size of a gang. free: seconds and GPUs of nodes; usual_s: of any node."""

    def __init__(self, free: Collection[tuple[float, int]], usual_s: float) -> None:
        warmest_first = sorted(free)
        self._seconds = [fetch_s for fetch_s, _ in warmest_first]
        self._n_gpus = list(accumulate(n_gpus for _, n_gpus in warmest_first))
        self._usual_s = usual_s

    def of(self, n_workers: int) -> float:
        """Returns the seconds on the free nodes where it takes least; where too few are free, those of any node."""
        if n_workers <= 0:
            return 0.0
        at = bisect_left(self._n_gpus, n_workers)
        return self._seconds[at] if at < len(self._seconds) else self._usual_s


class FetchingBySize:
    """Says how long fetching takes, by the size of a gang, before it is known which nodes it gets.

    A running gang keeps its nodes and takes others in addition. free: by node, the GPUs that are free now; asked once.
    """

    def __init__(self, fetching: InputFetching, free: Callable[[], Mapping[str, int]]) -> None:
        self._fetching, self._free_now = fetching, free
        self._free: Mapping[str, int] | None = None
        self._levels: dict[tuple[str, str, tuple[str, ...]], FetchingLevels | None] = {}

    def seconds(
        self, job: JobSnapshot, sizes: Collection[int], *, gpu_type: str = "", stays: bool = True
    ) -> list[float]:
        """Returns the seconds at each of these sizes; 0 where it is not known what nodes hold of the job's inputs.

        stays: False = on none of the nodes that it holds now.
        """
        key = (job.inputs, gpu_type, job.gpu_types)
        if key not in self._levels:
            if self._free is None:
                self._free = self._free_now()
            self._levels[key] = self._fetching.levels(job, self._free, gpu_type=gpu_type)
        levels, held = self._levels[key], job.held if stays else None
        if levels is None:
            return [0.0] * len(sizes)
        if held is None:
            return [levels.of(n) for n in sizes]
        own_s = self._fetching.fetch_s(job, held)
        return [max(own_s, levels.of(n - held.n_workers)) for n in sizes]
