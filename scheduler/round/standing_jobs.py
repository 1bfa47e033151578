# SPDX-License-Identifier: Apache-2.0
"""Waiting jobs of earlier rounds that need not be looked at again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from scheduler.api.snapshot import JobSnapshot, Needs, Phase, TenantSnapshot
from scheduler.models.known_jobs import KnownJobs

MAX_NEEDS = 20_000


class StandingJobs:
    """Holds waiting candidates of earlier rounds on one cluster, which were found sound and able to run: what was found
    of one holds for as long as it is the same object and the tenants, with their limits, are the same.

    runnable: needs of jobs that were found able to run; another job with the same needs is, too. At most MAX_NEEDS.
    """

    def __init__(self) -> None:
        self._tenants: tuple[TenantSnapshot, ...] = ()
        self._known = KnownJobs()
        self.runnable: set[Needs] = set()

    @property
    def by_id(self) -> Mapping[str, JobSnapshot]:
        """Returns the jobs that are held."""
        return self._known.by_id

    def others(self, jobs: Sequence[JobSnapshot], tenants: tuple[TenantSnapshot, ...]) -> list[JobSnapshot]:
        """Returns those of a round's jobs that were no candidates under these tenants before."""
        if tenants != self._tenants:
            self._tenants, self.runnable = tenants, set()
            self._known.clear()
        return self._known.unknown(jobs)

    def add(self, candidates: Iterable[JobSnapshot]) -> None:
        """Adds those of a round's candidates that wait, of the jobs that others() was given last."""
        self._known.add([job for job in candidates if job.phase is Phase.WAITING])
        if len(self.runnable) > MAX_NEEDS:
            self.runnable.clear()


class NotableJobs:
    """Finds the jobs of which a round has more to work out than whose turn it is.

    The others are plain: they wait, nothing was measured of them, their length is declared, their batch fixed, and they
    belong to no study.
    """

    def __init__(self) -> None:
        self._plain = KnownJobs()

    @property
    def n_known(self) -> int:
        """Returns the number of plain jobs that are kept."""
        return len(self._plain.by_id)

    def among(self, jobs: Sequence[JobSnapshot]) -> list[JobSnapshot]:
        """Returns the jobs that are not plain, in their order."""
        others = self._plain.unknown(jobs)
        found = [job for job in others if not _is_plain(job)]
        if len(found) < len(others):
            self._plain.add([job for job in others if _is_plain(job)])
        return found


def _is_plain(job: JobSnapshot) -> bool:
    return (
        job.phase is Phase.WAITING
        and not job.observations
        and job.length_is_known
        and job.max_batch_size is None
        and not job.study
    )
