# SPDX-License-Identifier: Apache-2.0
"""Free GPUs, CPUs and memory of every node: what gangs are placed on during a round."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Protocol

import numpy as np

from scheduler.api.arrays import Ints
from scheduler.api.host_resources import HostResources, host_resources
from scheduler.api.snapshot import GangAllocation, JobSnapshot, NodeAllocation
from scheduler.api.topology import NodeSnapshot
from scheduler.placement.node_arrays import NodeArrays

_CPU_GRAIN = 1e-9  # CPUs are sums of floats

GpuSlot = tuple[str, int]  # a node's name and a GPU on it

_NOTHING: tuple[Ints, Ints] = (np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))


class Watcher(Protocol):
    """Is notified of every job whose resources are reserved or released."""

    def add(self, job: JobSnapshot, allocation: GangAllocation) -> None:
        """Records that the job holds the allocation."""

    def remove(self, job_id: str) -> None:
        """Records that the job holds it no more."""


class FreeResources:
    """Books what is free on each node. Reserving and releasing are exact inverses; nodes that left are passed over.

    A GPU is free when its last occupant left. gpus: the free ones by node, to be read only. occupants: who holds it,
    only where nodes allow sharing and all of them were profiled; gpu_memory_bytes: what they hold of its memory;
    sharing_scopes: within which they share (JobSnapshot.shares_within).
    Free GPUs, CPUs and memory of all N nodes are kept as arrays, too: gangs are placed by looking at all nodes at once.
    """

    def __init__(self, nodes: Iterable[NodeSnapshot]) -> None:
        self.node_arrays = NodeArrays(tuple(nodes))
        self.nodes: Mapping[str, NodeSnapshot] = self.node_arrays.nodes
        self._gpus = dict(self.node_arrays.whole)
        self._n_free_N = self.node_arrays.n_gpus_N.copy()
        self._cpus_N = self.node_arrays.cpus_N.copy()
        self._memory_bytes_N = self.node_arrays.memory_bytes_N.copy()
        self.occupants: dict[GpuSlot, tuple[str, ...]] = {}
        self.gpu_memory_bytes: dict[GpuSlot, int] = {}
        self.sharing_scopes: dict[GpuSlot, str] = {}
        self.watcher: Watcher | None = None  # of this room, not of its copies

    @property
    def gpus(self) -> Mapping[str, frozenset[int]]:
        """Returns the free GPUs by node, to be read only."""
        return self._gpus

    def gpu_type_of(self, allocation: GangAllocation | None) -> str:
        """Returns the type of the GPUs of an allocation; "" where its nodes are not there."""
        nodes = self.nodes
        for share in allocation.shares if allocation else ():
            if share.gpus and share.node in nodes:
                return nodes[share.node].gpu_type
        return ""

    def copy(self) -> FreeResources:
        """Returns a copy that is booked on independently."""
        twin = FreeResources.__new__(FreeResources)
        twin.node_arrays, twin.nodes, twin.watcher = self.node_arrays, self.nodes, None
        twin._gpus = dict(self._gpus)
        twin._n_free_N = self._n_free_N.copy()
        twin._cpus_N, twin._memory_bytes_N = self._cpus_N.copy(), self._memory_bytes_N.copy()
        twin.occupants, twin.gpu_memory_bytes = dict(self.occupants), dict(self.gpu_memory_bytes)
        twin.sharing_scopes = dict(self.sharing_scopes)
        return twin

    def is_same_room(self, other: FreeResources) -> bool:
        """Returns whether the same is free in both, so that a search finds the same places."""
        return (
            self.nodes is other.nodes
            and self._gpus == other._gpus
            and np.array_equal(self._cpus_N, other._cpus_N)
            and np.array_equal(self._memory_bytes_N, other._memory_bytes_N)
            and self.occupants == other.occupants
            and self.gpu_memory_bytes == other.gpu_memory_bytes
            and self.sharing_scopes == other.sharing_scopes
        )

    def with_shareable_gpus(self, job: JobSnapshot, colocated_with: Collection[str]) -> FreeResources:
        """Returns a copy in which GPUs that only those jobs hold are free, as far as this one may join them."""
        twin = self.copy()
        for name, gpu in self.occupants:
            if self._takes(job, (name, gpu), colocated_with):
                twin._set_gpus(name, twin._gpus[name] | {gpu})
                del twin.occupants[name, gpu]
        return twin

    def reserve(self, job: JobSnapshot, allocation: GangAllocation) -> None:
        """Books an allocation for the job."""
        if self.watcher is not None:
            self.watcher.add(job, allocation)
        place, gpus, n_free_N = self.node_arrays.place, self._gpus, self._n_free_N
        for share in allocation.shares:
            i = place.get(share.node)
            if i is None:
                continue
            if self.nodes[share.node].max_jobs_per_gpu > 1:
                self._occupy(job, share)
            n, n_servers = len(share.gpus), share.n_servers  # as needs_of(), which is asked for less often
            if cpus := n * job.cpus_per_worker + n_servers * job.cpus_per_server:
                self._cpus_N[i] -= cpus
            if memory_bytes := n * job.memory_per_worker_bytes + n_servers * job.memory_per_server_bytes:
                self._memory_bytes_N[i] -= memory_bytes
            gpus[share.node] = free = gpus[share.node].difference(share.gpus)
            n_free_N[i] = len(free)

    def reserve_gpus(self, allocation: GangAllocation) -> None:
        """Books an allocation's GPUs only, without CPUs and memory."""
        for share in self._present(allocation):
            self._set_gpus(share.node, self._gpus[share.node].difference(share.gpus))

    def release(self, job: JobSnapshot, allocation: GangAllocation) -> None:
        """Gives back an allocation of the job."""
        if self.watcher is not None:
            self.watcher.remove(job.id)
        for share in self._present(allocation):
            is_shared = self.nodes[share.node].max_jobs_per_gpu > 1
            left = self._vacate(job, share) if is_shared else share.gpus
            cpus, memory_bytes = needs_of(job, share)
            i = self.node_arrays.place[share.node]
            self._cpus_N[i] += cpus
            self._memory_bytes_N[i] += memory_bytes
            self._set_gpus(share.node, self._gpus[share.node].union(left) & self.node_arrays.whole[share.node])

    def fits(self, job: JobSnapshot, allocation: GangAllocation, *, colocated_with: Collection[str] = ()) -> bool:
        """Returns whether every share of the allocation is free, on nodes that exist.

        colocated_with: jobs whose GPUs it may share.
        """
        for share in allocation.shares:
            i = self.node_arrays.place.get(share.node)
            if i is None:
                return False
            taken = set(share.gpus) - self._gpus[share.node]
            if taken and not (
                colocated_with and all(self._takes(job, (share.node, gpu), colocated_with) for gpu in taken)
            ):
                return False
            cpus, memory_bytes = needs_of(job, share)
            if cpus > self._cpus_N[i] + _CPU_GRAIN or memory_bytes > self._memory_bytes_N[i]:
                return False
        return True

    def restrict_to(self, other: FreeResources, allocation: GangAllocation) -> None:
        """Leaves free, on the allocation's nodes, only what is free in both."""
        for share in self._present(allocation):
            i = self.node_arrays.place[share.node]
            self._set_gpus(share.node, self._gpus[share.node] & other._gpus[share.node])
            self._cpus_N[i] = min(self._cpus_N[i], other._cpus_N[i])
            self._memory_bytes_N[i] = min(self._memory_bytes_N[i], other._memory_bytes_N[i])

    def capacity_by_node(self, job: JobSnapshot, gpu_type: str) -> tuple[Ints, Ints]:
        """Returns nodes of that type that can take workers of the job now, as indices, and how many each, both of shape
        (S,).
        """
        if job.gpu_types and gpu_type not in job.gpu_types:
            return _NOTHING
        node_S = self.node_arrays.open_of(gpu_type)
        k_S = self._n_free_N[node_S]
        if job.cpus_per_worker > 0:
            k_S = np.minimum(k_S, ((self._cpus_N[node_S] + _CPU_GRAIN) / job.cpus_per_worker).astype(np.int64))
        if job.memory_per_worker_bytes > 0:
            k_S = np.minimum(k_S, self._memory_bytes_N[node_S] // job.memory_per_worker_bytes)
        some_S = k_S > 0
        return node_S[some_S], k_S[some_S]

    def has_capacity(self, job: JobSnapshot, gpu_type: str, n_workers: int) -> bool:
        """Returns whether there is capacity for so many workers in all, on nodes of that type."""
        return int(self.capacity_by_node(job, gpu_type)[1].sum()) >= n_workers

    def workers_on(self, job: JobSnapshot, node: NodeSnapshot) -> int:
        """Returns how many more workers of the job the node can take now; 0 where the job may not go."""
        if not node.is_schedulable or (job.gpu_types and node.gpu_type not in job.gpu_types):
            return 0
        i, n = self.node_arrays.place[node.name], len(self._gpus[node.name])
        if job.cpus_per_worker > 0:
            n = min(n, int((float(self._cpus_N[i]) + _CPU_GRAIN) / job.cpus_per_worker))
        if job.memory_per_worker_bytes > 0:
            n = min(n, int(self._memory_bytes_N[i]) // job.memory_per_worker_bytes)
        return max(0, n)

    def servers_on(self, job: JobSnapshot, node: NodeSnapshot, *, workers: int = 0) -> int:
        """Returns how many parameter servers of the job the node can take now, next to so many of its workers."""
        if not node.is_schedulable:
            return 0
        i, n = self.node_arrays.place[node.name], 1_000_000
        if job.cpus_per_server > 0:
            cpus = float(self._cpus_N[i]) - workers * job.cpus_per_worker
            n = int((cpus + _CPU_GRAIN) / job.cpus_per_server)
        if job.memory_per_server_bytes > 0:
            memory_bytes = int(self._memory_bytes_N[i]) - workers * job.memory_per_worker_bytes
            n = min(n, memory_bytes // job.memory_per_server_bytes)
        return max(0, n)

    def by_free_cpus(self) -> list[NodeSnapshot]:
        """Returns all nodes, the one with the most CPUs left first; of equals by name."""
        return [self.node_arrays.node_N[i] for i in np.lexsort((self.node_arrays.rank_N, -self._cpus_N))]

    def n_free(self, gpu_types: tuple[str, ...] = ()) -> int:
        """Returns the number of free GPUs on schedulable nodes, of these types (none given: of any)."""
        return sum(int(self._n_free_N[self.node_arrays.open_of(t)].sum()) for t in gpu_types or self.node_arrays.types)

    def occupants_of(self, allocation: GangAllocation) -> set[str]:
        """Returns the jobs known to hold any of these GPUs."""
        if not self.occupants or all(map(self._are_free, allocation.shares)):
            return set()
        slots = ((share.node, gpu) for share in allocation.shares for gpu in share.gpus)
        return {job_id for slot in slots for job_id in self.occupants.get(slot, ())}

    def _takes(self, job: JobSnapshot, slot: GpuSlot, colocated_with: Collection[str]) -> bool:
        """Does the GPU, that others hold, take this one more? Not if any of them was never profiled, nor where the
        GPU's memory is known and what any of them needs is not."""
        node, there = self.nodes[slot[0]], self.occupants.get(slot, ())
        if (
            job.profile is None
            or not there
            or len(there) >= node.max_jobs_per_gpu
            or not set(there) <= set(colocated_with)
        ):
            return False
        if self.sharing_scopes.get(slot, "") != job.shares_within:
            return False
        if not node.gpu_memory_bytes:
            return True
        needed = self._memory_on(job, slot[0])
        return self.gpu_memory_bytes.get(slot, 0) + needed <= node.gpu_memory_bytes

    def _memory_on(self, job: JobSnapshot, node: str) -> int:
        """What the job holds of a GPU's memory there; all of it, where that was never measured."""
        measured = None if job.profile is None else job.profile.gpu_memory_bytes
        return self.nodes[node].gpu_memory_bytes if measured is None else measured

    def _are_free(self, share: NodeAllocation) -> bool:
        return share.node in self._gpus and self._gpus[share.node].issuperset(share.gpus)

    def _occupy(self, job: JobSnapshot, share: NodeAllocation) -> None:
        name, job_id, occupants, held_bytes = share.node, job.id, self.occupants, self.gpu_memory_bytes
        if job.profile is None:
            for gpu in share.gpus:
                occupants.pop((name, gpu), None)
            return
        free, memory_bytes, alone = self._gpus[name], self._memory_on(job, name), (job_id,)
        scope, scopes = job.shares_within, self.sharing_scopes
        for gpu in share.gpus:
            slot = (name, gpu)
            there = occupants.get(slot)
            if there is None:
                if gpu not in free:
                    continue
                occupants[slot] = alone
            elif job_id in there:
                continue
            else:
                occupants[slot] = (*there, job_id)
            scopes[slot] = scope
            held_bytes[slot] = held_bytes.get(slot, 0) + memory_bytes

    def _vacate(self, job: JobSnapshot, share: NodeAllocation) -> list[int]:
        """The GPUs of the allocation that no other job is known to hold."""
        left = []
        for gpu in share.gpus:
            slot = (share.node, gpu)
            others = tuple(job_id for job_id in self.occupants.get(slot, ()) if job_id != job.id)
            if others:
                self.occupants[slot] = others
                self.gpu_memory_bytes[slot] -= self._memory_on(job, share.node) if job.profile else 0
            else:
                self.occupants.pop(slot, None)
                self.gpu_memory_bytes.pop(slot, None)
                left.append(gpu)
        return left

    def _set_gpus(self, name: str, free: frozenset[int]) -> None:
        self._gpus[name] = free
        self._n_free_N[self.node_arrays.place[name]] = len(free)

    def _present(self, allocation: GangAllocation) -> Iterable[NodeAllocation]:
        return (share for share in allocation.shares if share.node in self.nodes)


def needs_of(job: JobSnapshot, share: NodeAllocation) -> HostResources:
    """Returns the CPUs and bytes of memory that a share takes from its node."""
    return host_resources(job, len(share.gpus), share.n_servers)
