# SPDX-License-Identifier: Apache-2.0
"""AntMan and Gandiva: which jobs are co-located, worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from scheduler import JobSnapshot, Launch, PairObservation, Plan, Profile, decide, policy_named
from scheduler.api.snapshot import ClusterSnapshot
from tests.scheduler.cases import Case, cluster, job, kinds


def packable(id: str, **more: Any) -> JobSnapshot:
    return job(id, **({"gpus": 1, "profile": Profile(), "family": id} | more))


def test_an_opportunistic_job_shares_gpus_with_a_guaranteed_one() -> None:
    case = cluster(gpus=1, max_jobs_per_gpu=2).running(packable("a", priority=1)).waiting(packable("b"))
    plan = case.decide("antman")
    assert kinds(plan) == {"a": "Keep", "b": "Launch"}
    assert "uses what they leave of 1 GPU" in plan.of("b").explanations[0].sentence


def test_a_guaranteed_job_comes_to_the_gpus_of_an_opportunistic_one() -> None:
    case = cluster(gpus=1, max_jobs_per_gpu=2).running(packable("b")).waiting(packable("a", priority=1))
    assert kinds(case.decide("antman")) == {"b": "Keep", "a": "Launch"}


def test_two_guaranteed_jobs_or_two_opportunistic_ones_do_not_share() -> None:
    for priority in (0, 1):
        case = cluster(gpus=1, max_jobs_per_gpu=2).running(packable("a", priority=priority))
        assert kinds(case.waiting(packable("b", priority=priority)).decide("antman"))["b"] == "Wait"


def test_a_guaranteed_job_sets_gpus_aside_until_it_fits() -> None:
    """Two of four GPUs are free: the job of four waits for the rest, and a later one of two does not take them."""
    running = packable("a", gpus=2, priority=1)
    case = cluster(gpus=4, max_jobs_per_gpu=2).running(running)
    case = case.waiting(packable("b", gpus=4, priority=1), packable("c", gpus=2, priority=1, at=1.0))
    plan = case.decide("antman")
    assert kinds(plan) == {"a": "Keep", "b": "Wait", "c": "Wait"}
    assert plan.memory.policy_values["reserved"]["b"] == {"n0": 2}
    assert kinds(case.decide("antman", reserves=False))["c"] == "Launch"


def test_an_opportunistic_job_prefers_gpus_that_no_job_has() -> None:
    case = cluster(nodes=2, gpus=2, max_jobs_per_gpu=2).running(packable("a", gpus=2, priority=1))
    plan = case.waiting(packable("b", gpus=2)).decide("antman")
    (there,) = case.snapshot.jobs[0].allocation.shares
    assert [share.node for share in plan.of("b").allocation.shares] != [there.node]


def test_gandiva_tries_a_pair_that_was_never_measured() -> None:
    case = cluster(gpus=1, max_jobs_per_gpu=2).running(packable("a"), since=990.0).waiting(packable("b"))
    plan = case.decide("gandiva")
    assert kinds(plan) == {"a": "Keep", "b": "Launch"}
    assert "co-located with a" in plan.of("b").explanations[0].sentence


def test_gandiva_parts_a_pair_that_lost_and_keeps_one_that_gained() -> None:
    case = cluster(gpus=1, max_jobs_per_gpu=2).running(packable("a"), since=990.0).waiting(packable("b"))
    both = case.after(case.decide("gandiva"), seconds=60)
    for norms, expected in (((0.4, 0.4), {"Keep", "Preempt"}), ((0.7, 0.8), {"Keep"})):
        snapshot = replace(both.snapshot, pairs=(PairObservation("a", "b", *norms),))
        plan = decided(snapshot, both)
        assert {type(d).__name__ for d in plan.decisions} == expected


def test_gandiva_gives_a_slice_to_who_waits() -> None:
    case = cluster(gpus=1).running(packable("a"), since=0.0).waiting(packable("b", at=500.0))
    assert kinds(case.decide("gandiva", slice_s=600.0)) == {"a": "Preempt", "b": "Wait"}
    assert kinds(case.decide("gandiva", slice_s=2000.0)) == {"a": "Keep", "b": "Wait"}


def decided(snapshot: ClusterSnapshot, case: Case) -> Any:
    return decide(snapshot, policy=policy_named("gandiva", {}), memory=case.memory)


@pytest.mark.parametrize("priority", [0, 1])
@pytest.mark.parametrize("reserves", [True, False])
def test_antman_places_a_gang_on_one_type_that_the_job_may_use(priority: int, reserves: bool) -> None:
    """Found by random histories: the first GPUs that were free were taken, of whatever type."""
    case = cluster(nodes=3, gpus=2).with_node("n0", n_gpus=1).with_node("n2", gpu_type="k80")
    gang = job("gang", gpus=2, priority=priority)
    plan = case.without_node("n1").waiting(gang).decide("antman", reserves=reserves)
    assert nodes_of(plan, "gang") == {"n2"}
    picky = job("picky", gpus=1, priority=priority, gpu_types=("k80",))
    assert nodes_of(case.waiting(picky).decide("antman", reserves=reserves), "picky") == {"n2"}


def test_antman_sets_nothing_aside_on_a_node_that_was_cordoned() -> None:
    case = cluster(nodes=2, gpus=4).running(job("a", gpus=3, priority=1), job("b", gpus=3, priority=1))
    case = case.waiting(job("large", gpus=4, priority=1))
    plan = case.decide("antman")
    [(_, pieces)] = plan.memory.policy_values["reserved"].items()
    cordoned = case.after(plan).with_node(next(iter(pieces)), is_schedulable=False)
    ended = replace(cordoned, jobs=tuple(one for one in cordoned.jobs if one.id == "large"))
    other = ({"n0", "n1"} - pieces.keys()).pop()
    assert nodes_of(ended.decide("antman"), "large") == {other}


def nodes_of(plan: Plan, job_id: str) -> set[str]:
    decision = plan.of(job_id)
    assert isinstance(decision, Launch)
    assert decision.allocation.n_workers == sum(len(share.gpus) for share in decision.allocation.shares)
    return {share.node for share in decision.allocation.shares if share.gpus}
