# SPDX-License-Identifier: Apache-2.0
"""Steps 2 and 3 of placement: a gang that starts, grows or shrinks gets a place, now or later, or none."""

from __future__ import annotations

from dataclasses import replace

from scheduler.api.host_resources import held_resources, planned_resources
from scheduler.api.proposal import Grant
from scheduler.api.snapshot import GangAllocation, JobSnapshot
from scheduler.placement.search import SCATTERED
from scheduler.round.placement.progress import PlacementProgress


def settle(progress: PlacementProgress, job: JobSnapshot, grant: Grant) -> None:
    """Reserves the place that a job will have after preemptions, and gives it at once if it is free."""
    held, allocation = job.held, progress.finder.find(progress.free_later, job, grant)
    if allocation is None:
        progress.targets.refused[job.id] = grant
        return
    progress.free_later.reserve(job, allocation)
    progress.book_servers(job, allocation)
    if held is not None:
        is_now = _may_grow(progress, job, held, allocation, grant)
    else:
        is_now = progress.free_now.fits(job, allocation) and _start(progress, job, allocation, grant)
    if is_now:
        progress.targets.placed[job.id] = (allocation, grant.explanations)
    else:
        progress.targets.awaited[job.id] = allocation


def shrink(progress: PlacementProgress, job: JobSnapshot) -> None:
    """Places a running job on fewer of its own GPUs; where that is not possible, it stays as it is."""
    held, grant = job.held, progress.grants[job.id]
    assert held is not None
    own = progress.with_own(progress.free_now, job, held)
    allocation = progress.finder.find(own, job, grant, keep=held)
    if allocation is None or not progress.free_later.fits(job, allocation):
        progress.free_later.reserve(job, held)
        progress.targets.kept[job.id] = progress.proposal.notes.get(job.id, grant.explanations)
        return
    progress.place(job, allocation, grant)


def launch(progress: PlacementProgress, job: JobSnapshot, grant: Grant) -> None:
    """Places a job that waits: now, or where others leave, or with fewer workers; else the grant is refused."""
    ledger = progress.state.ledger_now
    host = planned_resources(job, grant.n_workers)
    may_now = ledger.allows(job.tenant, gpus=grant.n_workers, user=job.user, gpu_type=grant.gpu_type, host=host)
    found = allocation = progress.finder.find(progress.free_now, job, grant) if may_now else None
    if allocation is not None and not progress.free_later.fits(job, allocation):
        allocation = None
    if _is_good(progress, job, allocation, grant):
        later = None
    elif may_now and progress.free_now.is_same_room(progress.free_later):  # no job leaves
        later = found
    else:
        later = progress.finder.find(progress.free_later, job, grant)
    if (
        allocation is not None
        and not _is_worse(progress, job, allocation, later)
        and _start(progress, job, allocation, grant)
    ):
        progress.place(job, allocation, grant)
        return
    if later is None:
        smaller = _smaller(progress, job, grant)
        if smaller is not None:
            launch(progress, job, smaller)
        else:
            progress.targets.refused[job.id] = grant
            progress.state.budget.release(job)
            progress.has_unused_grants = True
        return
    progress.wait_for(job, later)


def _start(progress: PlacementProgress, job: JobSnapshot, allocation: GangAllocation, grant: Grant) -> bool:
    """Books the launch of a job that waits, if quota allows it next to all that is held at this moment."""
    ledger, n, host = progress.state.ledger_now, allocation.n_workers, held_resources(job, allocation)
    if not ledger.allows(job.tenant, gpus=n, user=job.user, gpu_type=grant.gpu_type, host=host):
        return False
    ledger.reserve(job.tenant, gpus=n, user=job.user, gpu_type=grant.gpu_type, host=host)
    return True


def grow(progress: PlacementProgress, job: JobSnapshot, grant: Grant) -> None:
    """Places a running job anew, on its own GPUs and others; it stays as it is until these are free."""
    held = job.held
    assert held is not None
    more = max(0, grant.n_workers - held.n_workers)
    progress.free_later.release(job, held)
    ledger = progress.state.ledger_now
    host = planned_resources(job, grant.n_workers).without(held_resources(job, held))
    may_now = ledger.allows(job.tenant, gpus=more, jobs=0, user=job.user, gpu_type=grant.gpu_type, host=host)
    own = progress.with_own(progress.free_now, job, held) if may_now else None
    allocation = progress.finder.find(own, job, grant, keep=held) if own is not None else None
    least = held.n_workers + progress.may_keep(held, grant)  # as many GPUs elsewhere would be a restart for nothing
    if (
        allocation is not None
        and progress.free_later.fits(job, allocation)
        and allocation.n_workers >= least
        and not _gains_nothing(progress, job, held, allocation, grant)
    ):
        more = allocation.n_workers - held.n_workers
        ledger.reserve(job.tenant, gpus=more, jobs=0, user=job.user, gpu_type=grant.gpu_type)
        progress.place(job, allocation, grant)
        return
    if own is not None and own.is_same_room(progress.free_later):  # no job leaves
        later = allocation
    else:
        later = progress.finder.find(progress.free_later, job, grant, keep=held)
    if (
        later is not None
        and (later.n_workers > held.n_workers or least == held.n_workers)
        and not _gains_nothing(progress, job, held, later, grant)
    ):
        progress.wait_for(job, later)
    else:
        progress.free_later.reserve(job, held)
        progress.targets.refused[job.id] = grant
        progress.return_to_present(job, held)
        progress.has_unused_grants = True
    progress.targets.kept[job.id] = progress.proposal.notes.get(job.id, ())


def _may_grow(
    progress: PlacementProgress, job: JobSnapshot, held: GangAllocation, allocation: GangAllocation, grant: Grant
) -> bool:
    """Books what a running job gets in addition, if quota allows it next to all that is held at this moment; else
    it stays as it is until others of its tenant have left.
    """
    ledger, more = progress.state.ledger_now, allocation.n_workers - held.n_workers
    if more <= 0:
        return True
    if not ledger.allows(job.tenant, gpus=more, jobs=0, user=job.user, gpu_type=grant.gpu_type):
        return False
    ledger.reserve(job.tenant, gpus=more, jobs=0, user=job.user, gpu_type=grant.gpu_type)
    return True


def _is_good(progress: PlacementProgress, job: JobSnapshot, allocation: GangAllocation | None, grant: Grant) -> bool:
    """Is it there about as fast as it should be at that size, so that no place is worth waiting for?"""
    if allocation is None or allocation.n_workers < grant.n_workers:
        return False
    return progress.finder.step_s(job, allocation) <= (1 + SCATTERED) * progress.finder.expected_s(job, grant)


def _gains_nothing(
    progress: PlacementProgress, job: JobSnapshot, held: GangAllocation, found: GangAllocation, grant: Grant
) -> bool:
    """Is the job no faster on GPUs of another type, at a place that is not what the policy reckoned with?

    It would be asked to come back for the same reason: to a place that is not there either.
    """
    types = {progress.free_later.nodes[share.node].gpu_type for share in held.shares if share.gpus}
    if not grant.gpu_type or grant.gpu_type in types or _is_good(progress, job, found, grant):
        return False
    return progress.finder.step_s(job, found) >= progress.finder.step_s(job, held)


def _is_worse(
    progress: PlacementProgress, job: JobSnapshot, allocation: GangAllocation, later: GangAllocation | None
) -> bool:
    """Is it clearly better to wait for the place that others are about to leave?"""
    if later is None or later == allocation:
        return False
    return progress.finder.step_s(job, allocation) > (1 + SCATTERED) * progress.finder.step_s(job, later)


def _smaller(progress: PlacementProgress, job: JobSnapshot, grant: Grant) -> Grant | None:
    """Half the size, where that will do."""
    n_workers = max(grant.least_workers or grant.n_workers, grant.n_workers // 2)
    if n_workers >= grant.n_workers or not progress.state.budget.reserve(job, n_workers):
        return None
    return replace(grant, n_workers=n_workers, n_nodes=0)
