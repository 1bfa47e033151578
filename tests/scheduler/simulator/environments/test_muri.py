# SPDX-License-Identifier: Apache-2.0
"""Muri's environment on traces small enough to be worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler import GangAllocation, Mode, NodeAllocation, policy_named
from scheduler.simulator import simulate
from scheduler.simulator.environments.environment import SimulatedGang
from scheduler.simulator.environments.muri import MuriEnvironment, read_restarts
from scheduler.simulator.environments.muri_antman import opportunistic_step_s
from scheduler.simulator.reports.summary import summary
from scheduler.simulator.traces.clusters import uniform_cluster
from scheduler.simulator.traces.trace import Trace, TraceJob

RESTARTS = "num_gpu,model,restart_s\n1,slow,38\n1,fast,4\n"
LOADS = {"cpu_io_s": 0.9, "gpu_s": 0.1, "network_s": 0.0}
COMPUTES = {"cpu_io_s": 0.1, "gpu_s": 0.8, "network_s": 0.1}


def traced(id: str, at_s: float, *, n: int = 1, iterations: int = 100, model: str = "fast", **more: Any) -> TraceJob:
    extra = {"iterations": iterations, "batch_size": 8, "iteration_s": 1.0} | LOADS | more
    return TraceJob(id, at_s, n, iterations * 1.0, model=model, extra=extra)


def jcts(*jobs: TraceJob, gpus: int, policy: str, **more: Any) -> dict[str, float]:
    cluster = uniform_cluster(n_nodes=1, n_gpus=gpus)
    environment = MuriEnvironment(Trace("case", "muri", jobs), cluster, read_restarts(RESTARTS, name="case"), **more)
    outcome = simulate(environment, policy=policy_named(policy, {}))
    return summary(outcome, nodes=environment.nodes)["jct_s"]


def test_an_iteration_alone_takes_what_the_system_adds() -> None:
    assert jcts(traced("a", 0), gpus=1, policy="srtf") == {"a": pytest.approx(101.5)}


def test_every_event_costs_each_running_job_its_restart_as_published() -> None:
    found = jcts(traced("a", 0, model="slow"), traced("b", 50), gpus=2, policy="srtf")
    assert found["a"] == pytest.approx(101.5 + 38)
    assert found["b"] == pytest.approx(101.5 + 4)  # a ends meanwhile


def test_a_start_costs_the_one_that_starts_and_no_other_in_the_clean_rule() -> None:
    found = jcts(traced("a", 0, model="slow"), traced("b", 50), gpus=2, policy="srtf", as_published=False)
    assert found == {"a": pytest.approx(38 + 101.5), "b": pytest.approx(4 + 101.5)}


def test_two_that_share_iterate_together_and_the_one_left_alone_speeds_up() -> None:
    """Joint: max(0.9, 0.8 + 0.1) + max(0.1, 0.1) = 1.0 s, with the contention of two 1.33 / 1.015 s."""
    jobs = traced("a", 0, iterations=100), traced("b", 0, iterations=200, **COMPUTES)
    found = jcts(*jobs, gpus=1, policy="muri", as_published=False)
    joint_s = 1.33 / 1.015
    assert found["a"] == pytest.approx(4 + 100 * joint_s)
    assert found["b"] == pytest.approx(4 + 100 * joint_s + 100 * 1.015)


def test_a_guaranteed_job_is_not_slowed_down_by_an_opportunistic_one() -> None:
    """The guest's 0.9 s of loading fit into the 0.9 s in which a host's iteration does not load, and so on."""
    assert opportunistic_step_s((0.9, 0.1, 0.0), (0.1, 0.8, 0.1), host_step_s=1.0) == pytest.approx(2.0)


def test_restarts_are_read_by_gpus_and_model() -> None:
    assert read_restarts(RESTARTS, name="case") == {(1, "slow"): 38.0, (1, "fast"): 4.0}


def test_a_segment_goes_on_only_at_its_own_instant_and_while_no_gpu_is_shared() -> None:
    jobs = traced("a", 0, model="slow"), traced("b", 0)
    cluster = uniform_cluster(n_nodes=1, n_gpus=2)
    environment = MuriEnvironment(Trace("case", "muri", jobs), cluster, read_restarts(RESTARTS, name="case"))
    node = environment.nodes[0].name
    places = [GangAllocation(Mode.ALL_REDUCE, 1, 0, (NodeAllocation(node, (gpu,)),)) for gpu in range(2)]
    a, b = (SimulatedGang(each.job, place) for each, place in zip(environment.arrivals, places, strict=True))
    segment = environment.segment(a, {"a": a})
    apart = {"a": a, "b": b}
    assert environment.goes_on(segment, a, apart, elapsed_s=0.0)
    assert not environment.goes_on(segment, a, apart, elapsed_s=1.0)  # every event costs it its restart
    together = {"a": a, "b": SimulatedGang(b.job, a.allocation)}
    assert not environment.goes_on(segment, a, together, elapsed_s=0.0)
    shared = environment.segment(a, together)
    assert not environment.goes_on(shared, a, apart, elapsed_s=0.0)
