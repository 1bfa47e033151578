# SPDX-License-Identifier: Apache-2.0
"""Step 2 of a round: what tenants are entitled to, by their guarantees and by fair shares."""

from __future__ import annotations

from scheduler.api.snapshot import Phase
from scheduler.quota.borrowing import BorrowingLedger
from scheduler.quota.demand import Borrower, QuotaDemand, SharedGpuCounter
from scheduler.quota.entitlements import FairEntitlement
from scheduler.quota.fair_borrowing import FairBorrowing
from scheduler.quota.fair_sharing import Shares, demand_R, is_fair, total_R
from scheduler.quota.guarantees import GuaranteeClaims
from scheduler.quota.reclaim import within_guarantee
from scheduler.quota.studies import study_limits
from scheduler.quota.usage import DecayedUsage
from scheduler.round.state import RoundState


def entitle(state: RoundState, *, is_elastic: bool, usage: DecayedUsage) -> None:
    """Sets the budget's entitlement; leaves it None where no tenant has a guarantee and none shares fairly.

    1. what runs is booked;
    2. waiting jobs within a guarantee claim GPUs: their own tenant's guarantee first, then that of parents; within
       each by priority and submission. A claim is met by free GPUs, else by GPUs that borrowers return, as the owner's
       rule of reclaim says; else it waits for borrowed GPUs, and no tenant borrows anew;
    3. what tenants use and claim within their guarantees is closed to all others, in number and by type of GPU;
    4. GPUs that are guaranteed to no tenant are given out by fair share, where tenants share fairly.

    is_elastic: the policy may make jobs smaller; of those that run, only their least sizes are closed then.
    """
    borrowing = state.budget.borrowing
    if borrowing is None:
        return
    unused = borrowing.copy()
    claims = GuaranteeClaims(_demand(state), borrowing.copy(), state.budget.books())  # 1
    claims.claim()  # 2
    claims.guard(unused, is_elastic=is_elastic)  # 3
    fair = FairEntitlement()
    if is_fair(state.snapshot.tenants):
        shares = shares_of(state, borrowing, usage)
        for job in state.candidates:
            if job.id in claims.claimants:
                shares.add(job.tenant, demand_R(job, claims.claimants[job.id].n_workers), is_new=True)
        protected = [b.job.id for b in within_guarantee(claims.running.values(), unused)]
        fair = FairBorrowing(claims, shares, is_elastic).rights(protected)  # 4
        for tenant, n in claims.demand.settled.items():
            fair.used[fair.groups.get(tenant, tenant)] = fair.used.get(fair.groups.get(tenant, tenant), 0) + n
    for books in (borrowing, state.ledger_now.borrowing):
        if books is not None:
            books.keep_used(claims.booked)
    state.budget.entitlement = claims.entitlement(fair)


def limit_studies(state: RoundState, *, is_elastic: bool) -> None:
    """Sets the most that each study may have next to the other jobs of its tenant, within what the tenant may have."""
    if not any(job.study for job in state.notable):
        return
    entitlement = state.budget.entitlement
    fair = entitlement.fair if entitlement is not None else FairEntitlement()
    settled = state.settled.keys() | state.resuming.keys()
    state.budget.studies = study_limits(
        state.snapshot.tenants,
        state.candidates,
        settled=(job for job in state.snapshot.jobs if job.id in settled),
        n_left=state.budget.n_left(),
        is_elastic=is_elastic,
        ceilings={t: fair.ceilings[group] for t, group in fair.groups.items() if group in fair.ceilings},
    )


def _demand(state: RoundState) -> QuotaDemand:
    return QuotaDemand(
        state.snapshot.tenants, state.candidates, _running(state), state.budget.left_by_type(), _settled_gpus(state)
    )


def _running(state: RoundState) -> dict[str, Borrower]:
    """Candidates that hold GPUs; a GPU that several jobs hold counts for the first of them."""
    counter, found = SharedGpuCounter(), {}
    for job in state.candidates:
        held = job.held
        if held is not None:
            node = next(s.node for s in held.shares if s.gpus)
            n_gpus = held.n_workers - counter.n_shared(held)
            found[job.id] = Borrower(job, n_gpus, state.free_now.nodes[node].gpu_type)
    return found


def _settled_gpus(state: RoundState) -> dict[str, int]:
    """By tenant, GPUs of jobs on which nothing is decided."""
    found: dict[str, int] = {}
    for job in state.snapshot.jobs:
        promised = state.pending_resizes.get(job.id) or state.resuming.get(job.id)
        is_decided = job.id in state.settled and job.phase is not Phase.STOPPING
        held = promised or (job.held if is_decided else None)
        if held is not None:
            found[job.tenant] = found.get(job.tenant, 0) + held.n_workers
    return found


def shares_of(state: RoundState, borrowing: BorrowingLedger, usage: DecayedUsage) -> Shares:
    """Returns the tenants' shares, with all that jobs hold and are not about to leave."""
    tenants = state.snapshot.tenants
    cluster_R = total_R(state.snapshot.nodes)
    blank = Shares(tenants, borrowing=borrowing, cluster_R=cluster_R)
    keys = sorted({key for line in blank.lines.values() for key in line}, key=str)
    aged = {key: usage.age(key, half_life_s) for key in keys if (half_life_s := blank.half_life_s(key[0]))}
    shares = Shares(tenants, borrowing=borrowing, cluster_R=cluster_R, uses=aged)
    for job in state.snapshot.jobs:
        held = state.pending_resizes.get(job.id) or state.resuming.get(job.id) or job.held
        if held is not None and (job.phase is not Phase.STOPPING or job.id in state.pending_resizes):
            shares.add(job.tenant, demand_R(job, held.n_workers))
    return shares
