# SPDX-License-Identifier: Apache-2.0
"""Whether a job could ever run: what the cluster without any jobs can take."""

from __future__ import annotations

from scheduler.api.plan import Explanation, Reason
from scheduler.api.snapshot import JobSnapshot, Mode, TenantSnapshot
from scheduler.api.topology import NodeSnapshot, RackSnapshot
from scheduler.placement.free_resources import FreeResources
from scheduler.quota.ledger import Ledger
from scheduler.round.standing_jobs import StandingJobs


class EmptyCluster:
    """Holds the cluster without jobs. GPU types are counted once; answers for jobs with equal needs are kept.

    standing: jobs that waited in earlier rounds. checked: the racks and tenants that were found sound with these nodes
    last; None = the nodes were not looked at yet.
    """

    def __init__(self, nodes: tuple[NodeSnapshot, ...]) -> None:
        self.nodes = nodes
        self.checked: tuple[tuple[RackSnapshot, ...], tuple[TenantSnapshot, ...]] | None = None
        self._free = free = FreeResources(nodes)
        self._n_gpus: dict[str, int] = {}  # by type
        self._n_schedulable: dict[str, int] = {}  # of nodes that accept new jobs
        for node in free.nodes.values():
            self._n_gpus[node.gpu_type] = self._n_gpus.get(node.gpu_type, 0) + node.n_gpus
            schedulable = node.n_gpus * node.is_schedulable
            self._n_schedulable[node.gpu_type] = self._n_schedulable.get(node.gpu_type, 0) + schedulable
        self._total = sum(self._n_gpus.values())
        self._ledger: tuple[tuple[TenantSnapshot, ...], Ledger] | None = None  # the one that was asked for last
        self._n_cordoned = sum(not node.is_schedulable for node in free.nodes.values())
        self._most: dict[tuple[object, ...], int] = {}
        self.standing = StandingJobs()

    def free(self) -> FreeResources:
        """Returns all of its resources, in an object of the caller's own."""
        return self._free.copy()

    def ledger(self, tenants: tuple[TenantSnapshot, ...]) -> Ledger:
        """Returns the books of these tenants on this cluster, in which nothing is booked; an object of the caller's
        own.

        Raises ValueError for tenants that are no tree.
        """
        if self._ledger is None or self._ledger[0] != tenants:
            self._ledger = tenants, Ledger(tenants, n_gpus=self._total, n_by_type=self._n_gpus)
        return self._ledger[1].copy()

    def refusal(self, job: JobSnapshot) -> Explanation | None:
        """Returns why the job can never run at its least size; None if it can."""
        need = job.min_workers
        if not self._free.nodes:
            return Explanation(Reason.NO_NODES)
        if need > self._total:
            return Explanation(Reason.LARGER_THAN_CLUSTER, {"need": need, "have": self._total})
        types = sorted(t for t in self._n_gpus if not job.gpu_types or t in job.gpu_types)
        have = max((self._n_gpus[t] for t in types), default=0)
        if need > have:
            names = ", ".join(types or job.gpu_types)
            return Explanation(Reason.LARGER_THAN_TYPE, {"need": need, "types": names, "have": have})
        schedulable = max(self._n_schedulable[t] for t in types)
        if need > schedulable:
            facts = {"need": need, "have": schedulable, "closed": self._n_cordoned}
            return Explanation(Reason.NODES_CORDONED, facts)
        most = self._most_workers(job, types)
        if need > most:
            memory_gib = job.memory_per_worker_bytes / 2**30
            needs = {"have": most, "need": need, "cpus": job.cpus_per_worker, "memory_gib": memory_gib}
            return Explanation(Reason.NEVER_FITS_NODES, needs)
        return None

    def _most_workers(self, job: JobSnapshot, types: list[str]) -> int:
        """Workers of the job that all nodes of one type can take, for the type that takes the most; next to a parameter
        server, where the job cannot do without.
        """
        servers = (job.cpus_per_server, job.memory_per_server_bytes) if job.mode is Mode.PARAMETER_SERVER else None
        key = (job.cpus_per_worker, job.memory_per_worker_bytes, job.gpu_types, servers)
        if key not in self._most:
            of_type = {t: self._workers_of_type(job, t) for t in types}
            if servers is not None:
                of_type = {t: self._next_to_a_server(job, t, most) for t, most in of_type.items()}
            self._most[key] = max(of_type.values(), default=0)
        return self._most[key]

    def _workers_of_type(self, job: JobSnapshot, gpu_type: str) -> int:
        return sum(self._free.workers_on(job, n) for n in self._free.nodes.values() if n.gpu_type == gpu_type)

    def _next_to_a_server(self, job: JobSnapshot, gpu_type: str, most: int) -> int:
        """Of so many workers, those for which there is room next to a server on the node where it takes the least."""
        found = 0
        for node in self._free.nodes.values():
            n = self._free.workers_on(job, node) if node.gpu_type == gpu_type else 0
            left = next((k for k in range(n, -1, -1) if self._free.servers_on(job, node, workers=k)), None)
            if left is not None:
                found = max(found, most - n + left)
            if found == most:
                break
        return found
