# SPDX-License-Identifier: Apache-2.0
"""What single users hold within their tenants, and whether they may have more: the ledger's part for users."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from scheduler.api.administrators import admins_within
from scheduler.api.plan import Explanation, Reason
from scheduler.api.snapshot import TenantSnapshot
from scheduler.api.user_limits import UserLimit

ENDLESS = 1 << 60  # GPUs, where there is no limit
_Owned = tuple[TenantSnapshot, UserLimit]


class UserLedger:
    """Books GPUs, by type, and running jobs of users that have limits. A job counts in its tenant and all above it.

    lines: by tenant, itself and its parents. Others' jobs, and those of users without a limit, are not booked.
    """

    def __init__(self, lines: Mapping[str, tuple[TenantSnapshot, ...]]) -> None:
        self._lines = lines
        self._limits = {(at.id, one.user): one for line in lines.values() for at in line[:1] for one in at.user_limits}
        self._found: dict[tuple[str, str], tuple[_Owned, ...]] = {}
        self._gpus: dict[tuple[str, str], int] = {}
        self._typed: dict[tuple[str, str, str], int] = {}
        self._jobs: dict[tuple[str, str], int] = {}

    def copy(self) -> UserLedger:
        """Returns a copy that is booked on independently."""
        twin = UserLedger.__new__(UserLedger)
        twin._lines, twin._limits, twin._found = self._lines, self._limits, self._found
        twin._gpus, twin._typed, twin._jobs = dict(self._gpus), dict(self._typed), dict(self._jobs)
        return twin

    def of(self, tenant_id: str, user: str) -> tuple[_Owned, ...]:
        """Returns the limits that hold for the user's jobs of this tenant, each with whose it is, the nearest first."""
        key = (tenant_id, user)
        found = self._found.get(key)
        if found is None:
            line = self._lines.get(tenant_id, ())
            found = tuple([(at, self._limits[at.id, user]) for at in line if (at.id, user) in self._limits])
            self._found[key] = found
        return found

    def gpus_of(self, owner: str, user: str, gpu_type: str = "") -> int:
        """Returns the GPUs, of the type if one is given, that the user's jobs hold of this tenant."""
        return self._typed.get((owner, user, gpu_type), 0) if gpu_type else self._gpus.get((owner, user), 0)

    def jobs_of(self, owner: str, user: str) -> int:
        """Returns the running jobs of the user in this tenant."""
        return self._jobs.get((owner, user), 0)

    def limit(self, tenant_id: str, user: str, *, gpus: int, jobs: int, gpu_type: str = "") -> Explanation | None:
        """Returns the limit that so much more would break, the nearest first; None if there is none."""
        for at, limit in self.of(tenant_id, user):
            running, used = self.jobs_of(at.id, user), self.gpus_of(at.id, user)
            if jobs > 0 and limit.max_running_jobs is not None and running + jobs > limit.max_running_jobs:
                facts = {**self._facts(at, limit), "used": running, "quota": limit.max_running_jobs}
                return Explanation(Reason.USER_QUOTA_RUNNING_JOBS, facts)
            if gpus > 0 and limit.max_gpus is not None and used + gpus > limit.max_gpus:
                return self._about_gpus(at, limit, used=used, quota=limit.max_gpus, need=gpus)
        return self.type_limit(tenant_id, user, gpu_type, gpus=gpus) if gpu_type else None

    def type_limit(self, tenant_id: str, user: str, gpu_type: str, *, gpus: int) -> Explanation | None:
        """Returns the limit of this type of GPU that so many more would break; None if there is none."""
        for at, limit in self.of(tenant_id, user):
            most, used = limit.most_of(gpu_type), self.gpus_of(at.id, user, gpu_type)
            if gpus > 0 and most is not None and used + gpus > most:
                return self._about_gpus(at, limit, used=used, quota=most, need=gpus, gpu_type=gpu_type)
        return None

    def left_of_type(self, tenant_id: str, user: str, gpu_type: str) -> int:
        """Returns the GPUs of the type that limits of types leave the user, at least 0; many where there is none."""
        left = ENDLESS
        for at, limit in self.of(tenant_id, user):
            most = limit.most_of(gpu_type)
            if most is not None:
                left = min(left, max(0, most - self.gpus_of(at.id, user, gpu_type)))
        return left

    def never(self, tenant_id: str, user: str, *, gpus: int, gpu_types: Iterable[str]) -> Explanation | None:
        """Returns why the user may never have so many GPUs of one of these types, even alone; None if that is allowed.

        gpu_types: those that the job may use and the cluster has.
        """
        types = tuple(gpu_types)
        for at, limit in self.of(tenant_id, user):
            most = 0 if limit.max_running_jobs == 0 else limit.max_gpus
            by_type = [limit.most_of(gpu_type) for gpu_type in types]
            if types and None not in by_type:
                widest = max(n for n in by_type if n is not None)
                most = widest if most is None else min(most, widest)
            if most is not None and gpus > most:
                facts = {**self._facts(at, limit), "need": gpus, "have": most}
                return Explanation(Reason.LARGER_THAN_USER_QUOTA, facts)
        return None

    def excess(self, tenant_id: str, user: str) -> Explanation | None:
        """Returns OVER_USER_QUOTA, with numbers, if the user holds more of a tenant than limits allow; else None."""
        for at, limit in self.of(tenant_id, user):
            used, running = self.gpus_of(at.id, user), self.jobs_of(at.id, user)
            for what, n, most in (
                ("GPUs", used, limit.max_gpus),
                ("jobs", running, limit.max_running_jobs),
                *((f"GPUs of type {t}", self.gpus_of(at.id, user, t), most) for t, most in limit.gpus_by_type),
            ):
                if most is not None and n > most:
                    facts = {**self._facts(at, limit), "what": what, "used": n, "quota": most}
                    return Explanation(Reason.OVER_USER_QUOTA, facts)
        return None

    def reserve(self, tenant_id: str, user: str, *, gpus: int, jobs: int, gpu_type: str = "") -> None:
        """Books a job of the user; negative numbers take it out of the books."""
        for at, _ in self.of(tenant_id, user):
            key = (at.id, user)
            self._gpus[key] = self._gpus.get(key, 0) + gpus
            self._jobs[key] = self._jobs.get(key, 0) + jobs
            if gpu_type:
                self._typed[*key, gpu_type] = self._typed.get((*key, gpu_type), 0) + gpus

    def _about_gpus(
        self, at: TenantSnapshot, limit: UserLimit, *, used: int, quota: int, need: int, gpu_type: str = ""
    ) -> Explanation:
        scope = f" of type {gpu_type}" if gpu_type else ""
        facts = {**self._facts(at, limit), "used": used, "quota": quota, "need": need, "scope": scope}
        return Explanation(Reason.USER_QUOTA_GPUS, facts)

    def _facts(self, at: TenantSnapshot, limit: UserLimit) -> dict[str, Any]:
        admins = admins_within(self._lines[at.id])
        return {"user": limit.name or limit.user, "tenant": at.name or at.id, "admins": admins}


def has_user_limits(tenants: Iterable[TenantSnapshot]) -> bool:
    """Returns whether any tenant limits a user."""
    return any(tenant.user_limits for tenant in tenants)
