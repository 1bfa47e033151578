"""A step of the round around its policy: what tenants are entitled to, by guarantee and by fair share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from scheduler.api.plan import Decision, Launch, Preempt, Resize, Wait
from scheduler.api.snapshot import Phase
from scheduler.policies.toolkit.policy import Grant, Policy, Proposal, View
from scheduler.quota.borrowing import BorrowingLedger
from scheduler.quota.budget import Budget
from scheduler.quota.entitlements import FairEntitlement
from scheduler.quota.fair_borrowing import FairBorrowing
from scheduler.quota.fair_sharing import Shares, demand_R, is_fair, total_R
from scheduler.quota.guarantees import GuaranteeClaims, keep
from scheduler.quota.reclaim import within_guarantee
from scheduler.quota.usage import DecayedUsage
from scheduler.round.admission import RoundState, held_by

CLAIMS_AGAIN_S = 60.0  # after which a round is due for claims that stayed unmet
MOST_PROPOSALS = 3  # of a policy that leaves GPUs idle, because tenants had their parts


def entitle(scene: RoundState, *, sizes_jobs: bool, uses: DecayedUsage) -> None:
    """Tells the scene's budget what tenants are entitled to in this round; nothing, where no tenant has a guarantee and
    none shares fairly.

    1. what runs is booked;
    2. waiting jobs within a guarantee claim GPUs: their own tenant's guarantee first, then that of parents; within
       each by priority and submission. A claim is met by free GPUs, else by what borrowers give back, as the owner's
       rule of reclaim says; else it waits for lent GPUs, and nobody borrows anew;
    3. what tenants use and claim within their guarantees is closed to all others, in number and by type of GPU;
    4. what nobody is guaranteed is shared out by turns, where tenants share fairly (surplus.py).

    sizes_jobs: the policy may make jobs smaller; of those that run, only their least sizes are closed then.
    """
    lending = scene.budget.lending
    if lending is None:
        return
    unused = lending.copy()
    claims = GuaranteeClaims(scene, lending.copy(), scene.budget.books())  # 1
    claims.claim()  # 2
    claims.guard(unused, sizes_jobs=sizes_jobs)  # 3
    fair = FairEntitlement()
    if is_fair(scene.snapshot.tenants):
        shares = shares_of(scene, lending, uses)
        for job in scene.candidates:
            if job.id in claims.claimants:
                shares.add(job.tenant, demand_R(job, claims.claimants[job.id].n_workers), is_new=True)
        protected = [b.job.id for b in within_guarantee(claims.running.values(), unused)]
        fair = FairBorrowing(claims, shares, sizes_jobs).rights(protected)  # 4
        for tenant, n in claims.settled().items():
            fair.used[fair.groups.get(tenant, tenant)] = fair.used.get(fair.groups.get(tenant, tenant), 0) + n
    for books in (lending, scene.ledger_now.lending):
        if books is not None:
            keep(books, claims.booked, claims.tenants.values())
    scene.budget.entitlement = claims.entitlement(fair)


def propose(policy: Policy, view: View, *, scene: RoundState, memory: Mapping[str, Any]) -> Proposal:
    """The policy's answer within what tenants are entitled to.

    Where tenants that share fairly had their parts while others left GPUs idle, the policy is asked again, with what is
    left shared out among the former. Asked at most MOST_PROPOSALS times; the same memory each time.
    """
    budget = scene.budget
    if budget.entitlement is None or not budget.entitlement.fair.ceilings:
        return _serve_claims(scene, policy.propose(view, budget=budget, memory=memory), budget)
    shares = shares_of(scene, _books(budget), DecayedUsage({}, now_s=view.now_s))
    for n_before in range(MOST_PROPOSALS):
        trial = budget.copy()
        proposal = _serve_claims(scene, policy.propose(view, budget=trial, memory=memory), trial)
        if n_before == MOST_PROPOSALS - 1 or not _shares_out_the_rest(budget, trial, shares):
            break
    budget.adopt(trial)
    return proposal


def _serve_claims(scene: RoundState, proposal: Proposal, budget: Budget) -> Proposal:
    """The proposal with a grant for every claim that can be met but that the policy left out; claims in front.

    A right does not depend on the policy's order, nor on its search. In front: so that owners choose their places among
    what is free now, and have not to wait for more.
    """
    entitlement = budget.entitlement
    if entitlement is None or not entitlement.claimants:
        return proposal
    granted = {grant.job for grant in proposal.grants}
    added = []
    for job in scene.candidates:
        claim = entitlement.claimants.get(job.id)
        if claim is None or job.id in granted:
            continue
        if entitlement.is_open(job) and budget.take(job, claim.n_workers, gpu_type=claim.gpu_type):
            added.append(Grant(job.id, claim.n_workers, claim.gpu_type, (claim.why,)))
    grants = sorted((*proposal.grants, *added), key=lambda grant: grant.job not in entitlement.claimants)
    return replace(proposal, grants=tuple(grants))


def open_claims(
    scene: RoundState, decisions: Mapping[str, Decision], before: Mapping[str, float]
) -> tuple[dict[str, float], float | None]:
    """Since when each waiting job's claim has stayed unmet, and when it is time to look again; None = it is not.

    A claim stays unmet where its tenant's GPUs went to another of its jobs, or where no node takes it. What is left of
    the guarantee is claimed anew then: once for each, for whatever else helps brings a round by itself.
    before: as told by the round before.
    """
    now_s, entitlement = scene.snapshot.now_s, scene.budget.entitlement
    claimants = entitlement.claimants if entitlement is not None else ()
    since_s = {job_id: before.get(job_id, now_s) for job_id in claimants if isinstance(decisions[job_id], Wait)}
    again_s = (at_s + CLAIMS_AGAIN_S for at_s in since_s.values())
    return since_s, min((at_s for at_s in again_s if at_s > now_s), default=None)


def shares_of(scene: RoundState, lending: BorrowingLedger, uses: DecayedUsage) -> Shares:
    """With all that is held and not on its way out."""
    tenants = scene.snapshot.tenants
    cluster_R = total_R(scene.snapshot.nodes)
    blank = Shares(tenants, lending=lending, cluster_R=cluster_R)
    keys = sorted({key for line in blank.lines.values() for key in line}, key=str)
    aged = {key: uses.age(key, half_life_s) for key in keys if (half_life_s := blank.half_life_s(key[0]))}
    shares = Shares(tenants, lending=lending, cluster_R=cluster_R, uses=aged)
    for job in scene.snapshot.jobs:
        held = scene.pending.get(job.id) or scene.returning.get(job.id) or held_by(job)
        if held is not None and (job.phase is not Phase.STOPPING or job.id in scene.pending):
            shares.add(job.tenant, demand_R(job, held.n_workers))
    return shares


def note_uses(scene: RoundState, decisions: Mapping[str, Decision], uses: DecayedUsage) -> dict[str, Any]:
    """What each contender holds after the round, for the next one; empty, where nobody's use counts."""
    lending = scene.budget.lending
    if lending is None or not any(t.shares_fairly and t.half_life_s for t in scene.snapshot.tenants):
        return {}
    shares = Shares(scene.snapshot.tenants, lending=lending, cluster_R=total_R(scene.snapshot.nodes))
    started = shares.copy()
    for job in scene.snapshot.jobs:
        decision, held = decisions[job.id], held_by(job)
        if isinstance(decision, Launch | Resize):
            held = decision.allocation
        if held is None or isinstance(decision, Wait | Preempt):
            continue
        is_start = isinstance(decision, Launch) and job.id not in scene.returning
        shares.add(job.tenant, demand_R(job, held.n_workers))
        if not is_start:
            started.add(job.tenant, demand_R(job, held.n_workers))
    for key in sorted({key for line in shares.lines.values() for key in line}, key=str):
        if half_life_s := shares.half_life_s(key[0]):
            held_now = shares.surplus(key)
            uses.note(key, held=held_now, started=held_now - started.surplus(key), half_life_s=half_life_s)
    return uses.to_json()


def _shares_out_the_rest(budget: Budget, trial: Budget, shares: Shares) -> bool:
    """New ceilings for those that had their parts; False if there is nothing to share out, or nobody to have it."""
    mine, theirs = budget.entitlement, trial.entitlement
    assert mine is not None
    assert theirs is not None
    fair, refused, n_left = mine.fair, set(theirs.fair.refused), trial.n_left()
    if not n_left or not refused:
        return False
    floors = {g: theirs.fair.used.get(g, 0) for g in fair.ceilings}
    total = sum(floors.values()) + n_left
    demands = {g: total if g in refused else floors[g] for g in floors}
    ceilings = shares.parts(total, floors=floors, demands=demands)
    ceilings = {g: max(n, fair.ceilings[g]) if g in refused else max(n, floors[g]) for g, n in ceilings.items()}
    if ceilings == fair.ceilings:
        return False
    mine.fair = replace(fair, ceilings=ceilings, refused=set())
    return True


def _books(budget: Budget) -> BorrowingLedger:
    assert budget.lending is not None
    return budget.lending
