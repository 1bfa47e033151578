# SPDX-License-Identifier: Apache-2.0
"""Step 3 of placement, of co-located jobs: they go onto the GPUs of their partners."""

from __future__ import annotations

from scheduler.api.host_resources import held_resources
from scheduler.api.proposal import Grant
from scheduler.api.snapshot import GangAllocation, JobSnapshot
from scheduler.placement.colocation import Colocation
from scheduler.placement.state import gpus_of
from scheduler.round.placement.progress import PlacementProgress


def colocate(progress: PlacementProgress, colocation: Colocation, job: JobSnapshot, grant: Grant) -> None:
    """Places a job on the GPUs of its partners: at once where these run and no other job is there, else as soon
    as that is the case."""
    held, allocation = job.held, colocation.allocation_for(job, grant)
    if allocation is None:
        _refuse(progress, job, grant)
        return
    partners = progress.free_later.occupants_of(allocation)
    for partner in partners:
        progress.targets.partners.setdefault(partner, set()).add(job.id)
    progress.targets.partners.setdefault(job.id, set()).update(partners)
    progress.free_later.reserve(job, allocation)
    progress.free_now.restrict_to(progress.free_later, allocation)
    if held is not None and gpus_of(held) == gpus_of(allocation):
        progress.targets.kept[job.id] = progress.proposal.notes.get(job.id, grant.explanations)
    elif held is not None:
        progress.targets.placed[job.id] = (allocation, grant.explanations)
    elif _may_join_now(progress, job, allocation, partners):
        n, gpu_type = grant.n_workers, progress.free_later.gpu_type_of(allocation)
        host = held_resources(job, allocation)
        progress.state.ledger_now.reserve(job.tenant, gpus=n, n_shared=n, user=job.user, gpu_type=gpu_type, host=host)
        progress.state.physically_free.reserve(job, allocation)
        progress.targets.placed[job.id] = (allocation, grant.explanations)
    else:
        progress.targets.awaited[job.id] = allocation


def _may_join_now(
    progress: PlacementProgress, job: JobSnapshot, allocation: GangAllocation, partners: set[str]
) -> bool:
    ledger, gpu_type = progress.state.ledger_now, progress.free_later.gpu_type_of(allocation)
    n, host = allocation.n_workers, held_resources(job, allocation)
    if ledger.limit(job.tenant, gpus=n, user=job.user, gpu_type=gpu_type, host=host) is not None:
        return False
    return progress.state.physically_free.fits(job, allocation, colocated_with=partners)


def _refuse(progress: PlacementProgress, job: JobSnapshot, grant: Grant) -> None:
    """It stays alone where it is, if that is free; else it has no place."""
    held = job.held
    if held is not None and progress.free_later.fits(job, held):
        progress.free_later.reserve(job, held)
        progress.targets.kept[job.id] = progress.proposal.notes.get(job.id, ())
        return
    progress.state.budget.release(job)
    if held is not None:
        progress.targets.leaving[job.id] = held
    else:
        progress.targets.refused[job.id] = grant
