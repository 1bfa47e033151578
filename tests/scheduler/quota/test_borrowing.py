# SPDX-License-Identifier: Apache-2.0
"""Guarantees, borrowing and lending: the vectors of Kueue's rules, on the books alone."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.api.snapshot import TenantSnapshot as T
from scheduler.quota.borrowing import BorrowingLedger
from scheduler.quota.ledger import Ledger

COHORT = T("cohort")


def nested(n_gpus: int = 21, *, left: dict[str, int] | None = None, right: dict[str, int] | None = None) -> Ledger:
    """As pair(), each two levels below the cohort: a below left, b below right."""
    tenants = (
        COHORT,
        T("left", parent="cohort", guarantee=9, **(left or {})),
        T("right", parent="cohort", guarantee=12, **(right or {})),
        T("a", parent="left"),
        T("b", parent="right", guarantee=12),
    )
    return Ledger(tenants, n_gpus=n_gpus)


def pair(n_gpus: int = 21, *, a: dict[str, int] | None = None, b: dict[str, int] | None = None) -> Ledger:
    """A is guaranteed 9 and B 12 GPUs under one parent."""
    tenants = (
        COHORT,
        T("a", parent="cohort", guarantee=9, **(a or {})),
        T("b", parent="cohort", guarantee=12, **(b or {})),
    )
    return Ledger(tenants, n_gpus=n_gpus)


VECTORS = [
    ("V1: all that the other leaves idle", pair(), "a", 21),
    ("V2: no more than its borrow limit above its guarantee", pair(a={"borrow_limit": 1}), "a", 10),
    ("V3: no more than the other lends", pair(b={"lend_limit": 1}), "a", 10),
    ("the other way round nothing is limited", pair(b={"lend_limit": 1}), "b", 21),
    ("a borrow limit of 0 leaves the guarantee", pair(a={"borrow_limit": 0}), "a", 9),
    ("a lend limit of 0 keeps all", pair(b={"lend_limit": 0}), "a", 9),
    ("a hard limit counts before all else", pair(a={"max_gpus": 5}), "a", 5),
    ("GPUs that no tenant is guaranteed can be borrowed by all", pair(30), "a", 30),
    (
        "V5: a parent's own guarantee serves a child that has none",
        Ledger((T("cohort", guarantee=12), T("q", parent="cohort", guarantee=0)), n_gpus=12),
        "q",
        12,
    ),
    ("V1, two levels down: all that the other leaves idle", nested(), "a", 21),
    ("V2 of the parent: no more than its borrow limit above its guarantee", nested(left={"borrow_limit": 1}), "a", 10),
    ("V3 of the other's parent: no more than that lends", nested(right={"lend_limit": 1}), "a", 10),
    ("V5, two levels down: a grandparent's guarantee", nested(9, left={"borrow_limit": 0}), "a", 9),
    ("a hard limit of a parent counts before all else", nested(left={"max_gpus": 5}), "a", 5),
    (
        "through a parent's borrow limit too",
        Ledger((T("org", guarantee=4, borrow_limit=2), T("p", parent="org"), T("other", guarantee=8)), n_gpus=12),
        "p",
        6,
    ),
    (
        "a tenant without a guarantee may borrow",
        Ledger((T("a", guarantee=8), T("guest")), n_gpus=10),
        "guest",
        10,
    ),
    (
        "but not what a parent keeps for its own",
        Ledger((T("org", lend_limit=3), T("p", parent="org", guarantee=8), T("guest")), n_gpus=10),
        "guest",
        5,
    ),
]


@pytest.mark.parametrize(("ledger", "tenant", "most"), [v[1:] for v in VECTORS], ids=[v[0] for v in VECTORS])
def test_a_tenant_may_take_exactly(ledger: Ledger, tenant: str, most: int) -> None:
    assert ledger.refusal(tenant, gpus=most) is None
    assert ledger.refusal(tenant, gpus=most + 1) is not None
    assert ledger.never(tenant, gpus=most) is None
    assert ledger.never(tenant, gpus=most + 1) is not None


def test_lent_gpus_have_to_come_back_before_their_owner_can_use_them() -> None:
    ledger = pair()
    ledger.reserve("a", gpus=21)
    refused = ledger.refusal("b", gpus=12)
    assert refused is not None
    assert refused.sentence == (
        "Pending: 12 GPUs are guaranteed to b, but other tenants have borrowed them; "
        "they return when jobs of these tenants end."
    )
    ledger.release("a", gpus=12)
    assert ledger.refusal("b", gpus=12) is None
    assert ledger.refusal("b", gpus=13) is not None


def test_a_refusal_says_whose_limit_and_by_how_much() -> None:
    limited, borrowing = pair(a={"borrow_limit": 1}), pair(b={"lend_limit": 1})
    for ledger in (limited, borrowing):
        ledger.reserve("a", gpus=9)
    refused = limited.refusal("a", gpus=2)
    assert refused is not None
    assert refused.sentence == (
        "Borrowing limit reached: a uses 9 GPUs, is guaranteed 9 and may borrow 1; 2 more would exceed that. "
        "An admin of cohort can raise the limit."
    )
    refused = borrowing.refusal("a", gpus=2)
    assert refused is not None
    assert refused.sentence == (
        "Insufficient quota: a uses 9 GPUs and is guaranteed 9; the job needs 2 more, and 1 can be borrowed now: "
        "lending limits keep 11 GPUs idle for those to whom they are guaranteed. An admin of cohort can change "
        "these."
    )


def test_the_accounts_say_who_lends_to_whom() -> None:
    ledger = pair()
    ledger.reserve("a", gpus=14)
    ledger.reserve("b", gpus=3)
    assert ledger.borrowing is not None
    accounts = ledger.borrowing.accounts()
    assert (accounts["a"].borrowed, accounts["a"].lent) == (5, 0)
    assert (accounts["b"].borrowed, accounts["b"].lent) == (0, 5)
    assert (accounts["cohort"].guarantee, accounts["cohort"].used) == (21, 17)


def test_gpus_that_no_tenant_is_guaranteed_are_lent_first() -> None:
    borrowing = BorrowingLedger((T("a", guarantee=4), T("b", guarantee=4)), n_gpus=10)
    borrowing.reserve("a", 7)
    assert borrowing.accounts()["b"].lent == 1


def test_what_is_kept_for_an_owner_cannot_be_borrowed() -> None:
    borrowing = pair().borrowing
    assert borrowing is not None
    borrowing.reserve("a", 9)
    borrowing.keep_for("b", 7)
    assert borrowing.available("a") == 5
    borrowing.reserve("b", 7)
    assert borrowing.available("a") == 5


@st.composite
def trees(draw: st.DrawFn) -> tuple[T, ...]:
    """Up to eight tenants in up to three levels, with any limits."""
    limit = st.one_of(st.none(), st.integers(0, 6))
    tenants: list[T] = []
    for i in range(draw(st.integers(1, 8))):
        parents = [
            None,
            *(t.id for t in tenants if t.parent is None or t.parent in {x.id for x in tenants if not x.parent}),
        ]
        tenants.append(
            T(
                f"t{i}",
                parent=draw(st.sampled_from(parents)),
                guarantee=draw(limit),
                borrow_limit=draw(limit),
                lend_limit=draw(limit),
            )
        )
    return tuple(tenants)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(trees(), st.lists(st.tuples(st.integers(0, 7), st.integers(-4, 6)), max_size=25), st.integers(0, 20))
def test_books_stay_true_over_any_history(tenants: tuple[T, ...], history: list[tuple[int, int]], rest: int) -> None:
    """I2: used <= guarantee + borrowed, borrowed <= limit, what is lent is what is borrowed, all in the cluster."""
    by_id = {t.id: t for t in tenants}
    top = [t.id for t in tenants if t.parent is None]
    bare = BorrowingLedger(tenants, n_gpus=None)
    n_gpus = sum(bare.guarantee(t) for t in top) + rest
    borrowing = BorrowingLedger(tenants, n_gpus=n_gpus)
    held = dict.fromkeys(by_id, 0)
    for who, gpus in history:
        tenant = tenants[who % len(tenants)].id
        n = max(gpus, -held[tenant])
        if n > 0 and borrowing.refusal(tenant, n) is not None:
            assert n > borrowing.available(tenant)
            continue
        borrowing.reserve(tenant, n)
        held[tenant] += n
        accounts = borrowing.accounts()
        used = {t: sum(n for h, n in held.items() if t in _line(by_id, h)) for t in by_id}
        for t, account in accounts.items():
            assert account.used == used[t]
            assert account.used <= account.guarantee + account.borrowed
            limit, lend_limit = by_id[t].borrow_limit, by_id[t].lend_limit
            assert limit is None or account.borrowed <= limit
            assert account.used + account.lent <= account.guarantee or account.lent == 0
            assert lend_limit is None or account.lent <= lend_limit
        assert sum(used[t] for t in top) <= n_gpus
        _check_lent(tenants, held, borrowing, rest)


def _line(by_id: dict[str, T], tenant: str) -> list[str]:
    line = [tenant]
    while (parent := by_id[line[-1]].parent) is not None:
        line.append(parent)
    return line


def _check_lent(tenants: tuple[T, ...], held: dict[str, int], borrowing: BorrowingLedger, rest: int) -> None:
    """Below every parent: what is borrowed below and lent outside comes from below, the parent's own, or outside."""
    accounts = borrowing.accounts()
    for parent in (None, *(t.id for t in tenants)):
        children = [t for t in tenants if t.parent == parent]
        borrowed = sum(accounts[c.id].borrowed for c in children)
        lent = sum(accounts[c.id].lent for c in children)
        if parent is None:
            assert lent == max(0, borrowed - rest)
        elif children:
            shared = sum(
                borrowing.pool(c.id) if c.lend_limit is None else min(borrowing.pool(c.id), c.lend_limit)
                for c in children
            )
            own = borrowing.pool(parent) - shared - held[parent]
            assert lent == max(0, borrowed + accounts[parent].lent - own - accounts[parent].borrowed)
