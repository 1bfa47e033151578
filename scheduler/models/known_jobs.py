# SPDX-License-Identifier: Apache-2.0
"""Jobs that are known from round to round, and those of a round that are not: in a long queue hardly any is new."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, compress, count, repeat
from operator import is_not

from scheduler.api.snapshot import JobSnapshot


class KnownJobs:
    """Holds jobs by id; each is known for as long as it is the same object, since a snapshot never changes.

    A job that is at the same place as in the sequence before, and was known there, is known: only the others are looked
    up. Their number is that of what happened, not that of the jobs.

    At most twice as many jobs are kept as the newest sequence has.
    """

    def __init__(self) -> None:
        self._by_id: dict[str, JobSnapshot] = {}
        self._before: tuple[JobSnapshot, ...] = ()
        self._unknown: list[int] = []  # places in it

    @property
    def by_id(self) -> Mapping[str, JobSnapshot]:
        """Returns the jobs that are known."""
        return self._by_id

    def unknown(self, jobs: Sequence[JobSnapshot]) -> list[JobSnapshot]:
        """Returns the jobs that are not known, in their order."""
        now, known = tuple(jobs), self._by_id
        moved = compress(count(), map(is_not, now, chain(self._before, repeat(None))))
        places = sorted({*moved, *self._unknown})
        unknown = [i for i in places if i < len(now) and known.get(now[i].id) is not now[i]]
        self._before, self._unknown = now, unknown
        return [now[i] for i in unknown]

    def add(self, jobs: Iterable[JobSnapshot]) -> None:
        """Adds jobs of the sequence that unknown() was given last."""
        self._by_id.update([(job.id, job) for job in jobs])
        if len(self._by_id) > 2 * len(self._before):
            there = {job.id for job in self._before}
            self._by_id = {job_id: job for job_id, job in self._by_id.items() if job_id in there}

    def forget(self, job_ids: Iterable[str]) -> None:
        """Forgets jobs that the newest sequence does not have, or has as another object."""
        for job_id in job_ids:
            self._by_id.pop(job_id, None)

    def clear(self) -> None:
        """Forgets all jobs."""
        self._by_id, self._before, self._unknown = {}, (), []
