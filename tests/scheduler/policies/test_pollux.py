# SPDX-License-Identifier: Apache-2.0
"""Pollux: the search keeps its limits and finds what can be worked out by hand; the policy carries it out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from scheduler import Launch, Mode, RoundMemory, SpeedObservation, TenantSnapshot, Wait
from scheduler.policies.pollux.genetic_search import SearchLimits, SmallInts, crossed, evolve, mutated, repaired
from scheduler.policies.toolkit.restart_history import most_workers
from tests.scheduler.cases import cluster, job, kinds, sizes
from tests.scheduler.invariants import restless


def limits(n_jobs: int, free: list[int], *, least: int = 1, most: int = 64) -> SearchLimits:
    shape = (n_jobs, len(free))
    return SearchLimits(
        present_JN=np.zeros(shape, dtype=np.int16),
        free_N=np.array(free, dtype=np.int16),
        least_J=np.full(n_jobs, least, dtype=np.int16),
        most_J=np.full(n_jobs, most, dtype=np.int16),
        type_N=np.zeros(len(free), dtype=np.int16),
        allowed_JN=np.ones(shape, dtype=bool),
    )


def matrix(*rows: list[int]) -> SmallInts:
    return np.array(rows, dtype=np.int16)


def fixed_by(matrix_JN: SmallInts, limit: SearchLimits) -> list[list[int]]:
    return repaired(matrix_JN[None], limit, np.random.default_rng(0))[0].tolist()


def measured(*n_workers: int) -> tuple[SpeedObservation, ...]:
    return tuple(SpeedObservation(Mode.ALL_REDUCE, n, 0, 1, 1, "v100", 100, 0.1 / n, 0.1 / n, 0, 9) for n in n_workers)


def test_a_node_is_not_given_twice_and_the_first_job_keeps_it() -> None:
    assert fixed_by(matrix([3, 0], [2, 0]), limits(2, [4, 4])) == [[3, 0], [1, 0]]


def test_of_two_jobs_on_several_nodes_the_second_leaves_the_node_where_they_meet() -> None:
    assert fixed_by(matrix([1, 1, 0], [0, 1, 1]), limits(2, [4, 4, 4])) == [[1, 1, 0], [0, 0, 1]]


def test_a_gang_below_its_least_size_is_no_gang() -> None:
    assert fixed_by(matrix([1, 0], [0, 2]), limits(2, [4, 4], least=2)) == [[0, 0], [0, 2]]


def test_a_gang_keeps_the_type_of_gpu_that_it_has_most_of() -> None:
    limit = replace(limits(1, [4, 4]), type_N=np.array([0, 1], dtype=np.int16))
    assert fixed_by(matrix([1, 3]), limit) == [[0, 3]]


def test_whatever_is_crossed_and_mutated_is_within_the_limits_after_repair() -> None:
    rng = np.random.default_rng(3)
    limit = limits(6, [4, 2, 8], least=2, most=5)
    states = np.zeros((40, 6, 3), dtype=np.int16)
    for _ in range(30):
        states = repaired(mutated(crossed(states, rng), limit, rng), limit, rng)
        workers = states.sum(axis=2)
        assert (states >= 0).all()
        assert (states.sum(axis=1) <= limit.free_N).all()
        assert ((workers == 0) | ((workers >= 2) & (workers <= 5))).all()
    assert workers.sum() > 0


def test_the_search_finds_the_best_of_all_matrices() -> None:
    def fitness(states: SmallInts) -> np.ndarray:  # equal sizes on one node each are best: 1/3 + 1/3
        workers = np.where(np.count_nonzero(states, axis=2) == 1, states.sum(axis=2), 0)
        return 1.0 / (1.0 / (workers + 1e-3)).sum(axis=1)

    found = evolve(
        [],
        limits=limits(2, [3, 3]),
        fitness=fitness,
        rng=np.random.default_rng(1),
        population=20,
        generations=40,
        patience=40,
    )
    assert sorted(found[0].tolist()) == [[0, 3], [3, 0]]


def test_a_job_gets_twice_the_workers_that_were_measured_of_it() -> None:
    assert most_workers(job("new")) == 1
    assert most_workers(job("known", observations=measured(1, 4))) == 8
    assert most_workers(job("small", observations=measured(1, 4), max_workers=6)) == 6


def test_equal_jobs_get_equal_shares_of_the_cluster() -> None:
    case = cluster(nodes=2, gpus=4).waiting(*(job(f"j{i}", observations=measured(1, 4)) for i in range(4)))
    plan = case.decide("pollux")
    assert sizes(plan) == {"j0": 2, "j1": 2, "j2": 2, "j3": 2}
    assert plan.of("j0").explanations[0].sentence == "On 2 GPUs it makes 1.00 times the progress of an equal share."


def test_a_young_job_that_restarted_often_stays_where_it_is() -> None:
    """Age 100 s: a move leaves (100 - 2 x 30) / 130 of the progress; three GPUs for two do not make up for it."""
    young = job("a", observations=measured(1, 2, 3), at=900.0, max_workers=3)
    case = cluster(gpus=3).running(young, n=2, since=950.0)
    memory = RoundMemory(policy="pollux", policy_values={"restarts": {"a": 2}, "since": {"a": 950.0}})
    assert kinds(replace(case, memory=memory).decide("pollux")) == {"a": "Keep"}
    assert kinds(case.at(100_000.0).decide("pollux")) == {"a": "Resize"}


def test_a_later_round_at_the_same_time_carries_on_with_what_was_found() -> None:
    case = cluster(nodes=2, gpus=2).running(job("a", observations=measured(1, 2, 4)), n=4)
    case = case.waiting(job("b", observations=measured(1, 2, 4)))
    plan = case.decide("pollux")
    assert kinds(plan) == {"a": "Resize", "b": "Wait"}
    after = case.after(plan).decide("pollux")
    before = plan.memory.policy_values["elite"]
    assert after.memory.policy_values["elite"] == before


def test_a_gang_lies_where_the_cpus_of_its_workers_are() -> None:
    """Eight GPUs next to CPUs for one worker: the search went on to propose both workers there, for ever."""
    few = cluster(nodes=2, gpus=8, cpus=2.0).waiting(job("a", gpus=2, cpus_per_worker=2.0))
    plan = few.decide("pollux")
    launched = plan.of("a")
    assert isinstance(launched, Launch)
    assert sorted(len(share.gpus) for share in launched.allocation.shares) == [1, 1]
    taken = few.after(plan).waiting(job("b", gpus=1, cpus_per_worker=1.0))
    assert isinstance(taken.decide("pollux").of("b"), Wait)


def test_a_guaranteed_job_is_not_preempted_for_more_goodput() -> None:
    """Its node's CPUs are enough for one of the two: it was preempted for the larger one, and claimed them back."""
    tenants = TenantSnapshot("org", guarantee=1), TenantSnapshot("a", parent="org"), TenantSnapshot("b", parent="org")
    case = replace(cluster(gpus=4, cpus=2.0), tenants=tenants)
    small = job("small", gpus=1, tenant="a", cpus_per_worker=2.0, example_s=None, step_overhead_s=0.0)
    large = job("large", gpus=2, tenant="b", cpus_per_worker=0.5, example_s=None, step_overhead_s=0.0)
    assert restless(case.waiting(small, large), "pollux") == []
