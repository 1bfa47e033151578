# SPDX-License-Identifier: Apache-2.0
"""What a waiting job needs against what it can have now: GPUs, a place for the gang, and quota at each level."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from scheduler.api.gpu_budgets import GpuHourBudget
from scheduler.api.host_resources import HostResources, host_resources, planned_resources
from scheduler.api.memory import RoundMemory
from scheduler.api.snapshot import ClusterSnapshot, JobSnapshot, TenantSnapshot
from scheduler.placement.free_resources import FreeResources
from scheduler.policies.abilities import abilities_of
from scheduler.quota.borrowing import BorrowingLedger
from scheduler.quota.gpu_hours import HOUR_S, GpuHourLimits
from scheduler.quota.host_limits import CPU_GRAIN, HostLimit
from scheduler.round.admission import admit
from scheduler.round.cache import RoundCache
from scheduler.round.feasibility import EmptyCluster
from scheduler.round.state import RoundState

LEAST_RUN_S = 3600.0  # a budget is raised for at least so long a run: a shorter one is used up before anyone looks
MEMORY_UNIT_BYTES = 1 << 27  # limits that are advised are multiples of it: three decimals of a GiB at most


class BlockerKind(StrEnum):
    """Names what a job can lack."""

    FREE_GPUS = "free_gpus"  # of the types that it may have
    PLACEMENT = "placement"  # workers that free GPUs, CPUs and memory take as one gang
    QUOTA_GPUS = "quota_gpus"
    QUOTA_RUNNING_JOBS = "quota_running_jobs"
    QUOTA_CPUS = "quota_cpus"  # workers that a limit of CPUs, or of memory, has room for
    QUOTA_MEMORY = "quota_memory"
    USER_GPUS = "user_gpus"  # limits of the one whose job it is
    USER_RUNNING_JOBS = "user_running_jobs"
    USER_CPUS = "user_cpus"  # as of the quota
    USER_MEMORY = "user_memory"
    BORROW_LIMIT = "borrow_limit"  # GPUs, guaranteed and within the limit of borrowing
    BORROW_LIMIT_OF_TYPE = "borrow_limit_of_type"  # GPUs of a type, guaranteed and within the limit of borrowing
    BORROWING = "borrowing"  # GPUs within the guarantee, and what can be borrowed now
    BUDGET = "budget"  # GPU-hours of a budget that stops jobs
    USER_BUDGET = "user_budget"


@dataclass(frozen=True)
class Blocker:
    """Holds what a job needs of something against what there is.

    need: workers, 1 running job, or 1 GPU-hour. have: of these, what it could get now. total: all that there is, or the
    limit. tenant: whose quota; "" for resources. user: whose limit within the tenant; "" = the tenant's own. gpu_types:
    that count; () = all. guarantee: the tenant's, in GPUs. enough: the limit of CPUs, bytes, borrowed GPUs, of a user,
    the guarantee, or the GPU-hours, that would do. closed: GPUs of types that it may use, on nodes that take no new
    jobs; not part of total. budget: of GPU-hours; enough of it is what lets the job run to its predicted end.
    """

    kind: BlockerKind
    need: int
    have: int
    total: int
    tenant: str = ""
    gpu_types: tuple[str, ...] = ()
    guarantee: int | None = None
    user: str = ""
    enough: int | None = None
    closed: int = 0
    budget: GpuHourBudget | None = None

    @property
    def is_blocking(self) -> bool:
        """Returns whether the job lacks it now."""
        return self.have < self.need


def workers_needed(job: JobSnapshot, policy: object) -> int:
    """Returns with how many workers the job starts at least: its least size where the policy is elastic."""
    return job.min_workers if abilities_of(policy).is_elastic else job.fixed_workers


def possible_sizes(snapshot: ClusterSnapshot, cache: RoundCache) -> ClusterSnapshot:
    """Returns the snapshot as a round reads it: no waiting job requests more workers than it could ever have."""
    narrowed = GpuHourLimits(snapshot).narrow(snapshot)
    return cache.requested_sizes.of(narrowed, cache.empty_cluster(narrowed.nodes)).snapshot


def workers_to_start(snapshot: ClusterSnapshot, job: JobSnapshot, policy: object) -> int:
    """Returns workers_needed() of the job as a round reads it: a request is at most what there can ever be."""
    alone = possible_sizes(replace(snapshot, jobs=(job,)), RoundCache())
    return workers_needed(alone.jobs[0], policy)


def blockers_of(
    snapshot: ClusterSnapshot, job: JobSnapshot, *, need: int, memory: RoundMemory, run_s: float | None = None
) -> tuple[Blocker, ...]:
    """Returns what counts for a waiting job, what it lacks first.

    run_s: how long it is predicted to run; None where that is not known.
    Raises ValueError for a snapshot that contradicts itself.
    """
    cluster = EmptyCluster(snapshot.nodes)
    state = admit(snapshot, memory, cluster=cluster)
    found = [*_resources(state, cluster, job, need), *_quota(state, job, need), *_budgets(state, job, need, run_s)]
    return tuple(sorted(found, key=lambda blocker: not blocker.is_blocking))


def _resources(state: RoundState, cluster: EmptyCluster, job: JobSnapshot, need: int) -> Iterator[Blocker]:
    """A gang has one GPU type: the type that offers the most counts."""
    schedulable = [node for node in state.snapshot.nodes if node.is_schedulable]
    types = tuple(sorted({node.gpu_type for node in schedulable if _may_use(job, node.gpu_type)}))
    totals = {t: sum(node.n_gpus for node in schedulable if node.gpu_type == t) for t in types}
    free = {t: state.free_now.n_free((t,)) for t in types}
    most_free, most = max(free.values(), default=0), max(totals.values(), default=0)
    closed = sum(n.n_gpus for n in state.snapshot.nodes if not n.is_schedulable and _may_use(job, n.gpu_type))
    yield Blocker(BlockerKind.FREE_GPUS, need, most_free, most, gpu_types=types, closed=closed)
    if most_free >= need:
        placeable = _largest_gang(state.free_now, job, types)
        if placeable < need:
            total = _largest_gang(cluster.free(), job, types)
            yield Blocker(BlockerKind.PLACEMENT, need, placeable, total, gpu_types=types)


def _may_use(job: JobSnapshot, gpu_type: str) -> bool:
    return not job.gpu_types or gpu_type in job.gpu_types


def _largest_gang(free: FreeResources, job: JobSnapshot, types: tuple[str, ...]) -> int:
    """Workers of the job that nodes of one type take, for the type that takes the most."""
    return max((int(free.capacity_by_node(job, t)[1].sum()) for t in types), default=0)


def _quota(state: RoundState, job: JobSnapshot, need: int) -> Iterator[Blocker]:
    """Of limits by GPU type only those of the job's one type count: with several it may take another one."""
    ledger = state.ledger_now
    for tenant in _line(state.snapshot, job.tenant):
        if tenant.max_gpus is not None:
            have = max(0, tenant.max_gpus - ledger.gpus_of(tenant.id))
            yield Blocker(BlockerKind.QUOTA_GPUS, need, have, tenant.max_gpus, tenant.id, guarantee=tenant.guarantee)
        for gpu_type, most in tenant.gpus_by_type if len(job.gpu_types) == 1 else ():
            if gpu_type == job.gpu_types[0]:
                have = max(0, most - ledger.gpus_of(tenant.id, gpu_type))
                yield Blocker(BlockerKind.QUOTA_GPUS, need, have, most, tenant.id, (gpu_type,))
        if tenant.max_running_jobs is not None:
            have = max(0, tenant.max_running_jobs - ledger.jobs_of(tenant.id))
            yield Blocker(BlockerKind.QUOTA_RUNNING_JOBS, 1, have, tenant.max_running_jobs, tenant.id)
    if ledger.hosts is not None:
        for limit in ledger.hosts.limits(job.tenant, job.user):
            yield from _of_host(ledger.hosts.used(*limit.key), limit, job, need)
    yield from _of_user(state, job, need)
    if ledger.borrowing is not None:
        yield from _of_borrow_limits(state, ledger.borrowing, job, need)
        only = job.gpu_types[0] if len(job.gpu_types) == 1 else ""
        have, most = max(0, ledger.borrowing.available(job.tenant, gpu_type=only)), ledger.borrowing.most(job.tenant)
        n_gpus = sum(node.n_gpus for node in state.snapshot.nodes)
        yield Blocker(
            BlockerKind.BORROWING,
            need,
            min(have, n_gpus),
            min(most, n_gpus),
            job.tenant,
            guarantee=ledger.borrowing.guarantee(job.tenant),
            enough=ledger.borrowing.used_below(job.tenant) + need,
        )


def _of_borrow_limits(state: RoundState, borrowing: BorrowingLedger, job: JobSnapshot, need: int) -> Iterator[Blocker]:
    """Of limits of borrowing by type only those of the job's one type, as above."""
    for tenant in _line(state.snapshot, job.tenant):
        if tenant.borrow_limit is not None:
            most, used = borrowing.pool(tenant.id) + tenant.borrow_limit, borrowing.used(tenant.id)
            yield Blocker(
                BlockerKind.BORROW_LIMIT,
                need,
                max(0, most - used),
                most,
                tenant.id,
                guarantee=borrowing.guarantee(tenant.id),
                enough=max(0, used + need - borrowing.pool(tenant.id)),
            )
    books = borrowing.of_type(job.gpu_types[0]) if len(job.gpu_types) == 1 else None
    if books is None:
        return
    for tenant in _line(state.snapshot, job.tenant):
        limit = dict(tenant.borrow_limit_by_type).get(job.gpu_types[0])
        if limit is not None:
            own, used = books.pool(tenant.id), books.used(tenant.id)
            yield Blocker(
                BlockerKind.BORROW_LIMIT_OF_TYPE,
                need,
                max(0, own + limit - used),
                own + limit,
                tenant.id,
                job.gpu_types,
                guarantee=books.guarantee(tenant.id),
                enough=used + need - own,
            )


def _of_host(used: HostResources, limit: HostLimit, job: JobSnapshot, need: int) -> Iterator[Blocker]:
    """The server without which the job cannot run, if there is one, counts as taken."""
    server = planned_resources(job, need).without(host_resources(job, need))
    user = "" if limit.user is None else limit.user.name or limit.user.user
    kinds = (BlockerKind.QUOTA_CPUS, BlockerKind.QUOTA_MEMORY)
    of_cpus, of_memory = (BlockerKind.USER_CPUS, BlockerKind.USER_MEMORY) if user else kinds
    for kind, most, taken, server_takes, each, unit in (
        (of_cpus, limit.max_cpus, used.cpus, server.cpus, job.cpus_per_worker, 1),
        (
            of_memory,
            limit.max_memory_bytes,
            used.memory_bytes,
            server.memory_bytes,
            job.memory_per_worker_bytes,
            MEMORY_UNIT_BYTES,
        ),
    ):
        if most is not None and each > 0:
            total = int((most - server_takes + CPU_GRAIN) // each)
            have = max(0, int((most - server_takes - taken + CPU_GRAIN) // each))
            enough = unit * math.ceil((taken + server_takes + need * each - CPU_GRAIN) / unit)
            yield Blocker(kind, need, have, total, limit.at.id, user=user, enough=enough)


def _of_user(state: RoundState, job: JobSnapshot, need: int) -> Iterator[Blocker]:
    users = state.ledger_now.users
    if users is None:
        return
    for at, limit in users.of(job.tenant, job.user):
        name = limit.name or limit.user
        limits = [(limit.max_gpus, "")]
        if len(job.gpu_types) == 1:
            limits.append((limit.most_of(job.gpu_types[0]), job.gpu_types[0]))
        for most, gpu_type in limits:
            if most is not None:
                used, types = users.gpus_of(at.id, job.user, gpu_type), (gpu_type,) if gpu_type else ()
                have, enough = max(0, most - used), used + need
                yield Blocker(BlockerKind.USER_GPUS, need, have, most, at.id, types, user=name, enough=enough)
        if limit.max_running_jobs is not None:
            most, used = limit.max_running_jobs, users.jobs_of(at.id, job.user)
            have, enough = max(0, most - used), used + 1
            yield Blocker(BlockerKind.USER_RUNNING_JOBS, 1, have, most, at.id, user=name, enough=enough)


def _budgets(state: RoundState, job: JobSnapshot, need: int, run_s: float | None) -> Iterator[Blocker]:
    """Those that stop jobs when they are used up. One that is used up on some types only keeps no job from others."""
    is_refused = state.limits.refusal(job) is not None
    hours = need * max(LEAST_RUN_S, run_s or 0.0) / HOUR_S
    for owned in state.limits.binding_anywhere(job):
        budget = owned.budget
        if budget.is_exhausted and not is_refused:
            continue
        left = 0 if budget.is_exhausted else max(1, int(budget.gpu_hours - budget.used_gpu_hours))
        yield Blocker(
            BlockerKind.BUDGET if owned.user is None else BlockerKind.USER_BUDGET,
            1,
            left,
            round(budget.gpu_hours),
            owned.tenant.id,
            (budget.gpu_type,) if budget.gpu_type else (),
            user="" if owned.user is None else owned.user.name or owned.user.user,
            enough=math.ceil(max(budget.used_gpu_hours, budget.gpu_hours) + hours),
            budget=budget,
        )


def _line(snapshot: ClusterSnapshot, tenant_id: str) -> Iterator[TenantSnapshot]:
    """The tenant and all above it."""
    tenants = {tenant.id: tenant for tenant in snapshot.tenants}
    next_id: str | None = tenant_id
    while next_id is not None:
        yield tenants[next_id]
        next_id = tenants[next_id].parent
