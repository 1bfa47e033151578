# SPDX-License-Identifier: Apache-2.0
"""What owners of guarantees may claim in a round, and who has to give back for it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from scheduler.api.host_resources import NOTHING, held_resources, planned_resources
from scheduler.api.plan import Explanation, Reason
from scheduler.api.snapshot import JobSnapshot, Reclaim, by_submission
from scheduler.quota.borrowing import BorrowingLedger
from scheduler.quota.demand import Borrower, QuotaDemand
from scheduler.quota.entitlements import Cap, Claimant, Entitlement, FairEntitlement, Reservations
from scheduler.quota.ledger import Ledger, name_of
from scheduler.quota.reclaim import Victim, borrowed_from, victims_for, within_guarantee
from scheduler.quota.type_guarantees import Cover, Right, rights_of


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
    waiting_for: list[tuple[str, int, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.tenants = {tenant.id: tenant for tenant in self.demand.tenants}
        self.free = dict(self.demand.free)
        self.running = self.demand.running
        self.covered, self.partly_covered = self._covered_jobs(), self._partly_covered_jobs()
        for borrower in self.running.values():
            job, gpu_type = borrower.job, borrower.gpu_type
            self.held.reserve(job.tenant, borrower.n_gpus, gpu_type=gpu_type)
            host = held_resources(job, job.held) if job.held else NOTHING
            self.limits.reserve(job.tenant, gpus=borrower.n_gpus, user=job.user, gpu_type=gpu_type, host=host)
            self.free[borrower.gpu_type] -= borrower.n_gpus
        self.present, self.booked = self.held.copy(), self.held.copy()

    def _covered_jobs(self) -> set[str]:
        """Running jobs within a guarantee of their type of GPU; no claim to GPUs of any type takes these."""
        found = set()
        for gpu_type in self.held.types:
            books = self.held.of_type(gpu_type)
            assert books is not None
            of_type = [b for b in self.running.values() if b.gpu_type == gpu_type]
            found |= {b.job.id for b in within_guarantee(of_type, books)}
        return found

    def _partly_covered_jobs(self) -> set[str]:
        """Running jobs within a guarantee of tenants that are guaranteed any of their type; no gang takes these that is
        itself above the guarantee of its type: two such gangs would take from each other in turn.
        """
        if not self.held.types:
            return set()
        within = [(b, self.held.of_type(b.gpu_type)) for b in within_guarantee(self.running.values(), self.held)]
        return {b.job.id for b, books in within if books is not None and books.most_own(b.job.tenant)}

    def claim(self) -> None:
        """Claims for waiting jobs within a guarantee: of their type of GPU, then in part of it, then of any type; of
        each their tenant's own first, then those of its parents. A tenant's own jobs that would use what its children
        are guaranteed come last: else they got the GPUs again that were taken back from them.
        """
        waiting = sorted((job for job in self.demand.candidates if job.held is None), key=by_submission)
        requests = [_ClaimRequest(job, tuple(dict.fromkeys((job.fixed_workers, job.min_workers)))) for job in waiting]
        parents = {tenant.parent for tenant in self.tenants.values()}
        depth = max((len(self.booked.line(tenant)) for tenant in self.tenants), default=0)
        for cover in Cover if self.booked.types else (Cover.ANY,):
            for spares_children in (True, False):  # the others have nothing new to ask for in the second pass
                for level in range(depth):
                    asking = requests if spares_children else [one for one in requests if one.job.tenant in parents]
                    met = {one.job.id for one in asking if self._is_met(one, level, cover, spares_children)}
                    requests = [one for one in requests if one.job.id not in met]

    def _is_met(self, request: _ClaimRequest, level: int, cover: Cover, spares_children: bool) -> bool:
        """Whether nothing more is to be found out about it on higher levels, and by rights that take of children."""
        tenant = request.job.tenant
        for n in request.sizes:
            rights = rights_of(self.booked, request.job, n, level, cover, types=self.free)
            if spares_children:
                rights = {t: right for t, right in rights.items() if not self._takes_from_children(tenant, n, right, t)}
            if not rights:
                continue
            host = planned_resources(request.job, n)
            if self.limits.limit(request.job.tenant, gpus=n, user=request.job.user, host=host) is not None:
                continue
            if self._find(request.job, n, rights):
                claim, user = self.claimants.get(request.job.id), request.job.user
                gpu_type = claim.gpu_type if claim is not None else ""
                self.limits.reserve(request.job.tenant, gpus=n, user=user, gpu_type=gpu_type, host=host)
                return True
        return False

    def _takes_from_children(self, tenant: str, n: int, right: Right, gpu_type: str) -> bool:
        books = (self.booked.of_type(gpu_type) if right.is_of_type else None) or self.booked
        return books.taken_from_children(tenant, more=n) > 0

    def _find(self, job: JobSnapshot, n: int, rights: Mapping[str, Right]) -> bool:
        """Free GPUs of a type that the job may use, or such that borrowers give back."""
        types = [t for t in rights if self._may_have(job, n, t)]
        types.sort(key=lambda t: (-self.free[t], t))
        elsewhere = self._free_elsewhere(job, n, types, rights)
        for gpu_type in types if elsewhere is None else [elsewhere]:
            right = rights.get(gpu_type) or rights[types[0]]
            if elsewhere is not None or self._meet(job, n, right, gpu_type):
                self.booked.reserve(job.tenant, n, gpu_type=gpu_type)
                self.free[gpu_type] -= n
                self.reserved.add(job.tenant, gpu_type, n)
                self.claimants[job.id] = Claimant(n, gpu_type, self._why(right, n, gpu_type, elsewhere))
                return True
        if n != job.min_workers:
            return False
        lent = next((t for t in types if self._would_return(job, n, rights[t], t)), None)
        if lent is not None:
            right = rights[lent]
            facts = {"tenant": name_of(self.tenants[right.owner]), "need": n}
            why = Explanation(Reason.GUARANTEE_BORROWED, facts)
            if right.is_of_type:
                why = Explanation(Reason.GUARANTEE_OF_TYPE_BORROWED, {**facts, "gpu_type": lent})
            self.waiting_for_borrowed[job.id] = why
            self.waiting_for.append((job.tenant, n, lent if right.is_of_type else ""))
            return True
        return False

    def _free_elsewhere(
        self, job: JobSnapshot, n: int, types: Sequence[str], rights: Mapping[str, Right]
    ) -> str | None:
        """A type of which so many are free that the tenant may borrow, where it is guaranteed only GPUs of types that
        others would have to give back.
        """
        if not types or self.free[types[0]] >= n or not all(rights[t].is_of_type for t in types):
            return None
        others = [t for t in self.free if self.free[t] >= n and (not job.gpu_types or t in job.gpu_types)]
        others = [t for t in others if self.booked.available(job.tenant, gpu_type=t) >= n and self._may_have(job, n, t)]
        return min(others, key=lambda t: (-self.free[t], t), default=None)

    def _why(self, right: Right, n: int, gpu_type: str, elsewhere: str | None) -> Explanation:
        owner = right.owner
        facts = {"n_workers": n, "tenant": name_of(self.tenants[owner])}
        books = self.held.of_type(gpu_type) if right.is_of_type and elsewhere is None else None
        if books is None:
            return Explanation(Reason.GUARANTEED, {**facts, "guarantee": self.held.guarantee(owner)})
        facts |= {"guarantee": books.guarantee(owner), "gpu_type": gpu_type}
        return Explanation(Reason.GUARANTEED_OF_TYPE, facts)

    def _may_have(self, job: JobSnapshot, n: int, gpu_type: str) -> bool:
        return self.limits.type_limit(job.tenant, gpu_type, gpus=n, user=job.user) is None

    def _meet(self, job: JobSnapshot, n: int, right: Right, gpu_type: str) -> bool:
        """Whether free GPUs of the type, with those that borrowers give back, suffice: in number and by the books.

        Borrowers of other types return GPUs, too, where GPUs are free in the cluster but all count as borrowed.
        """
        found = self._givers(job, n, right, gpu_type)
        if found is None and right.part > max(0, self.free[gpu_type]):
            found = self._givers(job, n, right, gpu_type, by_part=True)
        for victim, by in found or ():
            self._take_back(victim, by)
        return found is not None

    def _givers(
        self, job: JobSnapshot, n: int, right: Right, gpu_type: str, *, by_part: bool = False
    ) -> list[tuple[Victim, Right]] | None:
        """Who gives back by which right; None if that is not enough. by_part: what is guaranteed of the type and is not
        free comes from borrowers of the type, the rest before that from who borrows in number.
        """
        books, n_free = self.booked.copy(), max(0, self.free[gpu_type])
        found: list[tuple[Victim, Right]] = []
        steps: list[tuple[Right, str | None, int]] = [(right, gpu_type, n), (right, None, n)]
        if by_part:
            of_part = Right(right.part_of, is_of_type=True, part=right.part)
            steps = [(right, gpu_type, n - right.part + n_free), (of_part, gpu_type, n), (right, None, n)]
        for by, of_type, wanted in steps:
            freed = sum(victim.freed for victim, _ in found)
            missing = wanted - (n_free + freed if of_type else books.available(job.tenant, gpu_type=gpu_type))
            if missing <= 0:
                continue
            lent_to = self._lent_to(
                gpu_type if by.is_of_type else of_type, by, but={victim.borrower.job.id for victim, _ in found}
            )
            asked = victims_for(
                by.owner,
                missing=missing,
                priority=job.priority,
                rule=Reclaim(self.tenants[by.owner].reclaim),
                running=lent_to,
                borrowing=(books.of_type(gpu_type) if by.is_of_type else None) or books,
            )
            if asked is None:
                return None
            for victim in asked:
                books.reserve(victim.borrower.job.tenant, -victim.freed, gpu_type=victim.borrower.gpu_type)
                found.append((victim, by))
        return found if books.available(job.tenant, gpu_type=gpu_type) >= n else None

    def _take_back(self, victim: Victim, right: Right) -> None:
        job, gpu_type = victim.borrower.job, victim.borrower.gpu_type
        books = self.present.of_type(gpu_type) if right.is_of_type else None
        facts = {
            "tenant": name_of(self.tenants[job.tenant]),
            "used": (books or self.present).used(job.tenant),
            "guarantee": (books or self.held).guarantee(job.tenant),
        }
        why = Explanation(Reason.RECLAIMED, facts)
        if books is not None:
            why = Explanation(Reason.RECLAIMED_OF_TYPE, {**facts, "gpu_type": gpu_type})
        self.release(victim, why)

    def release(self, victim: Victim, why: Explanation) -> None:
        """Caps the job, and books what it gives as free."""
        job, gpu_type = victim.borrower.job, victim.borrower.gpu_type
        self.caps[job.id] = Cap(victim.keeps, why)
        self.held.reserve(job.tenant, -victim.freed, gpu_type=gpu_type)
        self.booked.reserve(job.tenant, -victim.freed, gpu_type=gpu_type)
        jobs, host = 0 if victim.keeps else 1, held_resources(job, job.held) if job.held else NOTHING
        if victim.keeps:
            host = host.without(planned_resources(job, victim.keeps))
        self.limits.release(job.tenant, gpus=victim.freed, jobs=jobs, user=job.user, gpu_type=gpu_type, host=host)
        self.free[victim.borrower.gpu_type] += victim.freed

    def _lent_to(self, gpu_type: str | None, right: Right, *, but: Collection[str] = ()) -> list[Borrower]:
        """Running jobs, of a type if one is given, that are not to return GPUs yet, and that may have to."""
        safe: Collection[str] = self.covered
        if right.is_of_type:
            safe = self.partly_covered if right.part else ()
        running = (b for b in self.running.values() if gpu_type in (None, b.gpu_type) and b.job.id not in safe)
        return [b for b in running if b.job.id not in self.caps and b.job.id not in but]

    def _would_return(self, job: JobSnapshot, n: int, right: Right, gpu_type: str) -> bool:
        """Whether the job could have so many GPUs of the type, if all jobs of tenants that borrow from the owner ended.

        By a right to GPUs of any type none that limits of the type keep from it: no one is to wait for these.
        """
        of_type = self.booked.of_type(gpu_type)
        books = (of_type if right.is_of_type else None) or self.booked
        jobs = [b for b in self._lent_to(gpu_type, right) if borrowed_from(right.owner, b.job.tenant, books) > 0]
        if self.free[gpu_type] + sum(b.n_gpus for b in jobs) < n:
            return False
        if right.is_of_type or of_type is None or not of_type.has_limits:
            return True
        returned = of_type.copy()
        for borrower in jobs:
            returned.reserve(borrower.job.tenant, -borrower.n_gpus)
        return returned.available(job.tenant) >= n

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
            for tenant, n, gpu_type in self.waiting_for:
                claimed.reserve(tenant, n, gpu_type=gpu_type)
            strict = self.held
            strict.keep_used(claimed)
        names = {tenant.id: name_of(tenant) for tenant in self.tenants.values()}
        return Entitlement(
            self.caps, self.reserved, self.claimants, self.waiting_for_borrowed, strict, names, self.guarded, fair
        )
