# SPDX-License-Identifier: Apache-2.0
"""Fifo, srtf and fair on hand-worked cases; the registry."""

from __future__ import annotations

import pytest

from scheduler import POLICIES, policy_named
from tests.scheduler.cases import cluster, job, kinds, sizes


def test_fifo_lets_no_job_overtake() -> None:
    case = cluster(gpus=4).running(job("a", gpus=2)).waiting(job("b", gpus=4, at=1.0), job("c", gpus=1, at=2.0))
    plan = case.decide("fifo")
    assert kinds(plan) == {"a": "Keep", "b": "Wait", "c": "Wait"}
    assert plan.of("b").explanations[0].sentence == "Pending: 2 of 4 GPUs are free; it requests 4."
    assert plan.of("c").explanations[0].sentence == "1 job is ahead of it in the queue; the next GPUs go to b."


def test_fifo_serves_higher_priority_first() -> None:
    case = cluster(gpus=2).waiting(job("a", gpus=2), job("b", gpus=2, at=1.0, priority=1))
    assert sizes(case.decide("fifo")) == {"b": 2}


def test_fifo_is_not_held_up_by_a_tenant_at_its_limit() -> None:
    case = cluster(gpus=4).quota("bob", max_gpus=2).running(job("a", gpus=2, tenant="bob"))
    case = case.waiting(job("b", gpus=1, tenant="bob", at=1.0), job("c", gpus=1, at=2.0))
    assert kinds(case.decide("fifo")) == {"a": "Keep", "b": "Wait", "c": "Launch"}


def test_fifo_leaves_no_gpu_idle_that_an_elastic_job_may_have() -> None:
    elastic = job("a", gpus=1, max_workers=8)
    assert sizes(cluster(gpus=8).waiting(elastic).decide("fifo")) == {"a": 8}
    both = cluster(gpus=8).waiting(elastic, job("b", gpus=1, max_workers=2, at=1.0))
    assert sizes(both.decide("fifo")) == {"a": 6, "b": 2}
    asked = cluster(gpus=8).waiting(job("a", gpus=1, max_workers=8, requested_workers=4))
    assert sizes(asked.decide("fifo")) == {"a": 4}


def test_fifo_gives_an_elastic_job_nothing_that_the_next_one_waits_for() -> None:
    case = cluster(gpus=8).waiting(job("a", gpus=1, max_workers=8), job("b", gpus=8, at=1.0))
    assert sizes(case.decide("fifo")) == {"a": 1}


def test_srtf_starts_the_shortest_and_whichever_else_fits() -> None:
    case = cluster(gpus=4).waiting(
        job("long", gpus=1, length_s=900), job("short", gpus=3, length_s=10), job("mid", gpus=2, length_s=100)
    )
    assert sizes(case.decide("srtf")) == {"short": 3, "long": 1}


def test_srtf_preempts_for_a_shorter_job_and_says_which() -> None:
    case = cluster(gpus=2).running(job("long", gpus=2, length_s=900)).waiting(job("short", gpus=2, length_s=10))
    plan = case.decide("srtf")
    assert kinds(plan) == {"long": "Preempt", "short": "Wait"}
    assert plan.of("long").explanations[0].sentence == "It has 900 s left; short with 10 s is shorter and goes first."


def test_srtf_charges_the_restart_to_the_one_that_waits() -> None:
    case = cluster(gpus=2).running(job("a", gpus=2, length_s=100))
    case = case.waiting(job("b", gpus=2, length_s=95, start_s=10.0))
    assert kinds(case.decide("srtf")) == {"a": "Keep", "b": "Wait"}


def test_fair_gives_tenants_equal_shares_whatever_they_ask() -> None:
    case = cluster(gpus=4)
    for i in range(4):
        case = case.waiting(job(f"a{i}", gpus=1, at=float(i)))
    case = case.waiting(*(job(f"b{i}", gpus=1, tenant="bob", at=10.0 + i) for i in range(4)))
    assert sorted(sizes(case.decide("fair"))) == ["a0", "a1", "b0", "b1"]


def test_fair_shares_follow_weights() -> None:
    case = cluster(gpus=4).quota("alice", weight=3.0)
    for i in range(4):
        case = case.waiting(job(f"a{i}", gpus=1, at=float(i)), job(f"b{i}", gpus=1, tenant="bob"))
    assert sorted(sizes(case.decide("fair"))) == ["a0", "a1", "a2", "b0"]


def test_fair_takes_back_from_who_has_more_than_a_share() -> None:
    case = cluster(gpus=4)
    case = case.running(*(job(f"a{i}", gpus=1, at=float(i)) for i in range(4))).waiting(job("b", gpus=2, tenant="bob"))
    plan = case.decide("fair")
    assert kinds(plan) == {"a0": "Keep", "a1": "Keep", "a2": "Preempt", "a3": "Preempt", "b": "Wait"}
    sentence = "alice gets 2 GPUs for its weight of 1; more would be taken from other tenants."
    assert plan.of("a3").explanations[0].sentence == sentence


def test_an_unknown_policy_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"there is no policy 'best'; known: .*fifo.*mlhub"):
        policy_named("best", {})


def test_an_unknown_or_senseless_parameter_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"policy 'mlhub' has no parameter 'speed'; it has: cooldown_s"):
        policy_named("mlhub", {"speed": 2})
    with pytest.raises(ValueError, match=r"parameter 'cooldown_s' of policy 'mlhub' must be like 30.0, not 'soon'"):
        policy_named("mlhub", {"cooldown_s": "soon"})
    with pytest.raises(ValueError, match="must be like"):
        policy_named("mlhub", {"cooldown_s": -1})


@pytest.mark.parametrize("name", sorted(POLICIES))
def test_a_policy_is_registered_under_its_own_name(name: str) -> None:
    assert policy_named(name, {}).name == name
