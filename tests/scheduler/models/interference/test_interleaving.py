# SPDX-License-Identifier: Apache-2.0
"""Joint iterations of interleaved jobs, worked out by hand."""

from __future__ import annotations

import pytest

from scheduler.models.interference.interleaving import efficiency, joint_step_s


def test_two_jobs_of_opposite_needs_take_as_long_as_one() -> None:
    """While one loads for 3 s, the other computes for 2 s and synchronises for 1 s, and the other way round."""
    assert joint_step_s([(3.0, 2.0, 1.0), (3.0, 2.0, 1.0)]) == pytest.approx(6.0)
    assert joint_step_s([(3.0, 0.0, 0.0), (0.0, 2.0, 1.0)]) == pytest.approx(3.0)


def test_two_jobs_that_only_compute_take_as_long_as_one_after_the_other() -> None:
    assert joint_step_s([(0.0, 2.0, 0.0), (0.0, 3.0, 0.0)]) == pytest.approx(5.0)


def test_four_alike_jobs_of_even_stages_take_four_slots() -> None:
    """Loading takes two slots, computing one, synchronising one: all four are always at another of them."""
    assert joint_step_s([(2.0, 1.0, 1.0)] * 4) == pytest.approx(4.0)
    assert efficiency([(2.0, 1.0, 1.0)] * 4, 4.0) == pytest.approx(1.0)


def test_the_order_of_the_jobs_makes_no_difference() -> None:
    jobs = [(0.7, 0.06, 0.02), (0.0, 0.4, 0.05), (0.08, 0.07, 0.07), (0.5, 0.01, 0.0)]
    assert joint_step_s(jobs) == joint_step_s(jobs[::-1]) == joint_step_s(jobs[2:] + jobs[:2])


@pytest.mark.parametrize("n", [1, 5])
def test_only_two_to_four_jobs_are_interleaved(n: int) -> None:
    with pytest.raises(ValueError, match=f"{n} jobs cannot be interleaved"):
        joint_step_s([(1.0, 1.0, 1.0)] * n)
