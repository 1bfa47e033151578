# SPDX-License-Identifier: Apache-2.0
"""Identical jobs keep their order: none overtakes another, and none is stopped for another."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.policies import policy_named
from scheduler.simulator import simulate
from scheduler.simulator.environments.counting import CountingEnvironment
from scheduler.simulator.outcome import JobHistory
from scheduler.simulator.traces.clusters import uniform_cluster
from scheduler.simulator.traces.trace import Trace, TraceJob


def simulated(policy: str, *, n_jobs: int, n_gpus: int, size: int, most: int, length_s: float) -> list[JobHistory]:
    """Identical jobs, submitted a second after one another; starts take 15 s, and stops 2 s."""
    jobs = tuple(
        TraceJob(f"j{9 - i}", float(i), size, length_s, model="same", min_gpus=size, max_gpus=most)
        for i in range(n_jobs)
    )
    cluster = uniform_cluster(n_nodes=2, n_gpus=n_gpus)
    environment = CountingEnvironment(Trace("same", "mlhub", jobs), cluster, start_s=15.0, stop_s=2.0)
    outcome = simulate(environment, policy=policy_named(policy, {}))
    return list(outcome.histories.values())


def is_ascending(values: list[float | None]) -> bool:
    known = [value for value in values if value is not None]
    return len(known) == len(values) and known == sorted(known)


STRICT = ["fifo", "backfill", "srtf", "srsf", "mlhub"]


@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    st.sampled_from(STRICT),
    st.integers(2, 7),
    st.integers(1, 4),
    st.integers(1, 2),
    st.sampled_from([50.0, 400.0, 20_000.0]),
)
def test_identical_jobs_of_one_size_run_in_their_order_without_a_restart(
    policy: str, n_jobs: int, n_gpus: int, size: int, length_s: float
) -> None:
    found = simulated(policy, n_jobs=n_jobs, n_gpus=n_gpus, size=size, most=size, length_s=length_s)
    assert is_ascending([one.started_at_s for one in found])
    assert is_ascending([one.ended_at_s for one in found])
    assert [one.n_restarts for one in found] == [0] * n_jobs


@settings(max_examples=25, deadline=None, derandomize=True)
@given(st.integers(2, 7), st.integers(1, 4), st.sampled_from([50.0, 400.0, 20_000.0]))
def test_identical_elastic_jobs_start_and_end_in_their_order(n_jobs: int, n_gpus: int, length_s: float) -> None:
    found = simulated("mlhub", n_jobs=n_jobs, n_gpus=n_gpus, size=1, most=8, length_s=length_s)
    assert is_ascending([one.started_at_s for one in found])
    assert is_ascending([one.ended_at_s for one in found])
