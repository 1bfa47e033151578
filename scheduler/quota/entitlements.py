# SPDX-License-Identifier: Apache-2.0
"""What a round has settled about quota before its policy is asked; the budget asks it for every grant."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from scheduler.api.plan import Explanation, Reason
from scheduler.api.snapshot import JobSnapshot, Phase
from scheduler.quota.borrowing import BorrowingLedger


class Reservations:
    """Keeps GPUs for owners, which are tenants or groups of them.

    Sums are kept up to date, since every grant reads them.
    """

    def __init__(self) -> None:
        self._open: dict[tuple[str, str], int] = {}
        self._in_all: dict[str, int] = {}

    def __bool__(self) -> bool:
        return any(self._in_all.values())

    def copy(self) -> Reservations:
        """Returns a copy that is granted from independently."""
        twin = Reservations()
        twin._open, twin._in_all = dict(self._open), dict(self._in_all)
        return twin

    def add(self, owner: str, gpu_type: str, n_gpus: int) -> None:
        """Reserves GPUs of a type for the owner."""
        key = (owner, gpu_type)
        self._open[key] = self._open.get(key, 0) + n_gpus
        self._in_all[gpu_type] = self._in_all.get(gpu_type, 0) + n_gpus

    def unserved(self, owner: str, gpu_type: str) -> int:
        """Returns those of the owner's GPUs that none of its jobs was granted yet."""
        return self._open.get((owner, gpu_type), 0)

    def kept(self, owner: str, gpu_type: str) -> int:
        """Returns the GPUs that are reserved for others."""
        return self._in_all.get(gpu_type, 0) - self.unserved(owner, gpu_type)

    def serve(self, owner: str, gpu_type: str, n_gpus: int) -> int:
        """Grants the owner so many, as far as they are reserved for it, and returns how many were.

        Negative: released.
        """
        served = min(n_gpus, self.unserved(owner, gpu_type))
        if served:
            self.add(owner, gpu_type, -served)
        return served


@dataclass(frozen=True)
class Cap:
    """Limits the workers that a borrower's running job may keep (0: it leaves), and says why."""

    n_workers: int
    why: Explanation


@dataclass(frozen=True)
class Claimant:
    """Describes a waiting job within the guarantee of an owner (its own tenant, or a parent of that), or whose turn it
    is.
    """

    n_workers: int
    gpu_type: str
    why: Explanation


@dataclass
class FairEntitlement:
    """Holds what shares by weight entitle to. groups: by tenant, the group whose part its jobs count against.

    reserved: by group, GPUs of guarded running jobs and of waiting ones whose turn it is. ceilings: the most GPUs of a
    group, where policies size jobs; others' jobs have a use for the rest. used: granted so far, with what is settled.
    refused: groups that ceilings kept from more, in any copy of the budget.
    """

    groups: Mapping[str, str] = field(default_factory=dict)
    reserved: Reservations = field(default_factory=Reservations)
    guarded: Collection[str] = frozenset()
    ceilings: Mapping[str, int] = field(default_factory=dict)
    used: dict[str, int] = field(default_factory=dict)
    refused: set[str] = field(default_factory=set)
    weights: Mapping[str, float] = field(default_factory=dict)

    def copy(self) -> FairEntitlement:
        """Returns a copy that is granted from independently."""
        return replace(self, reserved=self.reserved.copy(), used=dict(self.used))


@dataclass
class Entitlement:
    """Holds what tenants may have in a round, within guarantees and by fair shares.

    caps: by running job, the workers it may keep where an owner reclaims GPUs from it. reserved: by tenant, GPUs for
    jobs within a guarantee: free ones, or such as come free, that waiting jobs claim, and those that guarded jobs hold.
    claimants: these waiting jobs, with what each is to have; guarded: the running ones. waiting_for_borrowed: waiting
    jobs whose guaranteed GPUs other tenants keep until their jobs end, with the reason. strict: the ledger with all
    that runs and all such claims, in which no tenant may borrow anew what they wait for; None = no job waits
    for borrowed GPUs. fair: the same by fair shares.
    """

    caps: Mapping[str, Cap] = field(default_factory=dict)
    reserved: Reservations = field(default_factory=Reservations)
    claimants: Mapping[str, Claimant] = field(default_factory=dict)
    waiting_for_borrowed: Mapping[str, Explanation] = field(default_factory=dict)
    strict: BorrowingLedger | None = None
    names: Mapping[str, str] = field(default_factory=dict)
    guarded: Collection[str] = frozenset()
    fair: FairEntitlement = field(default_factory=FairEntitlement)
    _served: dict[str, tuple[int, int]] = field(default_factory=dict)  # by job: of the reserve, of fair's

    def copy(self) -> Entitlement:
        """Returns a copy that is granted from independently."""
        strict = None if self.strict is None else self.strict.copy()
        return replace(
            self, strict=strict, reserved=self.reserved.copy(), fair=self.fair.copy(), _served=dict(self._served)
        )

    def is_open(self, job: JobSnapshot) -> bool:
        """Returns whether the claimant can have what it claims, of what is kept for its tenant."""
        claim = self.claimants[job.id]
        own = self.reserved.unserved(job.tenant, claim.gpu_type)
        return own + self.fair.reserved.unserved(self._group(job.tenant), claim.gpu_type) >= claim.n_workers

    def refusal(self, job: JobSnapshot, n_workers: int, *, had: int, is_request: bool = True) -> Explanation | None:
        """Returns why the tenant may not have so many: its GPUs are taken back, it would borrow what an owner waits
        for, or it has its part.

        A request for more than that part is recorded in FairEntitlement.refused.
        """
        cap = self.caps.get(job.id)
        if cap is not None and n_workers > cap.n_workers:
            return cap.why
        if self.strict is not None:
            refused = self.strict.refusal(job.tenant, _new(job, n_workers) - _new(job, had))
            if refused is not None:
                return refused
        return self._about_part(job, n_workers - had, is_request=is_request)

    def left_of_type(self, job: JobSnapshot, gpu_type: str, left: int) -> int:
        """Returns left, GPUs of the type, or fewer where an owner of a guarantee of the type waits for them."""
        if self.strict is None or self.strict.of_type(gpu_type) is None:
            return left
        return min(left, max(0, self.strict.available(job.tenant, gpu_type=gpu_type)) + _held(job))

    def kept(self, tenant: str, gpu_type: str) -> int:
        """Returns the GPUs of the type that are kept for other tenants' jobs."""
        return self.reserved.kept(tenant, gpu_type) + self.fair.reserved.kept(self._group(tenant), gpu_type)

    def about_kept(self, job: JobSnapshot, n_workers: int, left: Mapping[str, int]) -> Explanation | None:
        """Returns why a job gets none of the GPUs that are left; None if claims of others are not the cause."""
        tenant = self.names.get(job.tenant, job.tenant)
        for gpu_type, n_left in left.items():
            if n_left < n_workers or (job.gpu_types and gpu_type not in job.gpu_types):
                continue
            if kept := self.reserved.kept(job.tenant, gpu_type):
                facts = {"tenant": tenant, "kept": min(kept, n_left), "need": n_workers}
                return Explanation(Reason.RESERVED_FOR_OWNER, facts)
            if kept := self.fair.reserved.kept(self._group(job.tenant), gpu_type):
                weight = self.fair.weights.get(self._group(job.tenant), 1.0)
                facts = {"tenant": tenant, "kept": min(kept, n_left), "need": n_workers, "weight": weight}
                return Explanation(Reason.RESERVED_FOR_FAIR_SHARE, facts)
        return self.waiting_for_borrowed.get(job.id)

    def record(self, job: JobSnapshot, n_workers: int, gpu_type: str) -> None:
        """Records a whole grant to a job that had none; negative: all of it is given back."""
        is_new, group = job.phase is Phase.WAITING, self._group(job.tenant)
        if n_workers > 0:
            own = self.reserved.serve(job.tenant, gpu_type, n_workers if is_new or job.id in self.guarded else 0)
            n_left = n_workers - own if is_new or job.id in self.fair.guarded else 0
            self._served[job.id] = (own, self.fair.reserved.serve(group, gpu_type, n_left))
        else:
            own, by_turn = self._served.pop(job.id, (0, 0))
            self.reserved.serve(job.tenant, gpu_type, -own)
            self.fair.reserved.serve(group, gpu_type, -by_turn)
        self.fair.used[group] = self.fair.used.get(group, 0) + n_workers
        if self.strict is not None:
            new = _new(job, abs(n_workers))
            self.strict.reserve(job.tenant, new if n_workers > 0 else -new, gpu_type=gpu_type)

    def _about_part(self, job: JobSnapshot, more: int, *, is_request: bool) -> Explanation | None:
        group = self._group(job.tenant)
        most = self.fair.ceilings.get(group)
        used = self.fair.used.get(group, 0)
        if most is None or more <= 0 or used + more <= most:
            return None
        if is_request:
            self.fair.refused.add(group)
        facts = {"tenant": self.names.get(group, group), "part": most, "weight": self.fair.weights.get(group, 1.0)}
        return Explanation(Reason.FAIR_SHARE_REACHED, facts)

    def _group(self, tenant: str) -> str:
        return self.fair.groups.get(tenant, tenant)


def _new(job: JobSnapshot, n_workers: int) -> int:
    """Of so many workers, those that the job does not hold yet."""
    return max(0, n_workers - _held(job))


def _held(job: JobSnapshot) -> int:
    return job.allocation.n_workers if job.phase is not Phase.WAITING and job.allocation else 0
