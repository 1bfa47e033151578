# SPDX-License-Identifier: Apache-2.0
"""Muri: jobs of as many GPUs are matched into groups that use CPU, GPU and network in turn.

Source: Zhao et al., Muri (SIGCOMM '22).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scheduler.api.plan import Explanation, Reason
from scheduler.api.snapshot import GangAllocation, JobSnapshot, Mode
from scheduler.models.interference.interleaving import CONTENTION, efficiency, joint_step_s, stages_of
from scheduler.policies.toolkit.heaviest_pairs import heaviest_pairs
from scheduler.policies.toolkit.policy import Grant, Proposal, View, n_held
from scheduler.quota.budget import Budget

InterleavedGroup = tuple[JobSnapshot, ...]


@dataclass(frozen=True)
class Muri:
    """Serves jobs with the least remaining GPU-time (of unknown length: the least attained), in groups that interleave.

    1. jobs are chosen in that order as if each four of one size needed the GPUs of one; 2. groups are joined two by
    two, by a matching of maximum weight over the efficiency of their joint iterations, as long as there are more
    groups than GPUs (so up to four jobs a group); 3. groups that would be slower than one job after the other are
    dissolved; 4. the first in order that fit get GPUs, the largest placed first.

    most: jobs in a group. dissolves: step 3; Muri-S was published without it, Muri-L with it. Deviation: a group lies
    where most of its members are, so that as few as possible move; a job that was never profiled stays alone.
    """

    most: int = 4
    dissolves: bool = True
    name: str = "muri"

    def propose(self, view: View, *, budget: Budget, memory: Mapping[str, Any]) -> Proposal:
        most = max(1, min(self.most, view.max_jobs_per_gpu, len(CONTENTION)))
        case = _Case(view, budget, most=most, line=memory.get("line", ()))
        if memory.get("at_s") == view.now_s:  # what was decided at this instant is being carried out
            groups, line = case.recalled(memory["groups"]), memory["line"]
        else:
            line = case.line()
            groups = case.grouped(case.chosen())
            groups = case.served(case.without_losers(groups) if self.dissolves else case.largest_first(groups))
        grants = case.grants(groups)
        names = [[job.id for job in group] for group in groups]
        kept = {"at_s": view.now_s, "groups": names, "line": line}
        return Proposal(tuple(grants), tuple(job.id for job in case.order), memory=kept, places_after_preemption=True)


class _Case:
    """One round's scratch board."""

    def __init__(self, view: View, budget: Budget, *, most: int, line: Sequence[str]) -> None:
        self.view, self.budget, self.most = view, budget, most
        before = {job_id: i for i, job_id in enumerate(line)}
        jobs = (*view.jobs, *view.settled)  # those that start or stop keep their places among equals
        arrived = sorted(jobs, key=lambda job: (before.get(job.id, len(before)), job.submitted_at_s, job.id))
        self._all = sorted(arrived, key=lambda job: (-job.priority, round(self._claim(job), 3)))
        deciding = {job.id for job in view.jobs}
        self.order = [job for job in self._all if job.id in deciding]
        self.rank = {job.id: i for i, job in enumerate(self.order)}
        self.n_gpus = budget.n_left()

    def chosen(self) -> dict[tuple[Any, ...], list[InterleavedGroup]]:
        """1. By kind: jobs of one kind may share."""
        trial = self.budget.copy()
        queues: dict[tuple[Any, ...], list[JobSnapshot]] = {}
        for job in self.order:
            queues.setdefault(_kind(job), []).append(job)
        n_chosen = dict.fromkeys(queues, 0)
        seen: set[str] = set()
        for job in self.order:
            kind = _kind(job)
            if job.id in seen or not trial.reserve(job, _size(job)):
                continue
            together = self.most if stages_of(job) else 1
            upto = min(n_chosen[kind] + together, len(queues[kind]))
            seen.update(other.id for other in queues[kind][n_chosen[kind] : upto])
            n_chosen[kind] = upto
        return {kind: [(job,) for job in queues[kind][:n]] for kind, n in n_chosen.items() if n}

    def grouped(self, groups: dict[tuple[Any, ...], list[InterleavedGroup]]) -> list[InterleavedGroup]:
        """2. As few joinings as make them fit: those found first stand."""
        needed = sum(_size(group[0]) for many in groups.values() for group in many)
        for _ in range(self.most):
            if needed <= self.n_gpus:
                break
            for kind, many in groups.items():
                groups[kind], needed = self._joined(many, needed)
        return [group for many in groups.values() for group in many]

    def without_losers(self, groups: Sequence[InterleavedGroup]) -> list[InterleavedGroup]:
        """3. In order of the first of each."""
        kept: list[InterleavedGroup] = []
        for group in groups:
            if len(group) > 1 and self._joint_s(group) > sum(self._alone_s(job) for job in group):
                kept += [(job,) for job in group]
            else:
                kept.append(group)
        return sorted(kept, key=lambda group: min(self.rank[job.id] for job in group))

    def largest_first(self, groups: Sequence[InterleavedGroup]) -> list[InterleavedGroup]:
        return sorted(groups, key=lambda group: (-_size(group[0]), min(self.rank[job.id] for job in group)))

    def served(self, groups: Sequence[InterleavedGroup]) -> list[InterleavedGroup]:
        """4. Those that fit, the largest first."""
        trial = self.budget.copy()
        fitting = [group for group in groups if trial.reserve(group[0], _size(group[0]))]
        return sorted(fitting, key=lambda group: -_size(group[0]))

    def recalled(self, names: Sequence[Sequence[str]]) -> list[InterleavedGroup]:
        jobs = {job.id: job for job in (*self.view.jobs, *self.view.settled)}
        groups = (tuple(jobs[name] for name in group if name in jobs) for group in names)
        return [group for group in groups if group]

    def grants(self, groups: Sequence[InterleavedGroup]) -> list[Grant]:
        """The host of a group is one that is where the group is to be; the others are co-located with it."""
        grants: list[Grant] = []
        deciding = set(self.rank)
        places = self._places(groups)
        for i, group in enumerate(groups):
            host = min(group, key=lambda job: (job.id in deciding, job.allocation != places.get(i)))
            gpu_type = ""
            if host.id in deciding:
                if not self.budget.reserve(host, _size(host)):
                    continue
                gpu_type = self.budget.gpu_type(host)
                grants.append(Grant(host.id, _size(host), gpu_type, self._why(host, group)))
            for job in group:
                if job is host or job.id not in deciding:
                    continue
                if self.budget.reserve_colocated(job, _size(job), gpu_type=gpu_type):
                    grants.append(Grant(job.id, _size(job), gpu_type, self._why(job, group), colocated_with=(host.id,)))
        return grants

    def _places(self, groups: Sequence[InterleavedGroup]) -> dict[int, GangAllocation]:
        """What each group keeps of the places held now: where most of its members are, if no other group keeps that."""
        claims: dict[tuple[int, GangAllocation], int] = {}
        for i, group in enumerate(groups):
            for job in group:
                if job.allocation is not None and n_held(job):
                    claims[i, job.allocation] = claims.get((i, job.allocation), 0) + 1
        places: dict[int, GangAllocation] = {}
        for i, allocation in sorted(claims, key=lambda claim: -claims[claim]):
            if i not in places and allocation not in places.values():
                places[i] = allocation
        return places

    def line(self) -> list[str]:
        """The order in which equals come next time: jobs that shared for long have had the same service."""
        return [job.id for job in sorted(self._all, key=lambda job: -_size(job))]

    # gains

    def _joined(self, groups: list[InterleavedGroup], needed: int) -> tuple[list[InterleavedGroup], int]:
        """Pairs of groups matched by efficiency, and how many GPUs are needed after that."""
        gains: dict[tuple[int, int], float] = {}
        for i, one in enumerate(groups):
            for j in range(i):
                if len(one) + len(groups[j]) <= self.most and (worth := self._efficiency(one + groups[j])) > 0:
                    gains[j, i] = worth
        partner = dict(heaviest_pairs(gains, nodes=range(len(groups))))
        partner |= {j: i for i, j in partner.items()}
        joined: list[InterleavedGroup] = []
        for i, group in enumerate(groups):
            j = partner.get(i, i)
            if j < i:
                if needed > self.n_gpus:
                    joined.append(groups[j] + group)
                    needed -= _size(group[0])
                else:
                    joined += [groups[j], group]
            elif j == i:
                joined.append(group)
        return joined, needed

    def _efficiency(self, group: InterleavedGroup) -> float:
        stages = [s for job in group if (s := stages_of(job)) is not None]
        return efficiency(stages, self._joint_s(group)) if len(stages) == len(group) else 0.0

    def _joint_s(self, group: InterleavedGroup) -> float:
        stages = [s for job in group if (s := stages_of(job)) is not None]
        return joint_step_s(stages) * CONTENTION[len(group) - 1]

    def _alone_s(self, job: JobSnapshot) -> float:
        return self.view.speeds.step_s(job, _size(job))

    def _claim(self, job: JobSnapshot) -> float:
        if not job.length_is_known:
            return job.executed_gpu_s
        return self.view.speeds.remaining_s(job, _size(job)) * _size(job)

    def _why(self, job: JobSnapshot, group: InterleavedGroup) -> tuple[Explanation, ...]:
        if len(group) == 1:
            return (Explanation(Reason.FITS, {"n_workers": _size(job)}),)
        times = sum(self._alone_s(other) for other in group) / self._joint_s(group)
        partners = ", ".join(other.id for other in group if other is not job)
        return (Explanation(Reason.COLOCATED, {"n_workers": _size(job), "partners": partners, "times": times}),)


def _kind(job: JobSnapshot) -> tuple[Any, ...]:
    """A key of jobs that may share: as many GPUs, the same types; a job without a profile has its own."""
    may_share = stages_of(job) is not None and job.mode is not Mode.PARAMETER_SERVER
    return _size(job), job.gpu_types, job.shares_within, "" if may_share else job.id


def _size(job: JobSnapshot) -> int:
    return n_held(job) or job.fixed_workers
