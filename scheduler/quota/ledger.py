# SPDX-License-Identifier: Apache-2.0
"""Quota: what every tenant holds, with its parents, and whether it may have more. Pure bookkeeping, no policy.

Hard limits are counted here; guarantees and borrowing in borrowing.py.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from scheduler.api.administrators import admins_above
from scheduler.api.host_resources import NOTHING, HostResources
from scheduler.api.plan import Explanation, Reason
from scheduler.api.snapshot import TenantSnapshot
from scheduler.quota.borrowing import BorrowingLedger
from scheduler.quota.host_limits import HostLedger, has_host_limits
from scheduler.quota.type_guarantees import borrowing_ledger, has_guarantees
from scheduler.quota.user_limits import ENDLESS, UserLedger, has_user_limits

_Limits = tuple[str, float, float]  # tenant, the most running jobs, the most GPUs; infinite = no limit


class Ledger:
    """Books GPUs and running jobs per tenant. What a tenant takes counts against all of its ancestors too.

    n_gpus, n_by_type: what the cluster has, so that a tenant may borrow what is guaranteed to no tenant, and no more;
    None = only limits count. borrowing: None where no tenant has a guarantee or a limit of borrowing. users: None where
    no tenant limits single users; hosts: where none limits CPUs or memory. user, gpu_type: of the job; without a type
    only limits of all types together count. host: what its pods request besides GPUs.
    Raises ValueError for a duplicate tenant, an unknown parent or a circle of parents.
    """

    def __init__(
        self,
        tenants: Iterable[TenantSnapshot],
        *,
        n_gpus: int | None = None,
        n_by_type: Mapping[str, int] | None = None,
    ) -> None:
        self._tenants: dict[str, TenantSnapshot] = {}
        for tenant in tenants:
            if tenant.id in self._tenants:
                raise ValueError(f"tenant {tenant.id!r} appears twice in the snapshot; ids must be unique")
            self._tenants[tenant.id] = tenant
        self._lines = {tenant_id: self._line_of(tenant_id) for tenant_id in self._tenants}
        self._limits = {tenant_id: _limits_of(line) for tenant_id, line in self._lines.items()}
        self._gpus = dict.fromkeys(self._tenants, 0)
        self._jobs = dict.fromkeys(self._tenants, 0)
        self._typed = _typed_limits(self._lines)
        self._gpus_of_type: dict[tuple[str, str], int] = {}
        known = self._tenants.values()
        self.borrowing = borrowing_ledger(known, n_gpus=n_gpus, n_by_type=n_by_type) if has_guarantees(known) else None
        self.users = UserLedger(self._lines) if has_user_limits(known) else None
        self.hosts = HostLedger(self._lines) if has_host_limits(known) else None

    @property
    def has_limits(self) -> bool:
        """Returns whether any tenant has a limit or a guarantee; without, nothing is ever refused."""
        limits = (limit for t in self._tenants.values() for limit in (t.max_gpus, t.max_running_jobs))
        parts = (self.borrowing, self.users, self.hosts)
        return (
            any(part is not None for part in parts) or bool(self._typed) or any(limit is not None for limit in limits)
        )

    def copy(self) -> Ledger:
        """Returns a copy that is booked on independently."""
        twin = Ledger.__new__(Ledger)
        twin._tenants, twin._lines, twin._limits = self._tenants, self._lines, self._limits
        twin._gpus, twin._jobs = dict(self._gpus), dict(self._jobs)
        twin._typed, twin._gpus_of_type = self._typed, dict(self._gpus_of_type)
        twin.borrowing = None if self.borrowing is None else self.borrowing.copy()
        twin.users = None if self.users is None else self.users.copy()
        twin.hosts = None if self.hosts is None else self.hosts.copy()
        return twin

    def gpus_of(self, tenant_id: str, gpu_type: str = "") -> int:
        """Returns the GPUs that the tenant and all below it use; of a type, if one is given, where a limit of types
        counts for any of them.
        """
        return self._gpus_of_type.get((tenant_id, gpu_type), 0) if gpu_type else self._gpus[tenant_id]

    def jobs_of(self, tenant_id: str) -> int:
        """Returns the running jobs of the tenant and of all below it."""
        return self._jobs[tenant_id]

    def refusal(
        self,
        tenant_id: str,
        *,
        gpus: int,
        jobs: int = 1,
        user: str = "",
        gpu_type: str = "",
        host: HostResources = NOTHING,
    ) -> Explanation | None:
        """Returns why the tenant may not take that much more now; None if it may.

        Limits come first, then what it may borrow.
        """
        refused = self.limit(tenant_id, gpus=gpus, jobs=jobs, user=user, gpu_type=gpu_type, host=host)
        if refused is None and self.borrowing is not None:
            return self.borrowing.refusal(tenant_id, gpus, gpu_type=gpu_type)
        return refused

    def allows(
        self,
        tenant_id: str,
        *,
        gpus: int,
        jobs: int = 1,
        user: str = "",
        gpu_type: str = "",
        host: HostResources = NOTHING,
    ) -> bool:
        """Returns whether refusal() has nothing against so much more: for who does not ask why."""
        if (self.users is not None and user) or (gpu_type and self._typed) or self.hosts is not None:
            return self.refusal(tenant_id, gpus=gpus, jobs=jobs, user=user, gpu_type=gpu_type, host=host) is None
        limits = self._limits.get(tenant_id)
        for at, most_jobs, most_gpus in _limits_of(self._line(tenant_id)) if limits is None else limits:
            if (jobs > 0 and self._jobs[at] + jobs > most_jobs) or (gpus > 0 and self._gpus[at] + gpus > most_gpus):
                return False
        return self.borrowing is None or self.borrowing.refusal(tenant_id, gpus, gpu_type=gpu_type) is None

    def limit(
        self,
        tenant_id: str,
        *,
        gpus: int,
        jobs: int = 1,
        user: str = "",
        gpu_type: str = "",
        host: HostResources = NOTHING,
    ) -> Explanation | None:
        """Returns the hard limit that so much more would break, the user's first, then the nearest; None if there is
        none.
        """
        if self.users is not None and user:
            refused = self.users.limit(tenant_id, user, gpus=gpus, jobs=jobs, gpu_type=gpu_type)
            if refused is not None:
                return refused
        for tenant in self._line(tenant_id):
            used_jobs = self._jobs[tenant.id]
            if jobs > 0 and tenant.max_running_jobs is not None and used_jobs + jobs > tenant.max_running_jobs:
                facts = {"used": used_jobs, "quota": tenant.max_running_jobs}
                return Explanation(Reason.QUOTA_RUNNING_JOBS, {**self._whose(tenant), **facts})
            used = self._gpus[tenant.id]
            if gpus > 0 and tenant.max_gpus is not None and used + gpus > tenant.max_gpus:
                facts = {"used": used, "quota": tenant.max_gpus, "need": gpus}
                return Explanation(Reason.QUOTA_GPUS, {**self._whose(tenant), **facts})
        refused = self._type_limit(tenant_id, gpu_type, gpus) if gpu_type and self._typed else None
        if refused is None and self.hosts is not None:
            return self.hosts.limit(tenant_id, host, self._above, user=user)
        return refused

    def type_limit(self, tenant_id: str, gpu_type: str, *, gpus: int, user: str = "") -> Explanation | None:
        """Returns the limit of this type of GPU that so many more would break, the user's first; None if there is
        none.
        """
        refused = None
        if self.users is not None and user:
            refused = self.users.type_limit(tenant_id, user, gpu_type, gpus=gpus)
        return refused or self._type_limit(tenant_id, gpu_type, gpus)

    def limits_types(self, tenant_id: str, user: str) -> bool:
        """Returns whether limits of single types may count for the user's jobs of the tenant."""
        return tenant_id in self._typed or (self.users is not None and bool(user))

    @property
    def has_types(self) -> bool:
        """Returns whether GPUs of any type are guaranteed, or borrowed within limits of the type."""
        return self.borrowing is not None and bool(self.borrowing.types)

    def left_of_type(self, tenant_id: str, gpu_type: str, *, user: str = "") -> int:
        """Returns the GPUs of the type that limits of types leave, at least 0; many where there is none."""
        left = ENDLESS if self.users is None or not user else self.users.left_of_type(tenant_id, user, gpu_type)
        for at, most in self._typed.get(tenant_id, {}).get(gpu_type, ()):
            left = min(left, max(0, most - self._gpus_of_type.get((at.id, gpu_type), 0)))
        return left

    def _type_limit(self, tenant_id: str, gpu_type: str, gpus: int) -> Explanation | None:
        for at, most in self._typed.get(tenant_id, {}).get(gpu_type, ()) if gpus > 0 else ():
            used = self._gpus_of_type.get((at.id, gpu_type), 0)
            if used + gpus > most:
                facts = {**self._whose(at), "gpu_type": gpu_type}
                return Explanation(Reason.QUOTA_GPUS_OF_TYPE, {**facts, "used": used, "quota": most, "need": gpus})
        return None

    @property
    def has_guarantees(self) -> bool:
        """Returns whether any tenant has a guarantee; without, is_guaranteed() is False of all."""
        return self.borrowing is not None

    @property
    def has_host_limits(self) -> bool:
        """Returns whether any tenant has a limit of CPUs or memory."""
        return self.hosts is not None

    def is_guaranteed(self, tenant_id: str, gpus: int) -> bool:
        """Returns whether so many more are within a guarantee of the tenant, or of one above it."""
        return self.borrowing is not None and self.borrowing.owner(tenant_id, gpus)[0]

    def never(
        self,
        tenant_id: str,
        *,
        gpus: int,
        gpu_types: Iterable[str] = (),
        host: HostResources = NOTHING,
        user: str = "",
    ) -> Explanation | None:
        """Returns why the tenant may not use so many GPUs of one of these types even alone; None if that is allowed.

        gpu_types: those that the job may use and the cluster has; () = limits of types do not count. user: whose limits
        of CPUs and memory count, too.
        """
        for tenant in self._line(tenant_id):
            limit = 0 if tenant.max_running_jobs == 0 else tenant.max_gpus
            if limit is not None and gpus > limit:
                facts = {**self._whose(tenant), "need": gpus, "have": limit}
                return Explanation(Reason.LARGER_THAN_QUOTA, facts)
        if self.borrowing is not None and gpus > (most := self.borrowing.most(tenant_id)):
            facts = {**self._whose(self._tenants[tenant_id]), "need": gpus, "have": most}
            return Explanation(Reason.LARGER_THAN_QUOTA, facts)
        types, refused = tuple(gpu_types), None
        if tenant_id in self._typed:
            refused = self._never_of_type(tenant_id, gpus, types)
        if refused is None and self.borrowing is not None:
            refused = self._never_borrowed(self.borrowing, tenant_id, gpus, types)
        if refused is None and self.hosts is not None:
            return self.hosts.never(tenant_id, host, self._above, n_workers=gpus, user=user)
        return refused

    def _never_of_type(self, tenant_id: str, gpus: int, gpu_types: tuple[str, ...]) -> Explanation | None:
        """Each type by its tightest limit; of the type that allows the most, whose limit that is."""
        tightest = []
        for gpu_type in gpu_types:
            limits = self._typed[tenant_id].get(gpu_type, ())
            if not limits:
                return None
            tightest.append(min(limits, key=lambda one: one[1]))
        if not tightest:
            return None
        at, most = max(tightest, key=lambda one: one[1])
        if gpus <= most:
            return None
        facts = {"need": gpus, "have": most, "types": ", ".join(gpu_types)}
        return Explanation(Reason.LARGER_THAN_QUOTA_OF_TYPE, {**self._whose(at), **facts})

    def _never_borrowed(
        self, borrowing: BorrowingLedger, tenant_id: str, gpus: int, gpu_types: tuple[str, ...]
    ) -> Explanation | None:
        """The same by limits of borrowing and lending of types, each type with what could be had of it."""
        books = [borrowing.of_type(gpu_type) for gpu_type in gpu_types]
        if any(one is None for one in books):
            return None
        most, whose = max((one.most_by(tenant_id) for one in books if one is not None), default=(gpus, tenant_id))
        if gpus <= most:
            return None
        facts = {"need": gpus, "have": most, "types": ", ".join(gpu_types)}
        return Explanation(Reason.LARGER_THAN_QUOTA_OF_TYPE, {**self._whose(self._tenants[whose]), **facts})

    def excess(self, tenant_id: str, *, user: str = "") -> Explanation | None:
        """Returns OVER_QUOTA, with numbers, if the user, the tenant or an ancestor has more than it may; else None."""
        if self.users is not None and user and (found := self.users.excess(tenant_id, user)) is not None:
            return found
        for tenant in self._line(tenant_id):
            if tenant.max_gpus is not None and self._gpus[tenant.id] > tenant.max_gpus:
                facts = {"tenant": name_of(tenant), "used": self._gpus[tenant.id], "quota": tenant.max_gpus}
                return Explanation(Reason.OVER_QUOTA, facts)
            if tenant.max_running_jobs is not None and self._jobs[tenant.id] > tenant.max_running_jobs:
                facts = {"tenant": name_of(tenant), "used": self._jobs[tenant.id], "quota": tenant.max_running_jobs}
                return Explanation(Reason.OVER_QUOTA_JOBS, facts)
            for gpu_type, most in tenant.gpus_by_type:
                used = self._gpus_of_type.get((tenant.id, gpu_type), 0)
                if used > most:
                    facts = {"tenant": name_of(tenant), "gpu_type": gpu_type, "used": used, "quota": most}
                    return Explanation(Reason.OVER_QUOTA_OF_TYPE, facts)
        return None if self.hosts is None else self.hosts.excess(tenant_id, user=user)

    def reserve(
        self,
        tenant_id: str,
        *,
        gpus: int,
        jobs: int = 1,
        n_shared: int = 0,
        user: str = "",
        gpu_type: str = "",
        host: HostResources = NOTHING,
    ) -> None:
        """Books a job, whether it is within the limits or not: what is held is held.

        n_shared: of the GPUs, those that other jobs hold already; nothing is borrowed for them.
        """
        for tenant in self._line(tenant_id):
            self._gpus[tenant.id] += gpus
            self._jobs[tenant.id] += jobs
        if gpu_type and tenant_id in self._typed:
            for at, _ in self._typed[tenant_id].get(gpu_type, ()):
                self._gpus_of_type[at.id, gpu_type] = self._gpus_of_type.get((at.id, gpu_type), 0) + gpus
        if self.borrowing is not None:
            self.borrowing.reserve(tenant_id, gpus - n_shared, gpu_type=gpu_type)
        if self.users is not None and user:
            self.users.reserve(tenant_id, user, gpus=gpus, jobs=jobs, gpu_type=gpu_type)
        if self.hosts is not None:
            self.hosts.reserve(tenant_id, host, user=user)

    def release(
        self,
        tenant_id: str,
        *,
        gpus: int,
        jobs: int = 1,
        n_shared: int = 0,
        user: str = "",
        gpu_type: str = "",
        host: HostResources = NOTHING,
    ) -> None:
        """Takes a job out of the books."""
        back = NOTHING if self.hosts is None else NOTHING.without(host)
        self.reserve(tenant_id, gpus=-gpus, jobs=-jobs, n_shared=-n_shared, user=user, gpu_type=gpu_type, host=back)

    def _above(self, tenant: TenantSnapshot) -> str:
        """Whose admins share out what the tenant has, by name."""
        return admins_above(self._line(tenant.id))

    def _whose(self, tenant: TenantSnapshot) -> dict[str, str]:
        """Whose a limit is, and whose admins can raise it."""
        return {"tenant": name_of(tenant), "above": self._above(tenant)}

    def _line(self, tenant_id: str) -> tuple[TenantSnapshot, ...]:
        try:
            return self._lines[tenant_id]
        except KeyError:
            raise ValueError(
                f"tenant {tenant_id!r} is not in the snapshot; add it to ClusterSnapshot.tenants"
            ) from None

    def _line_of(self, tenant_id: str) -> tuple[TenantSnapshot, ...]:
        line: list[TenantSnapshot] = []
        next_id: str | None = tenant_id
        while next_id is not None:
            tenant = self._tenants.get(next_id)
            if tenant is None:
                raise ValueError(f"tenant {line[-1].id!r} has the unknown parent {next_id!r}")
            if tenant in line:
                raise ValueError(f"tenant {next_id!r} is its own ancestor; parents must form a tree")
            line.append(tenant)
            next_id = tenant.parent
        return tuple(line)


def _limits_of(line: Iterable[TenantSnapshot]) -> tuple[_Limits, ...]:
    """Those of a line of tenants that have any."""
    return tuple(
        (
            tenant.id,
            math.inf if tenant.max_running_jobs is None else tenant.max_running_jobs,
            math.inf if tenant.max_gpus is None else tenant.max_gpus,
        )
        for tenant in line
        if tenant.max_running_jobs is not None or tenant.max_gpus is not None
    )


_TypedLimits = dict[str, dict[str, tuple[tuple[TenantSnapshot, int], ...]]]


def _typed_limits(lines: Mapping[str, tuple[TenantSnapshot, ...]]) -> _TypedLimits:
    """By tenant for which any counts, by type: whose limits they are, and how many GPUs, the nearest first."""
    found: _TypedLimits = {}
    for tenant_id, line in lines.items():
        types = dict.fromkeys(gpu_type for at in line for gpu_type, _ in at.gpus_by_type)
        for gpu_type in types:
            limits = tuple((at, most) for at in line for name, most in at.gpus_by_type if name == gpu_type)
            found.setdefault(tenant_id, {})[gpu_type] = limits
    return found


def name_of(tenant: TenantSnapshot) -> str:
    """Returns the name of the tenant as messages show it."""
    return tenant.name or tenant.id
