# SPDX-License-Identifier: Apache-2.0
"""Explaining is an extra: what is decided does not depend on it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scheduler import POLICIES, RoundMemory, decide, policy_named
from scheduler.api.plan import Explanation, Launch, Reason, Resize
from scheduler.api.reasons import SENTENCES
from scheduler.simulator.busy_cluster.cluster import BusyCluster
from tests.scheduler.cases import cluster, job


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_the_same_is_decided_without_explanations(policy: str) -> None:
    cluster, memory = BusyCluster(n_gpus=32, n_jobs=14), RoundMemory()
    for _ in range(5):
        snapshot = cluster.snapshot()
        plan = decide(snapshot, policy=policy_named(policy, {}), memory=memory)
        terse = decide(snapshot, policy=policy_named(policy, {}), memory=memory, explain=False)
        assert [_core(decision) for decision in terse.decisions] == [_core(decision) for decision in plan.decisions]
        assert _without_forecasts(terse.memory) == _without_forecasts(plan.memory)
        assert terse.memory.prediction_intervals == memory.prediction_intervals
        memory = plan.memory
        cluster.carry_out(plan)
        cluster.advance(60.0)


def _core(decision):
    return type(decision), decision.job, decision.allocation if isinstance(decision, Launch | Resize) else None


def _without_forecasts(memory: RoundMemory):
    """Intervals learn from predictions, and there are none without explanations."""
    return replace(memory, prediction_intervals={}, start_intervals={}, arrival_effects={})


@pytest.mark.parametrize(
    ("held_by_alice", "need", "reason"),
    [(3, 2, "no_free_gpus"), (2, 2, "nothing_to_borrow")],
    ids=["her own jobs leave too few", "others leave too few"],
)
def test_borrowing_is_the_headline_only_where_others_could_give_it_gpus(
    held_by_alice: int, need: int, reason: str
) -> None:
    case = cluster(gpus=4).quota("alice").quota("bob", guarantee=1)
    case = case.running(
        job("a", gpus=held_by_alice, length_s=1e5), job("b", gpus=4 - held_by_alice, tenant="bob", length_s=1e5)
    )
    (first, *_) = case.waiting(job("w", gpus=need)).decide("fifo").of("w").explanations
    assert first.reason == reason
    if reason == "no_free_gpus":
        assert first.sentence == "Pending: all 4 GPUs are allocated; it requests 2."


def test_of_borrowing_only_gpus_of_types_that_the_job_may_use_count() -> None:
    case = cluster(nodes=2, gpus=2).with_node("n1", gpu_type="k80").quota("alice").quota("bob", guarantee=2)
    case = case.running(
        job("a", gpus=2, gpu_types=("v100",), length_s=1e5), job("b", gpus=2, tenant="bob", length_s=1e5)
    )
    (first, *_) = case.waiting(job("w", gpus=1, gpu_types=("v100",))).decide("fifo").of("w").explanations
    assert first.sentence == "Pending: 0 of 2 GPUs of type v100 are free; it requests 1."


def test_gpus_that_lending_limits_keep_idle_are_in_the_headline() -> None:
    case = cluster(gpus=8).quota("alice").quota("bob", guarantee=6, lend_limit=1)
    case = case.running(job("a", gpus=3, length_s=1e5)).waiting(job("w", gpus=2))
    (first, *_) = case.decide("fifo").of("w").explanations
    assert first.reason == "not_lent"
    assert "0 can be borrowed now: lending limits keep 5 GPUs idle" in first.sentence


def test_amounts_are_written_for_people() -> None:
    facts = {"tenant": "A", "used": 1_234_567.891, "budget": 1e6, "scope": "", "renewal": "-", "above": "the platform"}
    sentence = Explanation(Reason.BUDGET_EXHAUSTED, facts).sentence
    assert "A has used 1,234,567.89 of its 1,000,000 GPU-hours" in sentence
    small = Explanation(Reason.BUDGET_EXHAUSTED, {**facts, "used": 0.0213, "budget": 0.02}).sentence
    assert "0.0213 of its 0.02 GPU-hours" in small
    assert not [reason for reason, text in SENTENCES.items() if ":g}" in text]
