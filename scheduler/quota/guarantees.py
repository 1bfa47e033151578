# SPDX-License-Identifier: Apache-2.0
"""What owners of guarantees may claim in a round, and who has to give back for it."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from scheduler.api.host_resources import NOTHING, held_resources, planned_resources
from scheduler.api.plan import Explanation, Reason
from scheduler.api.snapshot import JobSnapshot, Reclaim, TenantSnapshot, by_submission
from scheduler.quota.borrowing import BorrowingLedger
from scheduler.quota.demand import Borrower, QuotaDemand
from scheduler.quota.entitlements import Cap, Claimant, Entitlement, FairEntitlement
from scheduler.quota.ledger import Ledger, name_of
from scheduler.quota.reclaim import Victim, borrowed_from, victims_for, within_guarantee
from scheduler.quota.reservations import Reservations


@dataclass
class _ClaimRequest:
    job: JobSnapshot
    sizes: tuple[int, ...]


@dataclass
class GuaranteeClaims:
    """Claims guarantees for waiting jobs: what runs is booked first; then claim(), guard() and entitlement() are
    called.

    held: guarantees with what runs, less what is given back. booked: the same with claims that are met.

    present: with all that runs. limits: hard limits, with what runs and claims.
    """

    demand: QuotaDemand
    held: BorrowingLedger
    limits: Ledger
    caps: dict[str, Cap] = field(default_factory=dict)
    reserved: Reservations = field(default_factory=Reservations)
    claimants: dict[str, Claimant] = field(default_factory=dict)
    waiting_for_borrowed: dict[str, Explanation] = field(default_factory=dict)
    guarded: set[str] = field(default_factory=set)
    waiting_for: list[tuple[str, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.tenants = {tenant.id: tenant for tenant in self.demand.tenants}
        self.free = dict(self.demand.free)
        self.running = self.demand.running
        for borrower in self.running.values():
            self.held.reserve(borrower.job.tenant, borrower.n_gpus)
            job = borrower.job
            host, gpu_type = held_resources(job, job.held) if job.held else NOTHING, borrower.gpu_type
            self.limits.reserve(job.tenant, gpus=borrower.n_gpus, user=job.user, gpu_type=gpu_type, host=host)
            self.free[borrower.gpu_type] -= borrower.n_gpus
        self.present, self.booked = self.held.copy(), self.held.copy()

    def claim(self) -> None:
        """Claims for waiting jobs within a guarantee: their tenant's own first, then those of its parents."""
        waiting = sorted((job for job in self.demand.candidates if job.held is None), key=by_submission)
        requests = [_ClaimRequest(job, tuple(dict.fromkeys((job.fixed_workers, job.min_workers)))) for job in waiting]
        depth = max((len(self.booked.line(tenant)) for tenant in self.tenants), default=0)
        for level in range(depth):
            requests = [request for request in requests if not self._is_met(request, level)]

    def _is_met(self, request: _ClaimRequest, level: int) -> bool:
        """Whether nothing more is to be found out about it on higher levels."""
        for n in request.sizes:
            is_within, owner = self.booked.owner(request.job.tenant, n)
            if not is_within or owner is None or self.booked.line(request.job.tenant).index(owner) > level:
                continue
            host = planned_resources(request.job, n)
            if self.limits.limit(request.job.tenant, gpus=n, user=request.job.user, host=host) is not None:
                continue
            if self._find(request.job, n, owner):
                claim, user = self.claimants.get(request.job.id), request.job.user
                gpu_type = claim.gpu_type if claim is not None else ""
                self.limits.reserve(request.job.tenant, gpus=n, user=user, gpu_type=gpu_type, host=host)
                return True
        return False

    def _find(self, job: JobSnapshot, n: int, owner: str) -> bool:
        """Free GPUs of a type that the job may use, or such that borrowers give back."""
        types = [t for t in self.free if (not job.gpu_types or t in job.gpu_types) and self._may_have(job, n, t)]
        types.sort(key=lambda t: (-self.free[t], t))
        for gpu_type in types:
            if self._meet(job, n, owner, gpu_type):
                self.booked.reserve(job.tenant, n)
                self.free[gpu_type] -= n
                self.reserved.add(job.tenant, gpu_type, n)
                facts = {
                    "n_workers": n,
                    "tenant": name_of(self.tenants[owner]),
                    "guarantee": self.held.guarantee(owner),
                }
                self.claimants[job.id] = Claimant(n, gpu_type, Explanation(Reason.GUARANTEED, facts))
                return True
        if n == job.min_workers and any(self.free[t] + self._lent(owner, t) >= n for t in types):
            facts = {"tenant": name_of(self.tenants[owner]), "need": n}
            self.waiting_for_borrowed[job.id] = Explanation(Reason.GUARANTEE_BORROWED, facts)
            self.waiting_for.append((job.tenant, n))
            return True
        return False

    def _may_have(self, job: JobSnapshot, n: int, gpu_type: str) -> bool:
        return self.limits.type_limit(job.tenant, gpu_type, gpus=n, user=job.user) is None

    def _meet(self, job: JobSnapshot, n: int, owner: str, gpu_type: str) -> bool:
        """Whether free GPUs of the type, with those that borrowers give back, suffice: in number and by the books.

        Borrowers of other types return GPUs, too, where GPUs are free in the cluster but all count as borrowed.
        """
        books = self.booked.copy()
        victims: list[Victim] = []
        for of_type in (gpu_type, None):
            missing = n - (max(0, self.free[gpu_type]) if of_type else books.available(job.tenant))
            if missing <= 0:
                continue
            asked = victims_for(
                owner,
                missing=missing,
                priority=job.priority,
                rule=Reclaim(self.tenants[owner].reclaim),
                running=self._lent_to(of_type, but={v.borrower.job.id for v in victims}),
                borrowing=books,
            )
            if asked is None:
                return False
            for victim in asked:
                books.reserve(victim.borrower.job.tenant, -victim.freed)
            victims += asked
        if books.available(job.tenant) < n:
            return False
        for victim in victims:
            self._take_back(victim)
        return True

    def _take_back(self, victim: Victim) -> None:
        job = victim.borrower.job
        facts = {
            "tenant": name_of(self.tenants[job.tenant]),
            "used": self.present.used(job.tenant),
            "guarantee": self.held.guarantee(job.tenant),
        }
        self.release(victim, Explanation(Reason.RECLAIMED, facts))

    def release(self, victim: Victim, why: Explanation) -> None:
        """Caps the job, and books what it gives as free."""
        job = victim.borrower.job
        self.caps[job.id] = Cap(victim.keeps, why)
        self.held.reserve(job.tenant, -victim.freed)
        self.booked.reserve(job.tenant, -victim.freed)
        gpu_type = victim.borrower.gpu_type
        jobs, host = 0 if victim.keeps else 1, held_resources(job, job.held) if job.held else NOTHING
        if victim.keeps:
            host = host.without(planned_resources(job, victim.keeps))
        self.limits.release(job.tenant, gpus=victim.freed, jobs=jobs, user=job.user, gpu_type=gpu_type, host=host)
        self.free[victim.borrower.gpu_type] += victim.freed

    def _lent_to(self, gpu_type: str | None, *, but: Collection[str] = ()) -> list[Borrower]:
        """Running jobs, of a type if one is given, that are not to return GPUs yet."""
        running = (b for b in self.running.values() if gpu_type in (None, b.gpu_type))
        return [b for b in running if b.job.id not in self.caps and b.job.id not in but]

    def _lent(self, owner: str, gpu_type: str) -> int:
        """GPUs of the type in jobs of tenants that borrow from the owner."""
        jobs = self._lent_to(gpu_type)
        return sum(b.n_gpus for b in jobs if borrowed_from(owner, b.job.tenant, self.booked) > 0)

    def guard(self, unused: BorrowingLedger, *, is_elastic: bool) -> None:
        """Guards what runs within a guarantee. unused: the books without what runs."""
        for borrower in within_guarantee(self.running.values(), unused):
            job = borrower.job
            if job.id not in self.caps and borrower.n_gpus:
                self.guarded.add(job.id)
                n = min(borrower.n_gpus, job.min_workers) if is_elastic else borrower.n_gpus
                self.reserved.add(job.tenant, borrower.gpu_type, n)

    def entitlement(self, fair: FairEntitlement) -> Entitlement:
        """Returns what tenants may have in the round by their guarantees."""
        strict = None
        if self.waiting_for:
            claimed = self.booked.copy()
            for tenant, n in self.waiting_for:
                claimed.reserve(tenant, n)
            strict = self.held
            keep(strict, claimed, self.tenants.values())
        names = {tenant.id: name_of(tenant) for tenant in self.tenants.values()}
        return Entitlement(
            self.caps, self.reserved, self.claimants, self.waiting_for_borrowed, strict, names, self.guarded, fair
        )


def keep(borrowing: BorrowingLedger, wanted: BorrowingLedger, tenants: Iterable[TenantSnapshot]) -> None:
    """Counts what tenants want of their pools as used for all others."""
    for tenant in tenants:
        borrowing.keep_for(tenant.id, wanted.used(tenant.id))
