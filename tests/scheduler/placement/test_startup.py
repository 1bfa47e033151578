# SPDX-License-Identifier: Apache-2.0
"""A predicted finish includes fetching the inputs that the job's nodes do not hold, once, from its launch on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scheduler import Keep, Launch, Phase, Plan, Resize, RoundMemory, Wait, decide, policy_named
from scheduler.api.topology import InputSet
from scheduler.counterfactuals.rollout import roll_out
from scheduler.policies.registry import POLICIES
from tests.scheduler.cases import Case, cluster, job

NOW_S, START_S, LENGTH_S, FETCH_S = 1000.0, 30.0, 100.0, 107.0
SIZE_BYTES, BPS = int(FETCH_S * 1e8), 8e8
DATA = "project/data"
NEW = job("new", gpus=2, length_s=LENGTH_S, start_s=START_S, start_error=0.0, inputs=DATA)


def decided(case: Case, *held: str, policy: str = "fifo", memory: RoundMemory | None = None) -> Plan:
    """These nodes hold the inputs."""
    sets = (InputSet(DATA, SIZE_BYTES, tuple((node, SIZE_BYTES) for node in held)),)
    snapshot = replace(case.snapshot, input_sets=sets, fetch_bps=BPS)
    return decide(snapshot, policy=policy_named(policy, {}), memory=memory or RoundMemory())


def left_s(plan: Plan, id: str = "new", *, now_s: float = NOW_S) -> float:
    finish_s = plan.of(id).prediction.finish_p50_s
    assert finish_s is not None
    return finish_s - now_s


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_a_launch_on_a_node_without_the_inputs_ends_later_by_fetching_them_under_any_policy(policy: str) -> None:
    case = cluster(nodes=1, gpus=4).waiting(NEW)
    cold, warm = decided(case, policy=policy), decided(case, "n0", policy=policy)
    assert isinstance(cold.of("new"), Launch)
    assert isinstance(warm.of("new"), Launch)
    assert left_s(warm) == pytest.approx(START_S + LENGTH_S)
    assert left_s(cold) == pytest.approx(FETCH_S + START_S + LENGTH_S)
    late_s = cold.of("new").prediction.finish_p90_s, warm.of("new").prediction.finish_p90_s
    assert late_s[0] is not None
    assert late_s[1] is not None
    assert late_s[0] > late_s[1] + 0.9 * FETCH_S


def test_the_decision_says_what_is_fetched_where_no_node_holds_it() -> None:
    plan = decided(cluster(nodes=1, gpus=4).waiting(NEW))
    expected = "10.7 GB of its inputs are not in the cache of n0; to fetch them takes about 107 s."
    assert expected in [one.sentence for one in plan.of("new").explanations]


def test_what_nodes_hold_of_a_jobs_inputs_may_be_unknown() -> None:
    unknown = replace(NEW, inputs="")
    assert left_s(decided(cluster(nodes=1, gpus=4).waiting(unknown))) == pytest.approx(START_S + LENGTH_S)


def test_a_job_that_waits_fetches_as_on_the_mean_of_the_nodes() -> None:
    full = cluster(nodes=2, gpus=4).running(job("a", gpus=4, length_s=200), job("b", gpus=4, length_s=200))
    plan = decided(full.waiting(NEW), "n0")
    assert isinstance(plan.of("new"), Wait)
    assert left_s(plan) == pytest.approx(200 + FETCH_S / 2 + START_S + LENGTH_S, rel=1e-3)


def test_a_start_that_fetches_keeps_its_predicted_finish_though_its_node_is_known_to_hold_the_inputs() -> None:
    """As it is once they were fetched: the job still starts."""
    case = cluster(nodes=1, gpus=4).waiting(NEW)
    plan = decided(case)
    launch = plan.of("new")
    assert isinstance(launch, Launch)
    begun = replace(NEW, phase=Phase.STARTING, allocation=launch.allocation, allocated_at_s=NOW_S)
    memory = RoundMemory.from_json(plan.memory.to_json())
    for elapsed_s in (0.0, 50.0, FETCH_S + 10):
        later = replace(case, jobs=(begun,), now_s=NOW_S + elapsed_s)
        for held in ((), ("n0",)):
            again = decided(later, *held, memory=memory)
            assert isinstance(again.of("new"), Keep)
            assert left_s(again) == pytest.approx(FETCH_S + START_S + LENGTH_S)
            assert again.memory.fetching_s == {"new": FETCH_S}
    trains = replace(begun, phase=Phase.RUNNING, training_since_s=NOW_S + 140)
    after = decided(replace(case, jobs=(trains,), now_s=NOW_S + 140), "n0", memory=memory)
    assert left_s(after, now_s=NOW_S + 140) == pytest.approx(LENGTH_S)
    assert after.memory.fetching_s == {}


def test_without_a_memory_a_start_fetches_what_its_node_lacks_now() -> None:
    case = cluster(nodes=1, gpus=4).starting(NEW)
    assert left_s(decided(case)) == pytest.approx(FETCH_S + START_S + LENGTH_S)
    assert left_s(decided(case, "n0")) == pytest.approx(START_S + LENGTH_S)


def test_another_policy_still_knows_who_fetches() -> None:
    memory = RoundMemory(policy="fifo", fetching_s={"new": FETCH_S}).for_other_policy()
    plan = decided(cluster(nodes=1, gpus=4).starting(NEW), "n0", policy="srtf", memory=memory)
    assert left_s(plan) == pytest.approx(FETCH_S + START_S + LENGTH_S)


def test_a_resize_to_nodes_without_the_inputs_ends_later_by_fetching_them() -> None:
    elastic = job("new", length_s=40_000, start_s=START_S, start_error=0.0, inputs=DATA, max_workers=8)
    case = cluster(nodes=2, gpus=4).running(elastic, n=4)
    cold, warm = decided(case, "n0", policy="mlhub"), decided(case, "n0", "n1", policy="mlhub")
    assert isinstance(cold.of("new"), Resize)
    assert isinstance(warm.of("new"), Resize)
    assert left_s(cold) == pytest.approx(left_s(warm) + FETCH_S)


def test_a_rollout_waits_for_a_start_that_fetches() -> None:
    waits = job("w", gpus=4, length_s=50, at=1.0)
    case = cluster(nodes=1, gpus=4).starting(NEW).waiting(waits)
    sets = (InputSet(DATA, SIZE_BYTES, (("n0", SIZE_BYTES),)),)
    snapshot = replace(case.snapshot, input_sets=sets, fetch_bps=BPS)
    memory = RoundMemory(policy="fifo", fetching_s={"new": FETCH_S})
    found = roll_out(snapshot, "w", policy=policy_named("fifo", {}), memory=memory)
    assert found.start_s == pytest.approx(NOW_S + FETCH_S + START_S + LENGTH_S, rel=1e-4)
