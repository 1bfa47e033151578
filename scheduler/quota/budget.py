# SPDX-License-Identifier: Apache-2.0
"""What a policy may give away in a round: GPUs by type and quota, so that no policy counts either itself."""

from __future__ import annotations

import math
from collections.abc import Mapping

from scheduler.api.host_resources import NOTHING, HostResources, held_resources, host_resources, planned_resources
from scheduler.api.plan import Explanation, Reason
from scheduler.api.snapshot import GangAllocation, JobSnapshot
from scheduler.quota.borrowing import BorrowingLedger
from scheduler.quota.entitlements import Entitlement
from scheduler.quota.ledger import Ledger
from scheduler.quota.studies import StudyLimits


class Budget:
    """Holds GPUs that are free or come free, and the tenants' quota. reserve() grants a size; reserving again changes
    it.

    gpus: by GPU type, of nodes that take jobs. present: type and count that running jobs hold; they are free to give
    away, but a job's own type is tried first. fits: the most workers of a job that the empty nodes can take, by type.
    entitlement: what owners of guarantees claim and take back in this round; None where no tenant has a guarantee.
    studies: the most of each study next to other jobs; None where none has to be limited.
    """

    def __init__(self, gpus: Mapping[str, int], ledger: Ledger, *, present: Mapping[str, str]) -> None:
        self._left = dict(gpus)
        self._ledger = ledger
        self._present = dict(present)
        self._granted: dict[str, tuple[str, int]] = {}
        self._sharing: set[str] = set()
        self._hosts: dict[str, HostResources] = {}  # booked, by job, where they are limited
        self.entitlement: Entitlement | None = None
        self.studies: StudyLimits | None = None

    def copy(self) -> Budget:
        """Returns a copy that is granted from independently."""
        twin = Budget(self._left, self._ledger.copy(), present=self._present)
        twin._granted, twin._sharing, twin._hosts = dict(self._granted), set(self._sharing), dict(self._hosts)
        twin.entitlement = None if self.entitlement is None else self.entitlement.copy()
        twin.studies = None if self.studies is None else self.studies.copy()
        return twin

    def adopt(self, other: Budget) -> None:
        """Takes over what was granted out of a copy."""
        self._left, self._ledger, self._granted = dict(other._left), other._ledger.copy(), dict(other._granted)
        self._sharing, self._hosts = set(other._sharing), dict(other._hosts)
        self.entitlement = None if other.entitlement is None else other.entitlement.copy()
        self.studies = None if other.studies is None else other.studies.copy()

    @property
    def borrowing(self) -> BorrowingLedger | None:
        """Returns the books of guarantees; None where no tenant has one."""
        return self._ledger.borrowing

    def books(self) -> Ledger:
        """Returns a copy of what is booked, for trials."""
        return self._ledger.copy()

    def granted(self, job: JobSnapshot) -> int:
        """Returns the GPUs that the job was granted; 0 if none."""
        return self._granted.get(job.id, ("", 0))[1]

    def gpu_type(self, job: JobSnapshot) -> str:
        """Returns the GPU type that the job was granted. Raises KeyError if it was granted nothing."""
        return self._granted[job.id][0]

    def gpus_of_tenant(self, tenant_id: str) -> int:
        """Returns the GPUs that are booked for the tenant."""
        return self._ledger.gpus_of(tenant_id)

    def n_left(self) -> int:
        """Returns the GPUs that are left, of all types."""
        return sum(self._left.values())

    def most_left(self) -> int:
        """Returns the GPUs left of the type of which the most are left."""
        return max(self._left.values(), default=0)

    def most_workers(self, job: JobSnapshot, gpu_type: str | None = None) -> float:
        """Returns the workers that the job could have at most (of this type, if one is given), whatever quota says.

        Infinite where a refused request is recorded for the tenant: it must be made then.
        """
        if self.entitlement is not None or self.studies is not None:
            return math.inf
        own_type, had = self._granted.get(job.id, ("", 0))
        if job.id in self._sharing:
            had = 0
        if had and gpu_type is None:
            return self._left[own_type] + had
        if gpu_type is None:
            return max(self._left.values(), default=0)
        return self._left.get(gpu_type, 0) + (had if gpu_type == own_type else 0)

    def left_by_type(self) -> dict[str, int]:
        """Returns the GPUs that are left, by type."""
        return dict(self._left)

    def refusal(
        self, job: JobSnapshot, n_workers: int, *, gpu_type: str | None = None, is_request: bool = True
    ) -> Explanation | None:
        """Returns why the job may not have n workers in all (of this type, if one is given); None if it may.

        is_request: the policy would grant them; False = only the reason is wanted, and nothing is recorded.
        """
        refused = self._over_quota(job, n_workers, is_request=is_request)
        if refused is not None:
            return refused
        if self._type_for(job, n_workers, gpu_type) is None:
            refused = self._about_types(job, n_workers, gpu_type)
            if refused is None and self.entitlement is not None:
                refused = self.entitlement.about_kept(job, n_workers, self._left)
            if refused is not None:
                return refused
            more, free = n_workers - self.granted(job), self.n_left()
            return Explanation(Reason.TOO_FEW_FREE_GPUS, {"free": free, "total": free, "need": more})
        return None

    def _over_quota(self, job: JobSnapshot, n_workers: int, *, is_request: bool = True) -> Explanation | None:
        had = self.granted(job)
        more = n_workers - had
        if more <= 0:
            return None
        host = self._more_host(job, n_workers)
        refused = self._ledger.refusal(job.tenant, gpus=more, jobs=0 if had else 1, user=job.user, host=host)
        if self.entitlement is not None:
            refused = self.entitlement.refusal(job, n_workers, had=had, is_request=is_request) or refused
        if refused is None and self.studies is not None:
            had_alone = 0 if job.id in self._sharing else had
            return self.studies.refusal(job, n_workers - had_alone, is_request=is_request)
        return refused

    def _is_within_quota(self, job: JobSnapshot, n_workers: int) -> bool:
        """Asks for n workers in all, as a policy's request."""
        if self.entitlement is not None or self.studies is not None:
            return self._over_quota(job, n_workers) is None
        had = self.granted(job)
        more = n_workers - had
        if more <= 0:
            return True
        host = self._more_host(job, n_workers)
        return self._ledger.allows(job.tenant, gpus=more, jobs=0 if had else 1, user=job.user, host=host)

    def allows(self, job: JobSnapshot, n_workers: int) -> bool:
        """Returns whether refusal() of a size that is not requested would have nothing against it."""
        if self.entitlement is not None or self.studies is not None:
            return self.refusal(job, n_workers, is_request=False) is None
        return self._is_within_quota(job, n_workers) and self._type_for(job, n_workers) is not None

    def reserve(self, job: JobSnapshot, n_workers: int, *, gpu_type: str | None = None) -> bool:
        """Grants n workers in all (more or fewer than before); returns False, and changes nothing, if that is
        refused.
        """
        if n_workers > max(self._left.values(), default=0) and job.id not in self._granted:
            return False
        if not self._is_within_quota(job, n_workers):
            return False
        chosen = self._type_for(job, n_workers, gpu_type)
        if chosen is None:
            return False
        self.release(job)
        self._left[chosen] -= n_workers
        host = self._book_host(job, n_workers)
        self._ledger.reserve(job.tenant, gpus=n_workers, user=job.user, gpu_type=chosen, host=host)
        self._granted[job.id] = (chosen, n_workers)
        if self.entitlement is not None:
            self.entitlement.record(job, n_workers, chosen)
        if self.studies is not None:
            self.studies.record(job, n_workers)
        return True

    def reserve_colocated(self, job: JobSnapshot, n_workers: int, *, gpu_type: str) -> bool:
        """Grants n workers on GPUs that others were granted; returns False, and changes nothing, if quota refuses that.

        A shared GPU counts in full against the quota of each job's tenant: a job that is left alone on it when the
        others leave has then not grown over its quota, and no tenant exceeds its quota by sharing. No GPU is taken for
        it, so that nothing is borrowed for it.
        """
        gpu_type_before, had = self._granted.get(job.id, ("", 0))
        on_type = gpu_type or gpu_type_before
        more, jobs, host = n_workers - had, 0 if had else 1, self._more_host(job, n_workers)
        refused = self._ledger.limit(job.tenant, gpus=more, jobs=jobs, user=job.user, gpu_type=on_type, host=host)
        if refused is not None:
            return False
        self.release(job)
        host = self._book_host(job, n_workers)
        self._ledger.reserve(job.tenant, gpus=n_workers, n_shared=n_workers, user=job.user, gpu_type=on_type, host=host)
        self._granted[job.id] = (on_type, n_workers)
        self._sharing.add(job.id)
        return True

    def release(self, job: JobSnapshot) -> None:
        """Takes back all that the job was granted."""
        gpu_type, had = self._granted.pop(job.id, ("", 0))
        if had:
            is_sharing = job.id in self._sharing
            n_shared, host = had if is_sharing else 0, self._hosts.pop(job.id, NOTHING)
            self._ledger.release(job.tenant, gpus=had, n_shared=n_shared, user=job.user, gpu_type=gpu_type, host=host)
            if is_sharing:
                self._sharing.remove(job.id)
                return
            self._left[gpu_type] += had
            if self.entitlement is not None:
                self.entitlement.record(job, -had, gpu_type)
            if self.studies is not None:
                self.studies.record(job, -had)

    def most_servers(self, job: JobSnapshot, n_workers: int) -> float:
        """Returns how many parameter servers next to so many workers limits of CPUs and memory leave the job; infinite
        without one.
        """
        if self._ledger.hosts is None:
            return math.inf
        own = self._hosts.get(job.id, NOTHING).without(host_resources(job, n_workers))
        return self._ledger.hosts.n_more(job.tenant, own, each=host_resources(job, 0, 1), user=job.user)

    def book_servers(self, job: JobSnapshot, allocation: GangAllocation) -> None:
        """Books the servers that placement gave to a job beyond those that were counted for it."""
        if self._ledger.hosts is None or job.id not in self._granted:
            return
        host = held_resources(job, allocation)
        self._ledger.hosts.reserve(job.tenant, host.without(self._hosts.get(job.id, NOTHING)), user=job.user)
        self._hosts[job.id] = host

    def _more_host(self, job: JobSnapshot, n_workers: int) -> HostResources:
        """What its pods would request beyond what is booked for it; nothing where that is limited nowhere."""
        if self._ledger.hosts is None:
            return NOTHING
        return planned_resources(job, n_workers).without(self._hosts.get(job.id, NOTHING))

    def _book_host(self, job: JobSnapshot, n_workers: int) -> HostResources:
        """What is to be booked for its pods, and is given back by release()."""
        if self._ledger.hosts is None:
            return NOTHING
        self._hosts[job.id] = planned_resources(job, n_workers)
        return self._hosts[job.id]

    def never(self, tenant_id: str, *, gpus: int) -> Explanation | None:
        """Returns why the quota of the tenant can never allow so many GPUs; None if it can."""
        return self._ledger.never(tenant_id, gpus=gpus)

    def excess(self, tenant_id: str) -> Explanation | None:
        """Returns which limit the tenant exceeds now; None if none."""
        return self._ledger.excess(tenant_id)

    def _about_types(self, job: JobSnapshot, n_workers: int, wanted: str | None) -> Explanation | None:
        """The limit of a type that the job would get without it; None if no such limit is the cause."""
        borrowing = self._ledger.borrowing
        has_typed = borrowing is not None and bool(borrowing.types)
        if not has_typed and not self._ledger.limits_types(job.tenant, job.user):
            return None
        gpu_type = self._type_for(job, n_workers, wanted, is_limited=False)
        if gpu_type is None:
            return None
        more = n_workers - (self.granted(job) if self._granted.get(job.id, ("",))[0] == gpu_type else 0)
        refused = self._ledger.type_limit(job.tenant, gpu_type, gpus=more, user=job.user)
        if refused is None and borrowing is not None and has_typed:
            return borrowing.refusal(job.tenant, more, gpu_type=gpu_type)
        return refused

    def _type_for(
        self, job: JobSnapshot, n_workers: int, wanted: str | None = None, *, is_limited: bool = True
    ) -> str | None:
        """The type that is wanted; else the one it has, else the one with the most left that the job may use.

        is_limited: False = limits of single types do not count.
        """
        own_type, had = self._granted.get(job.id, (self._present.get(job.id, ""), 0))
        if job.id in self._sharing:
            had = 0
        all_left = self._left_for(job, is_limited=is_limited)
        if wanted is not None:
            is_allowed = wanted in all_left and (not job.gpu_types or wanted in job.gpu_types)
            left = all_left.get(wanted, 0) + (had if wanted == own_type else 0)
            return wanted if is_allowed and left >= n_workers else None
        if had:
            return own_type if all_left[own_type] + had >= n_workers else None
        if all_left.get(own_type, -1) >= n_workers and (not job.gpu_types or own_type in job.gpu_types):
            return own_type
        fitting = [t for t, left in all_left.items() if left >= n_workers and (not job.gpu_types or t in job.gpu_types)]
        if len(fitting) < 2:
            return fitting[0] if fitting else None
        return min(fitting, key=lambda t: (-all_left[t], t))

    def _left_for(self, job: JobSnapshot, *, is_limited: bool) -> Mapping[str, int]:
        """What is left, without what waiting jobs of others claim by right, and within limits of single types."""
        found: Mapping[str, int] = self._left
        entitlement, borrowing = self.entitlement, self._ledger.borrowing
        if entitlement is not None:
            found = {t: left - entitlement.kept(job.tenant, t) for t, left in found.items()}
        if is_limited and borrowing is not None and borrowing.types:
            found = {t: min(left, borrowing.available(job.tenant, gpu_type=t)) for t, left in found.items()}
            if entitlement is not None:
                found = {t: entitlement.left_of_type(job, t, left) for t, left in found.items()}
        if is_limited and self._ledger.limits_types(job.tenant, job.user):
            ledger = self._ledger
            found = {t: min(left, ledger.left_of_type(job.tenant, t, user=job.user)) for t, left in found.items()}
        return found
