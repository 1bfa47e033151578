# SPDX-License-Identifier: Apache-2.0
"""Sia: sizes and GPU types together, by one program over few configurations a job; after SOSP '23.

Axes: J jobs, C columns (a job in one configuration), T GPU types. Source: Jayaram Subramanya et al., "Sia:
Heterogeneity-aware, goodput-optimized ML-cluster scheduling", SOSP '23, and its published simulator.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy  # its parts are loaded when they are first used

from scheduler.api.arrays import Floats
from scheduler.api.plan import Explanation, Reason
from scheduler.api.snapshot import JobSnapshot
from scheduler.api.topology import NodeSnapshot
from scheduler.policies.toolkit.gpu_types import capacity_by_type
from scheduler.policies.toolkit.policy import Grant, Proposal, View, by_submission, n_held
from scheduler.policies.toolkit.restart_history import RestartHistory, most_workers
from scheduler.quota.budget import Budget

MOST_COST = 200.0  # of a configuration, as published: a job that just began is not moved for any gain
TIE = 1e-4  # what a GPU costs, so that of equally good configurations the smallest is chosen
WHOLE = 1 - 1e-6  # of a configuration: less is a part of it


class Configuration(NamedTuple):
    """What a job may be given: GPUs of one type."""

    gpu_type: str
    n_gpus: int


@dataclass(frozen=True)
class Sia:
    """Chooses one configuration, or none, for each job, so that the power mean of goodput is best on all types.

    A configuration has a power of two of GPUs within one node, or whole nodes; also what the job holds, and its least
    size where none of them fits. Its worth is the job's goodput there over the least of its configurations, times that
    one's GPUs; where the job is moved, times (age - restarts x delay_s) / (age + delay_s); to the power `power`: below
    0, the smaller the sum the better.
    unallocated: what a job without GPUs costs, more than one on its least. change: what leaving a configuration costs.
    A job that was not measured yet counts as perfectly scalable, and none gets more than twice the workers that were
    measured of it; so long as that holds one back, the next round is at most round_s away.
    Deviations: the linear program is solved and rounded, not the integer one; at its vertices no more jobs than there
    are types have parts of several configurations. The speed model is MLHub's. The program does not know quota: what
    the budget refuses is tried smaller, then goes to others. Rounds come when the platform has news, not every round_s.
    """

    power: float = -0.5
    unallocated: float = 1.1
    change: float = 0.01
    delay_s: float = 30.0
    round_s: float = 60.0
    name: str = "sia"
    is_elastic: ClassVar[bool] = True
    adapts_batch_size: ClassVar[bool] = True
    knows_own_job_only: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.power == 0:
            raise ValueError("parameter 'power' of policy 'sia' must not be 0")

    def propose(self, view: View, *, budget: Budget, memory: Mapping[str, Any]) -> Proposal:
        """Returns the proposal of one program."""
        jobs = sorted(view.jobs, key=by_submission)
        history = RestartHistory.of(view, memory)
        tables = [_Goodputs(view, job) for job in jobs]
        worth_J = history.discounts(jobs, now_s=view.now_s, delay_s=self.delay_s)
        free_T = _free_by_type(view)
        chosen = self._solve(tables, worth_J, free_T)
        given = [table.give(one, budget) for table, one in zip(tables, chosen, strict=True)]
        given = [one or table.give_least(budget) for table, one in zip(tables, given, strict=True)]  # of what is left
        fair = -(-sum(free_T.values()) // max(1, len(jobs)))
        is_tried_J = [
            one is not None and one.n_gpus == most_workers(job) < job.max_workers
            for job, one in zip(jobs, given, strict=True)
        ]
        return Proposal(
            tuple(table.grant(one, fair=fair) for table, one in zip(tables, given, strict=True) if one is not None),
            tuple(job.id for job in jobs),
            {table.job.id: table.notes(one) for table, one in zip(tables, given, strict=True) if table.notes(one)},
            history.memory(),
            {table.job.id: tuple(sorted({one.n_gpus for one in table.goodputs})) for table in tables},
            wake_at_s=view.now_s + self.round_s if any(is_tried_J) else None,
            gpu_types={job.id: one.gpu_type for job, one in zip(jobs, chosen, strict=True) if one is not None},
        )

    def _solve(
        self, tables: Sequence[_Goodputs], worth_J: Floats, free_T: Mapping[str, int]
    ) -> list[Configuration | None]:
        """The configuration of each job; None: it gets no GPUs. Raises RuntimeError if the solver fails."""
        columns = [(j, one) for j, table in enumerate(tables) for one in table.goodputs if free_T.get(one.gpu_type)]
        if not columns:
            return [None] * len(tables)
        types = sorted(free_T)
        costs_C = np.array([self._cost(tables[j], one, float(worth_J[j])) for j, one in columns])
        of_job = np.array([j for j, _ in columns])
        of_type = len(tables) + np.array([types.index(one.gpu_type) for _, one in columns])
        sizes = np.array([one.n_gpus for _, one in columns], dtype=float)
        places, numbers = np.arange(len(columns)), np.concatenate([np.ones(len(columns)), sizes])
        limits = scipy.sparse.coo_matrix((numbers, (np.concatenate([of_job, of_type]), np.tile(places, 2))))
        most = np.concatenate([np.ones(len(tables)), [float(free_T[t]) for t in types]])[: limits.shape[0]]
        found = scipy.optimize.linprog(costs_C, A_ub=limits.tocsr(), b_ub=most, bounds=(0, 1), method="highs-ds")
        if found.x is None:
            raise RuntimeError(f"the linear program of policy 'sia' was not solved: {found.message}")
        return _rounded(columns, costs_C, found.x, n_jobs=len(tables), free_T=free_T)

    def _cost(self, table: _Goodputs, one: Configuration, worth: float) -> float:
        """Of a column, over no GPUs at all."""
        is_moved = table.present is not None and one != table.present
        goodput = max(table.goodputs[one] * (worth if is_moved else 1.0), 1e-9)
        cost = math.copysign(min(goodput**self.power, MOST_COST), -self.power)
        if table.present is not None:  # leaving one for another counts twice: once for each
            cost += self.change * (2 * is_moved - 1)
        return cost + TIE * one.n_gpus - self.unallocated


def _rounded(
    columns: Sequence[tuple[int, Configuration]],
    costs_C: Floats,
    parts_C: Floats,
    *,
    n_jobs: int,
    free_T: Mapping[str, int],
) -> list[Configuration | None]:
    """A whole configuration or none for each job; one that has parts of several gets the best that still fits."""
    chosen: list[Configuration | None] = [None] * n_jobs
    left = dict(free_T)
    for place in np.flatnonzero(parts_C >= WHOLE):
        j, one = columns[int(place)]
        chosen[j] = one
        left[one.gpu_type] -= one.n_gpus
    divided = {columns[int(place)][0] for place in np.flatnonzero((parts_C > 1 - WHOLE) & (parts_C < WHOLE))}
    for place in np.argsort(costs_C, kind="stable"):
        j, one = columns[int(place)]
        if j in divided and chosen[j] is None and one.n_gpus <= left[one.gpu_type]:
            chosen[j] = one
            left[one.gpu_type] -= one.n_gpus
    return chosen


class _Goodputs:
    """One job's configurations, and its goodput in each over that in the least of them, times the GPUs of that one."""

    def __init__(self, view: View, job: JobSnapshot) -> None:
        self.view, self.job = view, job
        self.present = _present(view.nodes, job)
        found = {one: _goodput(view, job, one) for one in _configurations(view.nodes, job, self.present)}
        least = min(found, key=lambda one: (found[one], one.n_gpus, one.gpu_type), default=None)
        self.goodputs = {one: rate / found[least] * least.n_gpus for one, rate in found.items()} if least else {}

    def give(self, chosen: Configuration | None, budget: Budget) -> Configuration | None:
        """Reserves it, or the largest smaller one of its type that the budget allows; returns what it was."""
        if chosen is None:
            return None
        smaller = [one for one in self.goodputs if one.gpu_type == chosen.gpu_type and one.n_gpus <= chosen.n_gpus]
        return self._first(sorted(smaller, key=lambda one: -one.n_gpus), budget)

    def give_least(self, budget: Budget) -> Configuration | None:
        """Reserves the smallest that the budget allows, of these the one of the highest goodput."""
        return self._first(sorted(self.goodputs, key=lambda one: (one.n_gpus, -self.goodputs[one])), budget)

    def grant(self, given: Configuration, *, fair: int) -> Grant:
        """Returns the grant. fair: GPUs of an equal share."""
        speeds, share = self.view.speeds, max(1, min(fair, most_workers(self.job)))
        times = speeds.step_s(self.job, share) / speeds.step_s(self.job, given.n_gpus, gpu_type=given.gpu_type)
        why = (Explanation(Reason.FAIR_GOODPUT, {"n_workers": given.n_gpus, "times": times}),)
        return Grant(self.job.id, given.n_gpus, given.gpu_type, self.notes(given) or why)

    def notes(self, given: Configuration | None) -> tuple[Explanation, ...]:
        """Returns why it has fewer GPUs than before."""
        lost = n_held(self.job) - (given.n_gpus if given else 0)
        return (Explanation(Reason.GOODPUT_ELSEWHERE, {"given": lost}),) if lost > 0 else ()

    def _first(self, ordered: Iterable[Configuration], budget: Budget) -> Configuration | None:
        for one in ordered:
            if budget.reserve(self.job, one.n_gpus, gpu_type=one.gpu_type):
                return one
        return None


def _present(nodes: Iterable[NodeSnapshot], job: JobSnapshot) -> Configuration | None:
    """What it holds now."""
    if job.held is None or not n_held(job):
        return None
    lies_on = {share.node for share in job.held.shares if share.gpus}
    gpu_type = next((node.gpu_type for node in nodes if node.name in lies_on), "")
    return Configuration(gpu_type, n_held(job))


def _configurations(
    nodes: Iterable[NodeSnapshot], job: JobSnapshot, present: Configuration | None
) -> Iterator[Configuration]:
    """Of every type that the job may use. present: what it holds, which it may keep."""
    open_nodes = [node for node in nodes if node.is_schedulable and node.n_gpus]
    least, most = job.min_workers, most_workers(job)
    for gpu_type, n_gpus in capacity_by_type(open_nodes).items():
        if job.gpu_types and gpu_type not in job.gpu_types:
            continue
        whole = max(node.n_gpus for node in open_nodes if node.gpu_type == gpu_type)
        sizes = {2**k for k in range(whole.bit_length())} | set(range(whole, n_gpus + 1, whole))
        fitting = {n for n in sizes if least <= n <= min(most, n_gpus)} or {least}
        if present is not None and present.gpu_type == gpu_type and least <= present.n_gpus <= job.max_workers:
            fitting.add(present.n_gpus)
        yield from (Configuration(gpu_type, n) for n in sorted(fitting))


def _goodput(view: View, job: JobSnapshot, one: Configuration) -> float:
    if not job.observations and job.example_s is None:
        return float(one.n_gpus)
    return 1.0 / max(view.speeds.plain_step_s(job, one.n_gpus, gpu_type=one.gpu_type), 1e-12)


def _free_by_type(view: View) -> dict[str, int]:
    free = view.free()
    found: dict[str, int] = {}
    for node in view.nodes:
        if node.name in free:
            found[node.gpu_type] = found.get(node.gpu_type, 0) + free[node.name]
    return found
