# SPDX-License-Identifier: Apache-2.0
"""Couples and prices of GPUs, on cases small enough to be worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from scheduler.policies.mlhub.market import Market, SharingUnit, clearing_price
from scheduler.policies.mlhub.matching import best_pairs
from tests.scheduler.cases import job


def gains(n: int, **pairs: float) -> np.ndarray:
    """_01=2 is a gain of 2 for 0 and 1."""
    gain_UU = np.full((n, n), -1.0)
    for name, gain in pairs.items():
        i, j = int(name[1]), int(name[2])
        gain_UU[i, j] = gain_UU[j, i] = gain
    return gain_UU


@pytest.mark.parametrize(
    ("gain_UU", "pairs"),
    [
        (gains(1), []),
        (gains(2), []),
        (gains(2, _01=1.0), [(0, 1)]),
        (gains(4, _01=2.0, _12=3.0, _23=2.0), [(0, 1), (2, 3)]),  # not the best one first
        (gains(3, _01=2.0, _12=2.0, _02=3.0), [(0, 2)]),  # three in a ring: one stays alone
        (gains(5, _01=1.1, _12=1.0, _02=1.0, _34=1.0), [(0, 1), (3, 4)]),
    ],
)
def test_pairs_are_those_that_gain_most_in_all(gain_UU: np.ndarray, pairs: list[tuple[int, int]]) -> None:
    assert best_pairs(gain_UU) == pairs


def market(*values: float, together: float) -> Market:
    """Single jobs of one GPU, that do this part of their speed next to any other."""
    units = [SharingUnit((job(str(i), gpus=1),), 1, value) for i, value in enumerate(values)]
    value_U = np.array(values)
    return Market(units, together * (value_U[:, None] + value_U))


def test_at_the_clearing_price_as_many_share_as_have_to() -> None:
    """Four equal jobs on three GPUs: at a price above 0.4 a couple of 0.8 each is worth more than two alone."""
    case = market(1.0, 1.0, 1.0, 1.0, together=0.8)
    assert case.asked(0.3) == 4
    assert case.asked(0.6) == 2
    assert clearing_price([case], 4) < 0.01
    assert 0.4 < clearing_price([case], 3) < 0.6


def test_no_job_shares_where_it_would_lose() -> None:
    assert market(1.0, 1.0, 1.0, together=0.45).pairs(0.9) == []
