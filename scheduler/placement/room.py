"""Free GPUs, CPUs and memory of every node: the scratch board that gangs are placed on."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from scheduler.snapshot import Allocation, JobSnapshot, Share
from scheduler.topology import Node

_CPU_GRAIN = 1e-9  # CPUs are sums of floats

Spot = tuple[str, int]  # a node's name and a GPU on it


class Room:
    """What is free on each node. Holding and releasing are exact inverses; nodes that left are passed over.

    A GPU is free when its last occupant left. occupants: who holds it, only where nodes allow sharing and all of them
    were profiled; gpu_memory_bytes: what they hold of its memory.
    """

    def __init__(self, nodes: Iterable[Node]) -> None:
        self.nodes: dict[str, Node] = {node.name: node for node in nodes}
        self.gpus: dict[str, set[int]] = {node.name: set(range(node.n_gpus)) for node in self.nodes.values()}
        self.cpus: dict[str, float] = {node.name: node.cpus for node in self.nodes.values()}
        self.memory_bytes: dict[str, int] = {node.name: node.memory_bytes for node in self.nodes.values()}
        self.occupants: dict[Spot, tuple[str, ...]] = {}
        self.gpu_memory_bytes: dict[Spot, int] = {}

    def copy(self) -> Room:
        twin = Room.__new__(Room)
        twin.nodes = self.nodes
        twin.gpus = {name: set(free) for name, free in self.gpus.items()}
        twin.cpus = dict(self.cpus)
        twin.memory_bytes = dict(self.memory_bytes)
        twin.occupants, twin.gpu_memory_bytes = dict(self.occupants), dict(self.gpu_memory_bytes)
        return twin

    def opened_to(self, job: JobSnapshot, beside: Collection[str]) -> Room:
        """A copy in which GPUs that only those jobs hold are free, as far as one more, this one, may go there."""
        twin = self.copy()
        for name, gpu in self.occupants:
            if self._takes(job, (name, gpu), beside):
                twin.gpus[name].add(gpu)
                del twin.occupants[name, gpu]
        return twin

    def hold(self, job: JobSnapshot, allocation: Allocation) -> None:
        for share in self._present(allocation):
            if self.nodes[share.node].max_jobs_per_gpu > 1:
                self._occupy(job, share)
            self.gpus[share.node] -= set(share.gpus)
            cpus, memory_bytes = needs_of(job, share)
            self.cpus[share.node] -= cpus
            self.memory_bytes[share.node] -= memory_bytes

    def release(self, job: JobSnapshot, allocation: Allocation) -> None:
        for share in self._present(allocation):
            is_shared = self.nodes[share.node].max_jobs_per_gpu > 1
            left = self._vacate(job, share) if is_shared else share.gpus
            self.gpus[share.node] |= {gpu for gpu in left if gpu < self.nodes[share.node].n_gpus}
            cpus, memory_bytes = needs_of(job, share)
            self.cpus[share.node] += cpus
            self.memory_bytes[share.node] += memory_bytes

    def fits(self, job: JobSnapshot, allocation: Allocation, *, beside: Collection[str] = ()) -> bool:
        """Is every share of it free, on nodes that exist? beside: jobs whose GPUs it may share."""
        for share in allocation.shares:
            if share.node not in self.nodes:
                return False
            taken = set(share.gpus) - self.gpus[share.node]
            if taken and not (beside and all(self._takes(job, (share.node, gpu), beside) for gpu in taken)):
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

    def mates(self, allocation: Allocation) -> set[str]:
        """Jobs known to hold any of these GPUs."""
        if not self.occupants:
            return set()
        spots = ((share.node, gpu) for share in allocation.shares for gpu in share.gpus)
        return {job_id for spot in spots for job_id in self.occupants.get(spot, ())}

    def _takes(self, job: JobSnapshot, spot: Spot, beside: Collection[str]) -> bool:
        """Does the GPU, that others hold, take this one more? Not if any of them was never profiled."""
        node, there = self.nodes[spot[0]], self.occupants.get(spot, ())
        if job.profile is None or not there or len(there) >= node.max_jobs_per_gpu or not set(there) <= set(beside):
            return False
        used = self.gpu_memory_bytes.get(spot, 0) + (job.profile.gpu_memory_bytes or 0)
        return not node.gpu_memory_bytes or used <= node.gpu_memory_bytes

    def _occupy(self, job: JobSnapshot, share: Share) -> None:
        for spot in ((share.node, gpu) for gpu in share.gpus):
            there = self.occupants.get(spot, ())
            if job.profile is None or not (there or spot[1] in self.gpus[share.node]):
                self.occupants.pop(spot, None)
            elif job.id not in there:
                self.occupants[spot] = (*there, job.id)
                self.gpu_memory_bytes[spot] = self.gpu_memory_bytes.get(spot, 0) + (job.profile.gpu_memory_bytes or 0)

    def _vacate(self, job: JobSnapshot, share: Share) -> list[int]:
        """The GPUs of the share that nobody else is known to hold."""
        left = []
        for gpu in share.gpus:
            spot = (share.node, gpu)
            others = tuple(job_id for job_id in self.occupants.get(spot, ()) if job_id != job.id)
            if others:
                self.occupants[spot] = others
                self.gpu_memory_bytes[spot] -= (job.profile.gpu_memory_bytes or 0) if job.profile else 0
            else:
                self.occupants.pop(spot, None)
                self.gpu_memory_bytes.pop(spot, None)
                left.append(gpu)
        return left

    def _present(self, allocation: Allocation) -> Iterable[Share]:
        return (share for share in allocation.shares if share.node in self.nodes)


def needs_of(job: JobSnapshot, share: Share) -> tuple[float, int]:
    """CPUs and bytes of memory that a share takes from its node."""
    cpus = len(share.gpus) * job.cpus_per_worker + share.n_servers * job.cpus_per_server
    memory_bytes = len(share.gpus) * job.memory_per_worker_bytes + share.n_servers * job.memory_per_server_bytes
    return cpus, memory_bytes
