# SPDX-License-Identifier: Apache-2.0
"""GPU-seconds of attempts that share GPUs add up to the time for which each GPU was held."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlhub.usage.integral import GpuHolding, gpu_seconds

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
N_GPUS = 3


def at(seconds: int) -> datetime:
    return BEGAN + timedelta(seconds=seconds)


holdings = st.lists(
    st.tuples(st.sets(st.integers(0, N_GPUS - 1), min_size=1), st.integers(0, 50), st.integers(0, 50)), max_size=6
).map(lambda rows: [GpuHolding(frozenset(slots), at(min(a, b)), at(max(a, b))) for slots, a, b in rows])


def integral(found: list[GpuHolding], i: int, since: int = 0, until: int = 50) -> float:
    return gpu_seconds(found[i], found[:i] + found[i + 1 :], since=at(since), until=at(until))


@given(found=holdings)
def test_the_parts_add_up_to_the_time_for_which_gpus_were_held(found: list[GpuHolding]) -> None:
    held = sum(
        any(gpu in h.slots and h.began_at <= at(t) < h.ended_at for h in found)
        for gpu in range(N_GPUS)
        for t in range(50)
    )
    assert sum(integral(found, i) for i in range(len(found))) == pytest.approx(held)


@given(found=holdings, cut=st.integers(0, 50))
def test_a_window_cut_in_two_counts_the_same(found: list[GpuHolding], cut: int) -> None:
    for i in range(len(found)):
        assert integral(found, i, 0, cut) + integral(found, i, cut, 50) == pytest.approx(integral(found, i))


def test_a_gpu_that_two_hold_counts_half_for_each_while_they_do() -> None:
    both = [GpuHolding(frozenset({0, 1}), at(0), at(10)), GpuHolding(frozenset({1}), at(6), at(20))]
    assert (integral(both, 0), integral(both, 1)) == (10 + 6 + 2, 2 + 10)
