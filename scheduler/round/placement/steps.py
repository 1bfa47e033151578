# SPDX-License-Identifier: Apache-2.0
"""The steps of placement in their order, each of which is in its own module or in scheduler.placement."""

from __future__ import annotations

from scheduler.api.proposal import Proposal
from scheduler.api.snapshot import JobSnapshot
from scheduler.models.speed.job_speeds import JobSpeeds
from scheduler.placement.colocation import Colocation
from scheduler.placement.defragmentation import Defragmentation
from scheduler.placement.state import PlacementTargets
from scheduler.round.placement.backfill import backfill_grants, withdraw_preemptions
from scheduler.round.placement.colocated_jobs import colocate
from scheduler.round.placement.migration import move
from scheduler.round.placement.parting import part
from scheduler.round.placement.progress import PlacementProgress
from scheduler.round.placement.resize import grow, launch, settle, shrink
from scheduler.round.state import RoundState


def place(state: RoundState, proposal: Proposal, speeds: JobSpeeds) -> PlacementTargets:
    """Allocations for the grants, within what is free now, or later.

    1. running jobs whose size is unchanged keep their places;
    2. running jobs that shrink choose first, among their own GPUs;
    3. the others in the policy's order: on what is free now, else on what will be free: then they wait for it, and it
       is kept free for them; a co-located job goes where its partners go;
    4. jobs that were to shrink or leave stay as they are where their GPUs are not needed;
    5. GPUs that were granted to who could not use them all go to claims of guarantees, then to others that wait, where
       the policy wants that (backfill);
    6. where places are priced, a badly placed running job moves to a free place, if that repays its restart;
    7. where they are not, gangs of a fixed size on several nodes move to one node (defragmentation);
    8. jobs that were measured to slow each other on one node are parted, but where jobs keep a strict order.
    """
    progress = PlacementProgress(state, proposal, speeds)
    shrinking, growing = _keep_unchanged(progress)  # 1
    for job in shrinking:  # 2
        shrink(progress, job)
    _place_grants(progress, growing)  # 3
    if not proposal.places_after_preemption:
        withdraw_preemptions(progress, shrinking)  # 4
        backfill_grants(progress)  # 5
    if progress.pricing is not None:
        move(progress, progress.pricing)  # 6
    if any(grant.defragments for grant in proposal.grants):
        Defragmentation(state, progress.targets, progress.grants, speeds).run()  # 7
    if progress.neighbours is not None and not proposal.strict_order:
        part(progress, progress.neighbours)  # 8
    return progress.targets


def _keep_unchanged(progress: PlacementProgress) -> tuple[list[JobSnapshot], set[str]]:
    """Keeps running jobs whose size is unchanged. Returns those that shrink, and the ids of those that get a place
    anew."""
    proposal, targets = progress.proposal, progress.targets
    shrinking: list[JobSnapshot] = []
    growing: set[str] = set()
    for job in progress.state.running:
        held = job.held
        assert held is not None
        grant = progress.grants.get(job.id)
        if grant is None:
            targets.leaving[job.id] = held
        elif grant.colocated_with:
            continue
        elif grant.n_workers == held.n_workers and progress.may_keep(held, grant):
            progress.free_later.reserve(job, held)
            targets.kept[job.id] = proposal.notes.get(job.id, grant.explanations)
        elif proposal.places_after_preemption:
            growing.add(job.id)
        elif grant.n_workers < held.n_workers:
            shrinking.append(job)
        else:
            progress.free_later.reserve(job, held)
            growing.add(job.id)
    return shrinking, growing


def _place_grants(progress: PlacementProgress, growing: set[str]) -> None:
    """Places the grants in the policy's order."""
    proposal, targets = progress.proposal, progress.targets
    shares = any(grant.colocated_with for grant in proposal.grants)
    colocation = Colocation(progress.state, targets, progress.finder.find_exactly) if shares else None
    for grant in proposal.grants:
        job = progress.jobs[grant.job]
        if colocation is not None and grant.colocated_with:
            colocate(progress, colocation, job, grant)
        elif proposal.places_after_preemption:
            if job.id not in targets.kept:
                settle(progress, job, grant)
        elif job.held is None:
            launch(progress, job, grant)
        elif job.id in growing:
            grow(progress, job, grant)
