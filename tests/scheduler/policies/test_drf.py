# SPDX-License-Identifier: Apache-2.0
"""Dominant-resource fairness: the paper's own example, weights, and what makes room."""

from __future__ import annotations

from dataclasses import replace

from tests.scheduler.cases import GIB, cluster, job, kinds, sizes


def test_the_example_of_the_paper_comes_out() -> None:
    """9 CPUs and 18 GB: tasks of (1 CPU, 4 GB) and (3 CPUs, 1 GB) end with 3 and 2 tasks (Ghodsi et al., fig. 3)."""
    case = cluster(gpus=100).with_node("n0", cpus=9.0, memory_bytes=18 * GIB)
    for i in range(6):
        case = case.waiting(
            job(f"a{i}", gpus=1, at=float(i), cpus_per_worker=1.0, memory_per_worker_bytes=4 * GIB),
            job(f"b{i}", gpus=1, at=float(i), cpus_per_worker=3.0, memory_per_worker_bytes=GIB, tenant="bob"),
        )
    assert sorted(sizes(case.decide("drf"))) == ["a0", "a1", "a2", "b0", "b1"]


def test_the_scarcest_resource_decides_whose_share_is_smaller() -> None:
    case = cluster(gpus=4).with_node("n0", cpus=10.0)
    case = case.running(job("a", gpus=1, cpus_per_worker=5.0), job("b", gpus=2, tenant="bob"))
    case = case.waiting(job("a2", gpus=1), job("c", gpus=1, tenant="charlie", cpus_per_worker=3.0))
    plan = case.decide("drf")
    assert kinds(plan) == {"a": "Keep", "b": "Keep", "a2": "Wait", "c": "Launch"}
    assert plan.of("c").explanations[0].sentence == (
        "With it charlie has 30 % of the CPUs, its dominant share, for a weight of 1."
    )


def test_who_has_more_than_a_share_makes_room_unless_no_job_may_be_preempted() -> None:
    case = cluster(gpus=4).running(*(job(f"a{i}", gpus=1, at=float(i)) for i in range(4)))
    case = case.waiting(job("b", gpus=2, tenant="bob"))
    expected = {"a0": "Keep", "a1": "Keep", "a2": "Preempt", "a3": "Preempt", "b": "Wait"}
    assert kinds(case.decide("drf")) == expected
    assert set(kinds(case.decide("drf", preempts=False)).values()) == {"Keep", "Wait"}


def test_a_weight_of_three_is_worth_three_shares() -> None:
    case = cluster(gpus=4).quota("alice", weight=3.0)
    for i in range(4):
        case = case.waiting(job(f"a{i}", gpus=1, at=float(i)), job(f"b{i}", gpus=1, tenant="bob"))
    assert sorted(sizes(case.decide("drf"))) == ["a0", "a1", "a2", "b0"]


def test_nodes_that_take_no_jobs_do_not_count_as_resources() -> None:
    case = cluster(nodes=2, gpus=2).with_node("n1", is_schedulable=False).waiting(job("a", gpus=1))
    explanation = case.decide("drf").of("a").explanations[0]
    assert explanation.facts["percent"] == 50.0
    assert replace(case, jobs=()).decide("drf").decisions == ()
