# SPDX-License-Identifier: Apache-2.0
"""Pollux: sizes and places that maximise the power mean of all jobs' goodput; after Qiao et al., OSDI '21."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from scheduler.api.arrays import Floats
from scheduler.api.host_resources import host_resources
from scheduler.api.plan import Explanation, Reason
from scheduler.api.snapshot import JobSnapshot
from scheduler.policies.pollux.genetic_search import HostLimits, SearchLimits, SmallInts, evolve
from scheduler.policies.toolkit.policy import Grant, Proposal, View, n_held
from scheduler.policies.toolkit.restart_history import RestartHistory, most_workers
from scheduler.quota.budget import Budget

EPSILON = 1e-3  # a job without GPUs counts for so much: the mean stays finite
CLAIMED_BACK = 1e-9  # what a matrix is worth, as a part, for each job that it leaves out and that would come back
N_REMEMBERED = 8  # matrices that seed the next round's search

PlacementRows = dict[str, list[list[Any]]]  # by job: [node, workers]


@dataclass(frozen=True)
class Pollux:
    """Searches for the best allocation by goodput (speed times statistical efficiency) as measured so far; needs no
    lengths.

    Fitness: the power mean, with exponent power, of each job's goodput over that on an equal share of the cluster;
    where a job is moved, times (age - restarts x delay_s) / (age + delay_s) (sec. 4.2.1). A job that was not measured
    yet counts as perfectly scalable, and none gets more than twice the workers that were measured of it.
    A job that started by its tenant's guarantee although the search had left it out is not left out again while it runs
    within the guarantee: it would claim its GPUs back as soon as it waits.
    avoids_interference: at most one job that lies on several nodes may touch a node. population, generations, patience:
    of the genetic search, see genetic_search.py. Deterministic for the snapshot's seed and time.
    Deviations: the speed model is MLHub's; the search ends early when it finds nothing better; cluster size is given.
    """

    power: float = -1.0
    delay_s: float = 30.0
    avoids_interference: bool = True
    population: int = 64
    generations: int = 60
    patience: int = 20
    moves_at_once: bool = False
    name: str = "pollux"
    is_elastic: ClassVar[bool] = True
    adapts_batch_size: ClassVar[bool] = True
    knows_own_job_only: ClassVar[bool] = True

    def propose(self, view: View, *, budget: Budget, memory: Mapping[str, Any]) -> Proposal:
        """Returns the proposal of one search per instant: later rounds at the same time continue with what was
        found.
        """
        jobs = sorted(view.jobs, key=lambda job: (job.executed_gpu_s, job.submitted_at_s, job.id))
        history = RestartHistory.of(view, memory)
        elite: list[PlacementRows] = memory.get("elite", [])
        free = view.free()
        there = {job.id for job in (*jobs, *view.settled) if n_held(job)}
        claimed = there.intersection(memory.get("claimed", ()))
        guarded = claimed.intersection(budget.entitlement.guarded) if budget.entitlement is not None else ()
        if jobs and free and not (elite and memory.get("at_s") == view.now_s):
            problem = _Problem(self, view, free, jobs, history, guarded)
            found = problem.search(elite)
            elite = [problem.rows(state) for state in found[:N_REMEMBERED]]
        new_memory = {"at_s": view.now_s, "elite": elite, **history.memory()}
        proposal = self._proposal(view, jobs, elite[0] if elite else {}, budget, free, new_memory)
        if budget.entitlement is not None:
            left_out = budget.entitlement.claimants.keys() - {grant.job for grant in proposal.grants}
            return replace(proposal, memory={**new_memory, "claimed": sorted(claimed | left_out)})
        return proposal

    def _proposal(
        self,
        view: View,
        jobs: list[JobSnapshot],
        plan: PlacementRows,
        budget: Budget,
        free: Mapping[str, int],
        memory: Mapping[str, Any],
    ) -> Proposal:
        grants, notes = [], {}
        fair = -(-sum(free.values()) // max(1, len(jobs)))
        types = {node.name: node.gpu_type for node in view.nodes}
        for job in jobs:
            node_workers = tuple((name, int(k)) for name, k in plan.get(job.id, ()) if name in free)
            n_workers, had = sum(k for _, k in node_workers), n_held(job)
            if n_workers < had:
                notes[job.id] = (Explanation(Reason.GOODPUT_ELSEWHERE, {"given": had - n_workers}),)
            if n_workers and budget.reserve(job, n_workers, gpu_type=types[node_workers[0][0]]):
                times = self._times(view, job, n_workers, fair)
                why = (Explanation(Reason.FAIR_GOODPUT, {"n_workers": n_workers, "times": times}),)
                gpu_type, why = budget.gpu_type(job), notes.get(job.id, why)
                grants.append(Grant(job.id, n_workers, gpu_type, why, node_workers=node_workers, equal_nodes=True))
        return Proposal(
            tuple(grants),
            tuple(job.id for job in jobs),
            notes,
            memory,
            {job.id: tuple(range(job.min_workers, most_workers(job) + 1)) for job in jobs},
            places_after_preemption=self.moves_at_once,
        )

    def _times(self, view: View, job: JobSnapshot, n_workers: int, fair: int) -> float:
        fair = max(1, min(fair, most_workers(job)))
        return view.speeds.step_s(job, fair) / view.speeds.step_s(job, n_workers)


class _Problem:
    """One round's matrices: rows in the order of attained service, columns in that of the cluster."""

    def __init__(
        self,
        policy: Pollux,
        view: View,
        free: Mapping[str, int],
        jobs: list[JobSnapshot],
        history: RestartHistory,
        guarded: Collection[str],
    ) -> None:
        self.policy, self.view, self.jobs = policy, view, jobs
        self.nodes = [node for node in view.nodes if node.name in free]
        self.column = {node.name: n for n, node in enumerate(self.nodes)}
        types = sorted({node.gpu_type for node in self.nodes})
        free_N = np.array([free[node.name] for node in self.nodes], dtype=np.int16)
        self.limits = SearchLimits(
            present_JN=self._matrix({job.id: _lies_on(job) for job in jobs}),
            free_N=free_N,
            least_J=np.array([job.min_workers for job in jobs], dtype=np.int16),
            most_J=np.array([most_workers(job) for job in jobs], dtype=np.int16),
            type_N=np.array([types.index(node.gpu_type) for node in self.nodes], dtype=np.int16),
            allowed_JN=np.array([[not j.gpu_types or n.gpu_type in j.gpu_types for n in self.nodes] for j in jobs]),
            is_exclusive=policy.avoids_interference,
            host=self._host_limits(free_N),
        )
        self.guarded = [j for j, job in enumerate(jobs) if job.id in guarded]
        self.moved_J = history.discounts(jobs, now_s=view.now_s, delay_s=policy.delay_s)
        self.speedup = _Speedups(view, jobs, [node.gpu_type for node in self.nodes], int(self.limits.free_N.sum()))

    def _host_limits(self, free_N: SmallInts) -> HostLimits | None:
        """Of the nodes, less what settled jobs hold there; None where no node can run short of them."""
        room = {node.name: [node.cpus, float(node.memory_bytes)] for node in self.nodes}
        for job in self.view.settled:
            for share in job.held.shares if job.held is not None else ():
                if share.node in room:
                    taken = host_resources(job, len(share.gpus), share.n_servers)
                    room[share.node][0] -= taken.cpus
                    room[share.node][1] -= taken.memory_bytes
        limits = HostLimits(
            np.array(list(room.values()), dtype=float),
            np.array([[job.cpus_per_worker, job.memory_per_worker_bytes] for job in self.jobs], dtype=float),
        )
        return limits if limits.may_bind(free_N) else None

    def search(self, elite: list[PlacementRows]) -> SmallInts:
        """The fittest matrices first."""
        rng = np.random.default_rng([self.view.seed, int(self.view.now_s * 1000) % (1 << 62)])
        return evolve(
            [self._matrix(rows) for rows in elite],
            limits=self.limits,
            fitness=self.fitness,
            rng=rng,
            population=int(self.policy.population),
            generations=int(self.policy.generations),
            patience=int(self.policy.patience),
        )

    def fitness(self, states_PJN: SmallInts) -> Floats:
        """The power mean of the speed-ups, shape (P,); of one node's worth of GPUs as unit. Next to nothing where
        jobs are left out that would claim their GPUs back.
        """
        n_left_out_P = (~states_PJN[:, self.guarded].any(axis=2)).sum(axis=1)
        return np.asarray(self._mean_speedup(states_PJN) * CLAIMED_BACK**n_left_out_P)

    def _mean_speedup(self, states_PJN: SmallInts) -> Floats:
        speedup_PJ = self.speedup.of(states_PJN) * len(self.nodes) / max(1, int(self.limits.free_N.sum()))
        is_moved = (states_PJN != self.limits.present_JN).any(axis=2)
        speedup_PJ = np.where(is_moved, speedup_PJ * self.moved_J, speedup_PJ) + EPSILON
        if self.policy.power == 0:
            return np.asarray(np.exp(np.log(speedup_PJ).mean(axis=1)))
        return np.asarray((speedup_PJ**self.policy.power).mean(axis=1) ** (1 / self.policy.power))

    def rows(self, state_JN: SmallInts) -> PlacementRows:
        found: PlacementRows = {job.id: [] for job in self.jobs}
        for j, n in zip(*np.nonzero(state_JN), strict=True):
            found[self.jobs[j].id].append([self.nodes[n].name, int(state_JN[j, n])])
        return found

    def _matrix(self, rows: Mapping[str, list[list[Any]]]) -> SmallInts:
        state_JN = np.zeros((len(self.jobs), len(self.nodes)), dtype=np.int16)
        for j, job in enumerate(self.jobs):
            for name, k in rows.get(job.id, ()):
                if name in self.column:
                    state_JN[j, self.column[name]] = k
        return state_JN


class _Speedups:
    """Goodput by nodes and workers over that of an equal share, worked out as far as the search comes by."""

    def __init__(self, view: View, jobs: list[JobSnapshot], types_N: list[str], n_gpus: int) -> None:
        self.view, self.jobs = view, jobs
        self.types = sorted(set(types_N))
        self.type_N = np.array([self.types.index(t) for t in types_N])
        self.fair = -(-n_gpus // len(jobs))
        self.table = np.full((len(jobs), len(self.types), len(types_N) + 1, max(1, n_gpus) + 1), np.nan)
        self.table[:, :, 0, :] = 0.0
        self.base = [self._base_s(job) for job in jobs]

    def of(self, states_PJN: SmallInts) -> Floats:
        """Shape (P, J)."""
        nodes_PJ = np.count_nonzero(states_PJN, axis=2)
        workers_PJ = states_PJN.sum(axis=2)
        job_PJ = np.broadcast_to(np.arange(len(self.jobs)), workers_PJ.shape)
        type_PJ = self.type_N[(states_PJN > 0).argmax(axis=2)]
        found_PJ = self.table[job_PJ, type_PJ, nodes_PJ, workers_PJ]
        unknown = np.isnan(found_PJ)
        if unknown.any():
            keys = np.unique(np.stack([a[unknown] for a in (job_PJ, type_PJ, nodes_PJ, workers_PJ)]), axis=1)
            for j, t, k, r in keys.T:
                self.table[j, t, k, r] = self._speedup(int(j), self.types[t], int(k), int(r))
            found_PJ = self.table[job_PJ, type_PJ, nodes_PJ, workers_PJ]
        return np.asarray(found_PJ)

    def _speedup(self, j: int, gpu_type: str, n_nodes: int, n_workers: int) -> float:
        job, base_s = self.jobs[j], self.base[j]
        if not job.observations and job.example_s is None:
            return n_workers / self.fair
        speeds = self.view.speeds
        return base_s / speeds.plain_step_s(job, n_workers, gpu_type=gpu_type, n_nodes=n_nodes if n_nodes > 1 else 0)

    def _base_s(self, job: JobSnapshot) -> float:
        fair = max(1, min(self.fair, job.max_workers))
        return self.view.speeds.plain_step_s(job, fair, gpu_type=self.view.speeds.standard_type(job))


def _lies_on(job: JobSnapshot) -> list[list[Any]]:
    if not n_held(job) or job.allocation is None:
        return []
    return [[share.node, len(share.gpus)] for share in job.allocation.shares if share.gpus]
