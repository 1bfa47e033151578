# SPDX-License-Identifier: Apache-2.0
"""Actions that may start a waiting job earlier, or make a running one end earlier; each is a change of the snapshot."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from scheduler.api.gpu_budgets import GpuHourBudget
from scheduler.api.plan import Plan, Reason, Wait
from scheduler.api.snapshot import ClusterSnapshot, JobSnapshot, Phase, TenantSnapshot
from scheduler.counterfactuals.blockers import Blocker, BlockerKind

MOST_PRIORITY = 100
BUDGETS = frozenset({BlockerKind.BUDGET, BlockerKind.USER_BUDGET})
LIMITS = frozenset(BlockerKind) - {BlockerKind.FREE_GPUS, BlockerKind.PLACEMENT, BlockerKind.BORROWING}
MOST_PAUSES = 2  # jobs of the same tenant that are tried, one at a time


class ActionKind(StrEnum):
    """Names what can be done for a job."""

    FEWER_WORKERS = "fewer_workers"
    MORE_WORKERS = "more_workers"
    ANY_GPU_TYPE = "any_gpu_type"
    HIGHER_PRIORITY = "higher_priority"
    LARGER_QUOTA = "larger_quota"
    LARGER_QUOTA_OF_TYPE = "larger_quota_of_type"
    LARGER_GUARANTEE = "larger_guarantee"
    LARGER_BORROW_LIMIT = "larger_borrow_limit"
    LARGER_BORROW_LIMIT_OF_TYPE = "larger_borrow_limit_of_type"
    LARGER_QUOTA_OF_CPUS = "larger_quota_of_cpus"
    LARGER_QUOTA_OF_MEMORY = "larger_quota_of_memory"
    MORE_RUNNING_JOBS = "more_running_jobs"
    LARGER_USER_LIMIT = "larger_user_limit"
    LARGER_USER_LIMIT_OF_TYPE = "larger_user_limit_of_type"
    LARGER_USER_LIMIT_OF_CPUS = "larger_user_limit_of_cpus"
    LARGER_USER_LIMIT_OF_MEMORY = "larger_user_limit_of_memory"
    MORE_USER_RUNNING_JOBS = "more_user_running_jobs"
    LARGER_BUDGET = "larger_budget"
    LARGER_USER_BUDGET = "larger_user_budget"
    SEVERAL_LIMITS = "several_limits"
    PAUSE_JOB = "pause_job"


@dataclass(frozen=True)
class TenantPart:
    """Describes a part of a tenant that has no rules yet, such as a project without a quota of its own.

    tenant: the part as a tenant without rules, whose parent is the tenant. jobs: those that would count as its own.
    """

    tenant: TenantSnapshot
    jobs: frozenset[str]


@dataclass(frozen=True)
class Action:
    """Describes one change. job: the one that is changed or paused, or ""; tenant: whose quota is changed, or "".

    user: whose limit within the tenant is changed, or "". changes: fields of JobSnapshot, TenantSnapshot or UserLimit
    with their new values. part: the tenant where it has no rules yet: these are its first. together: limits that bind
    at once, each raised as far as this needs; the action itself changes nothing else then.
    """

    kind: ActionKind
    job: str = ""
    tenant: str = ""
    user: str = ""
    changes: Mapping[str, Any] = field(default_factory=dict)
    part: TenantPart | None = None
    together: tuple[Action, ...] = ()


def applied(action: Action, snapshot: ClusterSnapshot) -> ClusterSnapshot:
    """Returns the snapshot as it would be after the action, at the same instant."""
    for one in action.together:
        snapshot = applied(one, snapshot)
    if action.together:
        return snapshot
    if (part := action.part) is not None:
        jobs = tuple(replace(job, tenant=part.tenant.id) if job.id in part.jobs else job for job in snapshot.jobs)
        return replace(snapshot, jobs=jobs, tenants=(*snapshot.tenants, _with_rules(part.tenant, action)))
    if action.tenant:
        tenants = (_with_rules(t, action) if t.id == action.tenant else t for t in snapshot.tenants)
        return replace(snapshot, tenants=tuple(tenants))
    jobs = tuple(replace(job, **action.changes) if job.id == action.job else job for job in snapshot.jobs)
    return replace(snapshot, jobs=jobs)


def _with_rules(tenant: TenantSnapshot, action: Action) -> TenantSnapshot:
    if not action.user:
        return replace(tenant, **action.changes)
    limits = (replace(one, **action.changes) if one.user == action.user else one for one in tenant.user_limits)
    return replace(tenant, user_limits=tuple(limits))


def candidate_actions(
    snapshot: ClusterSnapshot,
    plan: Plan,
    job: JobSnapshot,
    *,
    need: int,
    blockers: Sequence[Blocker] = (),
    part: TenantPart | None = None,
) -> tuple[Action, ...]:
    """Returns what is worth trying for the job, the least intrusive first; whether it helps is for decide() to say.

    need: workers with which the job starts at least. blockers: of a waiting job. part: of its tenant, of which it is.
    """
    if job.hold is not None or job.phase is Phase.STOPPING:
        return ()
    if job.phase is not Phase.WAITING:
        return (*_other_types(snapshot, job), *_more_workers(snapshot, job), *_priorities(snapshot, plan, job))
    return (
        *_fewer_workers(job, need, blockers),
        *_other_types(snapshot, job),
        *_priorities(snapshot, plan, job),
        *_pauses(snapshot, job),
        *_quotas(snapshot, job, need, blockers),
        *_several_limits(snapshot, job, need, blockers),
        *_guarantees_of_part(snapshot, need, blockers, part),
    )


def _fewer_workers(job: JobSnapshot, need: int, blockers: Sequence[Blocker]) -> Iterator[Action]:
    """As many as everything has now; half as many; one."""
    have = min((blocker.have for blocker in blockers if blocker.need == need), default=0)
    for n in sorted({n for n in (have, need // 2, 1) if 1 <= n < need}, reverse=True):
        changes: dict[str, Any] = {"min_workers": n}
        if job.requested_workers is not None or job.min_workers < need:
            changes["requested_workers"] = n
        yield Action(ActionKind.FEWER_WORKERS, job.id, changes=changes)


def _more_workers(snapshot: ClusterSnapshot, job: JobSnapshot) -> Iterator[Action]:
    """Twice as many as it may have, where it has that many."""
    most = min(2 * job.max_workers, job.batch_size, sum(node.n_gpus for node in snapshot.nodes))
    if job.held is not None and job.held.n_workers == job.max_workers < most:
        yield Action(ActionKind.MORE_WORKERS, job.id, changes={"max_workers": most})


def _other_types(snapshot: ClusterSnapshot, job: JobSnapshot) -> Iterator[Action]:
    if job.gpu_types and any(n.is_schedulable and n.gpu_type not in job.gpu_types for n in snapshot.nodes):
        yield Action(ActionKind.ANY_GPU_TYPE, job.id, changes={"gpu_types": ()})


def _priorities(snapshot: ClusterSnapshot, plan: Plan, job: JobSnapshot) -> Iterator[Action]:
    """Just above the waiting jobs before it; just above all jobs that hold GPUs."""
    waits = {decision.job for decision in plan.decisions if isinstance(decision, Wait)}
    ahead = set(plan.order[: plan.order.index(job.id)]) if job.id in plan.order else set[str]()
    line = [other.priority for other in snapshot.jobs if other.id in waits and other.id in ahead]
    holders = [other.priority for other in snapshot.jobs if other.held is not None and other.id != job.id]
    levels = {max(priorities) + 1 for priorities in (line, holders) if priorities}
    for priority in sorted(level for level in levels if job.priority < level <= MOST_PRIORITY):
        yield Action(ActionKind.HIGHER_PRIORITY, job.id, changes={"priority": priority})


def _pauses(snapshot: ClusterSnapshot, job: JobSnapshot) -> Iterator[Action]:
    """Running jobs of the same tenant that are no more important: the one that started last first."""
    own = [
        other
        for other in snapshot.jobs
        if other.phase is Phase.RUNNING and other.tenant == job.tenant and other.priority <= job.priority
    ]
    own.sort(key=lambda other: (other.priority, -(other.allocated_at_s or 0.0), other.id))
    for other in own[:MOST_PAUSES]:
        # on hold it does not come back when it has left
        yield Action(
            ActionKind.PAUSE_JOB, other.id, changes={"phase": Phase.STOPPING, "hold": Reason.QUARANTINED.value}
        )


def _quotas(snapshot: ClusterSnapshot, job: JobSnapshot, need: int, blockers: Sequence[Blocker]) -> Iterator[Action]:
    """Each limit that is too low, as high as it would have to be."""
    for blocker in blockers:
        if blocker.is_blocking and (action := _raised(snapshot, job, need, blocker)) is not None:
            yield action


def _several_limits(
    snapshot: ClusterSnapshot, job: JobSnapshot, need: int, blockers: Sequence[Blocker]
) -> Iterator[Action]:
    """Where several limits bind at once none helps alone: all budgets, then all other limits, then guarantees."""
    kinds = (BUDGETS, LIMITS, {*LIMITS, BlockerKind.BORROWING})
    tried = 1
    for among in kinds:
        changed, raised = snapshot, list[Action]()
        for blocker in blockers:
            if not blocker.is_blocking or blocker.kind not in among:
                continue
            # of the snapshot as the limits before leave it: two budgets may be of the same owner
            action = _raised(changed, job, need, blocker)
            if action is not None:
                changed = applied(action, changed)
                raised.append(action)
        if len(raised) > tried:
            tried = len(raised)
            yield Action(ActionKind.SEVERAL_LIMITS, together=tuple(raised))


def _raised(snapshot: ClusterSnapshot, job: JobSnapshot, need: int, blocker: Blocker) -> Action | None:
    """Returns what raises the blocker's limit; None for a blocker that is no limit."""
    if blocker.user:
        kind, limits = _raised_user_limit(snapshot, job, blocker)
        return Action(kind, tenant=blocker.tenant, user=job.user, changes=limits)
    found = _raised_limit(snapshot, need, blocker)
    return None if found is None else Action(found[0], tenant=blocker.tenant, changes=found[1])


def _raised_limit(snapshot: ClusterSnapshot, need: int, blocker: Blocker) -> tuple[ActionKind, dict[str, Any]] | None:
    """What raises the blocker's limit, and the tenant's rules then; None for a blocker that is no limit."""
    n_gpus = blocker.total - blocker.have + need
    match blocker.kind:
        case BlockerKind.QUOTA_GPUS if blocker.gpu_types:
            return ActionKind.LARGER_QUOTA_OF_TYPE, _with_type(snapshot, blocker, "gpus_by_type", n_gpus)
        case BlockerKind.BORROWING if _has_room(snapshot, blocker):
            return ActionKind.LARGER_GUARANTEE, {"guarantee": blocker.enough}
        case BlockerKind.BORROW_LIMIT:
            return ActionKind.LARGER_BORROW_LIMIT, {"borrow_limit": blocker.enough}
        case BlockerKind.BORROW_LIMIT_OF_TYPE:
            limits = _with_type(snapshot, blocker, "borrow_limit_by_type", blocker.enough or 0)
            return ActionKind.LARGER_BORROW_LIMIT_OF_TYPE, limits
        case BlockerKind.QUOTA_GPUS:
            return ActionKind.LARGER_QUOTA, {"max_gpus": n_gpus}
        case BlockerKind.QUOTA_CPUS:
            return ActionKind.LARGER_QUOTA_OF_CPUS, {"max_cpus": blocker.enough}
        case BlockerKind.QUOTA_MEMORY:
            return ActionKind.LARGER_QUOTA_OF_MEMORY, {"max_memory_bytes": blocker.enough}
        case BlockerKind.BUDGET:
            budgets = next(t for t in snapshot.tenants if t.id == blocker.tenant).budgets
            return ActionKind.LARGER_BUDGET, {"budgets": _raised_budget(budgets, blocker)}
        case BlockerKind.QUOTA_RUNNING_JOBS:
            return ActionKind.MORE_RUNNING_JOBS, {"max_running_jobs": blocker.total - blocker.have + 1}
    return None


def _raised_user_limit(
    snapshot: ClusterSnapshot, job: JobSnapshot, blocker: Blocker
) -> tuple[ActionKind, dict[str, Any]]:
    """As _raised_limit, of the limits that the job's user has within the blocker's tenant."""
    enough = blocker.enough or 0
    match blocker.kind:
        case BlockerKind.USER_BUDGET:
            limits = next(t for t in snapshot.tenants if t.id == blocker.tenant).user_limits
            budgets = next(one for one in limits if one.user == job.user).budgets
            return ActionKind.LARGER_USER_BUDGET, {"budgets": _raised_budget(budgets, blocker)}
        case BlockerKind.USER_RUNNING_JOBS:
            return ActionKind.MORE_USER_RUNNING_JOBS, {"max_running_jobs": enough}
        case BlockerKind.USER_CPUS:
            return ActionKind.LARGER_USER_LIMIT_OF_CPUS, {"max_cpus": enough}
        case BlockerKind.USER_MEMORY:
            return ActionKind.LARGER_USER_LIMIT_OF_MEMORY, {"max_memory_bytes": enough}
        case _ if blocker.gpu_types:
            limits = next(t for t in snapshot.tenants if t.id == blocker.tenant).user_limits
            by_type = dict(next(one for one in limits if one.user == job.user).gpus_by_type)
            changed = tuple(sorted((by_type | {blocker.gpu_types[0]: enough}).items()))
            return ActionKind.LARGER_USER_LIMIT_OF_TYPE, {"gpus_by_type": changed}
    return ActionKind.LARGER_USER_LIMIT, {"max_gpus": enough}


def _raised_budget(budgets: tuple[GpuHourBudget, ...], blocker: Blocker) -> tuple[GpuHourBudget, ...]:
    """All budgets of the owner, of which the blocker's has as many GPU-hours as would do."""
    enough = float(blocker.enough or 0)
    return tuple(replace(one, gpu_hours=enough) if one == blocker.budget else one for one in budgets)


def _guarantees_of_part(
    snapshot: ClusterSnapshot, need: int, blockers: Sequence[Blocker], part: TenantPart | None
) -> Iterator[Action]:
    """A first guarantee, out of the tenant's, for a part of it that has none: it takes GPUs back from others."""
    above = None if part is None else next((t for t in snapshot.tenants if t.id == part.tenant.parent), None)
    lacks = any(one.is_blocking and one.kind is BlockerKind.BORROWING for one in blockers)
    if part is None or above is None or not lacks:
        return
    used = sum(job.held.n_workers for job in snapshot.jobs if job.id in part.jobs and job.held is not None)
    others = sum(t.guarantee or 0 for t in snapshot.tenants if t.parent == above.id)
    if others + used + need <= (above.guarantee or 0):
        changes = {"guarantee": used + need}
        yield Action(ActionKind.LARGER_GUARANTEE, tenant=part.tenant.id, changes=changes, part=part)


def _has_room(snapshot: ClusterSnapshot, blocker: Blocker) -> bool:
    """Whether the guarantee that would do is within the tenant's own limit, and within what is guaranteed above."""
    by_id, enough = {t.id: t for t in snapshot.tenants}, blocker.enough or 0
    tenant = by_id[blocker.tenant]
    if enough <= (tenant.guarantee or 0) or (tenant.max_gpus is not None and enough > tenant.max_gpus):
        return False
    if tenant.parent is None:
        return True
    others = sum(t.guarantee or 0 for t in snapshot.tenants if t.parent == tenant.parent and t.id != tenant.id)
    return others + enough <= (by_id[tenant.parent].guarantee or 0)


def _with_type(snapshot: ClusterSnapshot, blocker: Blocker, rule: str, enough: int) -> dict[str, Any]:
    """The rule of the blocker's tenant with so many of its type; other types keep theirs."""
    (gpu_type,), tenant = blocker.gpu_types, next(t for t in snapshot.tenants if t.id == blocker.tenant)
    return {rule: tuple(sorted((dict(getattr(tenant, rule)) | {gpu_type: enough}).items()))}
