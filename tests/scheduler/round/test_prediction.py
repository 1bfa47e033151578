# SPDX-License-Identifier: Apache-2.0
"""Predicted starts and ends reckon with quota, guarantees, GPUs on their way back, and with starts that take long."""

from __future__ import annotations

import math

import pytest

from scheduler import Prediction
from scheduler.api.snapshot import Reclaim
from tests.scheduler.cases import Case, cluster, job, kinds

NOW_S = 1000.0
EXACT = 0.01  # GPUs are counted, and steps take what they take


def predicted(case: Case, job_id: str, *, policy: str = "fifo") -> Prediction:
    return case.decide(policy).of(job_id).prediction


def starts(case: Case, job_id: str, *, policy: str = "fifo") -> float | None:
    """Seconds from now."""
    start_s = predicted(case, job_id, policy=policy).start_p50_s
    return None if start_s is None else start_s - NOW_S


@pytest.mark.parametrize("policy", ["fifo", "priority", "fair", "mlhub"])
@pytest.mark.parametrize("limit", [{"max_gpus": 2}, {"max_running_jobs": 1}, {"borrow_limit": 0, "guarantee": 2}])
def test_a_job_over_its_quota_starts_when_its_tenants_job_ends_not_now(policy: str, limit: dict[str, int]) -> None:
    """Half of the cluster is idle all the time; bob's job, which ends earlier, changes nothing for alice."""
    case = cluster(gpus=8).quota("alice", **limit).running(job("a", gpus=2, length_s=600))
    case = case.running(job("b", gpus=2, length_s=100, tenant="bob")).waiting(job("c", gpus=2, length_s=900))
    prediction = predicted(case, "c", policy=policy)
    assert prediction.start_p50_s == pytest.approx(NOW_S + 600, rel=EXACT)
    assert prediction.start_p90_s is not None
    assert prediction.start_p90_s > prediction.start_p50_s
    assert prediction.finish_p50_s == pytest.approx(NOW_S + 1500, rel=EXACT)


def test_the_limit_of_a_parent_counts_too() -> None:
    case = cluster(gpus=8).quota("above", max_gpus=2).quota("alice", parent="above").quota("bob", parent="above")
    case = case.running(job("a", gpus=2, length_s=600, tenant="bob")).waiting(job("b", gpus=2))
    assert starts(case, "b") == pytest.approx(600, rel=EXACT)


def test_a_job_that_quota_never_lets_start_has_no_predicted_start() -> None:
    case = cluster(gpus=8).quota("alice", max_gpus=2).waiting(job("a", gpus=4))
    assert predicted(case, "a") == Prediction()


def test_jobs_of_other_tenants_pass_one_that_its_quota_holds_back() -> None:
    case = cluster(gpus=4).quota("alice", max_gpus=2)
    case = case.running(job("a", gpus=2, length_s=600), job("b", gpus=2, length_s=100, tenant="bob"))
    case = case.waiting(job("c", gpus=2, at=1), job("d", gpus=2, at=2, tenant="bob"))
    assert starts(case, "c") == pytest.approx(600, rel=EXACT)
    assert starts(case, "d") == pytest.approx(100, rel=EXACT)


def test_freed_gpus_of_a_guarantee_go_to_their_owner_before_others_borrow_them() -> None:
    """bob's job is before alice's in the order, but would have to borrow what alice is guaranteed."""
    case = cluster(gpus=4).quota("alice", guarantee=4, reclaim=Reclaim.NEVER).quota("bob")
    case = case.running(job("a", gpus=4, length_s=200))
    case = case.waiting(job("b", gpus=4, at=1, tenant="bob"), job("c", gpus=4, at=2))
    assert starts(case, "c") == pytest.approx(200, rel=EXACT)
    assert starts(case, "b") == pytest.approx(300, rel=EXACT)


def test_reclaimed_gpus_are_there_when_their_borrower_has_saved_and_left() -> None:
    case = cluster(gpus=4).quota("alice", guarantee=4).quota("bob")
    case = case.running(job("b", gpus=4, length_s=900, tenant="bob", checkpoint_s=40.0))
    case = case.waiting(job("a", gpus=4, length_s=100, start_s=10.0))
    plan = case.decide("fifo")
    assert kinds(plan) == {"b": "Preempt", "a": "Wait"}
    assert plan.of("a").prediction.start_p50_s == pytest.approx(NOW_S + 40)
    assert plan.of("a").prediction.finish_p50_s == pytest.approx(NOW_S + 150)
    assert plan.of("b").prediction.finish_p50_s == pytest.approx(NOW_S + 150 + 900, rel=EXACT)


def test_a_waiting_job_is_not_said_to_start_in_the_round_that_lets_it_wait() -> None:
    """Two GPUs are free on each node, and none takes the gang: it has to wait for an end, whatever the count says."""
    case = cluster(nodes=2, gpus=4, cpus=4.0).running(job("a", gpus=2, length_s=300))
    case = case.waiting(job("w", gpus=4, length_s=50, cpus_per_worker=2.0))
    plan = case.decide("fifo")
    if kinds(plan)["w"] == "Wait":
        assert plan.of("w").prediction.start_p50_s == pytest.approx(NOW_S + 300, rel=EXACT)
    else:  # it found a place after all
        assert plan.of("w").prediction.start_p50_s == NOW_S


def test_the_start_is_part_of_what_a_new_job_takes_and_its_uncertainty_of_the_p90() -> None:
    surely = predicted(cluster().waiting(job("a", gpus=1, length_s=10, start_s=60.0, start_error=0.0)), "a")
    perhaps = predicted(cluster().waiting(job("a", gpus=1, length_s=10, start_s=60.0, start_error=0.8)), "a")
    assert surely.start_p50_s == surely.start_p90_s == NOW_S
    assert surely.finish_p50_s == perhaps.finish_p50_s == pytest.approx(NOW_S + 70)
    assert surely.finish_p90_s is not None
    assert perhaps.finish_p90_s is not None
    assert perhaps.finish_p90_s > surely.finish_p90_s + 30


def test_a_start_that_takes_longer_than_most_is_not_said_to_be_over_at_once() -> None:
    """60 s in the median; after 120 s it is among the slow ones, of which half take far longer."""
    slow = job("a", gpus=1, length_s=100, start_s=60.0, start_error=0.5)
    case = cluster().starting(slow).at(NOW_S + 120)
    prediction = predicted(case, "a")
    assert prediction.finish_p50_s is not None
    left_s = prediction.finish_p50_s - (NOW_S + 120) - 100
    assert 15 < left_s < 60
    assert math.isfinite(left_s)


def test_a_job_between_two_sizes_keeps_its_predicted_end() -> None:
    """Its old gang leaves; the new one is promised."""
    case = cluster(gpus=8).running(job("a", length_s=4000, checkpoint_s=1.0), n=1)
    plan = case.decide("mlhub")
    assert kinds(plan) == {"a": "Resize"}
    between = case.after(plan, seconds=1.0)
    prediction = between.decide("mlhub").of("a").prediction
    assert prediction.finish_p50_s == pytest.approx(plan.of("a").prediction.finish_p50_s, rel=0.05)


def test_who_comes_to_the_end_of_a_queue_delays_no_job_before_however_short_the_queue_was() -> None:
    """No job overtakes under fifo: twenty that came while less work waited widen no interval of those that wait."""
    case = cluster(gpus=1).running(job("a", gpus=1, length_s=1000.0))
    for i in range(20):
        case = case.waiting(job(f"w{i}", gpus=1, length_s=1000.0, at=float(i)))
        case = case.after(case.decide("fifo"), seconds=60.0)
    plan = case.decide("fifo")
    widths = [_width(plan.of(f"w{i}").prediction, case.now_s) for i in (4, 10, 19)]
    assert widths == pytest.approx([widths[0]] * 3, rel=0.05)


def _width(prediction: Prediction, now_s: float) -> float:
    assert prediction.start_p50_s is not None
    assert prediction.start_p90_s is not None
    return (prediction.start_p90_s - now_s) / (prediction.start_p50_s - now_s)
