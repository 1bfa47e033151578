# SPDX-License-Identifier: Apache-2.0
"""Gavel's objectives as linear programs: which part of the time each job, or pair, is to have on which type of GPU.

Axes: J jobs, C columns (a job or a pair on a type), T types. Source: Narayanan et al., Gavel (OSDI '20), sec. 4, 5.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy  # its parts are loaded when they are first used

from scheduler.api.arrays import Floats

TIE = 1e-4  # what all progress together counts in addition to the objective, so that nothing useful is left idle
FTF_TOLERANCE = 0.005  # the worst finish-time ratio is found to this share


@dataclass(frozen=True)
class ProgramColumn:
    """Describes what may be run on one type: members are indices of jobs (one, or two that share), rates their
    steps/s.
    """

    members: tuple[int, ...]
    gpu_type: int
    n_gpus: int
    rates: tuple[float, ...]


@dataclass(frozen=True)
class JobDemand:
    """Holds what the programs need to know of the jobs, each of shape (J,).

    left: steps to go; weight: of its claim; n_gpus; fair_rate: steps/s on an equal share of every type; waited_s: since
    submission; isolated_s: what the work done so far would have taken on an equal share.
    """

    left: Floats
    weight: Floats
    n_gpus: Floats
    fair_rate: Floats
    waited_s: Floats
    isolated_s: Floats


def time_shares(objective: str, columns: Sequence[ProgramColumn], demand: JobDemand, capacity_T: Floats) -> Floats:
    """Returns the part of the time for each column, shape (C,): at most 1 in sum for a job, and within capacity for a
    type.

    max_min_fairness: the smallest progress, per weight and GPU, over that on an equal share of all types is largest.
    makespan: the last job ends earliest. min_total_jct: the sum of jobs completed a second (1 / remaining time) is
    largest, which serves the smallest remaining GPU-time first, each on the type where that holds most.
    finish_time_fairness: the largest ratio of finish time to that on an equal share is smallest; by bisection.
    Raises ValueError for an unknown objective, RuntimeError if the solver fails.
    """
    if objective not in OBJECTIVES:
        raise ValueError(f"parameter 'objective' of policy 'gavel' must be one of {', '.join(OBJECTIVES)}")
    if not columns:
        return np.zeros(0)
    program = _Program(columns, demand, capacity_T)
    if objective == "makespan":
        return program.largest_least(1 / demand.left)
    if objective == "min_total_jct":
        return program.largest_sum(1 / demand.left)
    if objective == "finish_time_fairness":
        return _fairest(program, demand)
    return program.largest_least(demand.n_gpus / (demand.weight * demand.fair_rate))


OBJECTIVES = ("max_min_fairness", "makespan", "min_total_jct", "finish_time_fairness")


def _fairest(program: _Program, demand: JobDemand) -> Floats:
    """The smallest ratio rho for which every job can have the rate that ends it by rho times its isolated time."""
    fair_s = demand.isolated_s + demand.left / demand.fair_rate
    low = float((demand.waited_s / fair_s).max())
    high = 2 * max(low, 1.0)
    best: Floats | None = None
    while True:
        shares, least = program.largest_least_and_value((high * fair_s - demand.waited_s) / demand.left)
        if least >= 1:
            best = shares
            break
        if high > 1e9:
            return shares
        low, high = high, 2 * high
    while high - low > FTF_TOLERANCE * high:
        middle = (low + high) / 2
        seconds = middle * fair_s - demand.waited_s
        shares, least = program.largest_least_and_value(np.maximum(seconds, 0.0) / demand.left)
        if least >= 1:
            best, high = shares, middle
        else:
            low = middle
    return best


class _Program:
    """The constraints, built once: rows are jobs, then types. The last variable is what is to be made large."""

    def __init__(self, columns: Sequence[ProgramColumn], demand: JobDemand, capacity_T: Floats) -> None:
        self.n_jobs, self.n_columns = len(demand.left), len(columns)
        pairs = [
            (j, c, rate)
            for c, column in enumerate(columns)
            for j, rate in zip(column.members, column.rates, strict=True)
        ]
        rows, cols = [j for j, _, _ in pairs], [c for _, c, _ in pairs]
        shape = (self.n_jobs, self.n_columns)
        sparse = scipy.sparse
        is_in_JC = sparse.coo_matrix((np.ones(len(pairs)), (rows, cols)), shape=shape)
        self.rate_JC = sparse.coo_matrix(([rate for _, _, rate in pairs], (rows, cols)), shape=shape).tocsr()
        types, sizes = [c.gpu_type for c in columns], [float(c.n_gpus) for c in columns]
        uses_TC = sparse.coo_matrix((sizes, (types, range(self.n_columns))), shape=(len(capacity_T), self.n_columns))
        self.limits = sparse.vstack([is_in_JC, uses_TC]).tocsr()
        self.bounds = np.concatenate([np.ones(self.n_jobs), capacity_T])
        self.fair_J = 1 / np.maximum(demand.fair_rate, 1e-12)

    def largest_least(self, scale_J: Floats) -> Floats:
        return self.largest_least_and_value(scale_J)[0]

    def largest_least_and_value(self, scale_J: Floats) -> tuple[Floats, float]:
        """Shares that make the smallest scaled rate largest, and that rate. Jobs with scale 0 can never reach any."""
        unit = float(np.median(scale_J * np.asarray(self.rate_JC.max(axis=1).todense()).ravel())) or 1.0
        scaled_JC = self.rate_JC.multiply(scale_J[:, None] / unit).tocsr()
        sparse = scipy.sparse
        aim = sparse.coo_matrix(np.ones((self.n_jobs, 1)))
        slack = sparse.coo_matrix((self.limits.shape[0], 1))
        table = sparse.vstack([sparse.hstack([-scaled_JC, aim]), sparse.hstack([self.limits, slack])]).tocsr()
        goal = np.append(-TIE * self._progress() / self.n_jobs, -1.0)
        found = self._solve(goal, table, np.concatenate([np.zeros(self.n_jobs), self.bounds]))
        shares = found[:-1]
        return shares, float((scaled_JC @ shares).min()) * unit

    def largest_sum(self, scale_J: Floats) -> Floats:
        worth = np.asarray(self.rate_JC.multiply(scale_J[:, None]).sum(axis=0)).ravel()
        return self._solve(-worth / max(float(worth.max()), 1e-12), self.limits, self.bounds)

    def _progress(self) -> Floats:
        """What each column adds to all jobs' progress, over that on equal shares, shape (C,)."""
        return np.asarray(self.rate_JC.multiply(self.fair_J[:, None]).sum(axis=0)).ravel()

    def _solve(self, goal: Floats, table: object, bounds: Floats) -> Floats:
        found = scipy.optimize.linprog(goal, A_ub=table, b_ub=bounds, bounds=(0, None), method="highs")
        if found.x is None:
            raise RuntimeError(f"the linear program of policy 'gavel' was not solved: {found.message}")
        return np.asarray(found.x)
