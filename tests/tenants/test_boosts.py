# SPDX-License-Identifier: Apache-2.0
"""Boosts by arithmetic alone: what is accepted never guarantees more than there is above, at any moment."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlhub.tenants.quota_terms.boosts import (
    BoostAmounts,
    Extra,
    OwnerRules,
    first_excess,
    raised,
    raised_guarantees,
    rest_of,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)
TOP, LEFT, RIGHT, LEAF = (UUID(int=number) for number in range(4))
ABOVE = {TOP: None, LEFT: TOP, RIGHT: TOP, LEAF: LEFT}
GPUS = st.integers(0, 6)


@st.composite
def trees(draw: st.DrawFn) -> dict[UUID, OwnerRules]:
    """Guarantees that fit without boosts, as set_quota() sees to it."""
    leaf = draw(GPUS)
    left, right = leaf + draw(GPUS), draw(GPUS)
    guarantees = {TOP: left + right + draw(GPUS), LEFT: left, RIGHT: right, LEAF: leaf}
    limits = {id: draw(st.none() | GPUS.map(n.__add__)) for id, n in guarantees.items()}
    return {id: OwnerRules(ABOVE[id], n, limits[id]) for id, n in guarantees.items()}


EXTRAS = st.lists(
    st.builds(
        Extra,
        owner=st.sampled_from(list(ABOVE)),
        guarantee=GPUS,
        max_gpus=GPUS,
        starts_at=st.integers(-3, 6).map(lambda hours: NOW + timedelta(hours=hours)),
        ends_at=st.integers(-2, 6).map(lambda hours: NOW + timedelta(hours=hours)),
    ),
    max_size=6,
)


@pytest.mark.slow
@given(trees(), EXTRAS)
def test_what_is_accepted_fits_at_every_moment_and_what_is_refused_does_not(
    owners: dict[UUID, OwnerRules], extras: list[Extra]
) -> None:
    """Against a look at each half hour: what begins and ends does so at full hours."""
    excess = first_excess(owners, extras, now=NOW)
    half_hours = (NOW + timedelta(hours=n / 2) for n in range(15))
    first = next((at for at in half_hours if not _fits(owners, extras, at)), None)
    assert first == (None if excess is None else excess.at)
    assert excess is None or excess.needed > excess.there


def test_boosts_that_follow_each_other_do_not_add_up_and_those_that_overlap_do() -> None:
    hour = timedelta(hours=1)
    owners = {TOP: OwnerRules(None, 4, None), LEFT: OwnerRules(TOP, 0, None), RIGHT: OwnerRules(TOP, 0, None)}
    first, second = Extra(LEFT, 3, 0, NOW + hour, NOW + 3 * hour), Extra(RIGHT, 3, 0, NOW + 3 * hour, NOW + 5 * hour)
    assert first_excess(owners, [first, second], now=NOW) is None
    earlier = Extra(RIGHT, 3, 0, NOW + 2 * hour, NOW + 5 * hour)
    excess = first_excess(owners, [first, earlier], now=NOW)
    assert excess is not None
    assert (excess.at, excess.needed, excess.there, excess.above) == (NOW + 2 * hour, 6, 4, TOP)


@given(trees(), EXTRAS)
def test_after_the_last_end_the_rules_are_as_they_were(owners: dict[UUID, OwnerRules], extras: list[Extra]) -> None:
    assert first_excess(owners, extras, now=NOW + timedelta(hours=6)) is None


def test_a_boost_raises_a_limit_only_where_there_is_one_and_guarantees_from_nothing() -> None:
    assert raised(None, 4, absent=None) is None
    assert raised(None, 4, absent=0) == 4
    assert raised(None, 0, absent=0) is None
    assert raised(3, 4, absent=None) == 7


BY_TYPE = st.dictionaries(st.sampled_from(["a100", "t4"]), st.integers(0, 6))
AMOUNTS = st.builds(BoostAmounts, guarantee=GPUS, max_gpus=GPUS, by_type=BY_TYPE, guarantee_by_type=BY_TYPE)


@given(st.none() | GPUS, BY_TYPE, AMOUNTS, AMOUNTS)
def test_gpus_of_types_are_added_besides_those_of_any_type_and_boosts_add_up(
    more: int | None, by_type: dict[str, int], first: BoostAmounts, second: BoostAmounts
) -> None:
    guarantee = None if more is None else sum(by_type.values()) + more
    raised_first, types_first = raised_guarantees(guarantee, by_type, first)
    assert rest_of(raised_first, types_first) == rest_of(guarantee, by_type) + first.guarantee
    assert all(types_first[t] == by_type.get(t, 0) + n for t, n in first.guarantee_by_type.items())
    assert raised_first is None or raised_first >= sum(types_first.values())
    both, types_both = raised_guarantees(guarantee, by_type, first + second)
    one_by_one, types_one_by_one = raised_guarantees(raised_first, types_first, second)
    assert (both, types_both) == (one_by_one, types_one_by_one)


def _fits(owners: dict[UUID, OwnerRules], extras: list[Extra], at: datetime) -> bool:
    """By the definition: every boosted guarantee within the owner's limit, and within what is guaranteed above."""
    active = [one for one in extras if one.starts_at <= at < one.ends_at]

    def guaranteed(id: UUID) -> int:
        return (owners[id].guarantee or 0) + sum(one.guarantee for one in active if one.owner == id)

    for id in {one.owner for one in active if one.guarantee}:
        limit, above = owners[id].max_gpus, owners[id].above
        if limit is not None and guaranteed(id) > limit + sum(one.max_gpus for one in active if one.owner == id):
            return False
        if above is not None and sum(guaranteed(o) for o in owners if owners[o].above == above) > guaranteed(above):
            return False
    return True
