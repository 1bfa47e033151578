# SPDX-License-Identifier: Apache-2.0
"""Searches allocation matrices by a genetic algorithm: jobs are rows, nodes columns, entries workers. For Pollux.

Axes: P population, J jobs, N nodes. Source: Qiao et al., Pollux (OSDI '21), sec. 4.2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scheduler.api.arrays import Floats

SmallInts = NDArray[np.int16]
Fitness = Callable[[SmallInts], Floats]  # matrices (P, J, N) -> what they are worth, (P,)

RESET = 0.1  # the chance that a job's row goes back to what the job holds
THIN = 0.1  # the chance that a row loses workers, and that each of its entries does
SEAT = 0.5  # the chance that one job of a matrix is laid anew on the emptiest nodes


@dataclass(frozen=True)
class HostLimits:
    """Holds what nodes have besides GPUs, and what one worker of each job needs of it; axis R: CPUs, bytes."""

    room_NR: Floats  # noqa: N815 (arrays wear their axes)
    need_JR: Floats  # noqa: N815

    def may_bind(self, free_N: SmallInts) -> bool:
        """Returns whether any node has fewer CPUs or less memory than its GPUs can ask for."""
        return bool((free_N[:, None] * self.need_JR.max(axis=0, initial=0.0) > self.room_NR).any())


@dataclass(frozen=True)
class SearchLimits:
    """Holds what a matrix must satisfy.

    present_JN: what the jobs hold. free_N: GPUs of each node. least_J, most_J: workers.

    type_N: the node's GPU type, as an index; allowed_JN: whether the job may be there. is_exclusive: at most one of the
    jobs that are on several nodes may use a node, so that they do not disturb each other on its network. host: where
    CPUs or memory of nodes may run short before their GPUs.
    """

    present_JN: SmallInts  # noqa: N815
    free_N: SmallInts  # noqa: N815
    least_J: SmallInts  # noqa: N815
    most_J: SmallInts  # noqa: N815
    type_N: SmallInts  # noqa: N815
    allowed_JN: NDArray[np.bool_]  # noqa: N815
    is_exclusive: bool = True
    host: HostLimits | None = None


def evolve(
    seeds: Sequence[SmallInts],
    *,
    limits: SearchLimits,
    fitness: Fitness,
    rng: np.random.Generator,
    population: int,
    generations: int,
    patience: int,
) -> SmallInts:
    """Returns matrices (P, J, N) within the limits, the fittest first; never worse than the best seed that is within
    them.

    1. the seeds, repaired, and mutants of them fill the population;
    2. parents are chosen by tournament of two, children are crossed row by row, mutated and repaired;
    3. the fittest of parents and children, each matrix once, are the next generation;
    4. it ends after so many generations, or when so many in a row brought nothing better.
    """
    states_PJN = repaired(np.stack([limits.present_JN, *seeds]), limits, rng)
    missing = population - len(states_PJN)
    if missing > 0:
        picks = rng.integers(len(states_PJN), size=missing)
        mutants = repaired(mutated(states_PJN[picks], limits, rng), limits, rng)
        states_PJN = np.concatenate([states_PJN, mutants])
    states_PJN, worth_P = _fittest(states_PJN, fitness(states_PJN), population)
    n_idle = 0
    for _ in range(generations):
        pairs = _tournament(worth_P, 2 * (population // 2), rng)
        children = repaired(mutated(crossed(states_PJN[pairs], rng), limits, rng), limits, rng)
        best = worth_P[0]
        both = np.concatenate([states_PJN, children])
        states_PJN, worth_P = _fittest(both, np.concatenate([worth_P, fitness(children)]), population)
        n_idle = 0 if worth_P[0] > best * (1 + 1e-9) else n_idle + 1
        if n_idle >= patience:
            break
    return states_PJN


def crossed(parents_PJN: SmallInts, rng: np.random.Generator) -> SmallInts:
    """Returns children of neighbours: the rows up to a random point change places."""
    n_pairs, n_jobs = len(parents_PJN) // 2, parents_PJN.shape[1]
    pairs = parents_PJN.reshape(n_pairs, 2, n_jobs, -1)
    swaps = np.arange(n_jobs) < rng.integers(n_jobs, size=(n_pairs, 1))
    children = np.where(swaps[:, None, :, None], pairs[:, ::-1], pairs)
    return np.ascontiguousarray(children.reshape(parents_PJN.shape))


def mutated(states_PJN: SmallInts, limits: SearchLimits, rng: np.random.Generator) -> SmallInts:
    """Returns the matrices with rows reset, rows thinned, free nodes filled by a random job each, and a job laid anew
    in every other matrix.
    """
    n_states, n_jobs, n_nodes = states_PJN.shape
    states = np.where(rng.random((n_states, n_jobs, 1)) < RESET, limits.present_JN, states_PJN)
    p, j = np.nonzero(rng.random((n_states, n_jobs)) < THIN)
    states[p, j] *= rng.random((len(p), n_nodes)) >= THIN
    free_PN = limits.free_N - states.sum(axis=1, dtype=np.int16)
    p, n = np.nonzero(free_PN > 0)
    j = rng.integers(n_jobs, size=len(p))
    states[p, j, n] += (rng.random(len(p)) * free_PN[p, n]).astype(np.int16) + np.int16(1)
    _lay_anew(states, limits, rng)
    return states


def _lay_anew(states_PJN: SmallInts, limits: SearchLimits, rng: np.random.Generator) -> None:
    """One job of some matrices gets a random size on the emptiest nodes: gangs hardly come together by chance."""
    chosen = np.nonzero(rng.random(len(states_PJN)) < SEAT)[0]
    if not len(chosen):
        return
    job_P = rng.integers(states_PJN.shape[1], size=len(chosen))
    states_PJN[chosen, job_P] = 0
    room = limits.free_N - states_PJN[chosen].sum(axis=1, dtype=np.int16)
    room = np.maximum(room, 0) * limits.allowed_JN[job_P]
    least, most = limits.least_J[job_P], limits.most_J[job_P]
    size = least + (rng.random(len(chosen)) * (np.maximum(most, least) - least + 1)).astype(np.int16)
    order = np.argsort(-room - rng.random(room.shape), axis=1)
    given = np.take_along_axis(room, order, axis=1)
    before = np.cumsum(given, axis=1) - given
    given = np.clip(size[:, None] - before, 0, given).astype(np.int16)
    rows = np.zeros_like(given)
    np.put_along_axis(rows, order, given, axis=1)
    states_PJN[chosen, job_P] = rows


def repaired(states_PJN: SmallInts, limits: SearchLimits, rng: np.random.Generator) -> SmallInts:
    """Returns the matrices cut down to the limits; the first in the order of jobs keeps what is contested."""
    states = np.where(limits.allowed_JN, states_PJN, np.int16(0))
    if limits.type_N.max(initial=0) > 0:
        _keep_one_type(states, limits)
    if limits.is_exclusive:
        _separate_interfering(states)
    _limit_size(states, limits, rng)
    reach = np.minimum(np.cumsum(states, axis=1, dtype=np.int16), limits.free_N)
    states[:, 1:] = reach[:, 1:] - reach[:, :-1]
    states[:, :1] = reach[:, :1]
    if limits.host is not None:
        _limit_hosts(states, limits, limits.host)
    states *= (states.sum(axis=2) >= limits.least_J)[:, :, None]
    return states


def _keep_one_type(states_PJN: SmallInts, limits: SearchLimits) -> None:
    """A gang does not mix types of GPU: it keeps the one that it has most of."""
    n_types = int(limits.type_N.max()) + 1
    by_type = np.stack([states_PJN[:, :, limits.type_N == t].sum(axis=2) for t in range(n_types)], axis=2)
    states_PJN *= by_type.argmax(axis=2)[:, :, None] == limits.type_N


def _separate_interfering(states_PJN: SmallInts) -> None:
    is_there = states_PJN > 0
    is_there &= (is_there.sum(axis=2) > 1)[:, :, None]
    states_PJN[is_there & (np.cumsum(is_there, axis=1) > 1)] = 0


def _limit_size(states_PJN: SmallInts, limits: SearchLimits, rng: np.random.Generator) -> None:
    p, j = np.nonzero(states_PJN.sum(axis=2) > limits.most_J)
    if not len(p):
        return
    rows = states_PJN[p, j]
    order = rng.permuted(np.tile(np.arange(rows.shape[1]), (len(p), 1)), axis=1)
    given = np.take_along_axis(rows, order, axis=1)
    before = np.cumsum(given, axis=1) - given
    given = np.clip(limits.most_J[j][:, None] - before, 0, given).astype(np.int16)
    np.put_along_axis(rows, order, given, axis=1)
    states_PJN[p, j] = rows


def _limit_hosts(states_PJN: SmallInts, limits: SearchLimits, host: HostLimits) -> None:
    """Cuts down what CPUs and memory do not suffice for; a job that is cut below its least size leaves its share."""
    left_PNR = np.repeat(host.room_NR[None], len(states_PJN), axis=0)
    for j, need_R in enumerate(host.need_JR):
        asks = need_R > 0
        if not asks.any():
            continue
        fits_PN = np.floor((left_PNR[:, :, asks] / need_R[asks]).min(axis=2) + 1e-9)
        states_PJN[:, j] = np.clip(fits_PN, 0, states_PJN[:, j])
        states_PJN[:, j] *= (states_PJN[:, j].sum(axis=1) >= limits.least_J[j])[:, None]
        left_PNR -= states_PJN[:, j, :, None] * need_R


def _tournament(worth_P: Floats, n: int, rng: np.random.Generator) -> NDArray[np.intp]:
    a, b = rng.integers(len(worth_P), size=(2, n))
    return np.asarray(np.where(worth_P[a] >= worth_P[b], a, b))


def _fittest(states_PJN: SmallInts, worth_P: Floats, n: int) -> tuple[SmallInts, Floats]:
    """The n fittest, each matrix once; of equal ones the earlier."""
    chosen: list[int] = []
    seen: set[bytes] = set()
    for i in np.argsort(-worth_P, kind="stable"):
        key = states_PJN[i].tobytes()
        if key not in seen:
            seen.add(key)
            chosen.append(int(i))
        if len(chosen) == n:
            break
    return states_PJN[chosen], worth_P[chosen]
