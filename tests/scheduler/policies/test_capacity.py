# SPDX-License-Identifier: Apache-2.0
"""Queues with guarantees on hand-worked cases."""

from __future__ import annotations

import pytest

from scheduler import TenantSnapshot, policy_named
from scheduler.policies.capacity import guarantees
from tests.scheduler.cases import Case, cluster, job, kinds, sizes


def two_queues() -> Case:
    return cluster(gpus=4).quota("alice", weight=3.0)


def test_guarantees_follow_weights_down_the_tree_and_pass_on_what_a_quota_forbids() -> None:
    tenants = (
        TenantSnapshot("science", weight=3.0),
        TenantSnapshot("play", weight=1.0),
        TenantSnapshot("idle", weight=9.0),
        TenantSnapshot("alice", parent="science"),
        TenantSnapshot("bob", parent="science", max_gpus=2),
    )
    found = guarantees(tenants, ["alice", "bob", "play"], 16)
    assert found == {"alice": 10.0, "bob": 2.0, "play": 4.0}


def test_a_queue_borrows_what_others_leave_idle_and_learns_so() -> None:
    case = two_queues().waiting(job("b0", gpus=2, tenant="bob"), job("a0", gpus=1, at=5.0))
    plan = case.decide("capacity")
    assert sizes(plan) == {"a0": 1, "b0": 2}
    sentence = "bob is guaranteed 1 GPU; it borrows the rest while other tenants leave them idle."
    assert plan.of("b0").explanations[0].sentence == sentence


def test_what_was_lent_is_taken_back_for_a_queue_below_its_guarantee() -> None:
    case = two_queues().running(*(job(f"b{i}", gpus=1, tenant="bob", at=float(i)) for i in range(4)))
    case = case.waiting(job("a0", gpus=2, at=9.0))
    plan = case.decide("capacity")
    assert kinds(plan) == {"b0": "Keep", "b1": "Keep", "b2": "Preempt", "b3": "Preempt", "a0": "Wait"}
    assert plan.of("b2").explanations[0].reason == "reclaimed"
    assert kinds(case.decide("capacity", reclaims=False))["b2"] == "Keep"


def test_no_job_is_preempted_for_a_queue_above_its_guarantee() -> None:
    case = two_queues().running(job("b0", gpus=2, tenant="bob"), job("a0", gpus=2)).waiting(job("a1", gpus=2))
    assert kinds(case.decide("capacity")) == {"b0": "Keep", "a0": "Keep", "a1": "Wait"}


def test_fifo_inside_holds_up_those_behind_and_fair_lets_who_got_least_pass() -> None:
    case = cluster(gpus=4).running(job("r", gpus=2))
    case = case.waiting(job("big", gpus=4, at=1.0), job("small", gpus=1, at=2.0, executed_gpu_s=50.0))
    case = case.waiting(job("fresh", gpus=1, at=3.0))
    assert sizes(case.decide("capacity")) == {}
    case = case.waiting(job("third", gpus=1, at=4.0))
    assert sizes(case.decide("capacity", inside="fair")) == {"fresh": 1, "third": 1}


def test_an_unknown_order_inside_is_refused() -> None:
    with pytest.raises(ValueError, match="'inside' of policy 'capacity' must be one of fifo, fair"):
        policy_named("capacity", {"inside": "lifo"})
