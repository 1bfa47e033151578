# SPDX-License-Identifier: Apache-2.0
"""Reclaim: which running jobs of borrowers give GPUs back to an owner that needs them, and how many."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from scheduler.api.snapshot import Reclaim
from scheduler.quota.borrowing import BorrowingLedger
from scheduler.quota.demand import Borrower


@dataclass(frozen=True)
class Victim:
    """Describes a job that gives GPUs back.

    keeps: workers that it may continue with; 0 = it leaves. freed: GPUs that come free.
    """

    borrower: Borrower
    keeps: int
    freed: int


def victims_for(
    owner: str | None,
    *,
    missing: int,
    priority: int,
    rule: Reclaim,
    running: Iterable[Borrower],
    borrowing: BorrowingLedger,
) -> list[Victim] | None:
    """Returns jobs of borrowers that free at least so many GPUs for a job within the owner's guarantee; None if they
    cannot.

    1. candidates: jobs of tenants outside the owner that borrow, they and all above them up to the parent that they
       have in common with the owner, and the own jobs of the owner's parents; under LOWER_PRIORITY only those of a
       lower priority than the job that waits;
    2. in order: lowest priority, least work lost for each GPU freed, most recently admitted;
    3. each gives what its tenant borrows as far as it is missing: an elastic job shrinks if that will do, else it
       leaves; until enough is free;
    4. backwards, who turns out not to be needed stays.
    A tenant that no longer borrows after what jobs before gave is not asked. borrowing: as things are; not changed.
    """
    if rule is Reclaim.NEVER:
        return None
    books = borrowing.copy()
    candidates = [b for b in running if rule is Reclaim.ANY or b.job.priority < priority]  # 1
    chosen: list[Victim] = []
    freed = 0
    for borrower in sorted(candidates, key=first_to_go):  # 2
        if freed >= missing:
            break
        excess = borrowed_from(owner, borrower.job.tenant, books)
        if excess <= 0:
            continue
        victim = asked_of(borrower, min(missing - freed, excess))  # 3
        books.reserve(borrower.job.tenant, -victim.freed)
        chosen.append(victim)
        freed += victim.freed
    if freed < missing:
        return None
    return _needed(chosen, missing=missing)


def within_guarantee(running: Iterable[Borrower], borrowing: BorrowingLedger) -> list[Borrower]:
    """Returns the jobs that run on their tenant's own GPUs, or on those of a parent: jobs that would be reclaimed last
    count first.

    borrowing: as things are without them; not changed.
    """
    books, found = borrowing.copy(), []
    for borrower in sorted(running, key=first_to_go, reverse=True):
        tenant, n_gpus, gpu_type = borrower.job.tenant, borrower.n_gpus, borrower.gpu_type
        is_within, _ = books.owner(tenant, n_gpus, gpu_type=gpu_type)
        if is_within and books.available(tenant, gpu_type=gpu_type) >= n_gpus:
            books.reserve(tenant, n_gpus, gpu_type=gpu_type)
            found.append(borrower)
    return found


def borrowed_from(owner: str | None, tenant: str, borrowing: BorrowingLedger) -> int:
    """Returns the GPUs that the tenant uses above its guarantee and, therefore, of the owner or of GPUs that both may
    borrow.

    It is 0 if the tenant, or any parent of it that the owner does not belong to, keeps within its own; 0 within the
    owner, too. A parent of the owner may have jobs of its own, such as those of projects without quotas: it borrows
    what these use of its children's guarantees.
    """
    if owner is not None and tenant in borrowing.line(owner)[1:]:
        return borrowing.taken_from_children(tenant)
    above_owner = set(borrowing.line(owner)) if owner is not None else {None}
    excess: int | None = None
    for at in borrowing.line(tenant):
        if at in above_owner:
            return 0 if at == owner or excess is None else excess
        over = borrowing.used(at) - borrowing.pool(at)
        excess = over if excess is None else min(excess, over)
        if excess <= 0:
            return 0
    return 0


def first_to_go(borrower: Borrower) -> tuple[int, float, float, str]:
    """Returns the sort key of victims: lowest priority, least work lost for each GPU freed, most recently admitted."""
    job = borrower.job
    return job.priority, borrower.lost_s, -(job.allocated_at_s or 0.0), job.id


def asked_of(borrower: Borrower, n: int) -> Victim:
    """Returns the victim: the job shrinks by so many GPUs if that will do, else it leaves."""
    job = borrower.job
    held = job.allocation.n_workers if job.allocation else 0
    if borrower.n_gpus == held and held - n >= job.min_workers:
        return Victim(borrower, held - n, n)
    return Victim(borrower, 0, borrower.n_gpus)


def _needed(chosen: Sequence[Victim], *, missing: int) -> list[Victim]:
    """4: without those whose GPUs are not missed, the last chosen looked at first."""
    left = list(chosen)
    for victim in reversed(chosen):
        if sum(v.freed for v in left) - victim.freed >= missing:
            left.remove(victim)
    return left
