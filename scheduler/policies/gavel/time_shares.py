# SPDX-License-Identifier: Apache-2.0
"""Gavel's books: which part of the time each job, or pair, is due on each type of GPU, and what it had so far."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from scheduler.api.arrays import Floats
from scheduler.api.snapshot import GangAllocation, JobSnapshot, Mode
from scheduler.models.interference.colocated_speeds import ColocatedSpeeds
from scheduler.models.progress import steps_left
from scheduler.policies.gavel.linear_programs import JobDemand, ProgramColumn, time_shares
from scheduler.policies.toolkit.policy import View, n_held

Members = tuple[str, ...]  # ids of one job, or of two on the same GPUs
Book = dict[tuple[Members, str], float]  # by members and type of GPU: part of the time, or seconds

LEAST_TIMES = 1.0  # pairs that together do less than one of them alone are not looked at
_NONE = 1e-6  # a part of the time that is none


class TimeShares:
    """Keeps parts of the time, time due and time had, from round to round. shares_gpus: pairs count, too."""

    def __init__(self, view: View, memory: Mapping[str, Any], *, shares_gpus: bool) -> None:
        self.view = view
        open_nodes = [node for node in view.nodes if node.is_schedulable]
        self.types = sorted({node.gpu_type for node in open_nodes if node.n_gpus})
        self.shared_types = {n.gpu_type for n in open_nodes if n.max_jobs_per_gpu > 1 and shares_gpus}
        self.capacity_T = np.array([float(sum(n.n_gpus for n in open_nodes if n.gpu_type == t)) for t in self.types])
        self.ends_s = float(memory.get("ends_s", view.now_s))
        self.solved_for: list[Any] = memory.get("solved_for", [])
        self.present = {job.id: job for job in (*view.jobs, *view.settled)}
        self.colocated = ColocatedSpeeds(view.pairs, cache=view.interference)
        self.shares, self.due, self.had = (self._kept(memory.get(name, ())) for name in ("shares", "due", "had"))
        self.isolated: dict[str, list[float]] = {
            j: v for j, v in memory.get("isolated", {}).items() if j in self.present
        }
        self.executed = {job_id: job.executed_gpu_s for job_id, job in self.present.items()}
        self.on = self._on()
        self._book(memory)

    def _on(self) -> dict[str, tuple[Members, str]]:
        """By job that holds GPUs: the jobs on the same ones, itself included, and their type."""
        type_of = {node.name: node.gpu_type for node in self.view.nodes}
        there: dict[GangAllocation, list[str]] = {}
        for job in self.present.values():
            if n_held(job) and job.allocation is not None:
                there.setdefault(place_of(job), []).append(job.id)
        return {
            job_id: (tuple(sorted(ids)), type_of.get(place.shares[0].node, ""))
            for place, ids in there.items()
            for job_id in ids
        }

    def _book(self, memory: Mapping[str, Any]) -> None:
        passed_s = self.view.now_s - float(memory.get("at_s", self.view.now_s))
        for entry, share in self.shares.items():
            self.due[entry] = self.due.get(entry, 0.0) + share * passed_s
        executed: Mapping[str, float] = memory.get("executed", {})
        before: dict[str, tuple[Members, str]] = {
            job_id: (tuple(ids), where) for ids, where in memory.get("on", ()) for job_id in ids
        }
        for job_id, job in self.present.items():
            served_s = (job.executed_gpu_s - executed.get(job_id, 0.0)) / max(1, n_held(job) or job.fixed_workers)
            there = before.get(job_id) or self.on.get(job_id)
            if served_s > 0 and there is not None and there[1]:
                part_s = served_s / sum(one in self.present for one in there[0])  # each books its part of the pair's
                self.had[there] = self.had.get(there, 0.0) + part_s

    def solve(self, objective: str, jobs: Sequence[JobSnapshot]) -> None:
        """Solves the program for new parts of the time, where jobs came or went, or more is known of pairs."""
        jobs = [job for job in jobs if self._has_a_type(job)]
        rate_JT = np.array([[self.rate(job, t) for t in self.types] for job in jobs]).reshape(
            len(jobs), len(self.types)
        )
        n_J = np.array([float(job.fixed_workers) for job in jobs])
        fair_rate = self._fair_rates(rate_JT, n_J)
        self._book_isolated(jobs, fair_rate)
        solved_for = [*(job.id for job in jobs), len(self.view.pairs) if self.shared_types else 0]
        if solved_for == self.solved_for or not self.types:
            return
        columns = [*self._alone(jobs, rate_JT), *self._together(jobs, rate_JT)]
        weights = {tenant.id: tenant.weight for tenant in self.view.tenants}
        demand = JobDemand(
            left=np.array([steps_left(job) for job in jobs]),
            weight=np.array([max(weights[job.tenant], 1e-6) * 2.0 ** max(-8, min(8, job.priority)) for job in jobs]),
            n_gpus=n_J,
            fair_rate=fair_rate,
            waited_s=np.array([max(0.0, self.view.now_s - job.submitted_at_s) for job in jobs]),
            isolated_s=np.array([self.isolated[job.id][0] for job in jobs]),
        )
        share_C = time_shares(objective, columns, demand, self.capacity_T)
        self.shares = {
            (tuple(sorted(jobs[j].id for j in column.members)), self.types[column.gpu_type]): round(float(share), 9)
            for column, share in zip(columns, share_C, strict=True)
            if share > _NONE
        }
        self.solved_for = solved_for

    def _alone(self, jobs: Sequence[JobSnapshot], rate_JT: Floats) -> Iterable[ProgramColumn]:
        for j, job in enumerate(jobs):
            for t in range(len(self.types)):
                if rate_JT[j, t] > 0 and job.fixed_workers <= self.capacity_T[t]:
                    yield ProgramColumn((j,), t, job.fixed_workers, (float(rate_JT[j, t]),))

    def _together(self, jobs: Sequence[JobSnapshot], rate_JT: Floats) -> Iterable[ProgramColumn]:
        """Two of one size that gain by it, on types that may be shared (sec. 3.1: rows of pairs)."""
        sharers = [(j, job) for j, job in enumerate(jobs) if job.profile is not None and self.shared_types]
        for t, gpu_type in enumerate(self.types):
            if gpu_type not in self.shared_types:
                continue
            for i, (j, one) in enumerate(sharers):
                for k, other in sharers[:i]:
                    is_there = rate_JT[j, t] > 0 and rate_JT[k, t] > 0 and one.fixed_workers <= self.capacity_T[t]
                    norms = self.norms(one, other, gpu_type) if is_there else None
                    if norms is not None and sum(norms) > LEAST_TIMES:
                        rates = float(rate_JT[j, t]) * norms[0], float(rate_JT[k, t]) * norms[1]
                        yield ProgramColumn((j, k), t, one.fixed_workers, rates)

    def norms(self, one: JobSnapshot, other: JobSnapshot, gpu_type: str) -> tuple[float, ...] | None:
        """Returns the speeds of both on the same GPUs; None where they may not share."""
        n = one.fixed_workers
        if n != other.fixed_workers or one.mode is not other.mode or one.shares_within != other.shares_within:
            return None
        alone_s = [self.view.speeds.step_s(job, n, gpu_type=gpu_type) for job in (one, other)]
        return self.colocated.norms((one, other), alone_s=alone_s)

    def line(self, jobs: Sequence[JobSnapshot]) -> list[tuple[Members, str]]:
        """Returns whose turn it is, and where: jobs on every type they may go to, and pairs that have a part."""
        ids = {job.id for job in jobs}
        found: list[tuple[Members, str]] = [
            ((job.id,), t) for job in jobs for t in self.types if not job.gpu_types or t in job.gpu_types
        ]
        found += [entry for entry in self.shares if len(entry[0]) > 1 and ids.issuperset(entry[0])]
        return sorted(found, key=self._turn)

    def _turn(self, entry: tuple[Members, str]) -> tuple[float, float, float, bool, float, Members]:
        """The least share of its due first; then the larger part, the faster type, the one that runs there."""
        members, gpu_type = entry
        share, due_s, had_s = (book.get(entry, 0.0) for book in (self.shares, self.due, self.had))
        priority = 0.0 if share <= 0 else (due_s + share) / had_s if had_s > 0 else float("inf")
        first = self.present[members[0]]
        is_there = self.on.get(first.id) == entry
        return (-priority, -share, -self.rate(first, gpu_type), not is_there, first.submitted_at_s, members)

    def percent_due(self, entry: tuple[Members, str]) -> float:
        """Returns the part of the time, in percent, that the entry is due."""
        return 100 * self.shares.get(entry, 0.0)

    def percent_had(self, job: JobSnapshot) -> float:
        """Returns the part of its life, in percent, in which the job ran."""
        life_s = max(self.view.now_s - job.submitted_at_s, 1e-9)
        return min(100.0, 100 * sum(s for (members, _), s in self.had.items() if job.id in members) / life_s)

    def memory(self) -> dict[str, Any]:
        """Returns the books as JSON values, for the next round."""
        books = {"shares": self.shares, "due": self.due, "had": self.had}
        return {
            "at_s": self.view.now_s,
            "ends_s": self.ends_s,
            "solved_for": self.solved_for,
            **{name: [[list(ids), t, value] for (ids, t), value in book.items()] for name, book in books.items()},
            "isolated": self.isolated,
            "executed": self.executed,
            "on": [[list(ids), where] for ids, where in dict.fromkeys(self.on.values())],
        }

    def rate(self, job: JobSnapshot, gpu_type: str) -> float:
        """Returns the steps a second at its size on that type; 0 where it may not go."""
        if job.gpu_types and gpu_type not in job.gpu_types:
            return 0.0
        return 1 / self.view.speeds.step_s(job, job.fixed_workers, gpu_type=gpu_type)

    def _kept(self, entries: Iterable[Sequence[Any]]) -> Book:
        """Those whose members are all still there."""
        return {(tuple(ids), t): value for ids, t, value in entries if all(one in self.present for one in ids)}

    def _has_a_type(self, job: JobSnapshot) -> bool:
        """Is there a type with room for all of it?"""
        sizes = dict(zip(self.types, self.capacity_T, strict=True))
        return any(job.fixed_workers <= n and (not job.gpu_types or t in job.gpu_types) for t, n in sizes.items())

    def _fair_rates(self, rate_JT: Floats, n_J: Floats) -> Floats:
        """Steps a second of each job if all had an equal part of every type, shape (J,)."""
        part_JT = self.capacity_T / max(1, len(rate_JT)) / n_J[:, None] * (rate_JT > 0)
        part_JT /= np.maximum(part_JT.sum(axis=1, keepdims=True), 1.0)
        return np.asarray(np.maximum((rate_JT * part_JT).sum(axis=1), 1e-12))

    def _book_isolated(self, jobs: Sequence[JobSnapshot], fair_rate: Floats) -> None:
        """By job: what its work so far would have taken on equal shares, how far it was, and the rate there."""
        for job, rate in zip(jobs, fair_rate, strict=True):
            spent_s, done, old_rate = self.isolated.get(job.id, [0.0, job.steps_done, float(rate)])
            spent_s += max(0.0, job.steps_done - done) / old_rate
            self.isolated[job.id] = [spent_s, job.steps_done, float(rate)]


def place_of(job: JobSnapshot) -> GangAllocation:
    """Returns a key of the GPUs that the job holds, the same for all jobs on them."""
    assert job.allocation is not None
    return GangAllocation(Mode.ALL_REDUCE, job.allocation.n_workers, 0, job.allocation.shares)
