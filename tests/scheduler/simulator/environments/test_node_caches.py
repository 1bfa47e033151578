# SPDX-License-Identifier: Apache-2.0
"""Simulated nodes cache what jobs read; trials of one dataset end earlier where they are placed next to it."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from benchmarks.predictions_inputs import judged_ends
from scheduler import GangAllocation, Mode, NodeAllocation, NodeSnapshot, RackSnapshot, policy_named
from scheduler.api.topology import InputSet
from scheduler.simulator.engine import simulate
from scheduler.simulator.environments.counting import CountingEnvironment
from scheduler.simulator.environments.node_caches import NodeCaches
from scheduler.simulator.traces.clusters import Cluster
from scheduler.simulator.traces.formats import read_trace, trace_to_csv
from scheduler.simulator.traces.trace import Trace, TraceJob

GB = 10**9
NODES = tuple(NodeSnapshot(f"n{i}", "r0", "a100", 4, 64, 2**36, 10e9) for i in range(4))
CLUSTER = Cluster(NODES, (RackSnapshot("r0", 40e9),))


class Unknown(CountingEnvironment):
    """The same truth, of which the scheduler learns nothing."""

    input_sets: Sequence[InputSet] = ()  # type: ignore[assignment]


def on(*nodes: str) -> GangAllocation:
    return GangAllocation(Mode.ALL_REDUCE, len(nodes), 0, tuple(NodeAllocation(node, (0,)) for node in nodes))


def trials(seed: int, *, n: int = 60) -> Trace:
    """Trials of two datasets, submitted now and then; each takes ten minutes, and a node fetches its data in 100 s."""
    draw = random.Random(seed)
    at_s, jobs = 0.0, []
    for i in range(n):
        at_s += draw.expovariate(1 / 60)
        name = draw.choice(["sweep-a", "sweep-b"])
        jobs.append(TraceJob(f"t{i}", at_s, 1, 600.0, study=name, inputs=name, inputs_bytes=10 * GB))
    return Trace("trials", "mlhub", tuple(jobs))


def mean_jct_s(kind: type[CountingEnvironment], seed: int, *, policy: str = "mlhub") -> float:
    environment = kind(trials(seed), CLUSTER, cache_bytes=12 * GB)
    outcome = simulate(environment, policy=policy_named(policy, {}))
    times = [one.ended_at_s - one.submitted_at_s for one in outcome.histories.values() if one.ended_at_s is not None]
    assert len(times) == 60
    return sum(times) / len(times)


@pytest.mark.parametrize("policy", ["mlhub", "fifo", "fair"])
def test_trials_end_earlier_where_the_scheduler_knows_which_nodes_hold_their_data(policy: str) -> None:
    seeds = range(3)
    known = [mean_jct_s(CountingEnvironment, seed, policy=policy) for seed in seeds]
    unknown = [mean_jct_s(Unknown, seed, policy=policy) for seed in seeds]
    assert all(one < other for one, other in zip(known, unknown, strict=True))
    assert sum(known) < 0.97 * sum(unknown)


@pytest.mark.parametrize("policy", ["fifo", "mlhub"])
def test_jobs_of_a_day_with_large_inputs_end_when_their_first_prediction_said(policy: str) -> None:
    found = judged_ends(policy, 1, n_jobs=200)
    assert found.held_p90 >= 0.9
    assert found.median_error < 0.005
    assert found.median_p90 < 1.1


def test_a_node_keeps_what_it_used_last_as_far_as_there_is_room() -> None:
    caches = NodeCaches({"a": 4 * GB, "b": 4 * GB, "c": 4 * GB}, cache_bytes=8 * GB, fetch_bps=8e9)
    assert [caches.fetch_s(name, on("n0")) for name in ("a", "b", "a", "c", "a", "b")] == [4.0, 4.0, 0.0, 4.0, 0.0, 4.0]
    held = {one.key: one.held for one in caches.input_sets}
    assert held == {"a": (("n0", 4 * GB),), "b": (("n0", 4 * GB),), "c": ()}


def test_a_gang_waits_for_the_last_of_its_nodes_and_all_of_them_hold_it_then() -> None:
    caches = NodeCaches({"a": 4 * GB}, fetch_bps=8e9)
    assert (caches.fetch_s("a", on("n0")), caches.fetch_s("a", on("n0", "n1")), caches.fetch_s("a", on("n1"))) == (
        4,
        4,
        0,
    )
    assert caches.fetch_s("unnamed", on("n0")) == 0.0


def test_a_start_takes_longer_by_what_is_fetched() -> None:
    job = TraceJob("one", 0.0, 1, 600.0, inputs="data", inputs_bytes=10 * GB)
    again = TraceJob("two", 1000.0, 1, 600.0, inputs="data", inputs_bytes=10 * GB)
    outcome = simulate(CountingEnvironment(Trace("t", "mlhub", (job, again)), CLUSTER), policy=policy_named("fifo", {}))
    assert [outcome.histories[name].ended_at_s for name in ("one", "two")] == [pytest.approx(700), pytest.approx(1600)]


def test_a_trace_names_inputs_and_their_sizes() -> None:
    found = read_trace(trace_to_csv(trials(0)), name="again.csv")
    assert [(job.inputs, job.inputs_bytes) for job in found.jobs] == [
        (job.inputs, job.inputs_bytes) for job in trials(0).jobs
    ]
