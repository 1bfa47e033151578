# SPDX-License-Identifier: Apache-2.0
"""What rounds worked out, in one object that the caller of decide() keeps from round to round.

A decision does not depend on it: with a cache of the rounds before, a fresh one or none, the plan is the same.
"""

from __future__ import annotations

from collections.abc import Sequence

from scheduler.api.plan import Decision, Wait
from scheduler.api.snapshot import JobSnapshot, Phase
from scheduler.api.topology import NodeSnapshot
from scheduler.models.bounded_tables import BoundedTable
from scheduler.models.interference.interference_cache import InterferenceCache
from scheduler.models.speed.step_time_cache import StepTimeCache
from scheduler.round.feasibility import EmptyCluster
from scheduler.round.standing_jobs import NotableJobs

MAX_CLUSTERS = 4
MAX_WAITS = 20_000


class RoundCache:
    """Holds step times, predictions of interference, the MAX_CLUSTERS empty clusters that were used last, and decisions
    to wait, which in a long queue are made anew for the same jobs in every round, and which jobs only wait.

    Each part has its limits and states them. A cache serves one caller: it is no safe place for several threads.
    """

    def __init__(self) -> None:
        self.step_times = StepTimeCache()
        self.interference = InterferenceCache()
        self.notable = NotableJobs()
        self._waits = BoundedTable[str, Wait](MAX_WAITS)
        self._empty: list[EmptyCluster] = []  # last used first

    def waits(self, jobs: Sequence[JobSnapshot]) -> dict[str, Decision]:
        """Returns, by id and in their order, the decisions that those of the jobs that wait do so, without a reason so
        far.
        """
        known, waiting = self._waits, Phase.WAITING
        return {
            job.id: known.get(job.id) or known.store(job.id, Wait(job.id, ())) for job in jobs if job.phase is waiting
        }

    def empty_cluster(self, nodes: tuple[NodeSnapshot, ...]) -> EmptyCluster:
        """Returns the cluster of these nodes without jobs, from the cache where it is known."""
        for i, known in enumerate(self._empty):
            if known.nodes == nodes:
                self._empty.insert(0, self._empty.pop(i))
                return known
        self._empty.insert(0, EmptyCluster(nodes))
        del self._empty[MAX_CLUSTERS:]
        return self._empty[0]
