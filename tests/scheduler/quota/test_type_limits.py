# SPDX-License-Identifier: Apache-2.0
"""Limits of borrowing and lending of single GPU types: on the books, in rounds under every policy, in files."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler import Keep, Launch, Plan, Preempt, Reason, Resize, Wait
from scheduler.api.records import snapshot_from_json, snapshot_to_json
from scheduler.api.snapshot import JobSnapshot
from scheduler.api.snapshot import TenantSnapshot as T
from scheduler.quota.ledger import Ledger
from scheduler.simulator.traces.tenants import tenants_from_list
from scheduler.simulator.traces.trace import BadInput
from tests.scheduler.cases import Case, job
from tests.scheduler.invariants import restless, rounds
from tests.scheduler.quota.test_type_guarantees import A100, FOUR, T4, ledger, lent, most, two_types
from tests.scheduler.test_properties import cases, policies, quick

ONE, TWO, NONE_LENT = (("a100", 1),), (("a100", 2),), (("a100", 0),)
LONG_S = 5000.0

VECTORS = [
    (
        "V2: no more than its borrow limit above its guarantee of the type",
        ledger(T("a", guarantee_by_type=TWO, borrow_limit_by_type=ONE), T("b")), "a", "a100", 3,
    ),
    (
        "V3: no more than the other lends of the type",
        ledger(T("a", guarantee_by_type=FOUR, lend_limit_by_type=ONE), T("b")), "b", "a100", 1,
    ),
    (
        "of another type nothing is limited",
        ledger(T("a", guarantee_by_type=FOUR, lend_limit_by_type=ONE), T("b", borrow_limit_by_type=ONE)), "b", "t4", 12,
    ),
    (
        "the other way round nothing is limited",
        ledger(T("a", guarantee_by_type=FOUR, lend_limit_by_type=ONE)), "a", "a100", 4,
    ),
    (
        "of a type that no one is guaranteed so many may be borrowed",
        ledger(T("a", borrow_limit_by_type=ONE)), "a", "a100", 1,
    ),
    (
        "through a parent's limit, too",
        ledger(T("org", guarantee_by_type=TWO, borrow_limit_by_type=ONE), T("p", parent="org")), "p", "a100", 3,
    ),
    (
        "a parent's guarantee serves a child no further than the child may borrow",
        ledger(T("org", guarantee_by_type=FOUR), T("p", parent="org", borrow_limit_by_type=ONE)), "p", "a100", 1,
    ),
    (
        "a parent lends outside what its own limit leaves, whatever its child lends",
        ledger(T("org", lend_limit_by_type=ONE), T("p", parent="org", guarantee_by_type=FOUR), T("b")), "b", "a100", 1,
    ),
    (
        "the limit of any type counts besides for what no guarantee of the type covers",
        ledger(T("a", guarantee_by_type=TWO, borrow_limit_by_type=TWO, borrow_limit=1)), "a", "a100", 3,
    ),
    (
        "a guarantee of any type gives no more of the type than may be borrowed of it",
        ledger(T("a", guarantee=6, guarantee_by_type=TWO, borrow_limit_by_type=ONE)), "a", "a100", 3,
    ),
    (
        "nor what another keeps of the type",
        ledger(T("a", guarantee_by_type=FOUR, lend_limit_by_type=ONE), T("b", guarantee=8)), "b", "a100", 1,
    ),
]  # fmt: skip


@pytest.mark.parametrize(("books", "tenant", "gpu_type", "n"), [v[1:] for v in VECTORS], ids=[v[0] for v in VECTORS])
def test_what_a_tenant_may_take_of_a_limited_type(books: Ledger, tenant: str, gpu_type: str, n: int) -> None:
    assert most(books, tenant, gpu_type) == n
    assert books.never(tenant, gpus=n, gpu_types=(gpu_type,)) is None


def test_what_limits_of_a_type_never_allow_names_whose_limit_it_is() -> None:
    books = ledger(T("org", borrow_limit_by_type=ONE), T("p", parent="org", guarantee_by_type=TWO))
    never = books.never("p", gpus=4, gpu_types=A100)
    assert never is not None
    assert never.sentence == (
        "Pending: it requests 4 GPUs of one type out of a100, but the quota of org never allows more than 3. An admin "
        "of the platform can raise it."
    )
    assert books.never("p", gpus=4, gpu_types=("a100", "t4")) is None


def test_a_refusal_names_the_limit_whose_it_is_how_much_is_used_and_who_raises_it() -> None:
    books = ledger(
        T("org"), T("team", parent="org", guarantee_by_type=TWO, borrow_limit_by_type=ONE),
        T("p", parent="team"),
    )  # fmt: skip
    books.reserve("p", gpus=3, gpu_type="a100")
    refused = books.refusal("p", gpus=1, gpu_type="a100")
    assert refused is not None
    assert refused.sentence == (
        "Borrowing limit reached: team uses 3 GPUs of type a100, is guaranteed 2 and may borrow 1 of that type; 1 more "
        "would exceed that. An admin of org can raise the limit."
    )
    assert books.refusal("p", gpus=1, gpu_type="t4") is None


def test_what_is_not_lent_is_counted_and_no_one_is_named() -> None:
    books = ledger(T("a", guarantee_by_type=FOUR, lend_limit_by_type=ONE), T("b"))
    refused = books.refusal("b", gpus=2, gpu_type="a100")
    assert refused is not None
    assert refused.sentence == (
        "Insufficient quota: b uses 0 GPUs of type a100 and is guaranteed 0; the job needs 2 more, and 1 can be "
        "borrowed now: lending limits keep 3 GPUs of that type idle for those to whom they are guaranteed. An admin of "
        "the platform can raise the guarantee."
    )
    books.reserve("a", gpus=3, gpu_type="a100")
    later = books.refusal("b", gpus=2, gpu_type="a100")
    assert later is not None
    assert later.reason is Reason.NOTHING_TO_BORROW_OF_TYPE  # what was kept is in use now


def test_a_job_waits_for_the_limit_and_a_job_that_may_use_another_type_starts_there() -> None:
    case = two_types(borrow_limit_by_type=ONE).running(job("r", gpus=1, gpu_types=A100))
    plan = case.waiting(job("a", gpus=1, gpu_types=A100), job("any", gpus=2, at=1.0)).decide("fifo")
    waits, launched = plan.of("a"), plan.of("any")
    assert isinstance(waits, Wait)
    assert waits.explanations[0].reason is Reason.BORROW_LIMIT_OF_TYPE
    assert isinstance(launched, Launch)
    assert [share.node for share in launched.allocation.shares] == ["t"]


def test_jobs_above_a_limit_that_was_lowered_save_a_checkpoint_and_wait_and_others_keep_their_gpus() -> None:
    case = two_types(borrow_limit_by_type=TWO)
    case = case.running(job("x", gpus=2, gpu_types=A100, priority=1), job("y", gpus=2, gpu_types=A100))
    plan = case.decide("fifo")
    left = plan.of("y")
    assert isinstance(plan.of("x"), Keep)
    assert isinstance(left, Preempt)
    assert left.explanations[0].reason is Reason.BORROW_LIMIT_OF_TYPE
    again = case.after(plan)
    assert isinstance(again.after(again.decide("fifo")).decide("fifo").of("y"), Wait)


def test_borrowers_of_what_is_not_lent_any_more_leave() -> None:
    case = two_types(guarantee_by_type=FOUR, lend_limit_by_type=NONE_LENT)
    plan = case.running(job("x", gpus=2, tenant="bob", gpu_types=A100)).decide("fifo")
    left = plan.of("x")
    assert isinstance(left, Preempt)
    assert left.explanations[0].reason is Reason.NOT_LENT_OF_TYPE


def test_no_one_waits_for_gpus_that_limits_of_the_type_keep_from_a_claim_of_any_type() -> None:
    """bob's guarantee of any type is no right to A100 that alice does not lend: charlie may borrow meanwhile."""
    case = two_types(guarantee_by_type=FOUR, lend_limit_by_type=NONE_LENT).quota("bob", guarantee=4)
    case = case.running(job("c", gpus=4, tenant="charlie", gpu_types=T4, length_s=LONG_S))
    assert [share.node for share in case.jobs[0].allocation.shares] == ["n0"]  # type: ignore[union-attr]
    case = replace(case, jobs=(replace(case.jobs[0], allocation=_on_t(case)),))
    case = case.waiting(job("b", gpus=4, tenant="bob", gpu_types=A100))
    plan = case.decide("fifo")
    assert isinstance(plan.of("c"), Keep)  # no one is stopped for what would not come free by that
    waits = plan.of("b")
    assert isinstance(waits, Wait)
    assert waits.explanations[0].reason is Reason.LARGER_THAN_QUOTA_OF_TYPE


def _on_t(case: Case) -> Any:
    held = case.jobs[0].allocation
    assert held is not None
    return replace(held, shares=(replace(held.shares[0], node="t"),))


@pytest.mark.parametrize("rule", ["borrow_limit_by_type", "lend_limit_by_type"])
def test_cluster_files_records_and_checks_know_the_limits(rule: str) -> None:
    rows = [{"name": "vision", rule: {"A100": 2}}]
    assert getattr(tenants_from_list(rows, name="cluster.yaml", n_gpus=4)[0], rule) == (("A100", 2),)
    with pytest.raises(BadInput, match=f"{rule} -1"):
        tenants_from_list([{"name": "vision", rule: {"A100": -1}}], name="cluster.yaml", n_gpus=4)
    snapshot = two_types(**{rule: ONE}).snapshot
    assert snapshot_from_json(json.loads(json.dumps(snapshot_to_json(snapshot)))) == snapshot
    with pytest.raises(ValueError, match=f"tenant 'alice' has {rule} 'a100' -1"):
        two_types(**{rule: (("a100", -1),)}).decide("fifo")


@st.composite
def limited(draw: st.DrawFn) -> Case:
    """Any case without shared GPUs, in which tenants are guaranteed GPUs of types, and borrow and lend these within
    limits.
    """
    case = draw(cases())
    case = replace(case, nodes=tuple(replace(node, max_jobs_per_gpu=1) for node in case.nodes))
    types = sorted(case.snapshot.n_by_type)
    limit = st.sampled_from([None, None, 0, 1, 2])
    tenants = []
    for tenant in case.tenants:
        rules: dict[str, dict[str, int | None]] = {
            "guarantee_by_type": draw(st.fixed_dictionaries({t: st.sampled_from([0, 0, 1, 2]) for t in types})),
            "borrow_limit_by_type": draw(st.fixed_dictionaries(dict.fromkeys(types, limit))),
            "lend_limit_by_type": draw(st.fixed_dictionaries(dict.fromkeys(types, limit))),
        }
        by_type: dict[str, Any] = {
            name: tuple((t, n) for t, n in rule.items() if n is not None) for name, rule in rules.items()
        }
        tenants.append(replace(tenant, **by_type))
    return replace(case, tenants=tuple(tenants))


@pytest.mark.slow
@quick
@given(limited(), policies)
def test_under_every_policy_no_tenant_holds_more_of_a_type_than_its_guarantee_and_its_limit(
    case: Case, policy: str
) -> None:
    for before, plan in rounds(case, policy, 4):
        held = {one.id: _most_of_types(one, plan, before) for one in before.jobs}
        for tenant in before.tenants:
            below = _below(before, tenant.id)
            for gpu_type, limit in tenant.borrow_limit_by_type:
                used = sum(held[one.id][gpu_type] for one in before.jobs if one.tenant in below)
                assert used <= _guarantee(before, tenant.id, gpu_type) + limit


@pytest.mark.slow
@quick
@given(limited(), policies)
def test_under_every_policy_others_use_no_more_than_a_tenant_lends(case: Case, policy: str) -> None:
    for before, plan in rounds(case, policy, 4):
        held = {one.id: _most_of_types(one, plan, before) for one in before.jobs}
        for tenant in before.tenants:
            below = _below(before, tenant.id)
            for gpu_type, limit in tenant.lend_limit_by_type if len(below) == 1 else ():
                kept = max(0, _guarantee(before, tenant.id, gpu_type) - limit)
                used = sum(held[one.id][gpu_type] for one in before.jobs if one.tenant not in below)
                assert used <= max(0, before.snapshot.n_by_type.get(gpu_type, 0) - kept)


@st.composite
def lent_within_limits(draw: st.DrawFn) -> tuple[Case, int]:
    """As lent(), with any limits of the type for all."""
    case, n = draw(lent())
    limits = st.sampled_from([(), NONE_LENT, ONE, (("a100", 3),)])
    tenants = tuple(
        replace(t, borrow_limit_by_type=draw(limits), lend_limit_by_type=draw(limits)) for t in case.tenants
    )
    return replace(case, tenants=tenants), n


@pytest.mark.slow
@quick
@given(lent_within_limits(), policies.filter(lambda policy: policy != "antman"))  # which chooses GPUs of its own
def test_within_limits_a_guarantee_of_the_type_is_kept_under_every_policy(
    given_case: tuple[Case, int], policy: str
) -> None:
    case, n = given_case
    own = next(one for one in rounds(case, policy, 4)[-1][0].jobs if one.id == "own")
    assert own.held is not None
    assert own.held.n_workers == n


@pytest.mark.slow
@quick
@given(limited(), policies)
def test_under_every_policy_a_quiet_cluster_with_limits_of_types_comes_to_rest(case: Case, policy: str) -> None:
    assert restless(case, policy) == []


@pytest.mark.slow
@quick
@given(cases(), policies)
def test_a_limit_of_lending_what_no_one_is_guaranteed_changes_no_plan(case: Case, policy: str) -> None:
    none = replace(case, tenants=tuple(replace(t, lend_limit_by_type=(("v100", 0),)) for t in case.tenants))
    for (_, plan), (_, same) in zip(rounds(case, policy, 3), rounds(none, policy, 3), strict=True):
        assert plan.decisions == same.decisions


def _most_of_types(one: JobSnapshot, plan: Plan, before: Case) -> Counter[str]:
    """GPUs by type that the job holds before or after the plan, of each type the larger number."""
    decision, types = plan.of(one.id), {node.name: node.gpu_type for node in before.nodes}
    allocations = [one.held] if one.held is not None else []
    if isinstance(decision, Launch | Resize):
        allocations.append(decision.allocation)
    found: Counter[str] = Counter()
    for allocation in allocations:
        counts = Counter[str]()
        for share in allocation.shares:
            counts[types[share.node]] += len(share.gpus)
        found |= counts
    return found


def _below(case: Case, tenant_id: str) -> set[str]:
    found = {tenant_id}
    for _ in case.tenants:
        found |= {one.id for one in case.tenants if one.parent in found}
    return found


def _guarantee(case: Case, tenant_id: str, gpu_type: str) -> int:
    """Its own, or the sum of those below if that is more."""
    below = sum(_guarantee(case, one.id, gpu_type) for one in case.tenants if one.parent == tenant_id)
    own = next(one for one in case.tenants if one.id == tenant_id)
    return max(dict(own.guarantee_by_type).get(gpu_type, 0), below)
