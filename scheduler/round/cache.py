# SPDX-License-Identifier: Apache-2.0
"""What rounds worked out, in one object that the caller of decide() keeps from round to round.

A decision does not depend on it: with a cache of the rounds before, a fresh one or none, the plan is the same.
"""

from __future__ import annotations

from collections.abc import Set

from scheduler.api.plan import Decision, Wait
from scheduler.api.topology import NodeSnapshot
from scheduler.models.interference.interference_cache import InterferenceCache
from scheduler.models.speed.step_time_cache import StepTimeCache
from scheduler.round.feasibility import EmptyCluster, RequestedSizes
from scheduler.round.standing_jobs import NotableJobs
from scheduler.round.validation import check_nodes

MAX_CLUSTERS = 4


class RoundCache:
    """Holds step times, predictions of interference, the MAX_CLUSTERS empty clusters that were used last, and decisions
    to wait, which in a long queue are made anew for the same jobs in every round, which jobs only wait, and which
    request more workers than they could ever have.

    Each part has its limits and states them. A cache serves one caller: it is no safe place for several threads.
    """

    def __init__(self) -> None:
        self.step_times = StepTimeCache()
        self.interference = InterferenceCache()
        self.notable = NotableJobs()
        self.requested_sizes = RequestedSizes()
        self._waits: dict[str, Decision] = {}  # of the jobs of the newest round
        self._empty: list[EmptyCluster] = []  # last used first

    def waits(self, job_ids: Set[str]) -> dict[str, Decision]:
        """Returns a decision by job to wait, without a reason so far, in a dictionary of the caller's own."""
        known = self._waits
        if known.keys() != job_ids:
            for job_id in known.keys() - job_ids:
                del known[job_id]
            known.update({job_id: Wait(job_id, ()) for job_id in job_ids if job_id not in known})
        return known.copy()

    def empty_cluster(self, nodes: tuple[NodeSnapshot, ...]) -> EmptyCluster:
        """Returns the cluster of these nodes without jobs, from the cache where it is known.

        Raises ValueError for nodes whose numbers cannot be.
        """
        for i, known in enumerate(self._empty):
            if known.nodes == nodes:
                self._empty.insert(0, self._empty.pop(i))
                return known
        check_nodes(nodes)
        self._empty.insert(0, EmptyCluster(nodes))
        del self._empty[MAX_CLUSTERS:]
        return self._empty[0]
