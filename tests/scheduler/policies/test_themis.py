# SPDX-License-Identifier: Apache-2.0
"""Leases, auctions and finish-time fairness on hand-worked cases."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scheduler import JobSnapshot, RoundMemory
from tests.scheduler.cases import Case, cluster, job, kinds, sizes


def on_lease(case: Case, **ends_s: float) -> Case:
    values = {"leases": ends_s, "at_s": case.now_s, "n_jobs": len(case.jobs)}
    return replace(case, memory=RoundMemory(policy="themis", policy_values=values))


def old(name: str, **more: object) -> JobSnapshot:
    """Has waited 900 s for work of 100 s: far worse off than who came just now."""
    return job(name, gpus=2, length_s=100.0, at=100.0, **more)


def test_no_job_is_disturbed_before_its_lease_ends() -> None:
    case = cluster(gpus=2).running(job("a", gpus=2, at=990.0)).waiting(old("b"))
    assert kinds(on_lease(case, a=1010.0).decide("themis")) == {"a": "Keep", "b": "Wait"}
    assert kinds(on_lease(case.at(1010.0), a=1010.0).decide("themis")) == {"a": "Preempt", "b": "Wait"}


def test_when_a_lease_ends_the_worst_off_wins_and_the_other_learns_it() -> None:
    """b waited 900 s, has 100 s to go and one lease of 1,200 s to wait if it loses: 2,200 s of (100 x 2 jobs)."""
    case = on_lease(cluster(gpus=2).running(job("a", gpus=2, at=990.0)).waiting(old("b")), a=1000.0)
    plan = case.decide("themis")
    expected = "Its lease ended; without GPUs its finish-time fairness is 6.55, that of others up to 11.00."
    assert plan.of("a").explanations[0].sentence == expected


def test_a_lease_goes_on_if_no_job_is_worse_off() -> None:
    case = cluster(gpus=2).running(old("a")).waiting(job("b", gpus=2, at=999.0))
    plan = on_lease(case, a=1000.0).decide("themis")
    assert kinds(plan) == {"a": "Keep", "b": "Wait"}
    assert plan.memory.policy_values["leases"] == {"a": 2200.0}
    assert plan.wake_at_s == 2200.0


def test_only_the_worst_share_of_the_jobs_may_bid_and_the_rest_goes_to_holders() -> None:
    """Of 5 jobs with fairness 0.8 one bids: the worst off. What it leaves stays with those that hold it."""
    case = cluster(gpus=4).running(job("h", gpus=2, at=950.0))
    case = case.waiting(old("worst"), *(job(name, gpus=2, at=600.0) for name in "cde"))
    plan = on_lease(case, h=1000.0).decide("themis")
    assert kinds(plan) == {"h": "Keep", "worst": "Launch", "c": "Wait", "d": "Wait", "e": "Wait"}


def test_elastic_bidders_split_evenly_and_pay_for_what_they_keep_from_each_other() -> None:
    """Alone each would get 4 of 4 GPUs, so each lowers the other's bid, and pays a part of its two; one goes back."""
    case = cluster(gpus=4).waiting(*(job(n, length_s=1000.0, at=1000.0, max_workers=4) for n in "ab"))
    assert sizes(case.decide("themis", fairness=0.0)) == {"a": 1, "b": 1}


def test_the_price_of_a_gang_never_breaks_it() -> None:
    case = cluster(gpus=4).waiting(job("a", gpus=2, at=500.0), job("b", gpus=2, at=500.0), job("c", gpus=2, at=500.0))
    assert sorted(sizes(case.decide("themis", fairness=0.0)).values()) == [2, 2]


def test_idle_gpus_go_to_who_may_not_bid() -> None:
    case = cluster(gpus=4).waiting(*(job(f"j{i}", gpus=1, at=900.0) for i in range(4)))
    assert len(sizes(case.decide("themis", fairness=1.0))) == 4


@pytest.mark.parametrize("n_jobs", [1, 4])
def test_the_equal_share_counts_the_jobs_that_there_were(n_jobs: int) -> None:
    """Alone it takes 100 s on 2 of 2 GPUs; among n such jobs its fair end is n times as late."""
    case = cluster(gpus=2).waiting(*(job(f"j{i}", gpus=2, length_s=100.0, at=1000.0) for i in range(n_jobs)))
    facts = case.decide("themis").of("j0").explanations[0].facts
    assert facts["rho"] == pytest.approx((1200 + 100) / (100 * n_jobs))
