# SPDX-License-Identifier: Apache-2.0
"""Gavel's programs and rounds on hand-worked cases."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from scheduler import Mode, Profile, SpeedObservation, policy_named
from scheduler.api.sharing_measurements import PairObservation
from scheduler.policies.gavel.linear_programs import JobDemand, ProgramColumn, time_shares
from tests.scheduler.cases import Case, cluster, job, kinds


def demand(n: int, **more: Any) -> JobDemand:
    values = {key: np.ones(n) for key in ("weight", "n_gpus", "fair_rate")}
    values |= {"left": np.full(n, 100.0), "waited_s": np.zeros(n), "isolated_s": np.zeros(n)}
    return JobDemand(**(values | {key: np.array(value, dtype=float) for key, value in more.items()}))


def one_gpu(n: int) -> list[ProgramColumn]:
    return [ProgramColumn((j,), 0, 1, (1.0,)) for j in range(n)]


def shares(objective: str, columns: list[ProgramColumn], wanted: JobDemand, *capacity: float) -> list[float]:
    found = time_shares(objective, columns, wanted, np.array(capacity))
    return [round(float(share), 3) + 0.0 for share in found]


def test_each_job_goes_where_it_gains_most_from_the_type() -> None:
    """Job 0 is four times as fast on type 0, job 1 as fast on both: each has the whole of its own."""
    columns = [ProgramColumn((j,), t, 1, (4.0 if (j, t) == (0, 0) else 1.0,)) for j in range(2) for t in range(2)]
    assert shares("max_min_fairness", columns, demand(2, fair_rate=[2.5, 1.0]), 1, 1) == [1, 0, 0, 1]


def test_equal_jobs_get_equal_parts_and_a_weight_of_two_the_double() -> None:
    assert shares("max_min_fairness", one_gpu(3), demand(3), 1) == [0.333, 0.333, 0.333]
    assert shares("max_min_fairness", one_gpu(2), demand(2, weight=[2, 1]), 1) == [0.667, 0.333]


def test_a_gang_of_two_gets_as_much_gpu_time_as_a_single_worker() -> None:
    """x of 2 GPUs and y of one: 2x = y, and 2x + y = 1."""
    columns = [ProgramColumn((0,), 0, 2, (1.0,)), ProgramColumn((1,), 0, 1, (1.0,))]
    found = shares("max_min_fairness", columns, demand(2, n_gpus=[2, 1]), 1.5)
    assert found == [0.375, 0.75]


def test_for_the_makespan_all_end_together() -> None:
    assert shares("makespan", one_gpu(2), demand(2, left=[100, 300]), 1) == [0.25, 0.75]


def test_for_the_sum_of_completion_times_the_shortest_goes_first() -> None:
    assert shares("min_total_jct", one_gpu(3), demand(3, left=[300, 100, 200]), 1) == [0, 1, 0]


def test_for_finish_time_fairness_who_waited_in_vain_gets_more() -> None:
    """Both are to end by rho x 200 s, as 100 steps take on half a GPU; the first has waited 100 s of it already.

    100 + 100 / x = 100 / (1 - x), so x = 0.618; rho = 1.309.
    """
    found = shares("finish_time_fairness", one_gpu(2), demand(2, fair_rate=[0.5, 0.5], waited_s=[100, 0]), 1)
    assert found == pytest.approx([0.618, 0.382], abs=0.01)


def test_two_that_share_count_for_both() -> None:
    """A pair at 0.8 of their speeds is better for both than half the time alone."""
    columns = [*one_gpu(2), ProgramColumn((0, 1), 0, 1, (0.8, 0.8))]
    assert shares("max_min_fairness", columns, demand(2), 1) == [0, 0, 1]


def test_an_unknown_objective_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="'objective' of policy 'gavel' must be one of max_min_fairness, makespan"):
        policy_named("gavel", {"objective": "best"})


def two_jobs() -> Case:
    return cluster(gpus=1).waiting(job("a", gpus=1, length_s=9000.0), job("b", gpus=1, length_s=9000.0, at=1.0))


def test_jobs_take_turns_by_rounds_and_none_is_disturbed_inside_one() -> None:
    case = two_jobs()
    plan = case.decide("gavel")
    assert kinds(plan) == {"a": "Launch", "b": "Wait"}
    assert plan.wake_at_s == 1360.0
    case = case.after(plan, seconds=300.0)
    served = replace(case.jobs[0], executed_gpu_s=300.0)
    case = replace(case, jobs=(served, case.jobs[1]))
    inside = case.decide("gavel")
    assert kinds(inside) == {"a": "Keep", "b": "Wait"}
    case = case.after(inside, seconds=60.0)
    case = replace(case, jobs=(replace(served, executed_gpu_s=360.0), case.jobs[1]))
    plan = case.decide("gavel")
    assert kinds(plan) == {"a": "Preempt", "b": "Wait"}
    assert plan.of("a").explanations[0].reason == "round_ended"


def test_a_job_moves_to_the_type_on_which_it_was_measured_to_be_faster() -> None:
    def seen(gpu_type: str, step_s: float) -> SpeedObservation:
        return SpeedObservation(Mode.ALL_REDUCE, 1, 0, 1, 1, gpu_type, 100, step_s, step_s, 0.0, 9)

    case = cluster(nodes=2, gpus=1).with_node("n0", gpu_type="k80").with_node("n1", gpu_type="v100")
    fast = job("a", gpus=1, observations=(seen("k80", 0.4), seen("v100", 0.1)))
    same = job("b", gpus=1, at=-1.0, observations=(seen("k80", 0.1), seen("v100", 0.1)))
    plan = case.waiting(same, fast).decide("gavel")
    assert plan.of("a").allocation.shares[0].node == "n1"
    assert plan.of("b").allocation.shares[0].node == "n0"


def sharers(norm: float) -> Case:
    """Two jobs on one GPU that two may share, which do that much of their speed together."""
    more = {"gpus": 1, "length_s": 9000.0, "profile": Profile()}
    case = cluster(gpus=1, max_jobs_per_gpu=2).waiting(
        job("a", family="x", **more), job("b", family="y", at=1.0, **more)
    )
    return replace(case, pairs=(PairObservation("x", "y", norm, norm),))


def test_a_pair_that_gains_shares_a_gpu_for_the_whole_round() -> None:
    case = sharers(0.8)
    plan = case.decide("gavel", space_sharing=True)
    assert kinds(plan) == {"a": "Launch", "b": "Launch"}
    assert plan.of("a").allocation == plan.of("b").allocation
    assert "together they do 1.60 times the work" in plan.of("b").explanations[0].sentence
    case = case.after(plan, seconds=300.0)
    assert kinds(case.decide("gavel", space_sharing=True)) == {"a": "Keep", "b": "Keep"}
    booked = case.after(plan, seconds=300.0).decide("gavel", space_sharing=True).memory.policy_values
    assert booked["shares"] == [[["a", "b"], "v100", 1.0]]


def test_a_pair_that_loses_takes_turns_and_no_jobs_share_unasked() -> None:
    assert kinds(sharers(0.4).decide("gavel", space_sharing=True)) == {"a": "Launch", "b": "Wait"}
    assert kinds(sharers(0.8).decide("gavel")) == {"a": "Launch", "b": "Wait"}


def test_what_a_pair_had_is_booked_once_and_for_the_pair() -> None:
    case = sharers(0.8)
    case = case.after(case.decide("gavel", space_sharing=True), seconds=300.0)
    case = replace(case, jobs=tuple(replace(one, executed_gpu_s=300.0) for one in case.jobs))
    books = case.decide("gavel", space_sharing=True).memory.policy_values
    assert books["had"] == books["due"] == [[["a", "b"], "v100", 300.0]]
