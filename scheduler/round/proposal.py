# SPDX-License-Identifier: Apache-2.0
"""Step 3 of a round: the policy's proposal, within what tenants are entitled to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from scheduler.api.plan import Explanation, Reason
from scheduler.api.proposal import Grant, Proposal
from scheduler.api.snapshot import by_submission
from scheduler.policies.toolkit.policy import Policy, View
from scheduler.quota.budget import Budget
from scheduler.quota.fair_sharing import Shares
from scheduler.quota.studies import StudyPart
from scheduler.quota.usage import DecayedUsage
from scheduler.round.entitlement import shares_of
from scheduler.round.policy_answer import ask
from scheduler.round.state import RoundState

MOST_PROPOSALS = 3  # of a policy that leaves GPUs idle because tenants reached their shares


def propose(policy: Policy, view: View, *, state: RoundState, memory: Mapping[str, Any]) -> Proposal:
    """Returns the policy's answer within what tenants are entitled to, and studies within their parts.

    1. no study grows above its part while other jobs of its tenant wait; what it is refused goes to these;
    2. trials above the part are stopped, if by that other jobs of the tenant get more GPUs; else 1 stands;
    3. what is left idle by that is the studies', at most MOST_PROPOSALS times.

    Raises PolicyError if the policy fails, or if its answer cannot be carried out.
    """
    budget = state.budget
    if budget.studies is None:
        return _within_shares(policy, view, state=state, memory=memory)

    def ask_from(start: Budget) -> Proposal:
        budget.adopt(start)
        found = _within_shares(policy, view, state=state, memory=memory)
        return _serve_rivals(budget, found)

    start = budget.copy()
    proposal = ask_from(start)  # 1
    above = {study: part for study, part in budget.studies.parts.items() if part.held > part.n_gpus}
    if any(budget.granted(rival) == 0 for part in above.values() for rival in part.rivals):  # 2
        first, strict = budget.copy(), start.copy()
        assert strict.studies is not None
        strict.studies.most |= {study: part.n_gpus for study, part in above.items()}
        stricter = ask_from(strict)
        if _for_rivals(budget, above.values()) > _for_rivals(first, above.values()):
            proposal, start = stricter, strict
        else:
            budget.adopt(first)
    for _ in range(MOST_PROPOSALS):  # 3
        assert budget.studies is not None
        assert start.studies is not None
        if not budget.studies.refused or not budget.n_left():
            break
        for study in budget.studies.refused:
            start.studies.most[study] += budget.n_left()
        first, n_granted = budget.copy(), sum(map(budget.granted, view.jobs))
        looser = ask_from(start)
        if sum(map(budget.granted, view.jobs)) <= n_granted:
            budget.adopt(first)
            break
        proposal = looser
    return proposal


def _serve_rivals(budget: Budget, proposal: Proposal) -> Proposal:
    """The proposal with grants for jobs that wait next to a study, of the GPUs that its trials were refused.

    A policy need not have asked for them: its search may have spent itself on trials.
    """
    studies = budget.studies
    if studies is None or not studies.refused:
        return proposal
    rivals = {job.id: job for study in sorted(studies.refused) for job in studies.parts[study].rivals}
    added = []
    for job in sorted(rivals.values(), key=by_submission):
        if not budget.granted(job) and budget.reserve(job, job.fixed_workers):
            fits = Explanation(Reason.FITS, {"n_workers": job.fixed_workers})
            added.append(Grant(job.id, job.fixed_workers, budget.gpu_type(job), (fits,)))
    return replace(proposal, grants=(*proposal.grants, *added))


def _for_rivals(budget: Budget, parts: Iterable[StudyPart]) -> int:
    """GPUs granted to the jobs that wait next to these studies."""
    rivals = {job.id: job for part in parts for job in part.rivals}
    return sum(budget.granted(job) for job in rivals.values())


def _within_shares(policy: Policy, view: View, *, state: RoundState, memory: Mapping[str, Any]) -> Proposal:
    """Returns the policy's answer within what tenants are entitled to.

    Where tenants that share fairly reached their shares while other tenants left GPUs idle, the policy is asked again,
    with the rest divided among the former. Asked at most MOST_PROPOSALS times; the same memory each time.

    Raises PolicyError if the policy fails, or if its answer cannot be carried out.
    """
    budget, candidate = state.budget, state.candidate
    if budget.borrowing is None or budget.entitlement is None or not budget.entitlement.fair.ceilings:
        proposal = ask(policy, view, budget=budget, memory=memory, candidate=candidate)
        return _serve_claims(state, proposal, budget)
    shares = shares_of(state, budget.borrowing, DecayedUsage({}, now_s=view.now_s))
    for n_before in range(MOST_PROPOSALS):
        trial = budget.copy()
        proposal = ask(policy, view, budget=trial, memory=memory, candidate=candidate)
        proposal = _serve_claims(state, proposal, trial)
        if n_before == MOST_PROPOSALS - 1 or not _shares_out_the_rest(budget, trial, shares):
            break
    budget.adopt(trial)
    return proposal


def _serve_claims(state: RoundState, proposal: Proposal, budget: Budget) -> Proposal:
    """The proposal with a grant for every claim that can be met but that the policy left out; claims in front.

    A right does not depend on the policy's order, nor on its search. In front: so that owners choose their places among
    what is free now, and have not to wait for more.
    """
    entitlement = budget.entitlement
    if entitlement is None or not entitlement.claimants:
        return proposal
    granted = {grant.job for grant in proposal.grants}
    added = []
    for job in state.candidates:
        claim = entitlement.claimants.get(job.id)
        if claim is None or job.id in granted:
            continue
        if entitlement.is_open(job) and budget.reserve(job, claim.n_workers, gpu_type=claim.gpu_type):
            added.append(Grant(job.id, claim.n_workers, claim.gpu_type, (claim.why,)))
    grants = sorted((*proposal.grants, *added), key=lambda grant: grant.job not in entitlement.claimants)
    return replace(proposal, grants=tuple(grants))


def _shares_out_the_rest(budget: Budget, trial: Budget, shares: Shares) -> bool:
    """Sets new ceilings for tenants that had their parts; False if nothing is left, or no tenant needs it."""
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
