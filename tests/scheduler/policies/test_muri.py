# SPDX-License-Identifier: Apache-2.0
"""Muri's groups, worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from scheduler import JobSnapshot, Launch, Profile
from tests.scheduler.cases import cluster, job, kinds
from tests.scheduler.invariants import restless

LOADS = Profile(cpu_io_s=0.09, gpu_s=0.01, network_s=0.0)
COMPUTES = Profile(cpu_io_s=0.01, gpu_s=0.08, network_s=0.01)


def staged(id: str, profile: Profile | None, **more: Any) -> JobSnapshot:
    return job(id, **({"gpus": 1, "profile": profile} | more))


def test_jobs_stay_alone_while_there_are_gpus() -> None:
    plan = cluster(gpus=2, max_jobs_per_gpu=4).waiting(staged("a", LOADS), staged("b", COMPUTES)).decide("muri")
    places = [plan.of(id).allocation.shares for id in "ab"]
    assert places[0] != places[1]


def test_those_that_need_different_things_are_matched() -> None:
    """Two GPUs for four jobs: a loader with a computer each, not the loaders together."""
    jobs = [staged("a", LOADS), staged("b", LOADS), staged("c", COMPUTES), staged("d", COMPUTES)]
    plan = cluster(gpus=2, max_jobs_per_gpu=2).waiting(*jobs).decide("muri")
    places = {id: plan.of(id).allocation.shares for id in "abcd" if isinstance(plan.of(id), Launch)}
    assert len(places) == 4
    assert places["a"] in (places["c"], places["d"])
    assert places["a"] != places["b"]
    assert "together they do 1.53 times the work" in plan.of("a").explanations[0].sentence


def test_jobs_of_different_sizes_or_without_a_profile_do_not_share() -> None:
    jobs = [staged("a", LOADS, gpus=2), staged("b", COMPUTES), staged("c", None)]
    plan = cluster(gpus=2, max_jobs_per_gpu=4).waiting(*jobs).decide("muri")
    assert sorted(kinds(plan).values()) in (["Launch", "Launch", "Wait"], ["Launch", "Wait", "Wait"])
    launched = [plan.of(id).allocation.shares for id in "abc" if isinstance(plan.of(id), Launch)]
    assert len(launched) == len(set(launched))


def test_a_group_that_would_be_slower_than_one_after_the_other_is_dissolved() -> None:
    only_computes = Profile(cpu_io_s=0.0, gpu_s=0.1, network_s=0.0)
    jobs = [staged("a", only_computes, length_s=10), staged("b", only_computes, length_s=20)]
    plan = cluster(gpus=1, max_jobs_per_gpu=4).waiting(*jobs).decide("muri")
    assert kinds(plan) == {"a": "Launch", "b": "Wait"}
    stands = cluster(gpus=1, max_jobs_per_gpu=4).waiting(*jobs).decide("muri", dissolves=False)
    assert kinds(stands) == {"a": "Launch", "b": "Launch"}


def test_of_unknown_length_the_least_served_goes_first() -> None:
    only_computes = Profile(cpu_io_s=0.0, gpu_s=0.1, network_s=0.0)
    served = staged("a", only_computes, length_is_known=False, executed_gpu_s=500.0)
    fresh = replace(served, id="b", executed_gpu_s=0.0, submitted_at_s=10.0)
    plan = cluster(gpus=1, max_jobs_per_gpu=4).running(served).waiting(fresh).decide("muri")
    assert kinds(plan)["a"] == "Preempt"


def test_of_equal_jobs_the_one_that_had_its_turn_keeps_its_place_while_it_leaves() -> None:
    """The one that left was not in the queue for a round, lost its place among equals, and then took it back."""
    case = cluster(gpus=2).waiting(job("a", gpus=1, length_s=10), job("b", gpus=2, length_s=5))
    assert restless(case, "muri") == []
