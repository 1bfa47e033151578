# SPDX-License-Identifier: Apache-2.0
"""Budgets of GPU-hours: who may start, who leaves, when it goes on; in a round and in the simulator."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from scheduler import Keep, Launch, Phase, Preempt, Reason, Resize, Wait, policy_named
from scheduler.api.gpu_budgets import BudgetPeriod, GpuHourBudget, OnExhausted, period_of
from scheduler.api.memory import ResizePromise, RoundMemory
from scheduler.api.plan import Decision
from scheduler.api.records import snapshot_from_json, snapshot_to_json
from scheduler.api.snapshot import JobSnapshot
from scheduler.simulator import simulate
from scheduler.simulator.environments.counting import CountingEnvironment
from scheduler.simulator.traces.clusters import uniform_cluster
from scheduler.simulator.traces.tenants import tenants_from_list
from scheduler.simulator.traces.trace import Trace, TraceJob
from tests.scheduler.cases import Case, cluster, job
from tests.scheduler.invariants import rounds
from tests.scheduler.test_properties import cases, policies, quick

STOP_NEW, STOP_ALL = OnExhausted.STOP_NEW, OnExhausted.STOP_ALL


def budget(gpu_hours: float, *, used: float, on_exhausted: OnExhausted = STOP_NEW, **more: object) -> GpuHourBudget:
    values = {"period": BudgetPeriod.DAY, "ends_at_s": 5000.0, **more}
    return GpuHourBudget(gpu_hours, on_exhausted=on_exhausted, used_gpu_hours=used, **values)  # type: ignore[arg-type]


def seconds(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("period", "begin", "end"),
    [
        (BudgetPeriod.DAY, "2026-11-25", "2026-11-26"),
        (BudgetPeriod.WEEK, "2026-11-23", "2026-11-30"),
        (BudgetPeriod.MONTH, "2026-11-01", "2026-12-01"),
    ],
)
def test_periods_begin_at_midnight_utc(period: BudgetPeriod, begin: str, end: str) -> None:
    assert period_of(period, seconds("2026-11-25T13:30")) == (seconds(begin), seconds(end))
    assert period_of(period, seconds(begin)) == (seconds(begin), seconds(end))


def test_a_budget_of_once_has_no_next_period() -> None:
    assert period_of(BudgetPeriod.ONCE, 1e9) == (None, None)


def test_a_job_whose_budget_is_used_up_waits_for_the_next_period_and_says_so() -> None:
    case = cluster(nodes=1, gpus=4).quota("alice", budgets=(budget(10, used=10.4),)).waiting(job("a", gpus=2))
    decision = case.decide("fifo").of("a")
    assert isinstance(decision, Wait)
    assert decision.explanations[0].reason is Reason.BUDGET_EXHAUSTED
    assert decision.explanations[0].sentence == (
        "Budget exhausted: alice has used 10.4 of its 10 GPU-hours; it may start on 1970-01-01 at 01:23 UTC, or when "
        "the budget is raised. An admin of the platform can raise it."
    )
    assert decision.prediction.start_p50_s == 5000.0
    assert decision.prediction.finish_p50_s == pytest.approx(5100.0)


def test_a_budget_that_only_alerts_stops_no_job() -> None:
    only = budget(10, used=11, on_exhausted=OnExhausted.ALERT)
    case = cluster(nodes=1, gpus=4).quota("alice", budgets=(only,)).waiting(job("a", gpus=2))
    assert isinstance(case.decide("fifo").of("a"), Launch)


def test_the_budget_of_a_parent_holds_for_all_below_it_and_for_no_other_tenant() -> None:
    case = cluster(nodes=1, gpus=4).quota("alice", budgets=(budget(10, used=10),)).quota("team", parent="alice")
    plan = case.waiting(job("a", gpus=1, tenant="team"), job("b", gpus=1, tenant="bob")).decide("fifo")
    assert isinstance(plan.of("a"), Wait)
    assert isinstance(plan.of("b"), Launch)


def test_running_jobs_go_on_or_are_stopped_as_the_budget_says() -> None:
    case = cluster(nodes=1, gpus=4).running(job("a", gpus=2))
    going_on = case.quota("alice", budgets=(budget(10, used=10),)).decide("fifo").of("a")
    stopped = case.quota("alice", budgets=(budget(10, used=10, on_exhausted=STOP_ALL),)).decide("fifo").of("a")
    assert isinstance(going_on, Keep)
    assert isinstance(stopped, Preempt)
    assert stopped.explanations[0].reason is Reason.BUDGET_EXHAUSTED
    assert stopped.prediction.start_p50_s == 5000.0


def test_an_elastic_job_does_not_grow_beyond_a_budget_that_is_used_up() -> None:
    case = cluster(nodes=1, gpus=8).running(job("a", length_s=1e5), n=2)
    assert isinstance(case.decide("mlhub").of("a"), Resize)
    assert isinstance(case.quota("alice", budgets=(budget(10, used=10),)).decide("mlhub").of("a"), Keep)


def test_a_job_whose_budget_of_one_type_is_used_up_starts_on_another_type() -> None:
    nodes = (*cluster(gpu_type="a100").nodes, replace(cluster(gpu_type="t4").nodes[0], name="t"))
    case = replace(cluster(nodes=1, gpus=4), nodes=nodes)
    case = case.quota("alice", budgets=(budget(10, used=10, gpu_type="a100"),))
    plan = case.waiting(job("any", gpus=2), job("only", gpus=2, gpu_types=("a100",))).decide("fifo")
    started, waiting = plan.of("any"), plan.of("only")
    assert isinstance(started, Launch)
    assert [share.node for share in started.allocation.shares] == ["t"]
    assert isinstance(waiting, Wait)
    assert "10 GPU-hours on a100" in waiting.explanations[0].sentence


def test_a_job_that_is_being_resized_when_its_budget_runs_out_resumes() -> None:
    case = cluster(nodes=1, gpus=4).running(job("a", gpus=2))
    held = case.jobs[0].allocation
    assert held is not None
    waiting = case.quota("alice", budgets=(budget(10, used=10),))
    waiting = replace(waiting, jobs=()).waiting(job("a", gpus=2))
    resumed = replace(waiting, memory=RoundMemory(resizing={"a": ResizePromise(held)})).decide("fifo").of("a")
    awaited = replace(waiting, memory=RoundMemory(resizing={"a": ResizePromise(held, is_resize=False)}))
    assert isinstance(resumed, Launch)
    assert isinstance(awaited.decide("fifo").of("a"), Wait)


def test_what_is_predicted_to_start_after_the_budget_is_used_up_starts_in_the_next_period() -> None:
    """The first job uses what is left, 2 GPU-hours, in half of its time; the second one would follow it."""
    case = cluster(nodes=1, gpus=4).quota("alice", budgets=(budget(10, used=8, ends_at_s=50_000.0),))
    case = case.running(job("a", gpus=4, length_s=3600.0)).waiting(job("b", gpus=4))
    plan = case.decide("fifo")
    assert plan.of("b").prediction.start_p50_s == 50_000.0
    assert plan.of("a").prediction.finish_p50_s == pytest.approx(1000.0 + 3600.0)
    assert plan.wake_at_s == pytest.approx(1000.0 + 1800.0)


def test_a_job_that_the_end_of_its_budget_interrupts_is_predicted_to_go_on_in_the_next_period() -> None:
    limits = (budget(10, used=8, ends_at_s=50_000.0, on_exhausted=STOP_ALL),)
    case = cluster(nodes=1, gpus=4).quota("alice", budgets=limits).running(job("a", gpus=4, length_s=3600.0))
    assert case.decide("fifo").of("a").prediction.finish_p50_s == pytest.approx(50_000.0 + 1800.0)


def test_a_snapshot_with_budgets_is_read_as_it_was_written() -> None:
    case = cluster(nodes=1, gpus=4).quota("alice", budgets=(budget(10, used=2.5, gpu_type="t4"),))
    snapshot = case.waiting(job("a")).snapshot
    assert snapshot_from_json(snapshot_to_json(snapshot)) == snapshot


BUDGETS = st.lists(
    st.builds(
        GpuHourBudget,
        gpu_hours=st.sampled_from([0.0, 1.0, 10.0]),
        period=st.sampled_from(BudgetPeriod),
        on_exhausted=st.sampled_from(OnExhausted),
        gpu_type=st.sampled_from(["", "v100", "k80"]),
        used_gpu_hours=st.sampled_from([0.0, 1.0, 12.0]),
        ends_at_s=st.sampled_from([None, 2000.0, 90_000.0]),
    ),
    max_size=2,
)


def exhausted(case: Case, of: JobSnapshot, gpu_type: str, kinds: set[OnExhausted]) -> bool:
    tenants = {tenant.id: tenant for tenant in case.tenants}
    at: str | None = of.tenant
    while at is not None:
        for one in tenants[at].budgets:
            if one.on_exhausted in kinds and one.gpu_type in ("", gpu_type) and one.used_gpu_hours >= one.gpu_hours:
                return True
        at = tenants[at].parent
    return False


@pytest.mark.slow
@quick
@given(case=cases(), policy=policies, data=st.data())
def test_no_policy_starts_or_enlarges_a_job_beyond_a_hard_budget(case: Case, policy: str, data: st.DataObject) -> None:
    before, plan = rounds(case, policy, 2)[-1]
    later = before.after(plan, seconds=30.0)
    tenants = tuple(replace(tenant, budgets=tuple(data.draw(BUDGETS))) for tenant in case.tenants)
    for seen, made in rounds(replace(later, tenants=tenants), policy, 2):
        for one in seen.jobs:
            check_hours(seen, one, made.of(one.id))


def check_hours(case: Case, of: JobSnapshot, decision: Decision) -> None:
    types, hard = {node.name: node.gpu_type for node in case.nodes}, {STOP_NEW, STOP_ALL}
    place = decision.allocation if isinstance(decision, Launch | Resize) else of.held
    used = {types[share.node] for share in place.shares if share.gpus} if place is not None else set()
    is_used_up = any(exhausted(case, of, gpu_type, hard) for gpu_type in used)
    if isinstance(decision, Launch):
        promise = case.memory.resizing.get(of.id)
        assert not is_used_up or (promise is not None and promise.is_resize)
    elif isinstance(decision, Resize) and of.held is not None and is_used_up:
        assert decision.allocation.n_workers <= max(of.min_workers, of.held.n_workers)
    if isinstance(decision, Launch | Resize) or (isinstance(decision, Keep) and of.phase is not Phase.STOPPING):
        assert not any(exhausted(case, of, gpu_type, {STOP_ALL}) for gpu_type in used)


def simulated(tenant: str, *jobs: TraceJob) -> dict[str, tuple[float, float]]:
    """When each job started and ended, on one node of 4 GPUs, by the tenant's line in the cluster file."""
    trace = Trace("case", "mlhub", jobs)
    tenants = tenants_from_list(yaml.safe_load(tenant), name="case.yaml", n_gpus=4)
    shape = uniform_cluster(n_nodes=1, n_gpus=4)
    environment = CountingEnvironment(trace, shape, start_s=0.0, stop_s=0.0, tenants=tenants)
    outcome = simulate(environment, policy=policy_named("fifo", {}))
    return {id: (one.started_at_s, one.ended_at_s) for id, one in outcome.histories.items()}


def test_in_the_simulator_no_job_starts_until_the_next_day_once_the_hours_of_the_day_are_used_up() -> None:
    """8 GPU-hours a day: the first job uses them in two hours of its four, and runs on; the second one waits."""
    line = "[{name: alice, budgets: [{gpu_hours: 8, period: day, on_exhausted: stop_new}]}]"
    hour = 3600.0
    found = simulated(line, TraceJob("a", 0, 4, 4 * hour, tenant="alice"), TraceJob("b", 60, 4, hour, tenant="alice"))
    assert found == {"a": (0.0, 4 * hour), "b": (24 * hour, 25 * hour)}


def test_in_the_simulator_a_job_that_is_stopped_goes_on_the_next_day() -> None:
    line = "[{name: alice, budgets: [{gpu_hours: 8, period: day, on_exhausted: stop_all}]}]"
    found = simulated(line, TraceJob("a", 0, 4, 4 * 3600.0, tenant="alice"))
    assert found["a"] == (0.0, pytest.approx(26 * 3600.0, abs=5.0))
