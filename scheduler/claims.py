"""A step of the round before its policy: what owners may claim now, and who has to give back for it."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace

from scheduler.admission import Scene, Shared, held_by
from scheduler.decisions import Explanation, Reason
from scheduler.entitlement import Cap, Claimant, Entitlement
from scheduler.lending import Lending
from scheduler.policies.policy import Grant, Proposal, by_submission
from scheduler.quota import Ledger, name_of
from scheduler.reclaim import Borrower, Victim, borrowed_from, victims_for, within_guarantee
from scheduler.snapshot import JobSnapshot, Reclaim, TenantSnapshot


def entitle(scene: Scene, *, sizes_jobs: bool = False) -> None:
    """Tells the scene's budget what is guaranteed in this round; nothing, where no tenant has a guarantee.

    1. what runs is booked;
    2. waiting jobs within a guarantee claim GPUs: their own tenant's guarantee first, then that of parents; within
       each by priority and submission. A claim is met by free GPUs, else by what borrowers give back, as the owner's
       rule of reclaim says; else it waits for lent GPUs, and nobody borrows anew;
    3. what tenants use and claim within their guarantees is closed to all others, in number and by type of GPU.

    sizes_jobs: the policy may make jobs smaller; of those that run, only their least sizes are closed then.
    """
    lending = scene.budget.lending
    if lending is None:
        return
    claims = _Claims(scene, lending.copy(), scene.budget.books())
    unused = lending.copy()
    claims.claim()
    claims.guard(unused, sizes_jobs=sizes_jobs)
    for books in (lending, scene.ledger_now.lending):
        if books is not None:
            _keep(books, claims.booked, claims.tenants.values())
    scene.budget.entitlement = claims.entitlement()


def serve_claims(scene: Scene, proposal: Proposal) -> Proposal:
    """The proposal with a grant for every claim that can be met but that the policy left out; claims in front.

    A guarantee does not depend on the policy's order, nor on its search. In front: so that owners choose their places
    among what is free now, and have not to wait for more.
    """
    budget, entitlement = scene.budget, scene.budget.entitlement
    if entitlement is None or not entitlement.claimants:
        return proposal
    granted = {grant.job for grant in proposal.grants}
    added = []
    for job in scene.candidates:
        claim = entitlement.claimants.get(job.id)
        if claim is None or job.id in granted:
            continue
        is_open = entitlement.unserved(job.tenant, claim.gpu_type) >= claim.n_workers
        if is_open and budget.take(job, claim.n_workers, gpu_type=claim.gpu_type):
            added.append(Grant(job.id, claim.n_workers, claim.gpu_type, (claim.why,)))
    grants = sorted((*proposal.grants, *added), key=lambda grant: grant.job not in entitlement.claimants)
    return replace(proposal, grants=tuple(grants))


@dataclass
class _Wish:
    job: JobSnapshot
    sizes: tuple[int, ...]


@dataclass
class _Claims:
    """held: guarantees with what runs, less what is given back. booked: the same with claims that are met.

    present: with all that runs. limits: hard limits, with what runs and claims.
    """

    scene: Scene
    held: Lending
    limits: Ledger
    caps: dict[str, Cap] = field(default_factory=dict)
    claims: dict[str, dict[str, int]] = field(default_factory=dict)
    claimants: dict[str, Claimant] = field(default_factory=dict)
    lent_out: dict[str, Explanation] = field(default_factory=dict)
    guarded: set[str] = field(default_factory=set)
    waiting_for: list[tuple[str, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.tenants = {tenant.id: tenant for tenant in self.scene.snapshot.tenants}
        self.free = self.scene.budget.left_by_type()
        self.running = self._running()
        for borrower in self.running.values():  # 1
            self.held.take(borrower.job.tenant, borrower.n_gpus)
            self.limits.take(borrower.job.tenant, gpus=borrower.n_gpus)
            self.free[borrower.gpu_type] -= borrower.n_gpus
        self.present, self.booked = self.held.copy(), self.held.copy()

    def _running(self) -> dict[str, Borrower]:
        """Candidates that hold GPUs; a GPU that several hold counts for the first of them."""
        shared, found = Shared(), {}
        for job in self.scene.candidates:
            held = held_by(job)
            if held is not None:
                node = next(s.node for s in held.shares if s.gpus)
                n_gpus = held.n_workers - shared.n_beside(held)
                found[job.id] = Borrower(job, n_gpus, self.scene.room_now.nodes[node].gpu_type)
        return found

    # 2

    def claim(self) -> None:
        waiting = sorted((job for job in self.scene.candidates if held_by(job) is None), key=by_submission)
        wishes = [_Wish(job, tuple(dict.fromkeys((job.fixed_workers, job.min_workers)))) for job in waiting]
        depth = max((len(self.booked.line(tenant)) for tenant in self.tenants), default=0)
        for level in range(depth):
            wishes = [wish for wish in wishes if not self._is_met(wish, level)]

    def _is_met(self, wish: _Wish, level: int) -> bool:
        """Whether nothing more is to be found out about it on higher levels."""
        for n in wish.sizes:
            is_within, owner = self.booked.owner(wish.job.tenant, n)
            if not is_within or owner is None or self.booked.line(wish.job.tenant).index(owner) > level:
                continue
            if self.limits.limit(wish.job.tenant, gpus=n) is not None:
                continue
            if self._find(wish.job, n, owner):
                self.limits.take(wish.job.tenant, gpus=n)
                return True
        return False

    def _find(self, job: JobSnapshot, n: int, owner: str) -> bool:
        """Free GPUs of a type that the job may use, or such that borrowers give back."""
        types = [t for t in self.free if not job.gpu_types or t in job.gpu_types]
        types.sort(key=lambda t: (-self.free[t], t))
        for gpu_type in types:
            if self._meet(job, n, owner, gpu_type):
                self.booked.take(job.tenant, n)
                self.free[gpu_type] -= n
                self._close(job.tenant, n, gpu_type)
                facts = {
                    "n_workers": n,
                    "tenant": name_of(self.tenants[owner]),
                    "guarantee": self.held.guarantee(owner),
                }
                self.claimants[job.id] = Claimant(n, gpu_type, Explanation(Reason.GUARANTEED, facts))
                return True
        if n == job.min_workers and any(self.free[t] + self._lent(owner, t) >= n for t in types):
            facts = {"tenant": name_of(self.tenants[owner]), "need": n}
            self.lent_out[job.id] = Explanation(Reason.LENT_OUT, facts)
            self.waiting_for.append((job.tenant, n))
            return True
        return False

    def _meet(self, job: JobSnapshot, n: int, owner: str, gpu_type: str) -> bool:
        """Whether free GPUs of the type, with those that borrowers give back, suffice: in number and by the books.

        Borrowers of other types give back, too, where GPUs are free in the cluster but all are lent by the books.
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
                lending=books,
            )
            if asked is None:
                return False
            for victim in asked:
                books.take(victim.borrower.job.tenant, -victim.freed)
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
        self.caps[job.id] = Cap(victim.keeps, Explanation(Reason.RECLAIMED, facts))
        self.held.take(job.tenant, -victim.freed)
        self.booked.take(job.tenant, -victim.freed)
        self.limits.give_back(job.tenant, gpus=victim.freed, jobs=0 if victim.keeps else 1)
        self.free[victim.borrower.gpu_type] += victim.freed

    def _lent_to(self, gpu_type: str | None, *, but: Collection[str] = ()) -> list[Borrower]:
        """Running jobs, of a type if one is said, that nobody has asked for GPUs yet."""
        running = (b for b in self.running.values() if gpu_type in (None, b.gpu_type))
        return [b for b in running if b.job.id not in self.caps and b.job.id not in but]

    def _lent(self, owner: str, gpu_type: str) -> int:
        """GPUs of the type in jobs of tenants that borrow from the owner."""
        jobs = self._lent_to(gpu_type)
        return sum(b.n_gpus for b in jobs if borrowed_from(owner, b.job.tenant, self.booked) > 0)

    # 3

    def guard(self, unused: Lending, *, sizes_jobs: bool) -> None:
        """unused: the books without what runs."""
        for borrower in within_guarantee(self.running.values(), unused):
            job = borrower.job
            if job.id not in self.caps and borrower.n_gpus:
                self.guarded.add(job.id)
                n = min(borrower.n_gpus, job.min_workers) if sizes_jobs else borrower.n_gpus
                self._close(job.tenant, n, borrower.gpu_type)

    def _close(self, tenant: str, n_gpus: int, gpu_type: str) -> None:
        """To all but this tenant."""
        mine = self.claims.setdefault(gpu_type, {})
        mine[tenant] = mine.get(tenant, 0) + n_gpus

    def entitlement(self) -> Entitlement:
        strict = None
        if self.waiting_for:
            claimed = self.booked.copy()
            for tenant, n in self.waiting_for:
                claimed.take(tenant, n)
            strict = self.held
            _keep(strict, claimed, self.tenants.values())
        names = {tenant.id: name_of(tenant) for tenant in self.tenants.values()}
        return Entitlement(self.caps, self.claims, self.claimants, self.lent_out, strict, names, self.guarded)


def _keep(lending: Lending, wanted: Lending, tenants: Iterable[TenantSnapshot]) -> None:
    for tenant in tenants:
        lending.keep_for(tenant.id, wanted.used(tenant.id))
