# SPDX-License-Identifier: Apache-2.0
"""A queue in its order, kept from round to round: in a simulation a long one hardly changes between two of them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from scheduler.api.snapshot import JobSnapshot, Phase
from scheduler.models.known_jobs import KnownJobs

PlaceKey = tuple[Any, ...]
OrderKey = Callable[[JobSnapshot], PlaceKey]
FEW = 8  # changes, times this, are fewer than a queue that is not sorted anew for them


class OrderedJobs(NamedTuple):
    """Holds jobs in order, their ids, and those of them that hold GPUs."""

    jobs: Sequence[JobSnapshot]
    ids: Sequence[str]
    running: Sequence[JobSnapshot]

    @classmethod
    def of(cls, jobs: Sequence[JobSnapshot]) -> OrderedJobs:
        """Returns jobs that are in order already."""
        return cls(jobs, [job.id for job in jobs], [job for job in jobs if job.held is not None])


class StandingOrder:
    """Holds waiting jobs by their keys, the lowest first; a job keeps its key for as long as it is the same object.

    Keys are unique; that of a waiting job depends on its snapshot only.
    """

    def __init__(self) -> None:
        self._keys: list[PlaceKey] = []
        self._jobs: list[JobSnapshot] = []  # in the order of their keys
        self._ids: list[str] = []
        self._by_id: dict[str, tuple[PlaceKey, JobSnapshot]] = {}
        self._known = KnownJobs()  # the same jobs

    def ordered(self, jobs: Sequence[JobSnapshot], key: OrderKey) -> OrderedJobs:
        """Returns these jobs in order, and keeps those that wait for the next time."""
        known, waiting = self._by_id, Phase.WAITING
        changed = self._known.unknown(jobs)
        gone = [job.id for job in changed if job.id in known]
        if len(known) - len(gone) > len(jobs) - len(changed):  # others are not among the jobs any more
            gone += known.keys() - {job.id for job in jobs}
        self._replace(gone, [(key(job), job) for job in changed if job.phase is waiting])
        return self._with([(key(job), job) for job in changed if job.phase is not waiting])

    def _replace(self, gone: Sequence[str], new: Sequence[tuple[PlaceKey, JobSnapshot]]) -> None:
        left = [self._by_id.pop(job_id) for job_id in gone]
        self._by_id.update({job.id: (key, job) for key, job in new})
        self._known.forget(gone)
        self._known.add([job for _, job in new])
        if (len(left) + len(new)) * FEW > len(self._by_id):
            entries = sorted(self._by_id.values())
            self._keys, self._jobs = [key for key, _ in entries], [job for _, job in entries]
            self._ids = [job.id for job in self._jobs]
            return
        for key, _ in left:
            place = bisect_left(self._keys, key)
            del self._keys[place], self._jobs[place], self._ids[place]
        for key, job in new:
            place = bisect_left(self._keys, key)
            self._keys.insert(place, key)
            self._jobs.insert(place, job)
            self._ids.insert(place, job.id)

    def _with(self, running: list[tuple[PlaceKey, JobSnapshot]]) -> OrderedJobs:
        """The queue with running jobs at their places."""
        jobs, ids, done = list[JobSnapshot](), list[str](), 0
        for key, job in sorted(running):
            place = bisect_left(self._keys, key)
            jobs += self._jobs[done:place]
            ids += self._ids[done:place]
            jobs.append(job)
            ids.append(job.id)
            done = place
        return OrderedJobs(jobs + self._jobs[done:], ids + self._ids[done:], [job for _, job in running])
