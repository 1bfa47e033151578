# SPDX-License-Identifier: Apache-2.0
"""Step 7 of a round: what the next round has to know."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scheduler.api.memory import ResizePromise
from scheduler.api.plan import Decision, Launch, Preempt, Resize, Wait
from scheduler.api.proposal import Proposal
from scheduler.placement.state import PlacementTargets
from scheduler.quota.fair_sharing import Shares, demand_R, total_R
from scheduler.quota.usage import DecayedUsage
from scheduler.round.state import RoundState

PENDING_AGAIN_S = 60.0  # after which a round is due for jobs within a guarantee that are still pending


def promised_allocations(
    state: RoundState, proposal: Proposal, targets: PlacementTargets, decisions: Mapping[str, Decision]
) -> dict[str, ResizePromise]:
    """Returns, by job, the allocation that is reserved for it until it is launched there."""
    waiting = {job_id: place for job_id, place in state.resuming.items() if isinstance(decisions[job_id], Wait)}
    promised = {**state.pending_resizes, **waiting}
    if proposal.places_after_preemption:
        promised |= targets.awaited
    promised |= {job_id: targets.placed[job_id][0] for job_id in targets.placed if type(decisions[job_id]) is Resize}
    partners = {
        job_id: targets.partners.get(job_id, set()) | set(state.colocated_with.get(job_id, ())) for job_id in promised
    }
    starting = {job_id for job_id in waiting if job_id not in state.resizing}
    if proposal.places_after_preemption:
        running = {job.id for job in state.running}
        starting |= targets.awaited.keys() - running
    return {
        job_id: ResizePromise(promised[job_id], tuple(sorted(partners[job_id])), job_id not in starting)
        for job_id in sorted(promised)
    }


def pending_within_guarantee(
    state: RoundState, decisions: Mapping[str, Decision], before: Mapping[str, float]
) -> tuple[dict[str, float], float | None]:
    """Returns since when each job that claims its tenant's guarantee is pending, and when to look again (None: no need
    to).

    It stays pending where its tenant's GPUs went to another of its jobs, or where no node takes it. What is left of the
    guarantee is claimed anew then: once for each, for whatever else helps brings a round by itself.
    before: as recorded by the round before.
    """
    now_s, entitlement = state.snapshot.now_s, state.budget.entitlement
    claimants = entitlement.claimants if entitlement is not None else ()
    since_s = {job_id: before.get(job_id, now_s) for job_id in claimants if isinstance(decisions[job_id], Wait)}
    again_s = (at_s + PENDING_AGAIN_S for at_s in since_s.values())
    return since_s, min((at_s for at_s in again_s if at_s > now_s), default=None)


def record_usage(state: RoundState, decisions: Mapping[str, Decision], usage: DecayedUsage) -> dict[str, Any]:
    """Returns what each contender holds after the round, for the next one; empty where no usage counts."""
    borrowing = state.budget.borrowing
    if borrowing is None or not any(t.shares_fairly and t.half_life_s for t in state.snapshot.tenants):
        return {}
    shares = Shares(state.snapshot.tenants, borrowing=borrowing, cluster_R=total_R(state.snapshot.nodes))
    started = shares.copy()
    for job in state.snapshot.jobs:
        decision, held = decisions[job.id], job.held
        if isinstance(decision, Launch | Resize):
            held = decision.allocation
        if held is None or isinstance(decision, Wait | Preempt):
            continue
        is_start = isinstance(decision, Launch) and job.id not in state.resuming
        shares.add(job.tenant, demand_R(job, held.n_workers))
        if not is_start:
            started.add(job.tenant, demand_R(job, held.n_workers))
    for key in sorted({key for line in shares.lines.values() for key in line}, key=str):
        if half_life_s := shares.half_life_s(key[0]):
            held_now = shares.dominant_share(key)
            usage.record(key, held=held_now, started=held_now - started.dominant_share(key), half_life_s=half_life_s)
    return usage.to_json()
