# SPDX-License-Identifier: Apache-2.0
"""Waiting jobs of earlier rounds that were found sound and able to run: in a long queue hardly any is new."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from scheduler.api.snapshot import ClusterSnapshot, JobSnapshot, Phase, TenantSnapshot


class StandingJobs:
    """Holds waiting candidates of earlier rounds on one cluster. A snapshot never changes: what was found of one holds
    for as long as it is the same object and the tenants, with their limits, are the same.

    At most twice as many are kept as the newest round has jobs.
    """

    def __init__(self) -> None:
        self._tenants: tuple[TenantSnapshot, ...] = ()
        self._jobs: dict[str, JobSnapshot] = {}

    def under(self, tenants: tuple[TenantSnapshot, ...]) -> Mapping[str, JobSnapshot]:
        """Returns the jobs by id that were candidates under these tenants."""
        if tenants != self._tenants:
            self._tenants, self._jobs = tenants, {}
        return self._jobs

    def add(self, snapshot: ClusterSnapshot, candidates: Iterable[JobSnapshot]) -> None:
        """Adds those of a round's candidates that wait, of the snapshot with which under() was asked last."""
        self._jobs.update({job.id: job for job in candidates if job.phase is Phase.WAITING})
        if len(self._jobs) > 2 * len(snapshot.jobs):
            there = {job.id for job in snapshot.jobs}
            self._jobs = {job_id: job for job_id, job in self._jobs.items() if job_id in there}
