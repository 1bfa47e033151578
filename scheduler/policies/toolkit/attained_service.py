# SPDX-License-Identifier: Apache-2.0
"""Attained service in queues: jobs are demoted as they use GPU-seconds; upper queues go first. For las and tiresias."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from scheduler.api.plan import Explanation, Reason
from scheduler.api.snapshot import JobSnapshot
from scheduler.models.standing_order import OrderedJobs
from scheduler.placement.gangs import Packing
from scheduler.policies.toolkit.policy import Proposal, View, n_held
from scheduler.policies.toolkit.strict_order import serve_in_order
from scheduler.quota.budget import Budget


@dataclass(frozen=True)
class AttainedService:
    """Holds the parameters and the rule of discretised 2D-LAS (Gu et al., Tiresias, NSDI '19, sec. 3.2).

    limits: GPU-seconds at which a job is demoted to the next queue. promote_after: a waiting job returns to the first
    queue when it has waited this many times the seconds it ran in all; 0 = never. Inside a queue the first served
    comes first, then the first submitted.

    order: "served" as above; "entered": by the time of entering the queue, whether served or not, so that an early
    large job may take from later small ones (as in the Tiresias of Pollux' simulator).
    roomiest: placed on the emptiest nodes first, as if preempted jobs had left already (as there).
    compatible: as in the published simulator instead. Then (1) jobs are demoted at the events that this rule predicts:
    t + floor((limit - seconds served) / GPUs), which for n GPUs is later than the limit is reached; (2) inside a queue
    those that wait move behind those that run after every event; (3) no job is promoted.
    whole_seconds: in (1), at limit / GPUs seconds of service, rounded up, instead (as in the simulator of Muri).
    """

    limits: tuple[float, ...] = (3250.0, 7200.0)
    promote_after: float = 8.0
    order: str = "served"
    roomiest: bool = False
    compatible: bool = False
    whole_seconds: bool = False
    name: str = "attained_service"

    def queues(self, view: View, memory: Mapping[str, Any]) -> ServiceQueues:
        """Returns the queues of the round."""
        return ServiceQueues(self, view, memory)

    def propose(self, view: View, *, budget: Budget, memory: Mapping[str, Any]) -> Proposal:
        queues = self.queues(view, memory)
        order = queues.order()

        def note(leaver: JobSnapshot, comer: JobSnapshot) -> Explanation | None:
            facts = {
                "served": queues.served(leaver),
                "queue": queues.level[leaver.id] + 1,
                "next_job": comer.id,
                "less": queues.served(comer),
                "next_queue": queues.level[comer.id] + 1,
            }
            return Explanation(Reason.ATTAINED_SERVICE, facts)

        proposal = serve_in_order(OrderedJobs.of(order), budget=budget, note=note)
        granted = {grant.job: grant.n_workers for grant in proposal.grants}
        return replace(
            proposal,
            grants=tuple(replace(grant, packing=Packing.ROOMIEST) for grant in proposal.grants)
            if self.roomiest
            else proposal.grants,
            memory=queues.memory(granted),
            wake_at_s=queues.next_change_s(granted),
            places_after_preemption=self.roomiest,
        )


class ServiceQueues:
    """Holds levels and order of all jobs at this moment. Memory: the order inside queues, and what counts as served."""

    def __init__(self, policy: AttainedService, view: View, memory: Mapping[str, Any]) -> None:
        self.policy, self.view = policy, view
        self.jobs = {job.id: job for job in (*view.jobs, *view.settled)}
        self.line = [job_id for job_id in memory.get("line", []) if job_id in self.jobs]
        known = set(self.line)
        arrived = sorted((job for job in self.jobs.values() if job.id not in known), key=_by_service)
        self.line += [job.id for job in arrived]
        self.level: dict[str, int] = {j: int(memory.get("level", {}).get(j, 0)) for j in self.line}
        self.forgiven = {j: float(memory.get("forgiven", {}).get(j, 0.0)) for j in self.line}
        self.waiting_since = {
            j: float(memory.get("waiting_since", {}).get(j, view.now_s)) for j in self.line if not n_held(self.jobs[j])
        }
        if memory.get("at_s") != view.now_s:
            self._demote_and_promote()

    def served(self, job: JobSnapshot) -> float:
        """Returns the GPU-seconds since the job last was in the first queue by right."""
        return max(0.0, job.executed_gpu_s - self.forgiven[job.id])

    def order(self) -> Sequence[JobSnapshot]:
        """Returns all jobs, those that are served next first."""
        place = {job_id: i for i, job_id in enumerate(self.line)}
        return sorted(self.view.jobs, key=lambda job: (-job.priority, self.level[job.id], place[job.id]))

    def next_change_s(self, granted: Mapping[str, int]) -> float | None:
        """Returns when the next served job is demoted, or the next waiting one is promoted."""
        times = []
        for job_id, job in self.jobs.items():
            level = self.level[job_id]
            if job_id in granted and level < len(self.policy.limits):
                limit, n = self.policy.limits[level], granted[job_id]
                if self.policy.compatible and self.policy.whole_seconds:
                    times.append(self.view.now_s + max(1e-3, math.ceil(limit / n) - self.served(job) / n))
                elif self.policy.compatible:
                    times.append(self.view.now_s + (limit - self.served(job) / n) // n)
                else:
                    times.append(self.view.now_s + max(1e-3, (limit - self.served(job)) / n))
            elif job_id in self.waiting_since and level > 0 and self._promotes():
                times.append(max(self.waiting_since[job_id] + self._patience_s(job), self.view.now_s + 1e-3))
        return min(times, default=None)

    def memory(self, granted: Mapping[str, int]) -> dict[str, Any]:
        """Returns what the next round needs.

        Unless compatible, jobs served for the first time join the line of the served.
        """
        if not self.policy.compatible and self.policy.order == "served":
            self.line.sort(key=lambda j: 0 if j in granted or self.jobs[j].executed_gpu_s > 0 else 1)
        return {
            "at_s": self.view.now_s,
            "line": self.line,
            "level": self.level,
            "forgiven": {j: f for j, f in self.forgiven.items() if f},
            "waiting_since": self.waiting_since,
        }

    def _demote_and_promote(self) -> None:
        if self.policy.compatible:
            self.line.sort(key=lambda job_id: not n_held(self.jobs[job_id]))
        demoted = []
        for job_id in self.line:
            job, level = self.jobs[job_id], self.level[job_id]
            to = self._level_after(job, level)
            if to > level:
                self.level[job_id] = to
                demoted.append(job_id)
            elif level > 0 and self._promotes() and self._waited_s(job_id) >= self._patience_s(job) - 1e-6:
                self.level[job_id] = 0
                self.forgiven[job_id] = job.executed_gpu_s
        if self.policy.compatible or self.policy.order == "entered":
            self.line = [j for j in self.line if j not in set(demoted)] + demoted

    def _level_after(self, job: JobSnapshot, level: int) -> int:
        """Where the job's service takes it: one level an event in the compatible rule, and only while it runs."""
        reached = sum(self.served(job) >= limit - 1e-6 for limit in self.policy.limits)
        if self.policy.compatible:
            return level + 1 if reached > level and n_held(job) else level
        return max(level, reached)

    def _promotes(self) -> bool:
        return self.policy.promote_after > 0 and not self.policy.compatible

    def _waited_s(self, job_id: str) -> float:
        return self.view.now_s - self.waiting_since.get(job_id, self.view.now_s)

    def _patience_s(self, job: JobSnapshot) -> float:
        return self.policy.promote_after * job.executed_gpu_s / max(1, job.fixed_workers)


def _by_service(job: JobSnapshot) -> tuple[bool, float, str]:
    return not n_held(job), job.submitted_at_s, job.id
