# SPDX-License-Identifier: Apache-2.0
"""Limits of CPUs and memory for tenants of a tree: under every policy, with parameter servers, in forecasts."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler import GangAllocation, Launch, Mode, Preempt, Reason, Resize, Wait
from scheduler.api.host_resources import HostResources, held_resources
from scheduler.api.records import snapshot_from_json, snapshot_to_json
from scheduler.api.snapshot import JobSnapshot
from scheduler.counterfactuals.blockers import BlockerKind, blockers_of
from scheduler.simulator.traces.tenants import tenants_from_list
from scheduler.simulator.traces.trace import BadInput
from tests.scheduler.cases import GIB, Case, cluster, job
from tests.scheduler.invariants import restless, rounds
from tests.scheduler.test_properties import cases, policies, quick

SERVERS = {"mode": Mode.PARAMETER_SERVER, "parameters_bytes": 400_000_000, "batch_size": 64, "example_s": 0.001}


def eight_gpus(**limits: object) -> Case:
    """Alice and her teams p and q; bob has no limit."""
    return cluster(nodes=2, gpus=4).quota("alice", **limits).quota("p", parent="alice").quota("q", parent="alice")


def test_a_limit_of_cpus_holds_for_all_below_and_says_whose_it_is_and_who_can_raise_it() -> None:
    case = eight_gpus(max_cpus=6).running(job("a", gpus=2, tenant="p", cpus_per_worker=2.0))
    case = case.waiting(job("b", gpus=1, tenant="q", cpus_per_worker=2.5), job("c", gpus=1, tenant="q"))
    plan = case.waiting(job("d", gpus=1, tenant="bob", cpus_per_worker=8.0)).decide("fifo")
    assert isinstance(plan.of("c"), Launch)
    assert isinstance(plan.of("d"), Launch)
    waits = plan.of("b")
    assert isinstance(waits, Wait)
    assert waits.explanations[0].sentence == (
        "Insufficient quota: pods of alice request 5 of its 6 CPUs; 2.5 more would exceed the quota. "
        "An admin of the platform can raise it."
    )


def test_a_limit_of_memory_that_a_job_can_never_meet_is_named_at_once() -> None:
    case = eight_gpus().quota("p", parent="alice", max_memory_bytes=3 * GIB)
    plan = case.waiting(job("a", gpus=2, tenant="p", memory_per_worker_bytes=2 * GIB)).decide("fifo")
    why = plan.of("a").explanations[0]
    assert why.reason is Reason.LARGER_THAN_QUOTA_OF_MEMORY
    assert (why.facts["tenant"], why.facts["above"], why.facts["need"], why.facts["have"]) == ("p", "alice", 4.0, 3.0)


def test_what_is_above_a_lowered_limit_leaves() -> None:
    case = eight_gpus(max_cpus=2).running(*(job(name, gpus=1, tenant="p", cpus_per_worker=2.0) for name in "ab"))
    left = [decision for decision in case.decide("fifo").decisions if isinstance(decision, Preempt)]
    assert [one.explanations[0].sentence for one in left] == [
        "Over quota: pods of alice request 4 CPUs and may request 2."
    ]


@pytest.mark.parametrize(("max_cpus", "most"), [(None, 99), (6, 2), (5, 1), (4, 0)])
def test_parameter_servers_count_and_there_are_as_many_as_the_limit_leaves(max_cpus: int | None, most: int) -> None:
    waiting = replace(job("a", gpus=4, tenant="p"), **SERVERS)
    plan = eight_gpus(max_cpus=max_cpus).waiting(waiting).decide("fifo")
    decision = plan.of("a")
    if most == 0:
        assert decision.explanations[0].reason is Reason.LARGER_THAN_QUOTA_OF_CPUS
        return
    assert isinstance(decision, Launch)
    assert 1 <= decision.allocation.n_servers <= most


def test_a_job_whose_mode_is_free_runs_without_servers_where_these_are_above_the_limit() -> None:
    waiting = replace(job("a", gpus=4, tenant="p"), **{**SERVERS, "mode": None})
    decision = eight_gpus(max_cpus=4).waiting(waiting).decide("fifo").of("a")
    assert isinstance(decision, Launch)
    assert (decision.allocation.n_workers, decision.allocation.mode) == (4, Mode.ALL_REDUCE)


def test_an_elastic_job_grows_to_its_limit_and_no_further() -> None:
    case = eight_gpus(max_memory_bytes=5 * GIB).waiting(job("a", tenant="p", memory_per_worker_bytes=2 * GIB))
    decision = case.decide("mlhub").of("a")
    assert isinstance(decision, Launch)
    assert decision.allocation.n_workers == 2


def test_a_guarantee_gives_no_more_cpus_than_the_limit() -> None:
    case = eight_gpus(guarantee=8, max_cpus=2).running(job("x", gpus=8, tenant="bob"))
    plan = case.waiting(job("a", gpus=2, tenant="p", at=1), job("b", gpus=2, tenant="q", at=2)).decide("fifo")
    assert isinstance(plan.of("x"), Preempt)  # it borrowed what the first job is guaranteed
    assert plan.of("a").explanations[0].reason is Reason.WAITS_FOR_PREEMPTION
    assert plan.of("b").explanations[0].reason is Reason.QUOTA_CPUS


def test_what_a_tenant_lacks_is_named_among_the_blockers_in_workers() -> None:
    waiting = job("b", gpus=2, tenant="q", cpus_per_worker=2.0)
    case = eight_gpus(max_cpus=6).running(job("a", gpus=2, tenant="p", cpus_per_worker=1.5)).waiting(waiting)
    first = blockers_of(case.snapshot, waiting, need=2, memory=case.memory)[0]
    assert (first.kind, first.tenant, first.need, first.have, first.total) == (
        BlockerKind.QUOTA_CPUS, "alice", 2, 1, 3,
    )  # fmt: skip


@pytest.mark.parametrize(
    "limits", [{"max_cpus": 2}, {"max_memory_bytes": 2 * GIB}, {"gpus_by_type": (("v100", 2),)}], ids=str
)
def test_a_start_is_forecast_for_when_the_limit_leaves_room_though_gpus_are_free(limits: dict[str, object]) -> None:
    with_memory = {"memory_per_worker_bytes": GIB}
    case = eight_gpus(**limits).running(
        job("a", gpus=1, tenant="p", length_s=100.0, **with_memory),
        job("c", gpus=1, tenant="p", length_s=500.0, **with_memory),
    )
    case = case.waiting(job("b", gpus=2, tenant="q", **with_memory), job("d", gpus=1, tenant="q", at=1, **with_memory))
    plan = case.decide("fifo")
    starts = {name: plan.of(name).prediction.start_p50_s for name in "bd"}
    assert starts["d"] == pytest.approx(case.now_s + 100, rel=0.01)
    assert starts["b"] == pytest.approx(case.now_s + 500, rel=0.01)


def test_a_cluster_file_and_a_record_have_limits_of_cpus_and_memory() -> None:
    rows = [{"name": "vision", "max_cpus": 16, "max_memory_bytes": 64 * GIB}]
    (tenant,) = tenants_from_list(rows, name="cluster.yaml", n_gpus=4)
    assert (tenant.max_cpus, tenant.max_memory_bytes) == (16, 64 * GIB)
    with pytest.raises(BadInput, match="'vision' has max_cpus -1; it must be a whole number"):
        tenants_from_list([{"name": "vision", "max_cpus": -1}], name="cluster.yaml", n_gpus=4)
    snapshot = eight_gpus(max_cpus=2, max_memory_bytes=GIB).snapshot
    assert snapshot_from_json(json.loads(json.dumps(snapshot_to_json(snapshot)))) == snapshot
    with pytest.raises(ValueError, match="tenant 'alice' has max_memory_bytes -1"):
        eight_gpus(max_memory_bytes=-1).decide("fifo")


@st.composite
def limited(draw: st.DrawFn) -> Case:
    """Any case, with limits of CPUs and memory at some tenants; what is held already may be above them."""
    case, cpus, gib = draw(cases()), st.sampled_from([None, 0, 1, 2, 3, 5, 8]), st.sampled_from([None, None, 1, 2, 4])
    rules = [(tenant, draw(cpus), draw(gib)) for tenant in case.tenants]
    limits = ({"max_cpus": n, "max_memory_bytes": None if size is None else size * GIB} for _, n, size in rules)
    tenants = tuple(replace(tenant, **limit) for (tenant, _, _), limit in zip(rules, limits, strict=True))
    return replace(case, tenants=tenants)


@pytest.mark.slow
@quick
@given(limited(), policies)
def test_under_every_policy_pods_of_no_tenant_request_more_than_its_limit(case: Case, policy: str) -> None:
    for before, plan in rounds(case, policy, 4):
        for tenant in before.tenants:
            mine = [one for one in before.jobs if one.tenant in _below(before, tenant.id)]
            held, was = _sum(_most(one, plan) for one in mine), _sum(_held(one, one.held) for one in mine)
            if tenant.max_cpus is not None:
                assert held.cpus <= max(tenant.max_cpus, was.cpus) + 1e-6
            if tenant.max_memory_bytes is not None:
                assert held.memory_bytes <= max(tenant.max_memory_bytes, was.memory_bytes)


@pytest.mark.slow
@quick
@given(limited(), policies)
def test_limits_let_a_cluster_in_which_nothing_happens_come_to_rest(case: Case, policy: str) -> None:
    assert restless(case, policy) == []


def _below(case: Case, tenant_id: str) -> set[str]:
    found = {tenant_id}
    for _ in case.tenants:
        found |= {one.id for one in case.tenants if one.parent in found}
    return found


def _most(one: JobSnapshot, plan) -> HostResources:
    """The most that it holds while the plan is carried out: a resized job leaves before it is launched anew."""
    decision, was = plan.of(one.id), _held(one, one.held)
    now = _held(one, decision.allocation) if isinstance(decision, Launch | Resize) else was
    return HostResources(max(was.cpus, now.cpus), max(was.memory_bytes, now.memory_bytes))


def _held(one: JobSnapshot, held: GangAllocation | None) -> HostResources:
    return held_resources(one, held) if held is not None else HostResources()


def _sum(amounts) -> HostResources:
    found = list(amounts)
    return HostResources(sum(one.cpus for one in found), sum(one.memory_bytes for one in found))
