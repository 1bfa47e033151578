# SPDX-License-Identifier: Apache-2.0
"""Tiresias: discretised 2D-LAS, or 2D-Gittins where something is known of how long jobs are; Gu et al., NSDI '19."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from scheduler.api.snapshot import JobSnapshot
from scheduler.policies.abilities import OrderRule
from scheduler.policies.toolkit.attained_service import AttainedService, ServiceQueues
from scheduler.policies.toolkit.policy import Proposal, View, n_held
from scheduler.quota.budget import Budget

LEAST_SAMPLES = 30  # fewer jobs that ended tell nothing of the next
MOST_SAMPLES = 1000


@dataclass(frozen=True)
class Tiresias(AttainedService):
    """Serves the least attained service, or by the Gittins index over known lengths (Gu et al., Tiresias, NSDI '19).

    rule: "las" is the rule of AttainedService; "gittins": inside a queue, the job that is likeliest to end by its
    next stretch of GPU-time (the first limit), for what that stretch will cost on average, goes first (sec. 3.3).
    samples: GPU-seconds of whole jobs, for Gittins; where none are given, those of the jobs that ended so far, from
    30 of them on, and until then it is LAS. The other parameters are those of AttainedService.
    """

    rule: str = "las"
    samples: tuple[float, ...] = ()
    name: str = "tiresias"
    order_rule: ClassVar[OrderRule] = OrderRule.ATTAINED_SERVICE

    def queues(self, view: View, memory: Mapping[str, Any]) -> ServiceQueues:
        """Returns the queues of the round, ordered inside by the rule."""
        samples = sorted(self.samples or memory.get("ended", ()))
        if self.rule != "gittins" or len(samples) < LEAST_SAMPLES:
            return ServiceQueues(self, view, memory)
        return _ByIndex(self, view, memory, samples)

    def propose(self, view: View, *, budget: Budget, memory: Mapping[str, Any]) -> Proposal:
        """Returns the proposal of AttainedService under the rule. Raises ValueError for an unknown rule."""
        if self.rule not in ("las", "gittins"):
            raise ValueError(f"rule {self.rule!r} of policy 'tiresias' is unknown; known: las, gittins")
        if self.rule == "las" or self.samples:
            return super().propose(view, budget=budget, memory=memory)
        served = {job.id: job.executed_gpu_s for job in (*view.jobs, *view.settled)}
        ended = [*memory.get("ended", ()), *(s for j, s in memory.get("served", {}).items() if j not in served)]
        ended = [s for s in ended if s > 0][-MOST_SAMPLES:]
        proposal = super().propose(view, budget=budget, memory={**memory, "ended": ended})
        return replace(proposal, memory={**proposal.memory, "served": served, "ended": ended})


class _ByIndex(ServiceQueues):
    """Inside a queue by Gittins index, of equals the running one, then the first submitted."""

    def __init__(
        self, policy: AttainedService, view: View, memory: Mapping[str, Any], samples: Sequence[float]
    ) -> None:
        super().__init__(policy, view, memory)
        self.samples = samples

    def order(self) -> Sequence[JobSnapshot]:
        stretch = self.policy.limits[0] if self.policy.limits else self.samples[-1]
        index = {job.id: gittins_index(self.samples, self.served(job), stretch=stretch) for job in self.view.jobs}
        return sorted(
            self.view.jobs,
            key=lambda job: (
                -job.priority,
                self.level[job.id],
                -index[job.id],
                not n_held(job),
                job.submitted_at_s,
                job.id,
            ),
        )


def gittins_index(samples: Sequence[float], served: float, *, stretch: float) -> float:
    """Returns the chance to end within the next stretch of service, by its mean cost; per second of service.

    samples: whole services in GPU-seconds, ascending. It is 0 for a job that was served longer than any of them.
    """
    left = [s - served for s in samples[bisect_right(samples, served) :]]
    if not left:
        return 0.0
    return sum(s <= stretch for s in left) / sum(min(s, stretch) for s in left)
