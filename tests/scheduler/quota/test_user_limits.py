# SPDX-License-Identifier: Apache-2.0
"""Limits of single users within a tenant: in a round under every policy, in forecasts, records and the simulator."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler import Keep, Launch, Preempt, Reason, Wait, policy_named
from scheduler.api.gpu_budgets import BudgetPeriod, GpuHourBudget, OnExhausted
from scheduler.api.records import snapshot_from_json, snapshot_to_json
from scheduler.api.snapshot import TenantSnapshot
from scheduler.api.user_limits import UserLimit
from scheduler.counterfactuals.blockers import BlockerKind, blockers_of
from scheduler.simulator import simulate
from scheduler.simulator.environments.counting import CountingEnvironment
from scheduler.simulator.traces.clusters import uniform_cluster
from scheduler.simulator.traces.formats import read_trace, trace_to_csv
from scheduler.simulator.traces.tenants import tenants_from_list
from scheduler.simulator.traces.trace import BadInput, Trace, TraceJob
from tests.scheduler.cases import Case, cluster, job
from tests.scheduler.invariants import rounds
from tests.scheduler.test_properties import policies, quick

ANN = UserLimit("ann", "Ann", max_gpus=2)


def limited(*limits: UserLimit, **more: object) -> Case:
    return cluster(nodes=1, gpus=8).quota("alice", user_limits=limits, **more)


def test_a_job_above_its_user_s_limit_waits_and_says_whose_it_is_and_who_can_raise_it() -> None:
    case = limited(ANN).running(job("a", gpus=2, user="ann"))
    plan = case.waiting(job("b", gpus=1, user="ann"), job("c", gpus=4, user="ben")).decide("fifo")
    assert isinstance(plan.of("a"), Keep)
    assert isinstance(plan.of("c"), Launch)  # another one of the same tenant
    waits = plan.of("b")
    assert isinstance(waits, Wait)
    assert waits.explanations[0].reason is Reason.USER_QUOTA_GPUS
    assert waits.explanations[0].sentence == (
        "Limit of a user: Ann uses 2 of the 2 GPUs that one person may use in alice; 1 more would exceed that. "
        "An admin of alice can raise it."
    )


def test_a_limit_above_counts_over_all_tenants_below_it() -> None:
    case = limited(ANN).quota("p", parent="alice").quota("q", parent="alice")
    plan = case.waiting(job("a", gpus=2, tenant="p", user="ann"), job("b", gpus=1, tenant="q", user="ann"))
    decided = plan.decide("fifo")
    assert isinstance(decided.of("a"), Launch)
    assert decided.of("b").explanations[0].reason is Reason.USER_QUOTA_GPUS


def test_a_limit_of_one_type_leaves_the_others() -> None:
    nodes = (*cluster(gpu_type="a100").nodes, replace(cluster(gpu_type="t4").nodes[0], name="t"))
    case = replace(cluster(nodes=1, gpus=4), nodes=nodes)
    case = case.quota("alice", user_limits=(UserLimit("ann", gpus_by_type=(("a100", 2),)),))
    plan = case.waiting(
        job("one", gpus=2, user="ann", gpu_types=("a100",)),
        job("two", gpus=2, user="ann", gpu_types=("a100",)),
        job("any", gpus=2, user="ann"),
        job("large", gpus=3, user="ann", gpu_types=("a100",)),
    ).decide("fifo")
    assert isinstance(plan.of("one"), Launch)
    any_type = plan.of("any")
    assert isinstance(any_type, Launch)
    assert [share.node for share in any_type.allocation.shares] == ["t"]
    assert plan.of("two").explanations[0].reason is Reason.USER_QUOTA_GPUS
    assert "2 of the 2 GPUs of type a100" in plan.of("two").explanations[0].sentence
    assert plan.of("large").explanations[0].reason is Reason.LARGER_THAN_USER_QUOTA


def test_running_jobs_of_a_user_are_counted() -> None:
    case = limited(UserLimit("ann", max_running_jobs=1)).running(job("a", gpus=1, user="ann"))
    plan = case.waiting(job("b", gpus=1, user="ann")).decide("fifo")
    assert plan.of("b").explanations[0].reason is Reason.USER_QUOTA_RUNNING_JOBS


def test_a_job_that_can_never_start_under_the_limit_says_so() -> None:
    plan = limited(ANN).waiting(job("a", gpus=4, user="ann")).decide("fifo")
    assert plan.of("a").explanations[0].reason is Reason.LARGER_THAN_USER_QUOTA


def test_jobs_above_a_lowered_limit_leave_with_the_reason() -> None:
    case = limited(UserLimit("ann", "Ann", max_gpus=1)).running(
        job("a", gpus=1, user="ann"), job("b", gpus=1, user="ann")
    )
    plan = case.decide("fifo")
    left = [decision for decision in plan.decisions if isinstance(decision, Preempt)]
    assert len(left) == 1
    assert left[0].explanations[0].reason is Reason.OVER_USER_QUOTA


def test_a_guarantee_gives_no_user_more_than_the_limit() -> None:
    case = limited(ANN, guarantee=8).running(job("x", gpus=8, tenant="bob"))
    plan = case.waiting(job("a", gpus=2, user="ann", at=1), job("b", gpus=2, user="ann", at=2)).decide("fifo")
    assert isinstance(plan.of("x"), Preempt)  # it borrowed what the first job is guaranteed
    assert plan.of("a").explanations[0].reason is Reason.WAITS_FOR_PREEMPTION
    assert plan.of("b").explanations[0].reason is Reason.USER_QUOTA_GPUS


def hours(amount: float, *, used: float) -> tuple[GpuHourBudget, ...]:
    return (GpuHourBudget(amount, BudgetPeriod.DAY, OnExhausted.STOP_NEW, used_gpu_hours=used, ends_at_s=5000.0),)


def test_hours_of_a_user_stop_that_user_only_and_say_when_they_are_full_again() -> None:
    case = limited(UserLimit("ann", "Ann", budgets=hours(10, used=10.4)))
    plan = case.waiting(job("a", gpus=1, user="ann"), job("b", gpus=1, user="ben")).decide("fifo")
    assert isinstance(plan.of("b"), Launch)
    assert plan.of("a").explanations[0].reason is Reason.USER_BUDGET_EXHAUSTED
    assert "Ann has used 10.4 of the 10 GPU-hours that one person may use in alice; it may start on" in (
        plan.of("a").explanations[0].sentence
    )
    assert plan.of("a").prediction.start_p50_s == 5000.0
    assert plan.wake_at_s == 5000.0


def test_the_forecast_lets_a_user_s_second_job_follow_the_first_one() -> None:
    case = limited(ANN).running(job("a", gpus=2, user="ann", length_s=500.0))
    plan = case.waiting(job("b", gpus=2, user="ann")).decide("fifo")
    assert plan.of("b").prediction.start_p50_s == pytest.approx(1000.0 + 500.0)


def test_what_a_user_lacks_is_named_among_the_blockers() -> None:
    case = limited(ANN).running(job("a", gpus=2, user="ann")).waiting(job("b", gpus=1, user="ann"))
    waiting = next(one for one in case.jobs if one.id == "b")
    first = blockers_of(case.snapshot, waiting, need=1, memory=case.memory)[0]
    assert (first.kind, first.have, first.total, first.user) == (BlockerKind.USER_GPUS, 0, 2, "Ann")


def test_a_snapshot_with_limits_of_users_is_read_as_it_was_written() -> None:
    limit = replace(ANN, gpus_by_type=(("t4", 1),), max_running_jobs=3, budgets=hours(5, used=1.5))
    snapshot = limited(limit).waiting(job("a", user="ann")).snapshot
    assert snapshot_from_json(snapshot_to_json(snapshot)) == snapshot


def test_a_limit_that_is_no_number_is_refused_with_its_user() -> None:
    with pytest.raises(ValueError, match="limit of user 'ann' in tenant 'alice' has max_gpus -1"):
        limited(replace(ANN, max_gpus=-1)).decide("fifo")


@pytest.mark.slow
@quick
@given(data=st.data(), policy=policies, n=st.integers(1, 4), most=st.integers(0, 3))
def test_under_every_policy_no_user_has_more_than_the_limit(
    data: st.DataObject, policy: str, n: int, most: int
) -> None:
    sizes = data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=6))
    case = cluster(nodes=2, gpus=4).quota("alice", user_limits=(UserLimit("ann", max_gpus=most, max_running_jobs=n),))
    for number, size in enumerate(sizes):
        user, is_elastic = data.draw(st.sampled_from(["ann", "ben"])), data.draw(st.booleans())
        case = case.waiting(job(f"j{number}", gpus=None if is_elastic else size, user=user))
    for at, _ in rounds(case, policy, n=4):
        held = [one for one in at.jobs if one.user == "ann" and one.held is not None]
        assert sum(one.held.n_workers for one in held if one.held is not None) <= most
        assert len(held) <= n


def test_the_simulator_holds_limits_and_hours_of_users() -> None:
    rows = [{"name": "vision", "user_limits": [{"user": "ann", "max_gpus": 1}]}]
    tenants = tenants_from_list(rows, name="cluster.yaml", n_gpus=4)
    jobs = tuple(TraceJob(f"j{i}", 0.0, 1, 100.0, tenant="vision", user="ann" if i < 2 else "ben") for i in range(4))
    outcome = _simulated(jobs, tenants)
    assert outcome == {"j0": 0.0, "j1": 100.0, "j2": 0.0, "j3": 0.0}


@pytest.mark.slow
def test_hours_of_a_user_are_measured_in_the_simulator() -> None:
    budget = {"gpu_hours": 1, "period": "day", "on_exhausted": "stop_new"}
    rows = [{"name": "vision", "user_limits": [{"user": "ann", "budgets": [budget]}]}]
    tenants = tenants_from_list(rows, name="cluster.yaml", n_gpus=4)
    jobs = (
        TraceJob("first", 0.0, 2, 3600.0, tenant="vision", user="ann"),
        TraceJob("second", 3600.0, 1, 60.0, tenant="vision", user="ann"),
        TraceJob("other", 3600.0, 1, 60.0, tenant="vision", user="ben"),
    )
    assert _simulated(jobs, tenants) == {"first": 0.0, "second": 86400.0, "other": 3600.0}


def _simulated(jobs: tuple[TraceJob, ...], tenants: tuple[TenantSnapshot, ...]) -> dict[str, float | None]:
    spec = uniform_cluster(n_nodes=1, n_gpus=4, n_racks=1, uplink_bps=4e10)
    environment = CountingEnvironment(Trace("made up", "mlhub", jobs), spec, tenants=tenants)
    outcome = simulate(environment, policy=policy_named("fifo", {}), period_s=10)
    return {job_id: found.started_at_s for job_id, found in outcome.histories.items()}


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ([{"max_gpus": 1}], "each with a user"),
        ([{"user": "ann", "max_gpu": 1}], "has the field 'max_gpu'"),
        ([{"user": "ann", "max_gpus": -1}], "max_gpus -1; it must be a whole number"),
        ([{"user": "ann"}, {"user": "ann"}], "limits the user 'ann' twice"),
        ([{"user": "ann", "gpus_by_type": 3}], "gpus_by_type 3; give a number by GPU type"),
    ],
)
def test_a_bad_limit_of_a_cluster_file_is_refused_by_name(limits: list[dict[str, object]], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        tenants_from_list([{"name": "vision", "user_limits": limits}], name="cluster.yaml", n_gpus=4)


def test_a_trace_keeps_whose_jobs_they_are() -> None:
    trace = Trace("t", "mlhub", (TraceJob("a", 0.0, 1, 10.0, user="ann"),))
    assert read_trace(trace_to_csv(trace), name="t").jobs[0].user == "ann"
