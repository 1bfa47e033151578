# SPDX-License-Identifier: Apache-2.0
"""Waiting jobs of earlier rounds that need not be looked at again: in a long queue hardly any is new."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from scheduler.api.snapshot import ClusterSnapshot, JobSnapshot, Needs, Phase, TenantSnapshot

MAX_NEEDS = 20_000


class StandingJobs:
    """Holds waiting candidates of earlier rounds on one cluster, which were found sound and able to run. A snapshot
    never changes: what was found of one holds for as long as it is the same object and the tenants, with their limits,
    are the same.

    runnable: needs of jobs that were found able to run; another job with the same needs is, too.

    At most twice as many jobs are kept as the newest round has, and MAX_NEEDS needs.
    """

    def __init__(self) -> None:
        self._tenants: tuple[TenantSnapshot, ...] = ()
        self._jobs: dict[str, JobSnapshot] = {}
        self.runnable: set[Needs] = set()

    def under(self, tenants: tuple[TenantSnapshot, ...]) -> Mapping[str, JobSnapshot]:
        """Returns the jobs by id that were candidates under these tenants."""
        if tenants != self._tenants:
            self._tenants, self._jobs, self.runnable = tenants, {}, set()
        return self._jobs

    def add(self, snapshot: ClusterSnapshot, candidates: Iterable[JobSnapshot]) -> None:
        """Adds those of a round's candidates that wait, of the snapshot with which under() was asked last."""
        self._jobs.update({job.id: job for job in candidates if job.phase is Phase.WAITING})
        if len(self._jobs) > 2 * len(snapshot.jobs):
            there = {job.id for job in snapshot.jobs}
            self._jobs = {job_id: job for job_id, job in self._jobs.items() if job_id in there}
        if len(self.runnable) > MAX_NEEDS:
            self.runnable.clear()


class NotableJobs:
    """Finds the jobs of which a round has more to work out than whose turn it is.

    The others are plain: they wait, nothing was measured of them, their length is declared, their batch fixed, and they
    belong to no study. A snapshot never changes: a job stays plain for as long as it is the same object.

    At most twice as many are kept as the newest round has jobs.
    """

    def __init__(self) -> None:
        self._plain: dict[str, JobSnapshot] = {}

    @property
    def n_known(self) -> int:
        """Returns the number of plain jobs that are kept."""
        return len(self._plain)

    def among(self, jobs: Sequence[JobSnapshot]) -> list[JobSnapshot]:
        """Returns the jobs that are not plain, in their order."""
        plain = self._plain
        others = [job for job in jobs if plain.get(job.id) is not job]
        found = [job for job in others if not _is_plain(job)]
        if len(found) < len(others):
            plain.update({job.id: job for job in others if _is_plain(job)})
            if len(plain) > 2 * len(jobs):
                self._plain = {job.id: job for job in jobs if plain.get(job.id) is job}
        return found


def _is_plain(job: JobSnapshot) -> bool:
    return (
        job.phase is Phase.WAITING
        and not job.observations
        and job.length_is_known
        and job.max_batch_size is None
        and not job.study
    )
