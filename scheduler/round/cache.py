# SPDX-License-Identifier: Apache-2.0
"""What rounds worked out, in one object that the caller of decide() keeps from round to round.

A decision does not depend on it: with a cache of the rounds before, a fresh one or none, the plan is the same.
"""

from __future__ import annotations

from scheduler.api.topology import NodeSnapshot
from scheduler.models.interference.interference_cache import InterferenceCache
from scheduler.models.speed.step_time_cache import StepTimeCache
from scheduler.round.feasibility import EmptyCluster

MAX_CLUSTERS = 4


class RoundCache:
    """Holds step times, predictions of interference, and the MAX_CLUSTERS empty clusters that were used last.

    Each part has its limits and states them. A cache serves one caller: it is no safe place for several threads.
    """

    def __init__(self) -> None:
        self.step_times = StepTimeCache()
        self.interference = InterferenceCache()
        self._empty: list[EmptyCluster] = []  # last used first

    def empty_cluster(self, nodes: tuple[NodeSnapshot, ...]) -> EmptyCluster:
        """Returns the cluster of these nodes without jobs, from the cache where it is known."""
        for i, known in enumerate(self._empty):
            if known.nodes == nodes:
                self._empty.insert(0, self._empty.pop(i))
                return known
        self._empty.insert(0, EmptyCluster(nodes))
        del self._empty[MAX_CLUSTERS:]
        return self._empty[0]
