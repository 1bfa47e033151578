# SPDX-License-Identifier: Apache-2.0
"""Guarantees over a tree of tenants: who uses its own GPUs, who borrows, who lends, and how much more each may take.

Words. guarantee (nominal quota): GPUs that a tenant and all below it can have whenever they have jobs for them; that of
a parent contains its children's and is at least their sum. What a tenant does not use is lent to its siblings, then to
its parents' siblings, up to its lend limit; what it uses above its guarantee is borrowed, up to its borrow limit. GPUs
of the cluster that are guaranteed to no tenant can be borrowed by all.
Source: the rules of Kueue's cohorts (kueue.sigs.k8s.io, "ClusterQueue", "Cohort"). Deviation: a parent's guarantee
contains its children's instead of being added to them. GPUs count in sum here; by type in
type_guarantees.py, which is why questions name a gpu_type that these books have no use for.

Each node of the tree has a pool: what it is guaranteed, without what its children keep for themselves alone. used
counts what is taken out of the pool. Only what exceeds the kept part of a child counts in its parent's pool.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from scheduler.api.administrators import admins_above, admins_within
from scheduler.api.plan import Explanation, Reason
from scheduler.api.snapshot import TenantSnapshot

_ENDLESS = 1 << 60


@dataclass(frozen=True)
class _Place:
    """A tenant's part of the tree that never changes in a round; parent None and tenant None: the cluster itself."""

    tenant: TenantSnapshot | None
    guarantee: int
    pool: int
    kept: int
    line: tuple[_Place, ...]  # parents, nearest first; the cluster is the last
    below: list[_Place] = field(default_factory=list, compare=False, repr=False)  # its children

    @cached_property
    def id(self) -> str | None:
        return None if self.tenant is None else self.tenant.id

    @cached_property
    def upward(self) -> tuple[tuple[str | None, int], ...]:
        """By place, itself first: its id, and the part that it keeps for itself alone."""
        return tuple([(at.id, at.kept) for at in (self, *self.line)])

    @property
    def borrow_limit(self) -> int | None:
        return None if self.tenant is None else self.tenant.borrow_limit


@dataclass(frozen=True)
class Account:
    """Holds a tenant's place in the books, in GPUs, with all below it. lent: GPUs of its guarantee that others use now.

    borrowed: GPUs above its guarantee; more, where children keep a part of it for themselves.
    """

    guarantee: int
    used: int
    borrowed: int
    lent: int


class BorrowingLedger:
    """Books what tenants use, borrow and lend in a round. n_gpus: those of the cluster; None = only limits count."""

    def __init__(self, tenants: Iterable[TenantSnapshot], *, n_gpus: int | None) -> None:
        self._places = _places(tuple(tenants), n_gpus)
        self._used: dict[str | None, int] = dict.fromkeys(self._places, 0)
        self._floors: dict[str | None, int] = {}

    def copy(self) -> BorrowingLedger:
        """Returns a copy that is booked on independently."""
        twin = BorrowingLedger.__new__(BorrowingLedger)
        twin._places, twin._used = self._places, dict(self._used)
        twin._floors = dict(self._floors)
        return twin

    def used(self, tenant_id: str | None) -> int:
        """Returns the GPUs taken out of the tenant's pool (without children: all that it uses); None: the cluster's."""
        return self._used[tenant_id]

    def pool(self, tenant_id: str | None) -> int:
        """Returns the tenant's own GPUs: its guarantee without its children's; None: those guaranteed to no tenant."""
        return self._places[tenant_id].pool

    def guarantee(self, tenant_id: str) -> int:
        """Returns the GPUs guaranteed to the tenant."""
        return self._places[tenant_id].guarantee

    def line(self, tenant_id: str) -> tuple[str | None, ...]:
        """Returns the tenant, its parents, and None for the cluster."""
        place = self._places[tenant_id]
        return (tenant_id, *(above.id for above in place.line))

    @property
    def types(self) -> tuple[str, ...]:
        """Returns the types that have a ledger: of which anything is guaranteed, or may be borrowed within a limit."""
        return ()

    def of_type(self, gpu_type: str) -> BorrowingLedger | None:  # noqa: ARG002
        """Returns the ledger of the type; None where it has none."""
        return None

    def available(self, tenant_id: str, *, gpu_type: str = "") -> int:  # noqa: ARG002
        """Returns the further GPUs that the tenant may take now, lent ones included; negative where it holds more than
        it may.

        Less than its own idle GPUs where others use these: they have to come back first.
        """
        return self._left(tenant_id)

    def most(self, tenant_id: str) -> int:
        """Returns the GPUs that the tenant could have if no other tenant used any."""
        return self.most_by(tenant_id)[0]

    def most_by(self, tenant_id: str) -> tuple[int, str]:
        """Returns the GPUs that the tenant could have if no other tenant used any, and whose limit of borrowing keeps
        it from more: the tenant's own or a parent's; the tenant where it is none.
        """
        place, most, whose = self._places[tenant_id], _ENDLESS, tenant_id
        for at in (*reversed(place.line), place):
            if at.tenant is None:
                most = at.pool
                continue
            limit = _ENDLESS if at.borrow_limit is None else at.pool + at.borrow_limit
            if limit < at.kept + most:
                most, whose = limit, at.tenant.id
            else:
                most += at.kept
        return most, whose

    @property
    def has_limits(self) -> bool:
        """Returns whether anyone's limit of borrowing or lending counts."""
        return any(at.kept or at.borrow_limit is not None for at in self._places.values())

    def limited_by(self, tenant_id: str, gpus: int) -> str | None:
        """Returns who, the tenant or the nearest parent, would borrow more than its limit by so many more; None if no
        one would.
        """
        more, place = gpus, self._places[tenant_id]
        for at in (place, *place.line[:-1]):
            limit = at.borrow_limit
            if limit is not None and self._used[at.id] + more > at.pool + limit:
                return at.id
            more = self._over(at, more=more) - self._over(at)
            if more <= 0:
                return None
        return None

    def not_lent(self, tenant_id: str) -> int:
        """Returns the idle GPUs that limits of lending keep from the tenant."""
        own = set(self.line(tenant_id))
        return sum(max(0, at.kept - self._used[at.id]) for at in self._places.values() if at.id not in own)

    def used_below(self, tenant_id: str) -> int:
        """Returns the GPUs that the tenant and all below it use, parts that these keep for themselves included."""
        return self._in_all()[tenant_id]

    def unused(self, tenant_id: str) -> int:
        """Returns how many more GPUs are within the tenant's own pool, or within that of a parent; at least 0."""
        found, absorbed, most, place = 0, 0, _ENDLESS, self._places[tenant_id]
        for at in (place, *place.line[:-1]):
            used, limit = self._used[at.id], at.borrow_limit
            found = max(found, min(absorbed + at.pool - used, most))
            if limit is not None:
                most = min(most, absorbed + at.pool + limit - used)
            absorbed += max(0, max(self._floors.get(at.id, 0), at.kept) - used)
        return found

    def taken_from_children(self, tenant_id: str, *, more: int = 0) -> int:
        """Returns the GPUs of its own jobs, and so many more, that it has of its children's guarantees."""
        place = self._places[tenant_id]
        if not place.below:
            return 0
        own = self._used[tenant_id] - sum(map(self._over, place.below)) + more
        return max(0, own - place.guarantee + sum(at.guarantee for at in place.below))

    def most_own(self, tenant_id: str) -> int:
        """Returns the GPUs that are guaranteed to the tenant or, by a parent's guarantee, may be its."""
        return max(at.guarantee for at in (self._places[tenant_id], *self._places[tenant_id].line))

    def refusal(self, tenant_id: str, gpus: int, *, gpu_type: str = "") -> Explanation | None:  # noqa: ARG002
        """Returns why the tenant may not take so many more; None if its own are idle or it may borrow them."""
        if gpus <= 0:
            return None
        available = self._left(tenant_id)
        if gpus <= available:
            return None
        place = self._places[tenant_id]
        is_within, owner = self._owner(tenant_id, gpus)
        if is_within and owner is not None:
            lender = self._places[owner].tenant
            assert lender is not None
            return Explanation(Reason.GUARANTEE_BORROWED, {"tenant": lender.name or lender.id, "need": gpus})
        for at in (place, *place.line[:-1]):
            assert at.tenant is not None
            used = self._used[at.id]
            facts = {**_whose(at), "used": used, "guarantee": at.guarantee, "need": gpus}
            limit = at.tenant.borrow_limit
            if limit is not None and used + gpus > at.pool + limit:
                return Explanation(Reason.BORROW_LIMIT, {**facts, "limit": limit})
        used, free = self._used[place.id], max(0, available)
        facts = {**_whose(place), "used": used, "guarantee": place.guarantee, "need": gpus, "free": free}
        if (kept := self.not_lent(tenant_id)) and free + kept >= gpus:
            return Explanation(Reason.NOT_LENT, {**facts, "kept": kept, "above": self._lends_more(place)})
        return Explanation(Reason.NOTHING_TO_BORROW, facts)

    def owner(self, tenant_id: str, gpus: int, *, gpu_type: str = "") -> tuple[bool, str | None]:  # noqa: ARG002
        """Returns (True, who): the tenant or the nearest parent within whose own pool so many more are; (False, None)
        if none.

        Limits of those below count. The cluster's own GPUs are guaranteed to no tenant.
        """
        return self._owner(tenant_id, gpus)

    def reserve(self, tenant_id: str, gpus: int, *, gpu_type: str = "") -> None:  # noqa: ARG002
        """Books the GPUs, whether allowed or not: what is held is held. Negative numbers are given back."""
        self._add(self._places[tenant_id], gpus)

    def keep_for(self, tenant_id: str, gpus: int) -> None:
        """Counts so many GPUs of the pool as used for all other tenants. The number is only ever raised."""
        place = self._places[tenant_id]
        before = self._over(place)
        self._floors[tenant_id] = max(self._floors.get(tenant_id, 0), min(gpus, place.pool))
        after = self._over(place)
        if after != before and place.line:
            self._add(place.line[0], after - before)

    def keep_used(self, wanted: BorrowingLedger) -> None:
        """Counts what tenants use of their pools in the wanted books as used for all others."""
        for tenant_id in self._places:
            if tenant_id is not None:
                self.keep_for(tenant_id, wanted.used(tenant_id))

    def accounts_by_type(self) -> dict[str, dict[str, Account]]:
        """Returns every tenant's account of each type that has a ledger."""
        return {}

    def accounts(self) -> dict[str, Account]:
        """Returns every tenant's account.

        Below one parent, what is borrowed is lent by idle siblings, then by the parent's own GPUs, then from above;
        among siblings in proportion to what they leave idle, in whole GPUs.
        """
        total = self._in_all()
        lent = _lent(self._places, self._used)
        return {
            tenant_id: Account(at.guarantee, total[tenant_id], _borrowed(at, self._used), lent.get(tenant_id, 0))
            for tenant_id, at in self._places.items()
            if tenant_id is not None
        }

    def _left(self, tenant_id: str) -> int:
        """As available(), in these books alone."""
        place = self._places[tenant_id]
        more = _ENDLESS
        for at in (*reversed(place.line), place):
            if at.tenant is None:
                more = at.pool - self._used[None]
                continue
            most = at.kept + max(0, self._over(at) + more)
            if at.tenant.borrow_limit is not None:
                most = min(most, at.pool + at.tenant.borrow_limit)
            more = most - self._used[at.id]
        return more

    def _lends_more(self, place: _Place) -> str:
        """Whose admins can have more lent to it: those of what it has in common with who keeps the most idle."""
        own = {at.id: number for number, at in enumerate((place, *place.line))}
        others = (at for at in self._places.values() if at.id not in own)
        lender = max(others, key=lambda at: at.kept - self._used[at.id])
        first = next(own[at.id] for at in lender.line if at.id in own)
        return admins_within([at.tenant for at in (place, *place.line)[first:] if at.tenant is not None])

    def _owner(self, tenant_id: str, gpus: int) -> tuple[bool, str | None]:
        """As owner(), in these books alone."""
        more = gpus
        place = self._places[tenant_id]
        for at in (place, *place.line[:-1]):
            assert at.tenant is not None
            used = self._used[at.id] + more
            if used <= at.pool:
                return True, at.id
            if at.tenant.borrow_limit is not None and used > at.pool + at.tenant.borrow_limit:
                return False, None
            more = self._over(at, more=more) - self._over(at)
        return False, None

    def _over(self, at: _Place, *, more: int = 0) -> int:
        """What counts in the parent's pool: all above the part that the tenant keeps for itself alone."""
        booked = max(self._floors.get(at.id, 0), self._used[at.id] + more)
        return max(0, booked - at.kept)

    def _add(self, place: _Place, gpus: int) -> None:
        """As _over before and after, at every place up to the one where nothing changes."""
        used, floors = self._used, self._floors
        for key, kept in place.upward:
            before = used[key]
            used[key] = after = before + gpus
            least = max(floors.get(key, 0), kept)
            gpus = max(least, after) - max(least, before)
            if gpus == 0:
                return

    def _in_all(self) -> dict[str | None, int]:
        """Used by each tenant and all below it, kept parts included."""
        total = dict(self._used)
        for at in sorted(self._places.values(), key=lambda at: -len(at.line)):
            if at.line:
                total[at.line[0].id] += total[at.id] - self._over(at)
        return total


def _places(tenants: tuple[TenantSnapshot, ...], n_gpus: int | None) -> dict[str | None, _Place]:
    children: dict[str | None, list[TenantSnapshot]] = {}
    for tenant in tenants:
        children.setdefault(tenant.parent, []).append(tenant)
    guarantee: dict[str, int] = {}

    def guaranteed(tenant: TenantSnapshot) -> int:
        below = sum(guaranteed(child) for child in children.get(tenant.id, ()))
        guarantee[tenant.id] = max(tenant.guarantee or 0, below)
        return guarantee[tenant.id]

    top = sum(guaranteed(tenant) for tenant in children.get(None, ()))
    kept: dict[str, int] = {}
    pool: dict[str, int] = {}

    def fill(tenant: TenantSnapshot) -> int:
        """Its pool and kept part; returns what its parent can share out of it."""
        below = children.get(tenant.id, ())
        own = guarantee[tenant.id] - sum(guarantee[child.id] for child in below)
        pool[tenant.id] = own + sum(fill(child) for child in below)
        limit = tenant.lend_limit
        kept[tenant.id] = 0 if limit is None else max(0, pool[tenant.id] - limit)
        return pool[tenant.id] - kept[tenant.id]

    shared = sum(fill(tenant) for tenant in children.get(None, ()))
    # less than the sum of the guarantees where nodes are lost: then first come, first served among owners
    everything = _ENDLESS if n_gpus is None else max(0, n_gpus - (top - shared))
    root = _Place(None, 0, everything, 0, ())
    places: dict[str | None, _Place] = {None: root}

    def put(tenant: TenantSnapshot, above: _Place) -> None:
        t = tenant.id
        places[t] = _Place(tenant, guarantee[t], pool[t], kept[t], (above, *above.line))
        above.below.append(places[t])
        for child in children.get(t, ()):
            put(child, places[t])

    for tenant in children.get(None, ()):
        put(tenant, root)
    return places


def _borrowed(at: _Place, used: Mapping[str | None, int]) -> int:
    return max(0, used[at.id] - at.pool)


def _lent(places: Mapping[str | None, _Place], used: Mapping[str | None, int]) -> dict[str, int]:
    """GPUs lent by tenant: what its siblings borrow, as far as the rest of the parent's GPUs does not cover it."""
    lent: dict[str, int] = {}

    def share_out(parent: str | None, asked: int) -> None:
        """asked: lent by the parent to its own siblings, which its children and own GPUs have to provide."""
        below = places[parent].below
        wanted = asked + sum(_borrowed(c, used) for c in below)
        own = places[parent].pool - sum(c.pool - c.kept for c in below)
        own = own if parent is not None else max(0, own)
        direct = used[parent] - sum(max(0, used[c.id] - c.kept) for c in below)
        from_below = max(0, wanted - (own - direct) - _borrowed(places[parent], used))
        idle = {c.id: max(0, c.pool - max(used[c.id], c.kept)) for c in below}
        for tenant_id, n in _in_proportion(idle, min(from_below, sum(idle.values()))).items():
            assert tenant_id is not None
            lent[tenant_id] = n
            share_out(tenant_id, n)

    share_out(None, 0)
    return lent


def _in_proportion(parts: Mapping[str | None, int], n: int) -> dict[str | None, int]:
    """n whole GPUs in proportion to the parts, none above its part; the largest remainders get what is left over."""
    total = sum(parts.values())
    given = {key: n * part // total if total else 0 for key, part in parts.items()}
    by_remainder = sorted(parts, key=lambda key: (-(n * parts[key] % total if total else 0), str(key)))
    for key in by_remainder[: n - sum(given.values())]:
        given[key] += 1
    return given


def _whose(place: _Place) -> dict[str, str]:
    """Whose guarantee and limit of borrowing these are, and whose admins can raise them."""
    line = [at.tenant for at in (place, *place.line) if at.tenant is not None]
    return {"tenant": line[0].name or line[0].id, "above": admins_above(line)}
