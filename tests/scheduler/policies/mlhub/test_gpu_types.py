# SPDX-License-Identifier: Apache-2.0
"""The default policy on clusters of several GPU types: which type a job gets, when it moves, what limits hold."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler import JobSnapshot, Mode, SpeedObservation
from tests.scheduler.cases import Case, cluster, job, kinds, reason, sizes


def mixed(gpus: int = 1) -> Case:
    """One fast node and two slow ones; the slow type is the first by name."""
    return cluster(nodes=3, gpus=gpus).with_node("n0", gpu_type="k80").with_node("n1", gpu_type="k80")


def seen(gpu_type: str, step_s: float, n_workers: int = 1) -> SpeedObservation:
    return SpeedObservation(Mode.ALL_REDUCE, n_workers, 0, 1, 1, gpu_type, 100, step_s, step_s, 0.0, 100)


def measured(id: str, *, fast_s: float = 0.1, slow_s: float = 1.0, **more: Any) -> JobSnapshot:
    """A job of one GPU that was measured on both types."""
    values = {
        "gpus": 1,
        "length_s": 1000.0,
        "start_s": 10.0,
        "observations": (seen("v100", fast_s), seen("k80", slow_s)),
    }
    return job(id, **(values | more))


def test_a_job_on_an_empty_cluster_takes_the_fast_type_and_its_step_is_predicted_from_there() -> None:
    decision = mixed().waiting(measured("a")).decide("mlhub").of("a")
    assert [share.node for share in decision.allocation.shares] == ["n2"]
    assert decision.prediction.step_s == pytest.approx(0.1)


def test_the_fast_type_goes_to_the_job_that_gains_most_by_it() -> None:
    gains, hardly = measured("gains", slow_s=1.0), measured("hardly", slow_s=0.11, at=-1.0)
    plan = mixed().waiting(hardly, gains).decide("mlhub")
    assert plan.of("gains").allocation.shares[0].node == "n2"
    assert plan.of("hardly").allocation.shares[0].node in ("n0", "n1")


def test_a_running_job_moves_to_the_fast_type_when_that_repays_its_restart() -> None:
    plan = mixed().running(measured("a")).decide("mlhub")
    assert kinds(plan) == {"a": "Resize"}
    assert plan.of("a").allocation.shares[0].node == "n2"
    assert reason(plan.of("a")) == "faster_gpu_type"
    assert plan.of("a").explanations[0].sentence == (
        "It moves from k80 to 1 GPU of type v100 and ends 8990 s earlier, its restart included."
    )


def test_a_running_job_stays_where_a_move_would_not_repay_its_restart() -> None:
    assert kinds(mixed().running(measured("a", length_s=500.0, start_s=800.0)).decide("mlhub")) == {"a": "Keep"}
    assert kinds(mixed().running(measured("a", slow_s=0.101)).decide("mlhub")) == {"a": "Keep"}


def test_a_job_keeps_to_the_types_that_it_may_use() -> None:
    plan = mixed().waiting(measured("a", gpu_types=("k80",))).decide("mlhub")
    assert plan.of("a").allocation.shares[0].node in ("n0", "n1")
    held = mixed().running(measured("a", gpu_types=("k80",))).decide("mlhub")
    assert kinds(held) == {"a": "Keep"}


def test_no_gpu_is_idle_while_a_job_waits_that_could_use_it() -> None:
    plan = mixed().waiting(*(measured(f"j{i}", at=float(i)) for i in range(3))).decide("mlhub")
    assert sizes(plan) == {"j0": 1, "j1": 1, "j2": 1}


def test_an_elastic_job_takes_many_slow_gpus_where_they_are_faster_together() -> None:
    def elastic(slow_s: float) -> JobSnapshot:
        """Perfectly parallel; one worker takes 0.1 s on the fast type."""
        on_fast = tuple(seen("v100", 0.1 / n, n) for n in (1, 2, 4))
        return job("a", length_s=9000, observations=(*on_fast, *(seen("k80", slow_s / n, n) for n in (1, 2, 4))))

    case = cluster(nodes=2, gpus=4).with_node("n0", gpu_type="k80").with_node("n1", n_gpus=1)
    assert case.waiting(elastic(0.2)).decide("mlhub").of("a").allocation.shares[0].node == "n0"
    assert case.waiting(elastic(0.9)).decide("mlhub").of("a").allocation.shares[0].node == "n1"


def test_jobs_that_share_a_type_of_gpu_are_not_moved_by_those_of_another() -> None:
    case = cluster(nodes=2, gpus=1, max_jobs_per_gpu=2).with_node("n1", gpu_type="k80", max_jobs_per_gpu=1)
    plan = case.waiting(measured("a"), measured("b", at=1.0)).decide("mlhub")
    assert {plan.of(id).allocation.shares[0].node for id in "ab"} == {"n0", "n1"}


def test_a_waiting_job_is_predicted_on_the_type_that_the_plan_has_for_it() -> None:
    """It waits for the fast GPU; the slow type, first by name, would take ten times as long."""
    even = {"slow_s": 0.1, "length_s": 3000.0}
    case = mixed().running(measured("k1", **even), measured("k2", **even), measured("fast", length_s=60.0))
    plan = case.waiting(measured("w", start_s=0.0)).decide("mlhub")
    prediction = plan.of("w").prediction
    assert kinds(plan)["w"] == "Wait"
    assert prediction.start_p50_s == pytest.approx(1060.0)
    assert prediction.finish_p50_s == pytest.approx(2060.0)
