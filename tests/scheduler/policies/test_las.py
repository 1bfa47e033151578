# SPDX-License-Identifier: Apache-2.0
"""Least attained service: sinking, order inside a queue, promotion; and what wakes it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scheduler import policy_named
from scheduler.simulator import simulate
from scheduler.simulator.environments.counting import CountingEnvironment
from scheduler.simulator.reports.summary import summary
from scheduler.simulator.traces.clusters import uniform_cluster
from scheduler.simulator.traces.trace import Trace, TraceJob
from tests.scheduler.cases import cluster, job, kinds


def jcts(*jobs: TraceJob, **parameters: object) -> dict[str, float]:
    environment = CountingEnvironment(Trace("case", "mlhub", jobs), uniform_cluster(n_nodes=1, n_gpus=1))
    return summary(simulate(environment, policy=policy_named("las", parameters)), nodes=environment.nodes)["jct_s"]


def test_a_newcomer_goes_before_one_that_has_sunk() -> None:
    case = cluster(gpus=1).running(job("old", gpus=1, executed_gpu_s=4000.0)).waiting(job("new", gpus=1))
    plan = case.decide("las")
    assert kinds(plan) == {"old": "Preempt", "new": "Wait"}
    sentence = "It has attained 4000 GPU-seconds (queue 2); new with 0 (queue 1) goes first."
    assert plan.of("old").explanations[0].sentence == sentence


def test_inside_a_queue_no_job_is_preempted() -> None:
    case = cluster(gpus=1).running(job("old", gpus=1, executed_gpu_s=3000.0)).waiting(job("new", gpus=1))
    assert kinds(case.decide("las")) == {"old": "Keep", "new": "Wait"}


def test_it_asks_to_be_woken_when_the_next_job_sinks() -> None:
    case = cluster(gpus=2).running(job("a", gpus=2, executed_gpu_s=3000.0)).at(1000.0)
    assert case.decide("las").wake_at_s == pytest.approx(1000.0 + 250 / 2)


def test_two_long_jobs_take_turns_at_the_limits_and_the_short_one_is_done_first() -> None:
    """One GPU, limit 100: a runs 0-100, sinks; b runs its 50; a runs on."""
    found = jcts(TraceJob("a", 0, 1, 300), TraceJob("b", 10, 1, 50), limits=[100.0], promote_after=0.0)
    assert found == {"a": 350, "b": 140}


def test_a_job_that_waited_long_enough_rises_to_the_first_queue() -> None:
    sunk = job("sunk", gpus=1, executed_gpu_s=4000.0)
    case = cluster(gpus=1).running(job("a", gpus=1, executed_gpu_s=3500.0), since=1.0).waiting(sunk)
    first = case.decide("las")
    assert kinds(first) == {"a": "Keep", "sunk": "Wait"}
    later = replace(case, memory=first.memory).at(1000.0 + 8 * 4000.0).decide("las")
    assert kinds(later) == {"a": "Preempt", "sunk": "Wait"}
