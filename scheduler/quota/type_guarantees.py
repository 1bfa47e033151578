# SPDX-License-Identifier: Apache-2.0
"""Guarantees and limits of borrowing and lending of single GPU types: a ledger for each such type, above the one that
counts GPUs of any type; and whose guarantee covers a waiting job.

Words. What a tenant uses of a type within a guarantee of that type, its own or that of a parent, is covered; a job may
be covered in part. What a guarantee of any type leaves when those of types in it are taken out is its rest.
1. GPUs of a type that anyone is guaranteed, or may borrow within a limit of the type, are booked in the ledger of the
   type: there they are used, borrowed, lent and taken back as in borrowing.py, within the limits of the type; GPUs of
   the type that no tenant is guaranteed included.
   What is covered is counted apart: a child's GPUs within its guarantee of any type use up no parent's of the type.
2. What is not covered is booked in the ledger of any type, too, where guarantees are the rests and limits of any type
   count. What is covered only takes GPUs out of the cluster there.
So a guarantee of a type is refused neither for what its tenant uses of other types nor for others' guarantees of any
type. Limits of a type hold for claims of any type, too: other GPUs keep a promise of a number.
Source: nominalQuota, borrowingLimit and lendingLimit by ResourceFlavor in Kueue; deviation: guarantees of types are a
part of one of any type.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from scheduler.api.administrators import admins_above
from scheduler.api.plan import Explanation, Reason
from scheduler.api.snapshot import JobSnapshot, TenantSnapshot
from scheduler.quota.borrowing import Account, BorrowingLedger


class TypedBorrowingLedger(BorrowingLedger):
    """Books what tenants use by type and in sum. n_by_type: GPUs of the cluster by type; None = only limits count.

    Without a gpu_type, questions are answered for the type that allows the most.
    """

    def __init__(
        self, tenants: Iterable[TenantSnapshot], *, n_gpus: int | None, n_by_type: Mapping[str, int] | None
    ) -> None:
        tenants = tuple(tenants)
        self._by_type = {
            gpu_type: BorrowingLedger(
                [_of_type(tenant, gpu_type) for tenant in tenants],
                n_gpus=None if n_by_type is None else n_by_type.get(gpu_type, 0),
            )
            for gpu_type in types_with_ledger(tenants)
        }
        self._coverage = {gpu_type: books.copy() for gpu_type, books in self._by_type.items()}  # of what is covered
        self._covered: dict[tuple[str, str], int] = {}  # by tenant and type, of what its own jobs hold
        self._held: dict[tuple[str, str], int] = {}
        super().__init__([self._with_rest(tenant) for tenant in tenants], n_gpus=n_gpus)

    def _with_rest(self, tenant: TenantSnapshot) -> TenantSnapshot:
        if tenant.guarantee is None:
            return tenant
        of_types = sum(books.guarantee(tenant.id) for books in self._by_type.values())
        return replace(tenant, guarantee=max(0, tenant.guarantee - of_types))

    def copy(self) -> TypedBorrowingLedger:
        """Returns a copy that is booked on independently."""
        twin = TypedBorrowingLedger.__new__(TypedBorrowingLedger)
        twin._places, twin._used, twin._floors = self._places, dict(self._used), dict(self._floors)
        twin._by_type = {gpu_type: books.copy() for gpu_type, books in self._by_type.items()}
        twin._coverage = {gpu_type: books.copy() for gpu_type, books in self._coverage.items()}
        twin._covered, twin._held = dict(self._covered), dict(self._held)
        return twin

    @property
    def types(self) -> tuple[str, ...]:
        """Returns the types that have a ledger: of which anything is guaranteed, or may be borrowed within a limit."""
        return tuple(self._by_type)

    def of_type(self, gpu_type: str) -> BorrowingLedger | None:
        """Returns the ledger of the type; None where it has none."""
        return self._by_type.get(gpu_type)

    def guarantee(self, tenant_id: str) -> int:
        """Returns the GPUs guaranteed to the tenant, those of types included."""
        return super().guarantee(tenant_id) + sum(books.guarantee(tenant_id) for books in self._by_type.values())

    def available(self, tenant_id: str, *, gpu_type: str = "") -> int:
        """Returns the further GPUs that the tenant may take now, of the type; negative where it holds more than it
        may.
        """
        of_any = super().available(tenant_id)
        if gpu_type:
            return self._available(tenant_id, gpu_type, of_any)
        return max([of_any, *(self._available(tenant_id, one, of_any) for one in self._by_type)])

    def _available(self, tenant_id: str, gpu_type: str, of_any: int) -> int:
        books = self._by_type.get(gpu_type)
        if books is None:
            return of_any
        covered = self.coverable(tenant_id, gpu_type)
        return min(books.available(tenant_id), covered + max(0, of_any) if covered else of_any)

    def most(self, tenant_id: str) -> int:
        """Returns the GPUs that the tenant could have if no other tenant used any."""
        of_any = super().most(tenant_id)
        return max([of_any, *(min(b.most(tenant_id), of_any + b.most_own(tenant_id)) for b in self._by_type.values())])

    def refusal(self, tenant_id: str, gpus: int, *, gpu_type: str = "") -> Explanation | None:
        """Returns why the tenant may not take so many more of the type; None if its own are idle or it may borrow
        them.
        """
        if gpus <= self.available(tenant_id, gpu_type=gpu_type) or gpus <= 0:
            return None
        books = self._by_type.get(gpu_type)
        if books is not None and (available := books.available(tenant_id)) < gpus:
            is_within, owner = books.owner(tenant_id, gpus)
            if is_within and owner is not None:
                facts = {"tenant": self._name(owner), "need": gpus, "gpu_type": gpu_type}
                return Explanation(Reason.GUARANTEE_OF_TYPE_BORROWED, facts)
            return self._refusal_of_type(tenant_id, gpus, gpu_type, books, max(0, available))
        refused = super().refusal(tenant_id, gpus - self.coverable(tenant_id, gpu_type))
        if refused is None or refused.reason not in (Reason.NOTHING_TO_BORROW, Reason.NOT_LENT):
            return refused
        used = refused.facts["used"] + sum(n for (tenant, _), n in self._covered.items() if tenant == tenant_id)
        return replace(refused, facts={**refused.facts, "used": used, "guarantee": self.guarantee(tenant_id)})

    def _refusal_of_type(
        self, tenant_id: str, gpus: int, gpu_type: str, books: BorrowingLedger, free: int
    ) -> Explanation:
        """free: GPUs of the type that can be had now. A limit of borrowing comes first: others cannot change that."""
        limited = books.limited_by(tenant_id, gpus)
        whose, reason = limited or tenant_id, Reason.NOTHING_TO_BORROW_OF_TYPE
        tenants = self._tenants_above(whose)
        facts: dict[str, Any] = {
            "tenant": self._name(whose),
            "above": admins_above(tenants),
            "used": books.used_below(whose),
            "guarantee": books.guarantee(whose),
            "need": gpus,
            "gpu_type": gpu_type,
        }
        if limited is not None:
            limit = dict(tenants[0].borrow_limit_by_type)[gpu_type]
            return Explanation(Reason.BORROW_LIMIT_OF_TYPE, {**facts, "limit": limit})
        if (kept := books.not_lent(tenant_id)) and free + kept >= gpus:
            facts, reason = {**facts, "kept": kept}, Reason.NOT_LENT_OF_TYPE
        return Explanation(reason, {**facts, "free": free})

    def owner(self, tenant_id: str, gpus: int, *, gpu_type: str = "") -> tuple[bool, str | None]:
        """Returns (True, who): the tenant or the nearest parent within whose own pool so many more of the type are, or
        what is not covered of them; (False, None) if none, or if limits of borrowing of the type forbid them.
        """
        for one in (gpu_type,) if gpu_type else self._by_type:
            books = self._by_type.get(one)
            found = books.owner(tenant_id, gpus) if books is not None else (False, None)
            if found[0]:
                return found
        books = self._by_type.get(gpu_type)
        if books is not None and books.limited_by(tenant_id, gpus) is not None:
            return False, None
        return super().owner(tenant_id, gpus - self.coverable(tenant_id, gpu_type))

    def reserve(self, tenant_id: str, gpus: int, *, gpu_type: str = "") -> None:
        """Books the GPUs, whether allowed or not. Negative numbers are given back: first what is not covered."""
        books = self._by_type.get(gpu_type)
        if books is None:
            super().reserve(tenant_id, gpus)
            return
        key = (tenant_id, gpu_type)
        covered, held = self._covered.get(key, 0), self._held.get(key, 0) + gpus
        now = covered + self._newly_covered(tenant_id, gpus, gpu_type) if gpus > 0 else min(covered, held)
        self._covered[key], self._held[key] = now, held
        self._used[None] += now - covered
        self._coverage[gpu_type].reserve(tenant_id, now - covered)
        if gpus != now - covered:
            super().reserve(tenant_id, gpus - (now - covered))
        books.reserve(tenant_id, gpus)

    def coverable(self, tenant_id: str, gpu_type: str) -> int:
        """Returns how many more GPUs of the type are within a guarantee of the type, its own or a parent's."""
        books = self._coverage.get(gpu_type)
        return 0 if books is None else books.unused(tenant_id)

    def _newly_covered(self, tenant_id: str, gpus: int, gpu_type: str) -> int:
        """Of GPUs that are reserved: as many as can be, but what keep_used() keeps for the tenant in one of the two
        ledgers is used there, whatever came first; else the other ledger's would be taken, too.
        """
        kept = _kept_unused(self, tenant_id)
        if not kept:
            return min(gpus, self.coverable(tenant_id, gpu_type))
        of_type = _kept_unused(self._coverage[gpu_type], tenant_id)
        return min(self.coverable(tenant_id, gpu_type), max(gpus - kept, min(gpus, of_type)))

    def keep_used(self, wanted: BorrowingLedger) -> None:
        """Counts what tenants use of their pools in the wanted books as used for all others."""
        super().keep_used(wanted)
        if isinstance(wanted, TypedBorrowingLedger):
            for gpu_type, books in self._by_type.items():
                books.keep_used(wanted._by_type[gpu_type])
                self._coverage[gpu_type].keep_used(wanted._coverage[gpu_type])

    def accounts(self) -> dict[str, Account]:
        """Returns every tenant's account in sum; lent: GPUs of types included."""
        covered = dict.fromkeys((t for t in self._places if t is not None), 0)
        for (tenant_id, _), n in self._covered.items():
            for at in self.line(tenant_id):
                if at is not None:
                    covered[at] += n
        by_type, found = self.accounts_by_type(), {}
        for tenant_id, account in super().accounts().items():
            guarantee, used = self.guarantee(tenant_id), account.used + covered[tenant_id]
            lent = account.lent + sum(accounts[tenant_id].lent for accounts in by_type.values())
            lent = min(lent, guarantee - min(guarantee, used - account.borrowed))
            found[tenant_id] = Account(guarantee, used, account.borrowed, lent)
        return found

    def accounts_by_type(self) -> dict[str, dict[str, Account]]:
        """Returns every tenant's account of each type that has a ledger."""
        return {gpu_type: books.accounts() for gpu_type, books in self._by_type.items()}

    def _name(self, tenant_id: str) -> str:
        tenant = self._places[tenant_id].tenant
        return tenant_id if tenant is None else tenant.name or tenant.id

    def _tenants_above(self, tenant_id: str) -> list[TenantSnapshot]:
        place = self._places[tenant_id]
        return [at.tenant for at in (place, *place.line) if at.tenant is not None]


def borrowing_ledger(
    tenants: Iterable[TenantSnapshot], *, n_gpus: int | None, n_by_type: Mapping[str, int] | None
) -> BorrowingLedger:
    """Returns the books of the tenants' guarantees; of types only where rules of any count."""
    tenants = tuple(tenants)
    if any(tenant.guarantee_by_type or tenant.borrow_limit_by_type for tenant in tenants):
        return TypedBorrowingLedger(tenants, n_gpus=n_gpus, n_by_type=n_by_type)
    return BorrowingLedger(tenants, n_gpus=n_gpus)


def has_guarantees(tenants: Iterable[TenantSnapshot]) -> bool:
    """Returns whether any tenant has a guarantee, a limit of borrowing or fair shares; otherwise only hard limits
    count.
    """
    return any(
        t.guarantee is not None
        or t.borrow_limit is not None
        or t.shares_fairly
        or t.guarantee_by_type
        or t.borrow_limit_by_type
        for t in tenants
    )


def types_with_ledger(tenants: Iterable[TenantSnapshot]) -> tuple[str, ...]:
    """Returns the types of which any tenant is guaranteed GPUs, or may borrow only so many. Where none is guaranteed
    any, a limit of lending has nothing to keep.
    """
    found = set()
    for tenant in tenants:
        found |= {gpu_type for gpu_type, n in tenant.guarantee_by_type if n}
        found |= {gpu_type for gpu_type, _ in tenant.borrow_limit_by_type}
    return tuple(sorted(found))


class Cover(Enum):
    """What of a job is within a guarantee of its type of GPU; TYPE: all, PART: some, and the rest within one of any
    type. Claims are made in this order.
    """

    TYPE = "type"
    PART = "part"
    ANY = "any"


@dataclass(frozen=True)
class Right:
    """Names whose guarantee covers a job: one of GPUs of the type, or one of any type.

    part: of a gang that is larger than the guarantee of its type, so many GPUs are within that, and of whom.
    """

    owner: str
    is_of_type: bool
    part: int = 0
    part_of: str = ""


def rights_of(
    books: BorrowingLedger, job: JobSnapshot, n: int, level: int, cover: Cover, *, types: Iterable[str]
) -> dict[str, Right]:
    """Returns by type of GPU that the job may use: whose guarantee covers so many, up to this level of the tree."""
    types = [t for t in types if not job.gpu_types or t in job.gpu_types]
    if not books.types:
        owner = _owner(books, job.tenant, n, level, "")
        return {} if owner is None else dict.fromkeys(types, Right(owner, False))
    found = {}
    for gpu_type in types:
        of_type = books.of_type(gpu_type) if cover is Cover.TYPE else books
        owner = None if of_type is None else _owner(of_type, job.tenant, n, level, gpu_type)
        if owner is not None:
            part = _part_of_type(books, job, level, gpu_type) if cover is Cover.PART else (0, "")
            found[gpu_type] = Right(owner, cover is Cover.TYPE, *part)
    return found if cover is not Cover.PART or any(right.part for right in found.values()) else {}


def _part_of_type(books: BorrowingLedger, job: JobSnapshot, level: int, gpu_type: str) -> tuple[int, str]:
    """GPUs of the type within a guarantee of it up to this level, and whose that is."""
    of_type = books.of_type(gpu_type)
    part = books.coverable(job.tenant, gpu_type) if isinstance(books, TypedBorrowingLedger) else 0
    owner = _owner(of_type, job.tenant, part, level, gpu_type) if of_type is not None and part else None
    return (0, "") if owner is None else (part, owner)


def _owner(books: BorrowingLedger, tenant: str, n: int, level: int, gpu_type: str) -> str | None:
    """Who up to this level has so many more within its guarantee; None if that is no one."""
    is_within, owner = books.owner(tenant, n, gpu_type=gpu_type)
    return owner if is_within and owner is not None and books.line(tenant).index(owner) <= level else None


def _kept_unused(books: BorrowingLedger, tenant_id: str) -> int:
    """Of what keep_for() keeps for the tenant, what it does not use yet."""
    return max(0, books._floors.get(tenant_id, 0) - books._used[tenant_id])


def _of_type(tenant: TenantSnapshot, gpu_type: str) -> TenantSnapshot:
    """Rules of any type do not count in the ledger of a type."""
    by_type = (tenant.guarantee_by_type, tenant.borrow_limit_by_type, tenant.lend_limit_by_type)
    guarantee, borrow_limit, lend_limit = (dict(rule).get(gpu_type) for rule in by_type)
    return replace(tenant, guarantee=guarantee, borrow_limit=borrow_limit, lend_limit=lend_limit)
