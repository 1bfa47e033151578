# SPDX-License-Identifier: Apache-2.0
"""Backfill: GPUs that were granted but could not be placed go to jobs that wait."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from scheduler.api.plan import Explanation, Reason
from scheduler.api.proposal import Grant, Packing, Proposal
from scheduler.api.snapshot import JobSnapshot
from scheduler.round.state import RoundState

MOST_TRIED = 16  # jobs for which a place is looked for


def backfill(state: RoundState, proposal: Proposal, *, but: Collection[str]) -> Iterator[tuple[JobSnapshot, Grant]]:
    """Yields grants that the budget still allows, one after the other; each is booked, and the caller places it or
    gives it back.

    First to claims of guarantees, at what they claim or their least size; then, where the policy wants that, to others
    that are within their tenant's guarantee now, in its order at their least sizes. A gang for which no place was found
    would otherwise keep the guarantee from smaller jobs until something else happens. Without a guarantee no job gets
    any: who starts on the first scattered GPUs stays on them, and on Muri's testbed trace that lengthened the average.
    but: jobs that had a grant in this round.
    """
    entitlement, budget = state.budget.entitlement, state.budget
    if entitlement is None or budget.borrowing is None:
        return
    claims = entitlement.claimants
    order = (*claims, *(proposal.order if proposal.backfills else ()))
    jobs = {job.id: job for job in state.candidates if job.held is None}
    packing = next((grant.packing for grant in proposal.grants if grant.packing is Packing.PRICED), Packing.TIGHT)
    n_tried = 0
    for job_id in dict.fromkeys(order):
        job, claim = jobs.get(job_id), claims.get(job_id)
        if job is None or job_id in but:
            continue
        if claim is not None and budget.reserve(job, claim.n_workers, gpu_type=claim.gpu_type):
            why = claim.why
        elif claim is None and not budget.borrowing.owner(job.tenant, job.min_workers)[0]:
            continue
        elif budget.reserve(job, job.min_workers):
            why = Explanation(Reason.FITS, {"n_workers": job.min_workers})
        else:
            continue
        n_tried += 1
        yield job, Grant(job_id, budget.granted(job), budget.gpu_type(job), (why,), packing)
        if n_tried == MOST_TRIED:
            return
