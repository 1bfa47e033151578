# SPDX-License-Identifier: Apache-2.0
"""Which GPU type each of several jobs is assigned to: worked examples, and the optimum for jobs of one GPU."""

from __future__ import annotations

from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.policies.toolkit.gpu_types import TypeOptions, TypeQueue, assign_types


def options(id: str, n_gpus: int = 1, **left_s: float) -> TypeOptions:
    return TypeOptions(id, 0.0, dict.fromkeys(left_s, n_gpus), left_s)


def sum_of_completions(jobs: list[TypeOptions], types: dict[str, str]) -> float:
    """One GPU of each type, the shortest job first."""
    total = 0.0
    for gpu_type in set(types.values()):
        now_s = 0.0
        for left_s in sorted(job.left_s[gpu_type] for job in jobs if types[job.job] == gpu_type):
            now_s += left_s
            total += now_s
    return total


def test_a_lone_job_goes_where_it_is_fastest_and_one_without_options_nowhere() -> None:
    assert assign_types([options("a", k80=10.0, v100=1.0), options("b")], capacity={"k80": 4, "v100": 1}) == {
        "a": "v100"
    }


def test_a_job_that_gains_little_leaves_the_fast_type_to_others() -> None:
    jobs = [options("gains", k80=100.0, v100=10.0), options("hardly", k80=9.0, v100=8.0)]
    assert assign_types(jobs, capacity={"k80": 1, "v100": 1}) == {"gains": "v100", "hardly": "k80"}


def test_a_queue_on_the_fast_type_makes_the_slow_one_worth_it() -> None:
    jobs = [options(f"j{i}", k80=200.0, v100=100.0) for i in range(6)]
    found = assign_types(jobs, capacity={"k80": 1, "v100": 1})
    assert sorted(found.values()).count("k80") == 2


def test_the_price_of_a_type_is_one_until_jobs_would_have_to_wait() -> None:
    queue = TypeQueue(4)
    assert queue.price(2) == 1.0
    for _ in range(7):
        queue.add(1)
    assert queue.price(1) == 0.5 + 8 / 4


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.floats(1.0, 1000.0), st.floats(1.0, 1000.0)), min_size=1, max_size=6))
def test_the_sum_of_completion_times_is_near_the_least(times: list[tuple[float, float]]) -> None:
    jobs = [options(f"j{i}", a=a, b=b) for i, (a, b) in enumerate(times)]
    found = assign_types(jobs, capacity={"a": 1, "b": 1})
    every = [{f"j{i}": t for i, t in enumerate(ts)} for ts in product("ab", repeat=len(jobs))]
    least = min(sum_of_completions(jobs, types) for types in every)
    assert least <= sum_of_completions(jobs, found) + 1e-6
    assert sum_of_completions(jobs, found) <= 1.5 * least
