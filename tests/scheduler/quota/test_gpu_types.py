# SPDX-License-Identifier: Apache-2.0
"""Limits of single GPU types for tenants of a tree: under every policy, within guarantees, among blockers, in files."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler import Keep, Launch, NodeSnapshot, Preempt, Reason, Resize, Wait
from scheduler.api.records import snapshot_from_json, snapshot_to_json
from scheduler.api.snapshot import JobSnapshot
from scheduler.api.user_limits import UserLimit
from scheduler.counterfactuals.blockers import BlockerKind, blockers_of
from scheduler.simulator.traces.tenants import tenants_from_list
from scheduler.simulator.traces.trace import BadInput
from tests.scheduler.cases import Case, cluster, job
from tests.scheduler.invariants import rounds
from tests.scheduler.test_properties import cases, policies, quick

A100 = ("a100",)


def two_types(**limits: object) -> Case:
    """Four GPUs of each type; alice and her teams p and q."""
    case = cluster(nodes=1, gpus=4, gpu_type="a100")
    case = replace(case, nodes=(*case.nodes, replace(case.nodes[0], name="t", gpu_type="t4")))
    return case.quota("alice", **limits).quota("p", parent="alice").quota("q", parent="alice")


def test_a_limit_of_one_type_leaves_the_others_and_says_who_can_raise_it() -> None:
    case = two_types(gpus_by_type=(("a100", 2),)).running(job("a", gpus=2, tenant="p"))
    case = case.waiting(job("b", gpus=1, tenant="q", gpu_types=A100), job("c", gpus=2, tenant="q"))
    plan = case.waiting(job("d", gpus=1, tenant="bob", gpu_types=A100)).decide("fifo")
    assert isinstance(plan.of("a"), Keep)
    anywhere, others = plan.of("c"), plan.of("d")
    assert isinstance(anywhere, Launch)
    assert [share.node for share in anywhere.allocation.shares] == ["t"]
    assert isinstance(others, Launch)  # bob has no such limit
    waits = plan.of("b")
    assert isinstance(waits, Wait)
    assert waits.explanations[0].reason is Reason.QUOTA_GPUS_OF_TYPE
    assert waits.explanations[0].sentence == (
        "Insufficient quota: alice uses 2 of its 2 GPUs of type a100; 1 more would exceed the quota. "
        "An admin of the platform can raise it."
    )


def test_the_tightest_limit_of_the_job_s_best_type_is_named_where_it_can_never_start() -> None:
    case = two_types(gpus_by_type=(("a100", 3), ("t4", 0))).quota("p", parent="alice", gpus_by_type=(("a100", 1),))
    plan = case.waiting(job("a", gpus=2, tenant="p"), job("b", gpus=2, tenant="q")).decide("fifo")
    assert isinstance(plan.of("b"), Launch)
    why = plan.of("a").explanations[0]
    assert why.reason is Reason.LARGER_THAN_QUOTA_OF_TYPE
    assert (why.facts["tenant"], why.facts["have"], why.facts["above"]) == ("p", 1, "alice")


def test_what_is_above_a_lowered_limit_leaves_or_moves_to_another_type() -> None:
    case = two_types(gpus_by_type=(("a100", 1),)).running(
        job("a", gpus=1, tenant="p", gpu_types=A100), job("b", gpus=1, tenant="p", gpu_types=A100)
    )
    left = [decision for decision in case.decide("fifo").decisions if isinstance(decision, Preempt)]
    assert len(left) == 1
    assert left[0].explanations[0].sentence == "Over quota: alice uses 2 GPUs of type a100 and may use 1."


def test_a_guarantee_gives_no_more_of_a_type_than_the_limit() -> None:
    case = two_types(guarantee=8, gpus_by_type=(("a100", 2),)).running(job("x", gpus=4, tenant="bob", gpu_types=A100))
    plan = case.waiting(
        job("a", gpus=2, tenant="p", at=1, gpu_types=A100), job("b", gpus=2, tenant="q", at=2, gpu_types=A100)
    ).decide("fifo")
    assert isinstance(plan.of("x"), Preempt)  # it borrowed what the first job is guaranteed
    assert plan.of("a").explanations[0].reason is Reason.WAITS_FOR_PREEMPTION
    assert plan.of("b").explanations[0].reason is Reason.QUOTA_GPUS_OF_TYPE


def test_a_user_s_limit_of_the_type_is_named_before_the_tenant_s() -> None:
    limits = {"gpus_by_type": (("a100", 2),), "user_limits": (UserLimit("ann", gpus_by_type=(("a100", 1),)),)}
    case = two_types(**limits).running(job("a", gpus=1, tenant="p", user="ann"))
    waiting = [job(name, gpus=1, tenant="p", user=user, gpu_types=A100) for name, user in (("b", "ann"), ("c", "ben"))]
    plan = case.waiting(*waiting, job("d", gpus=1, tenant="p", user="ben", gpu_types=A100)).decide("fifo")
    assert plan.of("b").explanations[0].reason is Reason.USER_QUOTA_GPUS
    assert isinstance(plan.of("c"), Launch)
    assert plan.of("d").explanations[0].reason is Reason.QUOTA_GPUS_OF_TYPE


def test_what_a_tenant_lacks_of_a_type_is_named_among_the_blockers() -> None:
    case = two_types(gpus_by_type=(("a100", 2),)).running(job("a", gpus=2, tenant="p"))
    waiting = job("b", gpus=1, tenant="q", gpu_types=A100)
    case = case.waiting(waiting)
    first = blockers_of(case.snapshot, waiting, need=1, memory=case.memory)[0]
    assert (first.kind, first.tenant, first.have, first.total) == (BlockerKind.QUOTA_GPUS, "alice", 0, 2)
    assert first.gpu_types == A100


def test_a_cluster_file_and_a_record_have_limits_of_types() -> None:
    rows = [{"name": "vision", "gpus_by_type": {"A100": 2}}]
    assert tenants_from_list(rows, name="cluster.yaml", n_gpus=4)[0].gpus_by_type == (("A100", 2),)
    snapshot = two_types(gpus_by_type=(("a100", 2),)).snapshot
    assert snapshot_from_json(json.loads(json.dumps(snapshot_to_json(snapshot)))) == snapshot


@pytest.mark.parametrize(("value", "message"), [(3, "gpus_by_type 3; give a number"), ({"A100": -1}, "whole number")])
def test_a_bad_limit_of_a_cluster_file_is_refused_by_name(value: object, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        tenants_from_list([{"name": "vision", "gpus_by_type": value}], name="cluster.yaml", n_gpus=4)


def test_a_limit_that_is_no_number_is_refused_with_its_tenant() -> None:
    with pytest.raises(ValueError, match="tenant 'alice' has gpus_by_type 'a100' -1"):
        two_types(gpus_by_type=(("a100", -1),)).decide("fifo")


@st.composite
def limited(draw: st.DrawFn) -> Case:
    """Any case, with limits of types at some tenants; what is held already may be above them."""
    case, types = draw(cases()), st.sampled_from(["v100", "k80"])
    limits = st.dictionaries(types, st.integers(0, 4), max_size=2)
    return replace(case, tenants=tuple(replace(t, gpus_by_type=tuple(draw(limits).items())) for t in case.tenants))


@pytest.mark.slow
@quick
@given(limited(), policies)
def test_under_every_policy_no_tenant_has_more_of_a_type_than_its_limit(case: Case, policy: str) -> None:
    for before, plan in rounds(case, policy, 4):
        nodes = {node.name: node for node in before.nodes}
        for tenant in before.tenants:
            below = _below(before, tenant.id)
            for gpu_type, most in tenant.gpus_by_type:
                held = sum(_of_type(one, plan, gpu_type, nodes) for one in before.jobs if one.tenant in below)
                was = sum(_held_of_type(one, gpu_type, nodes) for one in before.jobs if one.tenant in below)
                assert held <= max(most, was)


def _below(case: Case, tenant_id: str) -> set[str]:
    found = {tenant_id}
    for _ in case.tenants:
        found |= {one.id for one in case.tenants if one.parent in found}
    return found


def _of_type(one: JobSnapshot, plan, gpu_type: str, nodes: dict[str, NodeSnapshot]) -> int:
    """The most that it holds while the plan is carried out: a resized job leaves before it is launched anew."""
    decision, was = plan.of(one.id), _held_of_type(one, gpu_type, nodes)
    if not isinstance(decision, Launch | Resize):
        return was
    return max(was, _count(decision.allocation.shares, gpu_type, nodes))


def _held_of_type(one: JobSnapshot, gpu_type: str, nodes: dict[str, NodeSnapshot]) -> int:
    return _count(one.held.shares, gpu_type, nodes) if one.held is not None else 0


def _count(shares, gpu_type: str, nodes: dict[str, NodeSnapshot]) -> int:
    return sum(len(share.gpus) for share in shares if nodes[share.node].gpu_type == gpu_type)
