# SPDX-License-Identifier: Apache-2.0
"""Steps 4 and 5 of placement: jobs that need not leave stay, and GPUs that are left over go to other jobs."""

from __future__ import annotations

from scheduler.api.snapshot import JobSnapshot
from scheduler.round.placement.backfill_grants import backfill
from scheduler.round.placement.progress import PlacementProgress
from scheduler.round.placement.resize import launch


def withdraw_preemptions(progress: PlacementProgress, shrinking: list[JobSnapshot]) -> None:
    """Keeps jobs that were to leave or shrink as they are, where no other job needs their GPUs."""
    budget = progress.state.budget
    victims = [progress.jobs[job_id] for job_id in progress.targets.leaving]
    leaving = progress.targets.leaving
    line = [job_id for job_id in progress.proposal.order if job_id in leaving] if victims else []
    position = {job_id: i for i, job_id in enumerate(line)}
    for job in sorted(victims, key=lambda job: (position.get(job.id, len(position)), job.id)):
        held = progress.targets.leaving[job.id]
        if progress.free_later.fits(job, held) and budget.reserve(job, held.n_workers):
            progress.free_later.reserve(job, held)
            del progress.targets.leaving[job.id]
            progress.targets.kept[job.id] = ()
    for job in shrinking:
        if job.allocation is None or job.id not in progress.targets.placed:
            continue
        held = job.allocation
        smaller, _ = progress.targets.placed[job.id]
        progress.free_later.release(job, smaller)
        if progress.free_later.fits(job, held) and budget.reserve(job, held.n_workers):
            progress.free_later.reserve(job, held)
            del progress.targets.placed[job.id]
            progress.targets.kept[job.id] = ()
        else:
            progress.free_later.reserve(job, smaller)


def backfill_grants(progress: PlacementProgress) -> None:
    """Launches jobs that wait on GPUs that were granted to jobs which could not use them all."""
    if progress.has_unused_grants:
        for job, grant in backfill(progress.state, progress.proposal, but=progress.grants):
            progress.grants[job.id] = grant
            launch(progress, job, grant)
