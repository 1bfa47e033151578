# SPDX-License-Identifier: Apache-2.0
"""The books of a forecast: what quota allows its jobs, and when that changes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass
from typing import Protocol

from scheduler.api.host_resources import NOTHING, HostResources, planned_resources
from scheduler.api.snapshot import JobSnapshot


@dataclass(frozen=True)
class LeavingGang:
    """Describes the GPUs that a job on its way out releases after so many seconds. tenant: whose quota they use.

    gpu_type: whose limits count for them; "" = of none. host: what its pods request besides GPUs.
    """

    tenant: str
    n_gpus: int
    after_s: float
    user: str = ""
    gpu_type: str = ""
    host: HostResources = NOTHING


@dataclass(frozen=True)
class BooksChange:
    """Describes other limits that hold after so many seconds: books in which nothing is booked. reclaiming: tenants
    whose waiting jobs take back, within their guarantee, what others borrow. lowers: any limit or guarantee falls.
    """

    after_s: float
    quota: QuotaBooks
    reclaiming: Collection[str]
    lowers: bool = False


class QuotaBooks(Protocol):
    """Counts what tenants hold, as scheduler.quota.ledger does."""

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
        """Returns whether the tenant may take so much more."""

    @property
    def has_guarantees(self) -> bool:
        """Returns whether any tenant has a guarantee."""

    @property
    def has_host_limits(self) -> bool:
        """Returns whether any tenant has a limit of CPUs or memory."""

    def is_guaranteed(self, tenant_id: str, gpus: int) -> bool:
        """Returns whether so many more are within a guarantee of the tenant, or of one above it."""

    def reserve(
        self,
        tenant_id: str,
        *,
        gpus: int,
        jobs: int = 1,
        user: str = "",
        gpu_type: str = "",
        host: HostResources = NOTHING,
    ) -> None:
        """Books a job."""

    def release(
        self,
        tenant_id: str,
        *,
        gpus: int,
        jobs: int = 1,
        user: str = "",
        gpu_type: str = "",
        host: HostResources = NOTHING,
    ) -> None:
        """Takes a job out of the books."""


class Books:
    """Holds what jobs of the forecast take out of quota, and give back to it."""

    def __init__(self, quota: QuotaBooks, limited_type: Callable[[JobSnapshot], str]) -> None:
        self.quota, self.limited_type = quota, limited_type
        self._has_host_limits = quota.has_host_limits
        self._terms: dict[tuple[str, int], tuple[str, HostResources]] = {}

    def kind(self, job: JobSnapshot, least: int) -> Hashable:
        """Returns what is equal for jobs of one tenant and least size that quota treats alike."""
        return (job.user, *self._terms_of(job, least))

    def allows(self, job: JobSnapshot, n_workers: int) -> bool:
        """Returns whether the job may have so many GPUs now."""
        gpu_type, host = self._terms_of(job, n_workers)
        return self.quota.allows(job.tenant, gpus=n_workers, user=job.user, gpu_type=gpu_type, host=host)

    def book(self, job: JobSnapshot, n_workers: int) -> None:
        """Books what the job holds."""
        gpu_type, host = self._terms_of(job, n_workers)
        self.quota.reserve(job.tenant, gpus=n_workers, user=job.user, gpu_type=gpu_type, host=host)

    def give_back(self, job: JobSnapshot, n_workers: int) -> None:
        """Takes the job out of the books."""
        gpu_type, host = self._terms_of(job, n_workers)
        self.quota.release(job.tenant, gpus=n_workers, user=job.user, gpu_type=gpu_type, host=host)

    def borrows(self, job: JobSnapshot, n_workers: int) -> bool:
        """Returns whether what the job holds is not within a guarantee of its tenant, or of one above it."""
        self.give_back(job, n_workers)
        is_own = self.quota.is_guaranteed(job.tenant, n_workers)
        self.book(job, n_workers)
        return not is_own

    def book_leaving(self, gang: LeavingGang) -> None:
        """Books what a job on its way out holds."""
        self.quota.reserve(gang.tenant, gpus=gang.n_gpus, user=gang.user, gpu_type=gang.gpu_type, host=gang.host)

    def give_back_leaving(self, gang: LeavingGang) -> None:
        """Takes it out of the books."""
        self.quota.release(gang.tenant, gpus=gang.n_gpus, user=gang.user, gpu_type=gang.gpu_type, host=gang.host)

    def _terms_of(self, job: JobSnapshot, n_workers: int) -> tuple[str, HostResources]:
        """The type whose limits count for the job, and what its pods request: asked for up to four times."""
        found = self._terms.get((job.id, n_workers))
        if found is None:
            host = planned_resources(job, n_workers) if self._has_host_limits else NOTHING
            found = self._terms[job.id, n_workers] = self.limited_type(job), host
        return found


def newly_refused(held: Sequence[tuple[JobSnapshot, int]], before: Books, now: Books) -> set[str]:
    """Returns the jobs that the books of now refuse, and those of before did not: one after the other in this order.

    held: jobs and their workers. before: with all of these booked; they are not any more then. now: without them, and
    left like that.
    """
    for job, n_workers in held:
        before.give_back(job, n_workers)
    fitting = _booked(held, now)
    for job, n_workers in held:
        if job.id in fitting:
            now.give_back(job, n_workers)
    return _booked(held, before) - fitting


def _booked(held: Sequence[tuple[JobSnapshot, int]], books: Books) -> set[str]:
    """Books the jobs as far as they are allowed; returns these."""
    found = set[str]()
    for job, n_workers in held:
        if books.allows(job, n_workers):
            books.book(job, n_workers)
            found.add(job.id)
    return found
