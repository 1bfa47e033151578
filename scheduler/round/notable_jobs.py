# SPDX-License-Identifier: Apache-2.0
"""Jobs of which a round has more to work out than whose turn it is: in a long queue hardly any."""

from __future__ import annotations

from collections.abc import Sequence

from scheduler.api.snapshot import JobSnapshot, Phase


class NotableJobs:
    """Knows the plain jobs of earlier rounds: those that wait, and of which nothing was measured, whose length is
    declared and batch fixed, and that belong to no study. A snapshot never changes: a job stays plain for as long as
    it is the same object.

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
