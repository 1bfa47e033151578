# SPDX-License-Identifier: Apache-2.0
"""CPUs and memory that the pods of tenants request, and whether they may have more: the ledger's part for these."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from scheduler.api.host_resources import HostResources
from scheduler.api.plan import Explanation, Reason
from scheduler.api.snapshot import TenantSnapshot

GIB = 1 << 30
CPU_GRAIN = 1e-6  # CPUs are sums of floats


class HostLedger:
    """Books CPUs and memory where a tenant of the tree has a limit of them; others' jobs are not booked.

    lines: by tenant, itself and its parents.
    """

    def __init__(self, lines: Mapping[str, tuple[TenantSnapshot, ...]]) -> None:
        limited = {tenant_id: tuple(at for at in line if _is_limited(at)) for tenant_id, line in lines.items()}
        self._limited = {tenant_id: found for tenant_id, found in limited.items() if found}
        self._used: dict[str, HostResources] = {}

    def copy(self) -> HostLedger:
        """Returns a copy that is booked on independently."""
        twin = HostLedger.__new__(HostLedger)
        twin._limited, twin._used = self._limited, dict(self._used)
        return twin

    def used(self, tenant_id: str) -> HostResources:
        """Returns what the pods of the tenant and of all below it request, where it has a limit."""
        return self._used.get(tenant_id, HostResources())

    def limit(self, tenant_id: str, more: HostResources, above: Callable[[TenantSnapshot], str]) -> Explanation | None:
        """Returns the limit that so much more would break, the nearest first; None if there is none.

        above: by a tenant, whose admins can raise its limits.
        """
        for at in self._limited.get(tenant_id, ()):
            used = self.used(at.id)
            facts = {"tenant": at.name or at.id, "above": above(at)}
            if more.cpus > 0 and _exceeds_cpus(at, used.cpus + more.cpus):
                numbers = {"used": used.cpus, "quota": at.max_cpus, "need": more.cpus}
                return Explanation(Reason.QUOTA_CPUS, {**facts, **numbers})
            if more.memory_bytes > 0 and _exceeds_memory(at, used.memory_bytes + more.memory_bytes):
                numbers = _in_gib(used=used.memory_bytes, quota=at.max_memory_bytes, need=more.memory_bytes)
                return Explanation(Reason.QUOTA_MEMORY, {**facts, **numbers})
        return None

    def never(
        self, tenant_id: str, least: HostResources, above: Callable[[TenantSnapshot], str], *, n_workers: int
    ) -> Explanation | None:
        """Returns why so many workers, which request that, may not run even alone; None if that is allowed."""
        for at in self._limited.get(tenant_id, ()):
            facts = {"tenant": at.name or at.id, "above": above(at), "n_workers": n_workers}
            if _exceeds_cpus(at, least.cpus):
                return Explanation(Reason.LARGER_THAN_QUOTA_OF_CPUS, {**facts, "need": least.cpus, "have": at.max_cpus})
            if _exceeds_memory(at, least.memory_bytes):
                numbers = _in_gib(need=least.memory_bytes, have=at.max_memory_bytes)
                return Explanation(Reason.LARGER_THAN_QUOTA_OF_MEMORY, {**facts, **numbers})
        return None

    def excess(self, tenant_id: str) -> Explanation | None:
        """Returns OVER_QUOTA_CPUS or OVER_QUOTA_MEMORY, with numbers, if pods request more than a limit; else None."""
        for at in self._limited.get(tenant_id, ()):
            used = self.used(at.id)
            if _exceeds_cpus(at, used.cpus):
                facts = {"tenant": at.name or at.id, "used": used.cpus, "quota": at.max_cpus}
                return Explanation(Reason.OVER_QUOTA_CPUS, facts)
            if _exceeds_memory(at, used.memory_bytes):
                numbers = _in_gib(used=used.memory_bytes, quota=at.max_memory_bytes)
                return Explanation(Reason.OVER_QUOTA_MEMORY, {"tenant": at.name or at.id, **numbers})
        return None

    def n_more(self, tenant_id: str, own: HostResources, *, each: HostResources) -> float:
        """Returns how many pods of that size limits leave besides what is booked, at least 0; infinite without one.

        own: booked, and given back for it; negative where it is taken in addition.
        """
        n = math.inf
        for at in self._limited.get(tenant_id, ()):
            used = self.used(at.id).without(own)
            if at.max_cpus is not None and each.cpus > 0:
                n = min(n, (at.max_cpus - used.cpus + CPU_GRAIN) // each.cpus)
            if at.max_memory_bytes is not None and each.memory_bytes > 0:
                n = min(n, (at.max_memory_bytes - used.memory_bytes) // each.memory_bytes)
        return max(0, n)

    def reserve(self, tenant_id: str, more: HostResources) -> None:
        """Books so much; negative numbers take it out of the books."""
        for at in self._limited.get(tenant_id, ()):
            used = self.used(at.id)
            self._used[at.id] = HostResources(used.cpus + more.cpus, used.memory_bytes + more.memory_bytes)


def has_host_limits(tenants: Iterable[TenantSnapshot]) -> bool:
    """Returns whether any tenant has a limit of CPUs or memory."""
    return any(_is_limited(tenant) for tenant in tenants)


def _is_limited(tenant: TenantSnapshot) -> bool:
    return tenant.max_cpus is not None or tenant.max_memory_bytes is not None


def _exceeds_cpus(at: TenantSnapshot, cpus: float) -> bool:
    return at.max_cpus is not None and cpus > at.max_cpus + CPU_GRAIN


def _exceeds_memory(at: TenantSnapshot, memory_bytes: int) -> bool:
    return at.max_memory_bytes is not None and memory_bytes > at.max_memory_bytes


def _in_gib(**amounts: int | None) -> dict[str, Any]:
    return {name: (amount or 0) / GIB for name, amount in amounts.items()}
