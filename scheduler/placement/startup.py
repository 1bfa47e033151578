# SPDX-License-Identifier: Apache-2.0
"""How long starts take: what those of the job's family took so far, and fetching the inputs that its nodes lack."""

from __future__ import annotations

from collections.abc import Mapping

from scheduler.api.plan import Decision, Launch
from scheduler.api.snapshot import ClusterSnapshot, GangAllocation, JobSnapshot, Phase
from scheduler.models.cost import restart_cost_s, start_cost_s, start_left_s
from scheduler.placement.input_fetching import InputFetching


class StartupForecast:
    """Predicts seconds until the first step. What is learnt of starts is without fetching, which depends on the nodes.

    launched: by job that starts, the seconds of fetching that were predicted when it was launched: nodes hold its
    inputs as soon as they have fetched them.
    """

    def __init__(self, fetching: InputFetching, launched: Mapping[str, float]) -> None:
        self._fetching, self._launched = fetching, launched

    def start_s(self, job: JobSnapshot, allocation: GangAllocation | None = None) -> float:
        """Returns the seconds from launch to first step on these nodes; None = where it will be is not known."""
        return start_cost_s(job) + self._fetch_s(job, allocation)

    def restart_s(self, job: JobSnapshot, allocation: GangAllocation | None = None) -> float:
        """Returns the seconds from now until a running job that leaves trains again on these nodes."""
        return restart_cost_s(job) + self._fetch_s(job, allocation)

    def left_s(self, job: JobSnapshot, *, elapsed_s: float) -> float:
        """Returns the seconds that a start, made so long ago, still takes; 0 for a job that does not start."""
        if job.phase is not Phase.STARTING:
            return 0.0
        elapsed_s = max(0.0, elapsed_s)
        fetch_s = self._launched.get(job.id)
        if fetch_s is None:
            fetch_s = self._fetch_s(job, job.allocation)
        return max(0.0, fetch_s - elapsed_s) + start_left_s(job, elapsed_s=elapsed_s - fetch_s)

    def launched_now(self, snapshot: ClusterSnapshot, decisions: Mapping[str, Decision]) -> dict[str, float]:
        """Returns what the next round has to know of jobs that start then: those that fetch, and for how long."""
        found = {}
        if self._fetching.is_needed or self._launched:
            for job in snapshot.jobs:
                decision = decisions[job.id]
                if isinstance(decision, Launch):
                    found[job.id] = self._fetch_s(job, decision.allocation)
                elif job.phase is Phase.STARTING and job.id in self._launched:
                    found[job.id] = self._launched[job.id]
        return found

    def _fetch_s(self, job: JobSnapshot, allocation: GangAllocation | None) -> float:
        return self._fetching.usual_s(job) if allocation is None else self._fetching.fetch_s(job, allocation)
