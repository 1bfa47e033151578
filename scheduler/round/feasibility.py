# SPDX-License-Identifier: Apache-2.0
"""Whether a job could ever run, and on how many workers: what the cluster without any jobs can take."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

from scheduler.api.host_resources import planned_resources
from scheduler.api.plan import Explanation, Reason
from scheduler.api.snapshot import ClusterSnapshot, JobSnapshot, Mode, Phase, TenantSnapshot
from scheduler.api.topology import NodeSnapshot, RackSnapshot
from scheduler.models.known_jobs import KnownJobs
from scheduler.placement.free_resources import FreeResources
from scheduler.quota.ledger import Ledger
from scheduler.round.standing_jobs import MAX_NEEDS, StandingJobs


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
        return self._empty_ledger(tenants).copy()

    def _empty_ledger(self, tenants: tuple[TenantSnapshot, ...]) -> Ledger:
        if self._ledger is None or self._ledger[0] != tenants:
            self._ledger = tenants, Ledger(tenants, n_gpus=self._total, n_by_type=self._n_gpus)
        return self._ledger[1]

    @cached_property
    def opened(self) -> EmptyCluster:
        """Returns the same cluster with all nodes that take no new jobs now."""
        if not self._n_cordoned:
            return self
        return EmptyCluster(tuple(replace(node, is_schedulable=True) for node in self.nodes))

    @property
    def n_cordoned(self) -> int:
        """Returns the number of nodes that take no new jobs."""
        return self._n_cordoned

    def most_workers(self, job: JobSnapshot, tenants: tuple[TenantSnapshot, ...]) -> int:
        """Returns the workers, up to its fixed size, that the job could have on GPUs of one type if no other job ran;
        0 where that is less than its least size.
        """
        ledger, most = self._empty_ledger(tenants), 0
        for gpu_type in self._n_gpus:
            if job.gpu_types and gpu_type not in job.gpu_types:
                continue
            on_type = replace(job, gpu_types=(gpu_type,))
            low, high = max(most, job.min_workers - 1), job.fixed_workers
            while low < high:
                n = (low + high + 1) // 2
                smaller = replace(on_type, min_workers=n)
                if self.refusal(smaller) is None and self.quota_refusal(smaller, ledger) is None:
                    low = n
                else:
                    high = n - 1
            most = max(most, low)
        return most if most >= job.min_workers else 0

    def quota_refusal(self, job: JobSnapshot, ledger: Ledger) -> Explanation | None:
        """Returns why quota, or a limit of its user, can never allow the job's least size; None if it can."""
        types = list[str]()
        if ledger.limits_types(job.tenant, job.user) or ledger.has_types:
            types = [t for t in sorted(self._n_gpus) if not job.gpu_types or t in job.gpu_types]
        host = planned_resources(job, job.min_workers)
        reason = ledger.never(job.tenant, gpus=job.min_workers, gpu_types=types, host=host, user=job.user)
        if reason is None and ledger.users is not None and job.user:
            return ledger.users.never(job.tenant, job.user, gpus=job.min_workers, gpu_types=types)
        return reason

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


@dataclass(frozen=True)
class PossibleSizes:
    """Holds a snapshot in which no waiting job requests more workers than it could ever have.

    reduced: by job that requested more, how many. out_of_reach: by job whose size is there but for nodes that take no
    new jobs now, that reason; a policy of fixed sizes cannot start it.
    """

    snapshot: ClusterSnapshot
    reduced: dict[str, Explanation] = field(default_factory=dict)
    out_of_reach: dict[str, Explanation] = field(default_factory=dict)


class RequestedSizes:
    """Reduces the requested workers of waiting jobs to what cluster and limits could ever give, never below
    min_workers: the number is a wish between min_workers and max_workers.

    Nodes that take no new jobs now count: they may come back, and a job that started smaller would stay so. What was
    found of a job holds for as long as it is the same object, with the same nodes and tenants.
    """

    def __init__(self) -> None:
        self._within = KnownJobs()  # those that stay as they are
        self._changed: dict[str, tuple[JobSnapshot, JobSnapshot]] = {}  # as given, and what became of it
        self._most: dict[tuple[object, ...], tuple[int, int]] = {}
        self._of: tuple[EmptyCluster, tuple[TenantSnapshot, ...]] | None = None

    def of(self, snapshot: ClusterSnapshot, cluster: EmptyCluster) -> PossibleSizes:
        """Returns the snapshot with possible sizes on that cluster, which is the snapshot's own."""
        if self._of is None or self._of[0] is not cluster or self._of[1] != snapshot.tenants:
            self._of = cluster, snapshot.tenants
            self._within.clear()
            self._changed, self._most = {}, {}
        found = PossibleSizes(snapshot)
        within, changed = [], {}
        for job in self._within.unknown(snapshot.jobs):
            if job.phase is not Phase.WAITING or not job.is_sound or job.fixed_workers <= job.min_workers:
                within.append(job)
                continue
            most, most_now = self._most_workers(job, cluster, snapshot.tenants)
            if not most or most_now >= job.fixed_workers:
                within.append(job)
                continue
            if most < job.fixed_workers:
                facts = {"asked": job.fixed_workers, "have": most}
                found.reduced[job.id] = Explanation(Reason.REQUEST_REDUCED, facts)
                known = self._changed.get(job.id)
                changed[job.id] = known if known and known[0] is job else (job, replace(job, requested_workers=most))
            if most_now < most:
                facts = {"need": most, "have": most_now, "closed": cluster.n_cordoned}
                found.out_of_reach[job.id] = Explanation(Reason.NODES_CORDONED, facts)
        self._within.add(within)
        self._changed = changed
        if not changed:
            return found
        jobs = tuple([changed[job.id][1] if job.id in changed else job for job in snapshot.jobs])
        return replace(found, snapshot=replace(snapshot, jobs=jobs))

    def _most_workers(
        self, job: JobSnapshot, cluster: EmptyCluster, tenants: tuple[TenantSnapshot, ...]
    ) -> tuple[int, int]:
        """On all nodes, and on those that take new jobs."""
        servers = (job.mode, job.cpus_per_server, job.memory_per_server_bytes)
        key = (job.needs, job.fixed_workers, servers, job.requested_servers)
        if key not in self._most:
            if len(self._most) >= MAX_NEEDS:
                self._most.clear()
            most = cluster.opened.most_workers(job, tenants)
            self._most[key] = most, most if cluster.opened is cluster else cluster.most_workers(job, tenants)
        return self._most[key]
