# SPDX-License-Identifier: Apache-2.0
"""Guarantees that begin and end at known times: what is predicted, what waits for them, and when a round is made."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scheduler import Launch, Plan, Preempt, Wait, decide, policy_named
from scheduler.api.gpu_budgets import QuotaChange
from scheduler.api.records import snapshot_from_json, snapshot_to_json
from scheduler.api.snapshot import Reclaim, TenantSnapshot
from scheduler.round.forecast.quota_changes import changed, with_changes_due
from tests.scheduler.cases import Case, cluster, job, reason

NOW_S = 1000.0


def planned(case: Case, *coming: QuotaChange, policy: str = "fifo") -> Plan:
    snapshot = replace(case.snapshot, coming=coming)
    return decide(snapshot, policy=policy_named(policy, {}), memory=case.memory, cache=case.cache)


def start_s(plan: Plan, job_id: str) -> float | None:
    prediction = plan.of(job_id).prediction
    assert prediction is not None
    return prediction.start_p50_s


def busy() -> Case:
    """Bob borrows the whole cluster for very long; alice, who is guaranteed nothing yet, waits."""
    return (
        cluster(nodes=1, gpus=4)
        .running(job("long", tenant="bob", gpus=4, steps_total=10**7))
        .waiting(job("own", tenant="alice", gpus=2))
    )


def test_a_job_that_waits_for_a_reservation_is_predicted_to_start_when_it_begins() -> None:
    begins = QuotaChange(NOW_S + 600, "alice", guarantee=2)
    without = start_s(planned(busy()), "own")
    assert without is None or without > NOW_S + 3600
    plan = planned(busy(), begins)
    assert isinstance(plan.of("own"), Wait)
    assert start_s(plan, "own") == pytest.approx(NOW_S + 600, abs=60)
    assert plan.wake_at_s == NOW_S + 600


def test_a_job_that_borrows_leaves_for_a_reservation_only_once_it_has_begun() -> None:
    begins = QuotaChange(NOW_S + 600, "alice", guarantee=2)
    assert not isinstance(planned(busy(), begins).of("long"), Preempt)
    due = planned(busy().at(NOW_S + 600), begins)
    assert isinstance(due.of("long"), Preempt)
    assert due.wake_at_s is None or due.wake_at_s > NOW_S + 600


def test_an_owner_that_never_reclaims_waits_for_the_end_of_what_borrows() -> None:
    case = busy().quota("alice", reclaim=Reclaim.NEVER)
    found = start_s(planned(case, QuotaChange(NOW_S + 600, "alice", guarantee=2)), "own")
    assert found is None or found > NOW_S + 3600


def test_a_guarantee_that_ends_before_a_job_could_start_does_not_count_for_it() -> None:
    case = (
        cluster(nodes=1, gpus=4)
        .quota("alice", guarantee=4)
        .running(job("long", tenant="alice", gpus=4, steps_total=10**7))
        .quota("bob", guarantee=0)
        .waiting(job("others", tenant="bob", gpus=4))
    )
    passes_on = (QuotaChange(NOW_S + 900, "alice", guarantee=-4), QuotaChange(NOW_S + 900, "bob", guarantee=4))
    without = start_s(planned(case), "others")
    assert without is None or without > NOW_S + 3600
    assert start_s(planned(case, *passes_on), "others") == pytest.approx(NOW_S + 900, abs=60)


def free() -> Case:
    """Half of the cluster is free; alice waits for more than that, bob for what would fit."""
    return (
        cluster(nodes=1, gpus=4)
        .running(job("first", tenant="charlie", gpus=2, steps_total=10**7))
        .waiting(job("borrows", tenant="bob", gpus=2, steps_total=10**6, start_s=30.0))
        .waiting(job("own", tenant="alice", gpus=4, submitted_at_s=2.0))
    )


def test_a_job_does_not_start_only_to_leave_for_a_reservation_before_it_trains() -> None:
    near, far = (QuotaChange(NOW_S + s, "alice", guarantee=4) for s in (20, 600))
    held = planned(free(), near)
    assert isinstance(held.of("borrows"), Wait)
    assert reason(held.of("borrows")) == "quota_changes_soon"
    assert held.of("borrows").prediction is not None
    assert isinstance(planned(free(), far).of("borrows"), Launch)
    assert isinstance(planned(free()).of("borrows"), Launch)


def test_a_reservation_without_jobs_that_wait_for_it_holds_up_no_job() -> None:
    case = replace(free(), jobs=tuple(one for one in free().jobs if one.id != "own"))
    assert isinstance(planned(case, QuotaChange(NOW_S + 20, "alice", guarantee=4)).of("borrows"), Launch)


def test_a_job_within_its_own_guarantee_starts_whatever_is_to_come() -> None:
    case = free().quota("bob", guarantee=2)
    plan = planned(case, QuotaChange(NOW_S + 20, "alice", guarantee=2))
    assert isinstance(plan.of("borrows"), Launch)


def test_changes_are_undone_by_their_opposites_and_recorded_exactly() -> None:
    tenant = TenantSnapshot("a", max_gpus=4, gpus_by_type=(("a100", 1),), guarantee_by_type=(("t4", 1),))
    begins = QuotaChange(1.0, "a", 3, 2, (("a100", 2), ("t4", 1)), (("t4", 1),))
    ends = QuotaChange(2.0, "a", -3, -2, (("a100", -2), ("t4", -1)), (("t4", -1),))
    during = changed(tenant, begins)
    assert (during.guarantee, during.max_gpus, during.gpus_by_type) == (4, 6, (("a100", 3),))
    assert during.guarantee_by_type == (("t4", 2),)
    after = changed(during, ends)
    assert after == replace(tenant, guarantee=1)
    snapshot = replace(busy().snapshot, coming=(begins, ends))
    assert snapshot_from_json(snapshot_to_json(snapshot)) == snapshot
    assert with_changes_due(replace(snapshot, now_s=1.5)).coming == (ends,)


def finish_s(plan: Plan, job_id: str) -> float | None:
    return plan.of(job_id).prediction.finish_p50_s


def releases(plan: Plan, job_id: str) -> tuple[int, int, str] | None:
    """GPUs given back, GPUs held and when, as the job's page says it."""
    for one in plan.of(job_id).explanations:
        if one.reason == "releases_at_quota_change":
            return one.facts["given"], one.facts["held"], one.sentence
    return None


def test_the_end_of_a_job_that_a_reservation_will_reclaim_is_predicted_after_that_of_the_claimant() -> None:
    case = (
        cluster(nodes=1, gpus=4)
        .running(job("borrows", tenant="bob", gpus=4, length_s=1000))
        .waiting(job("own", tenant="alice", gpus=2, length_s=500))
    )
    undisturbed = finish_s(planned(case), "borrows")
    plan = planned(case, QuotaChange(NOW_S + 600, "alice", guarantee=2))
    assert undisturbed == pytest.approx(NOW_S + 1000, abs=30)
    assert finish_s(plan, "own") == pytest.approx(NOW_S + 600 + 500, abs=60)
    assert finish_s(plan, "borrows") == pytest.approx(NOW_S + 600 + 500 + 400, abs=60)
    assert releases(plan, "borrows") == (
        4,
        4,
        "Quotas change on 1970-01-01 at 00:26 UTC: it is predicted to release 4 of its 4 GPUs then.",
    )
    assert releases(plan, "own") is None


def test_the_job_that_started_last_is_predicted_to_leave_as_it_does() -> None:
    case = (
        cluster(nodes=1, gpus=4)
        .running(job("late", tenant="bob", gpus=2, length_s=5000), since=900.0)
        .running(job("early", tenant="bob", gpus=2, length_s=5000), since=100.0)
        .waiting(job("own", tenant="alice", gpus=2, length_s=500))
    )
    begins = QuotaChange(NOW_S + 600, "alice", guarantee=2)
    plan = planned(case, begins)
    assert [releases(plan, name) is not None for name in ("early", "late")] == [False, True]
    due = planned(case.at(NOW_S + 600), begins)
    assert isinstance(due.of("late"), Preempt)
    assert not isinstance(due.of("early"), Preempt)


def test_nothing_is_taken_for_a_reservation_that_no_job_waits_for() -> None:
    case = cluster(nodes=1, gpus=4).running(job("borrows", tenant="bob", gpus=4, length_s=1000))
    plan = planned(case, QuotaChange(NOW_S + 600, "alice", guarantee=2))
    assert finish_s(plan, "borrows") == finish_s(planned(case), "borrows")
    assert releases(plan, "borrows") is None


def test_a_job_above_a_limit_that_falls_is_predicted_to_leave_and_does() -> None:
    case = (
        cluster(nodes=1, gpus=4)
        .quota("bob", max_gpus=4)
        .running(job("first", tenant="bob", gpus=2, length_s=10_000), job("second", tenant="bob", gpus=2, length_s=900))
    )
    falls = QuotaChange(NOW_S + 600, "bob", max_gpus=-2)
    plan = planned(case, falls)
    assert finish_s(plan, "first") == finish_s(planned(case), "first")
    assert finish_s(plan, "second") == pytest.approx(NOW_S + 10_000 + 300, abs=60)  # once the first has ended
    assert releases(plan, "second") is not None
    due = planned(case.at(NOW_S + 600), falls)
    assert isinstance(due.of("second"), Preempt)


def test_a_job_that_a_limit_stops_for_good_has_no_end() -> None:
    case = cluster(nodes=1, gpus=4).quota("bob", max_gpus=4).running(job("large", tenant="bob", gpus=4, length_s=1000))
    plan = planned(case, QuotaChange(NOW_S + 600, "bob", max_gpus=-2))
    assert finish_s(plan, "large") is None
    assert releases(plan, "large") is not None
    again = QuotaChange(NOW_S + 900, "bob", max_gpus=2)
    assert finish_s(planned(case, QuotaChange(NOW_S + 600, "bob", max_gpus=-2), again), "large") == pytest.approx(
        NOW_S + 1300, abs=60
    )
    before = QuotaChange(NOW_S + 1100, "bob", max_gpus=-2)  # it has ended by then
    assert finish_s(planned(case, before), "large") == finish_s(planned(case), "large")


def test_an_elastic_job_becomes_smaller_when_a_limit_falls() -> None:
    case = cluster(nodes=1, gpus=4).quota("bob", max_gpus=4)
    case = case.running(job("grows", tenant="bob", length_s=8000, max_workers=4), n=4)
    assert finish_s(planned(case, policy="mlhub"), "grows") == pytest.approx(NOW_S + 2000, abs=120)
    plan = planned(case, QuotaChange(NOW_S + 600, "bob", max_gpus=-2), policy="mlhub")
    assert finish_s(plan, "grows") == pytest.approx(NOW_S + 600 + 2 * 1400, abs=180)
    assert releases(plan, "grows") is not None
    assert releases(plan, "grows")[:2] == (2, 4)  # type: ignore[index]


def test_a_limit_that_falls_concerns_no_other_tenant() -> None:
    case = (
        cluster(nodes=2, gpus=4)
        .quota("bob", max_gpus=8)
        .quota("charlie", max_gpus=8)
        .running(job("b", tenant="bob", gpus=4, length_s=1000), job("c", tenant="charlie", gpus=4, length_s=1000))
    )
    plan = planned(case, QuotaChange(NOW_S + 600, "charlie", max_gpus=-6))
    assert finish_s(plan, "b") == finish_s(planned(case), "b")
    assert releases(plan, "b") is None
    assert releases(plan, "c") is not None
