# SPDX-License-Identifier: Apache-2.0
"""CPUs and memory that the pods of tenants, and of single users within them, request, and whether they may have more:
the ledger's part for these."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from scheduler.api.administrators import admins_within
from scheduler.api.host_resources import HostResources
from scheduler.api.plan import Explanation, Reason
from scheduler.api.snapshot import TenantSnapshot
from scheduler.api.user_limits import UserLimit

GIB = 1 << 30
CPU_GRAIN = 1e-6  # CPUs are sums of floats


@dataclass(frozen=True)
class HostLimit:
    """Holds a limit of what pods request: of all jobs of a tenant with all below it, or of one user's there."""

    at: TenantSnapshot
    user: UserLimit | None = None

    @property
    def key(self) -> tuple[str, str]:
        """Returns what it is booked by."""
        return self.at.id, "" if self.user is None else self.user.user

    @property
    def max_cpus(self) -> int | None:
        """Returns the most CPUs; None = no limit."""
        return (self.user or self.at).max_cpus

    @property
    def max_memory_bytes(self) -> int | None:
        """Returns the most bytes of memory; None = no limit."""
        return (self.user or self.at).max_memory_bytes

    @property
    def is_set(self) -> bool:
        """Returns whether it limits anything."""
        return self.max_cpus is not None or self.max_memory_bytes is not None

    def exceeds_cpus(self, cpus: float) -> bool:
        """Returns whether so many CPUs are more than it allows."""
        return self.max_cpus is not None and cpus > self.max_cpus + CPU_GRAIN

    def exceeds_memory(self, memory_bytes: int) -> bool:
        """Returns whether so much memory is more than it allows."""
        return self.max_memory_bytes is not None and memory_bytes > self.max_memory_bytes


class HostLedger:
    """Books CPUs and memory where a tenant of the tree, or a user there, has a limit of them; others' jobs are not
    booked.

    lines: by tenant, itself and its parents. user: whose the job is; "" = only limits of tenants count.
    """

    def __init__(self, lines: Mapping[str, tuple[TenantSnapshot, ...]]) -> None:
        self._lines = lines
        self._limited = {tenant_id: _set(HostLimit(at) for at in line) for tenant_id, line in lines.items()}
        self._of_users = {
            (at.id, limit.user): limit for line in lines.values() for at in line[:1] for limit in _limiting_users(at)
        }
        self._found: dict[tuple[str, str], tuple[HostLimit, ...]] = {}
        self._used: dict[tuple[str, str], HostResources] = {}

    def copy(self) -> HostLedger:
        """Returns a copy that is booked on independently."""
        twin = HostLedger.__new__(HostLedger)
        twin._lines, twin._limited, twin._of_users = self._lines, self._limited, self._of_users
        twin._found, twin._used = self._found, dict(self._used)
        return twin

    def limits(self, tenant_id: str, user: str = "") -> tuple[HostLimit, ...]:
        """Returns the limits that hold for the user's jobs of the tenant: the user's first, the nearest first."""
        of_tenants = self._limited.get(tenant_id, ())
        if not user or not self._of_users:
            return of_tenants
        found = self._found.get((tenant_id, user))
        if found is None:
            line = self._lines.get(tenant_id, ())
            own = [HostLimit(at, self._of_users[at.id, user]) for at in line if (at.id, user) in self._of_users]
            found = self._found[tenant_id, user] = (*own, *of_tenants)
        return found

    def used(self, tenant_id: str, user: str = "") -> HostResources:
        """Returns what the pods of the tenant and of all below it request, or of the user's jobs there, where that is
        limited.
        """
        return self._used.get((tenant_id, user), HostResources())

    def limit(
        self, tenant_id: str, more: HostResources, above: Callable[[TenantSnapshot], str], *, user: str = ""
    ) -> Explanation | None:
        """Returns the limit that so much more would break, the user's first, then the nearest; None if there is none.

        above: by a tenant, whose admins can raise its limits.
        """
        for limit in self.limits(tenant_id, user):
            used, reasons = self.used(*limit.key), _REASONS[limit.user is not None]
            if more.cpus > 0 and limit.exceeds_cpus(used.cpus + more.cpus):
                numbers = {"used": used.cpus, "quota": limit.max_cpus, "need": more.cpus}
                return Explanation(reasons.cpus, {**self._whose(limit, above), **numbers})
            if more.memory_bytes > 0 and limit.exceeds_memory(used.memory_bytes + more.memory_bytes):
                numbers = _in_gib(used=used.memory_bytes, quota=limit.max_memory_bytes, need=more.memory_bytes)
                return Explanation(reasons.memory, {**self._whose(limit, above), **numbers})
        return None

    def never(
        self,
        tenant_id: str,
        least: HostResources,
        above: Callable[[TenantSnapshot], str],
        *,
        n_workers: int,
        user: str = "",
    ) -> Explanation | None:
        """Returns why so many workers, which request that, may not run even alone; None if that is allowed."""
        for limit in self.limits(tenant_id, user):
            facts, reasons = {**self._whose(limit, above), "n_workers": n_workers}, _REASONS[limit.user is not None]
            if limit.exceeds_cpus(least.cpus):
                return Explanation(reasons.too_many_cpus, {**facts, "need": least.cpus, "have": limit.max_cpus})
            if limit.exceeds_memory(least.memory_bytes):
                numbers = _in_gib(need=least.memory_bytes, have=limit.max_memory_bytes)
                return Explanation(reasons.too_much_memory, {**facts, **numbers})
        return None

    def excess(self, tenant_id: str, *, user: str = "") -> Explanation | None:
        """Returns OVER_QUOTA_CPUS, OVER_QUOTA_MEMORY or OVER_USER_QUOTA, with numbers, if pods request more than a
        limit; else None.
        """
        for limit in self.limits(tenant_id, user):
            used = self.used(*limit.key)
            over: tuple[Reason, str, dict[str, Any]]
            if limit.exceeds_cpus(used.cpus):
                over = Reason.OVER_QUOTA_CPUS, "CPUs", {"used": used.cpus, "quota": limit.max_cpus}
            elif limit.exceeds_memory(used.memory_bytes):
                numbers = _in_gib(used=used.memory_bytes, quota=limit.max_memory_bytes)
                over = Reason.OVER_QUOTA_MEMORY, "GiB of memory", numbers
            else:
                continue
            reason, what, numbers = over
            tenant = limit.at.name or limit.at.id
            if limit.user is None:
                return Explanation(reason, {"tenant": tenant, **numbers})
            name = limit.user.name or limit.user.user
            return Explanation(Reason.OVER_USER_QUOTA, {"user": name, "tenant": tenant, "what": what, **numbers})
        return None

    def n_more(self, tenant_id: str, own: HostResources, *, each: HostResources, user: str = "") -> float:
        """Returns how many pods of that size limits leave besides what is booked, at least 0; infinite without one.

        own: booked, and given back for it; negative where it is taken in addition.
        """
        n = math.inf
        for limit in self.limits(tenant_id, user):
            used = self.used(*limit.key).without(own)
            if limit.max_cpus is not None and each.cpus > 0:
                n = min(n, (limit.max_cpus - used.cpus + CPU_GRAIN) // each.cpus)
            if limit.max_memory_bytes is not None and each.memory_bytes > 0:
                n = min(n, (limit.max_memory_bytes - used.memory_bytes) // each.memory_bytes)
        return max(0, n)

    def reserve(self, tenant_id: str, more: HostResources, *, user: str = "") -> None:
        """Books so much; negative numbers take it out of the books."""
        for limit in self.limits(tenant_id, user):
            used = self.used(*limit.key)
            self._used[limit.key] = HostResources(used.cpus + more.cpus, used.memory_bytes + more.memory_bytes)

    def _whose(self, limit: HostLimit, above: Callable[[TenantSnapshot], str]) -> dict[str, Any]:
        """Whose a limit is, and whose admins can raise it."""
        tenant = limit.at.name or limit.at.id
        if limit.user is None:
            return {"tenant": tenant, "above": above(limit.at)}
        admins = admins_within(self._lines[limit.at.id])
        return {"user": limit.user.name or limit.user.user, "tenant": tenant, "admins": admins}


def has_host_limits(tenants: Iterable[TenantSnapshot]) -> bool:
    """Returns whether any tenant, or a user within one, has a limit of CPUs or memory."""
    return any(HostLimit(tenant).is_set or _limiting_users(tenant) for tenant in tenants)


class _Reasons(NamedTuple):
    cpus: Reason
    memory: Reason
    too_many_cpus: Reason
    too_much_memory: Reason


_REASONS = {  # by whether it is a user's
    False: _Reasons(
        Reason.QUOTA_CPUS,
        Reason.QUOTA_MEMORY,
        Reason.LARGER_THAN_QUOTA_OF_CPUS,
        Reason.LARGER_THAN_QUOTA_OF_MEMORY,
    ),
    True: _Reasons(
        Reason.USER_QUOTA_CPUS,
        Reason.USER_QUOTA_MEMORY,
        Reason.LARGER_THAN_USER_QUOTA_OF_CPUS,
        Reason.LARGER_THAN_USER_QUOTA_OF_MEMORY,
    ),
}


def _set(limits: Iterable[HostLimit]) -> tuple[HostLimit, ...]:
    return tuple(limit for limit in limits if limit.is_set)


def _limiting_users(at: TenantSnapshot) -> list[UserLimit]:
    return [limit for limit in at.user_limits if HostLimit(at, limit).is_set]


def _in_gib(**amounts: int | None) -> dict[str, Any]:
    return {name: (amount or 0) / GIB for name, amount in amounts.items()}
