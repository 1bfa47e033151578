# SPDX-License-Identifier: Apache-2.0
"""Borg's bands on hand-worked cases."""

from __future__ import annotations

from dataclasses import replace

from tests.scheduler.cases import cluster, job, kinds, sizes


def test_a_higher_band_takes_from_the_lowest_priority_last_started_first() -> None:
    case = cluster(gpus=4).running(job("low", gpus=1, priority=0), since=5.0)
    case = case.running(job("lower", gpus=1, priority=-1), since=1.0).running(job("late", gpus=1), since=9.0)
    case = case.running(job("mid", gpus=1, priority=1)).waiting(job("top", gpus=2, priority=2))
    plan = case.decide("priority")
    assert kinds(plan) == {"low": "Keep", "lower": "Preempt", "late": "Preempt", "mid": "Keep", "top": "Wait"}
    assert plan.of("lower").explanations[0].sentence == "Its priority is -1; top with the higher priority 2 goes first."
    assert plan.of("top").explanations[0].reason == "waits_for_preemption"


def test_jobs_of_one_band_never_push_each_other_out() -> None:
    case = cluster(gpus=2).running(job("a", gpus=2, priority=1)).waiting(job("b", gpus=2, priority=2))
    assert kinds(case.decide("priority", bands=[1, 10])) == {"a": "Keep", "b": "Wait"}
    assert kinds(case.decide("priority")) == {"a": "Preempt", "b": "Wait"}


def test_tenants_take_turns_inside_a_priority() -> None:
    case = cluster(gpus=3)
    case = case.waiting(*(job(f"a{i}", gpus=1, at=float(i)) for i in range(3)))
    case = case.waiting(job("b", gpus=1, at=9.0, tenant="bob"))
    assert sorted(sizes(case.decide("priority"))) == ["a0", "a1", "b"]


def test_a_tenant_over_its_quota_is_not_admitted_and_takes_nothing_from_lower_bands() -> None:
    case = (
        cluster(gpus=2)
        .quota("bob", max_gpus=1)
        .running(job("low", gpus=1))
        .waiting(
            job("big", gpus=2, priority=5, tenant="bob"),
            job("next", gpus=1, at=1.0),
        )
    )
    assert kinds(case.decide("priority")) == {"low": "Keep", "big": "Wait", "next": "Launch"}


def test_the_best_fit_leaves_the_larger_hole_and_worst_fit_the_smaller() -> None:
    case = cluster(nodes=2, gpus=4).with_node("n1", gpu_type="k80").waiting(job("a", gpus=2))
    case = replace(case, nodes=(*case.nodes[:1], replace(case.nodes[1], n_gpus=2)))
    assert case.decide("priority").of("a").allocation.shares[0].node == "n1"
    assert case.decide("priority", spread=True).of("a").allocation.shares[0].node == "n0"
