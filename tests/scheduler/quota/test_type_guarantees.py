# SPDX-License-Identifier: Apache-2.0
"""Guarantees of single GPU types: on the books, in rounds under every policy, in files."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler import Keep, Launch, Plan, Preempt, Reason, Resize, Wait
from scheduler.api.records import snapshot_from_json, snapshot_to_json
from scheduler.api.snapshot import JobSnapshot, Reclaim
from scheduler.api.snapshot import TenantSnapshot as T
from scheduler.quota.ledger import Ledger
from scheduler.simulator.traces.tenants import tenants_from_list
from scheduler.simulator.traces.trace import BadInput
from tests.scheduler.cases import Case, cluster, job
from tests.scheduler.invariants import restless, rounds
from tests.scheduler.test_properties import cases, policies, quick

A100, T4 = ("a100",), ("t4",)
FOUR = (("a100", 4),)


def ledger(*tenants: T, a100: int = 4, t4: int = 8) -> Ledger:
    return Ledger(tenants, n_gpus=a100 + t4, n_by_type={"a100": a100, "t4": t4})


def most(books: Ledger, tenant: str, gpu_type: str) -> int:
    """The largest gang that the tenant may take."""
    return max((n for n in range(1, 20) if books.allows(tenant, gpus=n, gpu_type=gpu_type)), default=0)


VECTORS = [
    ("V1: all that the other leaves idle", ledger(T("a", guarantee_by_type=FOUR), T("b")), "b", "a100", 4),
    ("of another type all is borrowed", ledger(T("a", guarantee_by_type=FOUR)), "a", "t4", 12),
    (
        "V5: a parent's guarantee of the type serves a child, whatever it may borrow",
        ledger(T("org", guarantee_by_type=FOUR, borrow_limit=0), T("p", parent="org"), T("b", guarantee=8)),
        "p", "a100", 4,
    ),
    (
        "a guarantee of the type is no guarantee of another one",
        ledger(T("a", guarantee_by_type=FOUR, borrow_limit=0)), "a", "t4", 0,
    ),
    (
        "V2: the rest of a guarantee of any type, above that of the type",
        ledger(T("a", guarantee=6, guarantee_by_type=FOUR, borrow_limit=0), a100=8), "a", "a100", 6,
    ),
    (
        "V3: another's guarantee of any type that is not lent is no bar to a guarantee of the type",
        ledger(T("a", guarantee_by_type=FOUR), T("b", guarantee=12, lend_limit=0)), "a", "a100", 4,
    ),
    ("a hard limit counts before all else", ledger(T("a", guarantee_by_type=FOUR, max_gpus=3)), "a", "a100", 3),
]  # fmt: skip


@pytest.mark.parametrize(("books", "tenant", "gpu_type", "n"), [v[1:] for v in VECTORS], ids=[v[0] for v in VECTORS])
def test_what_a_tenant_may_take_of_a_type(books: Ledger, tenant: str, gpu_type: str, n: int) -> None:
    assert most(books, tenant, gpu_type) == n


def test_use_of_another_type_takes_nothing_from_a_guarantee_of_the_type() -> None:
    books = ledger(T("a", guarantee=6, guarantee_by_type=FOUR, borrow_limit=0), T("b", guarantee=6))
    books.reserve("a", gpus=2, gpu_type="t4")
    assert most(books, "a", "t4") == 0
    assert most(books, "a", "a100") == 4
    books.reserve("a", gpus=4, gpu_type="a100")
    refused = books.refusal("a", gpus=1, gpu_type="t4")
    assert refused is not None
    assert refused.reason is Reason.BORROW_LIMIT
    books.release("a", gpus=4, gpu_type="a100")
    books.release("a", gpus=2, gpu_type="t4")
    assert (most(books, "a", "t4"), most(books, "a", "a100")) == (2, 4)


def test_what_others_use_of_a_guaranteed_type_is_lent_and_borrowed_in_equal_numbers() -> None:
    books = ledger(T("a", guarantee_by_type=FOUR), T("b"), T("c", guarantee=3))
    books.reserve("a", gpus=1, gpu_type="a100")
    books.reserve("b", gpus=2, gpu_type="a100")
    assert books.borrowing is not None
    of_type = books.borrowing.accounts_by_type()["a100"]
    assert (of_type["a"].used, of_type["a"].lent, of_type["b"].borrowed) == (1, 2, 2)
    assert books.borrowing.accounts()["a"].lent == 2
    refused = books.refusal("a", gpus=3, gpu_type="a100")
    assert refused is not None
    assert refused.reason is Reason.GUARANTEE_OF_TYPE_BORROWED


def two_types(**rules: object) -> Case:
    """Four GPUs of each type; alice is guaranteed what is given, bob and charlie are guaranteed nothing."""
    case = cluster(nodes=1, gpus=4, gpu_type="a100")
    case = replace(case, nodes=(*case.nodes, replace(case.nodes[0], name="t", gpu_type="t4")))
    return case.quota("alice", **rules)


def test_borrowers_of_the_type_give_back_what_a_job_within_the_guarantee_needs() -> None:
    case = two_types(guarantee_by_type=(("a100", 2),)).running(
        job("x", gpus=2, tenant="bob", gpu_types=A100, priority=1), job("y", gpus=2, tenant="bob", gpu_types=A100)
    )
    case = case.running(job("z", gpus=2, tenant="bob"))
    case = case.waiting(job("a", gpus=2, gpu_types=A100))
    plan = case.decide("fifo")
    assert isinstance(plan.of("x"), Keep)
    assert isinstance(plan.of("z"), Keep)
    left = plan.of("y")
    assert isinstance(left, Preempt)
    assert left.explanations[0].sentence == (
        "Reclaimed: bob uses 4 GPUs of type a100 and is guaranteed 0; it borrowed the rest, which tenants below their "
        "guarantees of that type need."
    )
    stopping = case.after(plan)
    assert isinstance(stopping.after(stopping.decide("fifo")).decide("fifo").of("a"), Launch)


def test_a_job_that_may_use_another_type_takes_free_gpus_and_stops_no_one() -> None:
    case = two_types(guarantee_by_type=FOUR).running(job("x", gpus=4, tenant="bob", gpu_types=A100))
    plan = case.waiting(job("big", gpus=8, tenant="charlie"), job("a", gpus=2, at=5)).decide("fifo")
    assert isinstance(plan.of("x"), Keep)
    launched = plan.of("a")
    assert isinstance(launched, Launch)
    assert [share.node for share in launched.allocation.shares] == ["t"]


def test_a_guarantee_of_the_type_comes_before_one_of_any_type() -> None:
    case = two_types(guarantee_by_type=FOUR).quota("bob", guarantee=4).running(job("x", gpus=4, tenant="bob"))
    case = case.waiting(job("a", gpus=4, gpu_types=A100))
    plan = case.decide("fifo")
    assert isinstance(plan.of("x"), Preempt)
    case = case.after(plan)
    case = case.after(case.decide("fifo"))
    plan = case.decide("fifo")
    assert isinstance(plan.of("a"), Launch)
    launched = plan.of("x")  # what bob is guaranteed are four GPUs of any type
    assert isinstance(launched, Launch)
    assert [share.node for share in launched.allocation.shares] == ["t"]
    settled = case.after(plan)
    assert all(isinstance(decision, Keep) for decision in settled.decide("fifo").decisions)


def test_no_guarantee_of_any_type_takes_gpus_back_that_run_within_one_of_the_type() -> None:
    case = two_types(guarantee_by_type=FOUR).quota("bob", guarantee=4)
    case = case.running(job("a", gpus=4, gpu_types=A100), job("t", gpus=4))
    plan = case.waiting(job("x", gpus=4, tenant="bob")).decide("fifo")
    assert isinstance(plan.of("a"), Keep)
    assert isinstance(plan.of("t"), Preempt)
    waiting = case.waiting(job("x", gpus=4, tenant="bob", gpu_types=A100)).decide("fifo")
    assert isinstance(waiting.of("a"), Keep)


def test_a_gang_above_the_guarantee_of_its_type_takes_back_its_part_by_type_and_the_rest_by_number() -> None:
    case = two_types(guarantee=4, guarantee_by_type=(("a100", 2),)).quota("bob", guarantee=2)
    case = case.running(job("b", gpus=2, tenant="bob", gpu_types=A100, priority=1))
    case = case.running(job("c", gpus=2, tenant="charlie", gpu_types=A100))
    case = case.waiting(job("gang", gpus=4, gpu_types=A100))
    plan = case.decide("fifo")
    taken = [plan.of(name) for name in ("b", "c")]
    assert [one.explanations[0].reason for one in taken if isinstance(one, Preempt)] == [
        Reason.RECLAIMED_OF_TYPE,
        Reason.RECLAIMED,
    ]
    stopping = case.after(plan)
    freed = stopping.after(stopping.decide("fifo"))
    started = freed.decide("fifo")
    assert isinstance(started.of("gang"), Launch)
    again = started.of("b")  # what bob is guaranteed are two GPUs of any type, and this job wants A100
    assert isinstance(again, Wait)
    assert all(isinstance(one, Keep | Wait) for one in freed.after(started).decide("fifo").decisions)


@pytest.mark.parametrize("n_held", [2, 3])
def test_a_gang_takes_no_more_back_by_type_than_is_guaranteed_and_not_free(n_held: int) -> None:
    case = two_types(guarantee=4, guarantee_by_type=(("a100", 2),)).quota("bob", guarantee=4)
    held = [job(f"b{i}", gpus=1, tenant="bob", gpu_types=A100) for i in range(n_held)]
    plan = case.running(*held).waiting(job("gang", gpus=4, gpu_types=A100)).decide("fifo")
    assert all(isinstance(plan.of(one.id), Keep) for one in held)  # by number bob borrows nothing
    assert isinstance(plan.of("gang"), Wait)


def test_two_gangs_above_the_guarantee_of_their_type_do_not_take_from_each_other_in_turn() -> None:
    case = two_types(guarantee=4, guarantee_by_type=(("a100", 2),))
    case = case.quota("bob", guarantee=4, guarantee_by_type=(("a100", 2),))
    case = case.running(job("first", gpus=4, gpu_types=A100)).waiting(
        job("second", gpus=4, tenant="bob", gpu_types=A100)
    )
    plan = case.decide("fifo")
    assert isinstance(plan.of("first"), Keep)
    assert isinstance(plan.of("second"), Wait)
    within = case.waiting(job("third", gpus=2, tenant="bob", gpu_types=A100)).decide("fifo")
    assert isinstance(
        within.of("first"), Preempt
    )  # a job within the guarantee of its type comes before a gang above it


def test_an_owner_that_takes_nothing_back_waits_and_no_one_borrows_the_type_anew() -> None:
    case = two_types(guarantee_by_type=FOUR, reclaim=Reclaim.NEVER)
    case = case.running(job("x", gpus=3, tenant="bob", gpu_types=A100))
    case = case.waiting(job("y", gpus=1, tenant="bob", gpu_types=A100), job("a", gpus=4, at=9, gpu_types=A100))
    plan = case.decide("backfill")
    assert isinstance(plan.of("x"), Keep)
    assert plan.of("a").explanations[0].sentence == (
        "Pending: 4 GPUs of type a100 are guaranteed to alice, but other tenants have borrowed them; they return when "
        "jobs of these tenants end."
    )
    new = plan.of("y")
    assert isinstance(new, Wait)
    assert new.explanations[0].reason is not Reason.BEHIND_OTHERS


def test_a_cluster_file_and_a_record_have_guarantees_of_types() -> None:
    rows = [{"name": "vision", "guarantee_by_type": {"A100": 2}}]
    assert tenants_from_list(rows, name="cluster.yaml", n_gpus=4)[0].guarantee_by_type == (("A100", 2),)
    snapshot = two_types(guarantee_by_type=FOUR).snapshot
    assert snapshot_from_json(json.loads(json.dumps(snapshot_to_json(snapshot)))) == snapshot


@pytest.mark.parametrize(
    ("value", "message"), [(3, "guarantee_by_type 3; give a number"), ({"A100": -1}, "guarantee_by_type -1")]
)
def test_a_bad_guarantee_of_a_cluster_file_is_refused_by_name(value: object, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        tenants_from_list([{"name": "vision", "guarantee_by_type": value}], name="cluster.yaml", n_gpus=4)


def test_a_guarantee_that_is_no_number_is_refused_with_its_tenant() -> None:
    with pytest.raises(ValueError, match="tenant 'alice' has guarantee_by_type 'a100' -1"):
        two_types(guarantee_by_type=(("a100", -1),)).decide("fifo")


@st.composite
def guaranteed(draw: st.DrawFn) -> Case:
    """Any case in which tenants at the top are guaranteed no more of a type than there is."""
    case = draw(cases())
    left = dict(case.snapshot.n_by_type)
    tenants = []
    for tenant in case.tenants:
        by_type = {t: draw(st.integers(0, n)) for t, n in left.items()} if tenant.parent is None else {}
        left = {t: n - by_type.get(t, 0) for t, n in left.items()}
        tenants.append(replace(tenant, guarantee_by_type=tuple(by_type.items())))
    return replace(case, tenants=tuple(tenants))


@st.composite
def lent(draw: st.DrawFn) -> tuple[Case, int]:
    """bob's jobs may hold all GPUs; a job of alice's waits for GPUs of the type of which she is guaranteed as many."""
    n = draw(st.integers(1, 4))
    rules = {
        "guarantee": draw(st.sampled_from([None, n])),
        "borrow_limit": draw(st.sampled_from([None, 0, 3])),
        "lend_limit": draw(st.sampled_from([None, 0])),
    }
    case = two_types(guarantee_by_type=(("a100", n),), **rules)
    case = case.quota("bob", guarantee=draw(st.sampled_from([None, 4])), lend_limit=draw(st.sampled_from([None, 0, 2])))
    sizes = draw(st.lists(st.integers(1, 3), max_size=4))
    for i, size in enumerate(sizes):
        if sum(sizes[: i + 1]) <= 8:
            tenant, types = draw(st.sampled_from([("bob", ()), ("bob", ()), ("charlie", ()), ("alice", T4)]))
            one = job(f"r{i}", gpus=size, tenant=tenant, gpu_types=types, length_s=5000.0)
            place = case.first_free(size)
            if tenant != "alice" or all(share.node == "t" for share in place.shares):
                case = case.running(one) if len(place.shares) == 1 else case
    case = case.waiting(*(job(f"w{i}", gpus=2, tenant="bob", at=i) for i in range(draw(st.integers(0, 2)))))
    return case.waiting(job("own", gpus=n, at=900.0, gpu_types=A100, length_s=5000.0)), n


@pytest.mark.slow
@quick
@given(lent(), policies.filter(lambda policy: policy != "antman"))  # which chooses GPUs of its own, of any type
def test_a_job_within_the_guarantee_of_a_type_gets_its_gpus_at_once_under_every_policy(
    given_case: tuple[Case, int], policy: str
) -> None:
    case, n = given_case
    story = rounds(case, policy, 4)
    after, _ = story[-1]
    own = next(one for one in after.jobs if one.id == "own")
    assert own.held is not None
    assert own.held.n_workers == n


@st.composite
def in_two_parts(draw: st.DrawFn) -> Case:
    """A100 are held, some within bob's guarantee of any type; alice is guaranteed a part of her gang by type."""
    n_typed = draw(st.integers(1, 3))
    case = two_types(guarantee=4, guarantee_by_type=(("a100", n_typed),), borrow_limit=draw(st.sampled_from([None, 0])))
    case = case.quota("bob", guarantee=draw(st.integers(n_typed, 4)), lend_limit=draw(st.sampled_from([None, 0])))
    holders = draw(st.permutations(["bob"] * n_typed + ["charlie"] * (4 - n_typed)))
    for i, tenant in enumerate(holders):
        one = job(f"r{i}", gpus=1, tenant=tenant, length_s=5000.0, priority=draw(st.integers(0, 1)))
        case = case.running(replace(one, gpu_types=draw(st.sampled_from([A100, ()]))))
    return case.waiting(job("gang", gpus=4, at=900.0, gpu_types=A100, length_s=5000.0))


@pytest.mark.slow
@quick
@given(in_two_parts(), policies.filter(lambda policy: policy != "antman"))  # which chooses GPUs of its own, of any type
def test_a_gang_gets_its_part_by_type_and_the_rest_in_number_under_every_policy(case: Case, policy: str) -> None:
    story = rounds(case, policy, 8)
    gang = next(one for one in story[-1][0].jobs if one.id == "gang")
    assert gang.held is not None
    assert gang.held.n_workers == 4
    assert gang.held == next(one for one in story[5][0].jobs if one.id == "gang").held  # and keeps them


@st.composite
def gangs(draw: st.DrawFn) -> Case:
    """Tenants that are guaranteed GPUs of a type and of any type, with gangs above the first."""
    case = two_types(guarantee=draw(st.integers(2, 4)), guarantee_by_type=(("a100", draw(st.integers(1, 2))),))
    typed = draw(st.integers(0, 2))
    case = case.quota(
        "bob",
        guarantee=max(typed, draw(st.integers(0, 4))),
        guarantee_by_type=(("a100", typed),),
        reclaim=draw(st.sampled_from(list(Reclaim))),
    )
    for i in range(draw(st.integers(0, 5))):
        tenant, types = draw(st.sampled_from(["alice", "bob", "charlie"])), draw(st.sampled_from([(), A100, T4]))
        one = job(
            f"r{i}", gpus=draw(st.integers(1, 4)), tenant=tenant, gpu_types=types, priority=draw(st.integers(0, 1))
        )
        case = case.waiting(replace(one, max_workers=one.min_workers + draw(st.integers(0, 1))))
    for _ in range(draw(st.integers(0, 2))):
        case = case.after(case.decide("backfill"), seconds=30.0)
    return case.waiting(job("gang", gpus=draw(st.integers(2, 4)), gpu_types=A100, at=900.0))


@pytest.mark.slow
@quick
@given(gangs(), policies)
def test_under_every_policy_gangs_above_the_guarantee_of_their_type_come_to_rest(case: Case, policy: str) -> None:
    assert restless(case, policy) == []


@pytest.mark.slow
@quick
@given(guaranteed(), policies)
def test_under_every_policy_no_one_starts_on_gpus_of_a_type_for_which_an_owner_waits(case: Case, policy: str) -> None:
    for before, plan in rounds(case, policy, 4):
        nodes = {node.name: node.gpu_type for node in before.nodes}
        for tenant in before.tenants:
            below = _below(before, tenant.id)
            for gpu_type, n in tenant.guarantee_by_type:
                held = sum(_held(one, gpu_type, nodes) for one in before.jobs if one.tenant in below)
                if not any(
                    _waits_for_lent(one, plan, gpu_type, n - held) for one in before.jobs if one.tenant in below
                ):
                    continue
                for other in before.jobs:
                    if other.tenant not in below:
                        assert _taken(other, plan, gpu_type, nodes) <= _held(other, gpu_type, nodes)


@pytest.mark.slow
@quick
@given(guaranteed(), policies)
def test_under_every_policy_a_quiet_cluster_comes_to_rest(case: Case, policy: str) -> None:
    assert restless(case, policy) == []


@pytest.mark.slow
@quick
@given(cases(), policies)
def test_a_guarantee_of_no_gpus_of_a_type_changes_no_plan(case: Case, policy: str) -> None:
    none = replace(case, tenants=tuple(replace(t, guarantee_by_type=(("v100", 0),)) for t in case.tenants))
    for (_, plan), (_, same) in zip(rounds(case, policy, 3), rounds(none, policy, 3), strict=True):
        assert plan.decisions == same.decisions


def _waits_for_lent(one: JobSnapshot, plan: Plan, gpu_type: str, left: int) -> bool:
    decision = plan.of(one.id)
    if not isinstance(decision, Wait) or one.gpu_types != (gpu_type,) or one.min_workers > left:
        return False
    return decision.explanations[0].reason is Reason.GUARANTEE_OF_TYPE_BORROWED


def _below(case: Case, tenant_id: str) -> set[str]:
    found = {tenant_id}
    for _ in case.tenants:
        found |= {one.id for one in case.tenants if one.parent in found}
    return found


def _held(one: JobSnapshot, gpu_type: str, nodes: dict[str, str]) -> int:
    shares = one.held.shares if one.held is not None else ()
    return sum(len(share.gpus) for share in shares if nodes.get(share.node) == gpu_type)


def _taken(one: JobSnapshot, plan: Plan, gpu_type: str, nodes: dict[str, str]) -> int:
    decision = plan.of(one.id)
    if not isinstance(decision, Launch | Resize):
        return 0
    return sum(len(share.gpus) for share in decision.allocation.shares if nodes[share.node] == gpu_type)
