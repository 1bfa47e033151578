# SPDX-License-Identifier: Apache-2.0
"""The default policy on hand-worked cases: sizes, growth, making room, restraint, starvation, mode."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scheduler import JobSnapshot, Keep, Mode, Plan, SpeedObservation
from tests.scheduler.cases import cluster, job, kinds, reason, sizes


def tiny(id: str, **more: object) -> JobSnapshot:
    """A small network with steps of two milliseconds."""
    values = {"length_s": 60.0, "example_s": 1e-5, "step_overhead_s": 1e-3, "parameters_bytes": 200_000, "start_s": 5.0}
    return job(id, **(values | more))


def test_a_lone_job_gets_more_than_one_worker_even_if_its_steps_take_milliseconds() -> None:
    case = cluster(nodes=2, gpus=2, racks=2)
    assert sizes(case.waiting(tiny("a", length_s=6000.0)).decide("mlhub"))["a"] >= 2
    assert sizes(case.waiting(tiny("a", length_s=6000.0, example_s=1e-7)).decide("mlhub"))["a"] >= 2


def test_a_lone_job_gets_one_worker_where_two_were_measured_to_be_slower() -> None:
    slow = SpeedObservation(Mode.ALL_REDUCE, 2, 0, 1, 1, "v100", 100, 0.004, 0.001, 0.003, 500)
    fast = SpeedObservation(Mode.ALL_REDUCE, 1, 0, 1, 1, "v100", 100, 0.002, 0.002, 0.0, 500)
    ring = tiny("a", observations=(slow, fast), mode=Mode.ALL_REDUCE)
    plan = cluster(gpus=2).waiting(ring).decide("mlhub")
    assert sizes(plan) == {"a": 1}


def test_a_long_job_alone_gets_the_whole_cluster() -> None:
    assert sizes(cluster(nodes=2, gpus=4).waiting(job("a", length_s=9000)).decide("mlhub")) == {"a": 8}


def test_limits_of_the_user_hold() -> None:
    plan = cluster(gpus=8).waiting(job("a", length_s=9000, max_workers=3)).decide("mlhub")
    assert sizes(plan)["a"] in (2, 3)
    assert sizes(cluster(gpus=8).waiting(job("b", min_workers=3)).decide("mlhub"))["b"] >= 3


def test_of_two_jobs_that_speed_up_perfectly_one_runs_first_on_everything() -> None:
    """250 s and 500 s instead of twice 500 s."""
    plan = cluster(gpus=4).waiting(job("a", length_s=1000), job("b", length_s=1000, at=1.0)).decide("mlhub")
    assert sizes(plan) == {"a": 4}


def test_two_jobs_that_hardly_gain_by_a_third_worker_share_the_cluster() -> None:
    heavy = {"length_s": 1000, "parameters_bytes": 400_000_000}
    plan = cluster(gpus=4).waiting(job("a", **heavy), job("b", at=1.0, **heavy)).decide("mlhub")
    assert sizes(plan) == {"a": 2, "b": 2}


def test_the_shorter_of_two_gets_more() -> None:
    plan = cluster(gpus=8).waiting(job("long", length_s=50_000), job("short", length_s=500)).decide("mlhub")
    assert sizes(plan)["short"] > sizes(plan).get("long", 0)


def test_a_running_job_grows_into_idle_gpus_if_that_repays_the_restart() -> None:
    plan = cluster(gpus=4).running(job("a", length_s=1000, start_s=20.0), n=1).decide("mlhub")
    assert sizes(plan) == {"a": 4}
    assert plan.of("a").explanations[0].sentence == "3 GPUs would be idle; with them it ends 730 s earlier."


def test_a_running_job_near_its_end_is_left_alone() -> None:
    plan = cluster(gpus=4).running(job("a", length_s=20, start_s=20.0), n=1).decide("mlhub")
    assert kinds(plan) == {"a": "Keep"}
    assert plan.of("a").explanations[0].sentence == "Another size would save 15 s, but a restart costs 20 s."


@pytest.mark.parametrize(("restarts_left", "kind"), [(3.5, "Keep"), (4.5, "Resize")])
def test_a_job_makes_no_room_within_four_restarts_of_its_end(restarts_left: float, kind: str) -> None:
    case = cluster(gpus=4).running(job("a", length_s=restarts_left * 20.0 * 4, start_s=20.0), n=4)
    plan = case.waiting(job("b", length_s=10, start_s=20.0), job("c", length_s=10, start_s=20.0)).decide("mlhub")
    assert kinds(plan)["a"] == kind


def test_a_job_is_not_resized_again_within_the_cooldown() -> None:
    case = cluster(gpus=4).running(job("a", length_s=1000, start_s=1.0), n=1, since=990.0)
    assert kinds(case.decide("mlhub")) == {"a": "Keep"}
    assert kinds(case.at(1030.0).decide("mlhub")) == {"a": "Resize"}


def test_room_is_made_for_a_short_job_and_the_gain_is_reported() -> None:
    case = cluster(gpus=4).running(job("long", length_s=40_000, start_s=10.0), n=4)
    plan = case.waiting(job("short", length_s=100)).decide("mlhub")
    assert kinds(plan)["long"] in ("Resize", "Preempt")
    assert reason(plan.of("long")) == "shrinks_for_others"
    assert plan.of("long").explanations[0].facts["gain_s"] > 1000
    assert reason(plan.of("short")) == "waits_for_preemption"


def test_no_room_is_made_where_the_restart_costs_more_than_it_gains() -> None:
    case = cluster(gpus=4).running(job("a", length_s=200, start_s=60.0), n=4)
    assert kinds(case.waiting(job("b", length_s=180)).decide("mlhub")) == {"a": "Keep", "b": "Wait"}


def test_a_starved_job_gets_its_turn() -> None:
    """A shorter job holds everything; the long one waited beyond the patience, and ten times its own length."""
    case = cluster(gpus=2).running(job("s", gpus=2, length_s=100)).waiting(job("long", gpus=2, length_s=90_000))
    patient = case.decide("mlhub")
    assert kinds(patient)["s"] == "Keep"
    waiting = replace(case, memory=patient.memory)
    assert kinds(waiting.at(1000.0 + 3700.0).decide("mlhub"))["s"] == "Keep"
    later = waiting.at(1000.0 + 910_000.0).decide("mlhub")
    assert kinds(later) == {"s": "Preempt", "long": "Wait"}
    assert reason(later.of("long")) == "waits_for_preemption"


def test_a_pinned_mode_is_obeyed_with_servers_near_the_workers() -> None:
    pinned = job("a", length_s=1000, mode=Mode.PARAMETER_SERVER, parameters_bytes=4_000_000)
    allocation = cluster(nodes=2, gpus=2).waiting(pinned).decide("mlhub").of("a").allocation
    assert allocation.mode is Mode.PARAMETER_SERVER
    assert allocation.n_servers >= 1
    assert all(share.gpus for share in allocation.shares)


def test_the_mode_follows_what_was_measured() -> None:
    ring = SpeedObservation(Mode.ALL_REDUCE, 4, 0, 2, 1, "v100", 100, 0.5, 0.025, 0.475, 500)
    servers = SpeedObservation(Mode.PARAMETER_SERVER, 4, 2, 2, 1, "v100", 100, 0.03, 0.025, 0.005, 500)
    measured = job("a", length_s=1000, min_workers=4, parameters_bytes=1_000_000, observations=(ring, servers))
    allocation = cluster(nodes=2, gpus=2).waiting(measured).decide("mlhub").of("a").allocation
    assert allocation.mode is Mode.PARAMETER_SERVER


@pytest.mark.parametrize("n_jobs", [3, 6])
def test_more_jobs_than_gpus_leave_no_gpu_idle(n_jobs: int) -> None:
    case = cluster(gpus=4).waiting(*(job(f"j{i}", length_s=100.0 * (i + 1)) for i in range(n_jobs)))
    assert sum(sizes(case.decide("mlhub")).values()) == 4


@pytest.mark.parametrize(("start_s", "n_workers"), [(0.0, 4), (12.0, 2), (60.0, 1)])
def test_a_job_is_started_on_more_gpus_only_where_it_trains_for_twice_its_start(start_s: float, n_workers: int) -> None:
    """All the GPUs of a gang stand idle while it starts. The job takes 60 s on one GPU, and 15 s on four."""
    plan = cluster(nodes=1, gpus=4).waiting(job("a", length_s=60.0, start_s=start_s)).decide("mlhub")
    assert sizes(plan) == {"a": n_workers}


def test_a_wide_job_gives_way_to_many_that_wait_until_two_restarts_before_its_end() -> None:
    costs = {"start_s": 20.0, "checkpoint_s": 3.0}
    waiting = [job(f"w{i}", length_s=60.0, at=float(i), **costs) for i in range(6)]

    def decided(left_s: float) -> Plan:
        wide = job("wide", length_s=4 * left_s, **costs)
        return cluster(nodes=1, gpus=4).running(wide, n=4, since=-100.0).waiting(*waiting).at(60.0).decide("mlhub")

    assert not isinstance(decided(150.0).of("wide"), Keep)
    assert isinstance(decided(40.0).of("wide"), Keep)


def test_a_range_of_one_batch_is_decided_next_to_a_wider_one() -> None:
    """Found by random histories: no round was made for any job while one's largest batch was its declared one."""
    adaptive = {"batch_size": 8, "noise_scale": 0.0, "length_s": 1000.0, "max_workers": 2}
    case = cluster(gpus=4).waiting(job("one", max_batch_size=8, **adaptive), job("wide", max_batch_size=32, **adaptive))
    assert kinds(case.decide("mlhub")) == {"one": "Launch", "wide": "Launch"}
