"""Free GPUs, CPUs and memory of every node: the scratch board that gangs are placed on."""

from __future__ import annotations

from collections.abc import Iterable

from scheduler.snapshot import Allocation, JobSnapshot, Share
from scheduler.topology import Node

_CPU_GRAIN = 1e-9  # CPUs are sums of floats


class Room:
    """What is free on each node. Holding and releasing are exact inverses; nodes that left are passed over."""

    def __init__(self, nodes: Iterable[Node]) -> None:
        self.nodes: dict[str, Node] = {node.name: node for node in nodes}
        self.gpus: dict[str, set[int]] = {node.name: set(range(node.n_gpus)) for node in self.nodes.values()}
        self.cpus: dict[str, float] = {node.name: node.cpus for node in self.nodes.values()}
        self.memory_bytes: dict[str, int] = {node.name: node.memory_bytes for node in self.nodes.values()}

    def copy(self) -> Room:
        twin = Room.__new__(Room)
        twin.nodes = self.nodes
        twin.gpus = {name: set(free) for name, free in self.gpus.items()}
        twin.cpus = dict(self.cpus)
        twin.memory_bytes = dict(self.memory_bytes)
        return twin

    def hold(self, job: JobSnapshot, allocation: Allocation) -> None:
        for share in self._present(allocation):
            self.gpus[share.node] -= set(share.gpus)
            cpus, memory_bytes = needs_of(job, share)
            self.cpus[share.node] -= cpus
            self.memory_bytes[share.node] -= memory_bytes

    def release(self, job: JobSnapshot, allocation: Allocation) -> None:
        for share in self._present(allocation):
            self.gpus[share.node] |= {gpu for gpu in share.gpus if gpu < self.nodes[share.node].n_gpus}
            cpus, memory_bytes = needs_of(job, share)
            self.cpus[share.node] += cpus
            self.memory_bytes[share.node] += memory_bytes

    def fits(self, job: JobSnapshot, allocation: Allocation) -> bool:
        """Is every share of it free, on nodes that exist?"""
        for share in allocation.shares:
            if share.node not in self.nodes or not set(share.gpus) <= self.gpus[share.node]:
                return False
            cpus, memory_bytes = needs_of(job, share)
            if cpus > self.cpus[share.node] + _CPU_GRAIN or memory_bytes > self.memory_bytes[share.node]:
                return False
        return True

    def limit_to(self, other: Room, allocation: Allocation) -> None:
        """On the allocation's nodes, leave free only what is free in both."""
        for share in self._present(allocation):
            name = share.node
            self.gpus[name] &= other.gpus[name]
            self.cpus[name] = min(self.cpus[name], other.cpus[name])
            self.memory_bytes[name] = min(self.memory_bytes[name], other.memory_bytes[name])

    def workers_on(self, job: JobSnapshot, node: Node) -> int:
        """How many more workers of the job the node can take now; 0 where the job may not go."""
        if not node.is_schedulable or (job.gpu_types and node.gpu_type not in job.gpu_types):
            return 0
        n = len(self.gpus[node.name])
        if job.cpus_per_worker > 0:
            n = min(n, int((self.cpus[node.name] + _CPU_GRAIN) / job.cpus_per_worker))
        if job.memory_per_worker_bytes > 0:
            n = min(n, self.memory_bytes[node.name] // job.memory_per_worker_bytes)
        return max(0, n)

    def servers_on(self, job: JobSnapshot, node: Node) -> int:
        """How many parameter servers of the job the node can take now."""
        if not node.is_schedulable:
            return 0
        n = 1_000_000
        if job.cpus_per_server > 0:
            n = int((self.cpus[node.name] + _CPU_GRAIN) / job.cpus_per_server)
        if job.memory_per_server_bytes > 0:
            n = min(n, self.memory_bytes[node.name] // job.memory_per_server_bytes)
        return max(0, n)

    def n_free(self, gpu_types: tuple[str, ...] = ()) -> int:
        """Free GPUs on schedulable nodes, of these types (none given: of any)."""
        return sum(
            len(self.gpus[node.name])
            for node in self.nodes.values()
            if node.is_schedulable and (not gpu_types or node.gpu_type in gpu_types)
        )

    def _present(self, allocation: Allocation) -> Iterable[Share]:
        return (share for share in allocation.shares if share.node in self.nodes)


def needs_of(job: JobSnapshot, share: Share) -> tuple[float, int]:
    """CPUs and bytes of memory that a share takes from its node."""
    cpus = len(share.gpus) * job.cpus_per_worker + share.n_servers * job.cpus_per_server
    memory_bytes = len(share.gpus) * job.memory_per_worker_bytes + share.n_servers * job.memory_per_server_bytes
    return cpus, memory_bytes
