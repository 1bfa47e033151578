# SPDX-License-Identifier: Apache-2.0
"""CPUs and memory that the pods of a job request: as placement takes them from nodes, and as limits count them."""

from __future__ import annotations

from typing import NamedTuple

from scheduler.api.snapshot import GangAllocation, JobSnapshot, Mode


class HostResources(NamedTuple):
    """Holds what pods request besides GPUs."""

    cpus: float = 0.0
    memory_bytes: int = 0

    def without(self, other: HostResources) -> HostResources:
        """Returns the difference; negative where the other has more."""
        return HostResources(self.cpus - other.cpus, self.memory_bytes - other.memory_bytes)


NOTHING = HostResources()


def host_resources(job: JobSnapshot, n_workers: int, n_servers: int = 0) -> HostResources:
    """Returns what so many workers and parameter servers of the job request."""
    return HostResources(
        n_workers * job.cpus_per_worker + n_servers * job.cpus_per_server,
        n_workers * job.memory_per_worker_bytes + n_servers * job.memory_per_server_bytes,
    )


def held_resources(job: JobSnapshot, held: GangAllocation) -> HostResources:
    """Returns what the job's pods of this allocation request."""
    return host_resources(job, held.n_workers, held.n_servers)


def planned_resources(job: JobSnapshot, n_workers: int) -> HostResources:
    """Returns what so many workers of the job request at least, with the servers without which it cannot run.

    Of a running job that keeps its size, all servers that it has. How many more it gets is placement's choice.
    """
    held = job.held
    if held is not None and held.n_workers == n_workers:
        return held_resources(job, held)
    return host_resources(job, n_workers, 1 if job.mode is Mode.PARAMETER_SERVER else 0)
