# SPDX-License-Identifier: Apache-2.0
"""Changes of quotas at known times: what rules hold then, and which jobs would start only to leave for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import groupby
from typing import NamedTuple

from scheduler.api.gpu_budgets import QuotaChange
from scheduler.api.host_resources import planned_resources
from scheduler.api.plan import Explanation, Reason
from scheduler.api.snapshot import ClusterSnapshot, JobSnapshot, Phase, Reclaim, TenantSnapshot
from scheduler.models.forecast.books import BooksChange
from scheduler.quota.ledger import Ledger
from scheduler.round.state import RoundState


def with_changes_due(snapshot: ClusterSnapshot) -> ClusterSnapshot:
    """Returns the snapshot with the rules that hold now: what was to come when it was made, and is not any more, is
    part of them.
    """
    if not snapshot.coming or snapshot.coming[0].at_s > snapshot.now_s:
        return snapshot
    due = [change for change in snapshot.coming if change.at_s <= snapshot.now_s]
    tenants = {tenant.id: tenant for tenant in snapshot.tenants}
    for change in due:
        if change.tenant in tenants:
            tenants[change.tenant] = changed(tenants[change.tenant], change)
    return replace(snapshot, tenants=tuple(tenants.values()), coming=snapshot.coming[len(due) :])


def changed(tenant: TenantSnapshot, change: QuotaChange) -> TenantSnapshot:
    """Returns the tenant with the rules that it has from the change on. Limits that it has not are not set by one."""
    guarantee, of_types = tenant.guarantee, dict(tenant.guarantee_by_type)
    if guarantee is None and change.guarantee:
        guarantee = sum(of_types.values())  # those of types are all there is
    for gpu_type, n in change.guarantee_by_type:
        of_types[gpu_type] = max(0, of_types.get(gpu_type, 0) + n)
    more = dict(change.gpus_by_type)
    return replace(
        tenant,
        guarantee=None if guarantee is None else max(0, guarantee + change.guarantee),
        guarantee_by_type=tuple(sorted(of_types.items())),
        max_gpus=None if tenant.max_gpus is None else max(0, tenant.max_gpus + change.max_gpus),
        gpus_by_type=tuple((gpu_type, max(0, most + more.get(gpu_type, 0))) for gpu_type, most in tenant.gpus_by_type),
    )


class RulesLater(NamedTuple):
    """Holds the tenants as they are from a time of the snapshot on. lowers: a limit or guarantee falls then."""

    at_s: float
    tenants: tuple[TenantSnapshot, ...]
    lowers: bool


def rules_later(snapshot: ClusterSnapshot) -> Iterator[RulesLater]:
    """Yields the rules from each later time on at which they change, in order."""
    tenants = {tenant.id: tenant for tenant in snapshot.tenants}
    for at_s, together in groupby(snapshot.coming, key=lambda change: change.at_s):
        changes = list(together)
        for change in changes:
            if change.tenant in tenants:
                tenants[change.tenant] = changed(tenants[change.tenant], change)
        yield RulesLater(at_s, tuple(tenants.values()), any(change.lowers for change in changes))


def books_later(snapshot: ClusterSnapshot) -> list[BooksChange]:
    """Returns the books of later rules for a forecast. An owner that reclaims from lower priorities alone counts as one
    that reclaims from all.
    """
    return [
        BooksChange(
            later.at_s - snapshot.now_s,
            _empty(snapshot, later.tenants),
            {tenant.id for tenant in later.tenants if tenant.reclaim is not Reclaim.NEVER},
            later.lowers,
        )
        for later in rules_later(snapshot)
    ]


def next_change_s(snapshot: ClusterSnapshot) -> float | None:
    """Returns when rules change next, on the snapshot's clock; None if that is not known."""
    return snapshot.coming[0].at_s if snapshot.coming else None


def without_gain(state: RoundState) -> Mapping[str, Explanation]:
    """Returns, by waiting job that had to leave for others' guarantees before it trained, why it does not start now.

    1. the next change of rules is so near that a job could not start and save a checkpoint before it; 2. in the books
    of then, all that is held is booked, and waiting jobs that are within a guarantee then, and are not now; 3. of the
    others, those do not start for which nothing is left in these books.
    """
    snapshot = state.snapshot
    first = next(rules_later(snapshot), None)
    if first is None:
        return {}
    left_s = first.at_s - snapshot.now_s
    waiting = [job for job in state.candidates if job.phase is Phase.WAITING]
    near = [job for job in waiting if left_s <= state.startup.start_s(job) + max(0.0, job.checkpoint_s)]  # 1
    if not near:
        return {}
    then, now = _empty(snapshot, first.tenants), state.ledger_now
    for job in snapshot.jobs:  # 2
        if job.held is not None and job.phase is not Phase.STOPPING:
            _book(then, job, job.held.n_workers, state.free_now.gpu_type_of(job.held))
    claims = set[str]()
    for job in sorted(waiting, key=lambda job: (-job.priority, job.submitted_at_s, job.id)):
        n = job.min_workers
        if then.is_guaranteed(job.tenant, n) and not now.is_guaranteed(job.tenant, n):
            _book(then, job, n, _only_type(job))
            claims.add(job.id)
    if not claims:
        return {}
    return {  # 3
        job.id: Explanation(Reason.QUOTA_CHANGES_SOON, {"wait_s": left_s})
        for job in near
        if job.id not in claims and not _may_stay(then, job) and not now.is_guaranteed(job.tenant, job.min_workers)
    }


def _may_stay(then: Ledger, job: JobSnapshot) -> bool:
    n, host = job.min_workers, planned_resources(job, job.min_workers)
    return then.is_guaranteed(job.tenant, n) or then.allows(
        job.tenant, gpus=n, user=job.user, gpu_type=_only_type(job), host=host
    )


def _book(ledger: Ledger, job: JobSnapshot, n_gpus: int, gpu_type: str) -> None:
    ledger.reserve(job.tenant, gpus=n_gpus, user=job.user, gpu_type=gpu_type, host=planned_resources(job, n_gpus))


def _only_type(job: JobSnapshot) -> str:
    return job.gpu_types[0] if len(job.gpu_types) == 1 else ""


def _empty(snapshot: ClusterSnapshot, tenants: tuple[TenantSnapshot, ...]) -> Ledger:
    return Ledger(tenants, n_gpus=sum(snapshot.n_by_type.values()), n_by_type=snapshot.n_by_type)
