# SPDX-License-Identifier: Apache-2.0
"""What finishing a job costs all: worked examples."""

from __future__ import annotations

import pytest

from scheduler.policies.toolkit.prices import SpeedCurve, prices, prices_in_line


def power_curve(work_s: float, *, n_gpus: int, power: float) -> SpeedCurve:
    sizes = range(1, n_gpus + 1)
    return SpeedCurve(list(sizes), [work_s / n**power for n in sizes])


def test_a_job_alone_costs_half_way_between_one_gpu_and_all() -> None:
    """The geometric mean of 100 s on one GPU and 40 s on four."""
    assert prices([SpeedCurve([1, 2, 4], [100.0, 60.0, 40.0])], n_gpus=4) == pytest.approx([4000.0**0.5])


def test_jobs_of_one_gpu_cost_their_time_by_their_rank_from_last() -> None:
    jobs = [SpeedCurve([1], [30.0]), SpeedCurve([1], [20.0]), SpeedCurve([1], [10.0])]
    assert prices(jobs, n_gpus=1) == pytest.approx([30.0, 20.0 * 2**0.75, 10.0 * 3**0.75])


def test_a_job_that_needs_more_gpus_costs_as_many_times_more() -> None:
    assert prices([SpeedCurve([4], [30.0]), SpeedCurve([1], [20.0])], n_gpus=8) == pytest.approx(
        [120.0, 20.0 * 2**0.75]
    )


def test_rank_is_by_the_time_at_an_equal_share() -> None:
    """On two GPUs each, the one that scales badly takes longer, though it would end first on one."""
    scales, stays = SpeedCurve([1, 2], [100.0, 50.0]), SpeedCurve([1, 2], [90.0, 80.0])
    assert prices([scales, stays], n_gpus=4) == pytest.approx([5000.0**0.5 * 2**0.75, 7200.0**0.5])


def test_who_hardly_speeds_up_costs_more_of_its_work() -> None:
    """A share of the cluster shortens it less, so that it needs it for longer."""
    slow, fast = power_curve(100.0, n_gpus=16, power=0.3), power_curve(100.0, n_gpus=16, power=0.9)
    assert prices([slow], n_gpus=16)[0] > 2 * prices([fast], n_gpus=16)[0]


def test_of_equals_the_first_is_last_and_no_one_has_no_price() -> None:
    one = SpeedCurve([1], [10.0])
    assert prices([one, one], n_gpus=1) == pytest.approx([10.0, 10.0 * 2**0.75])
    assert prices([], n_gpus=4) == []


def test_jobs_of_one_size_cost_more_a_gpu_second_the_more_jobs_are_behind() -> None:
    curves = [SpeedCurve([1], [float(left_s)]) for left_s in range(4000, 1000, -10)]
    ranked = prices_in_line(curves, n_gpus=10)
    each = [price / curve.left_s[0] for price, curve in zip(ranked, curves, strict=True)]
    assert each == sorted(set(each))
    assert each[100] == pytest.approx(10.5)


def test_a_gang_costs_as_much_a_gpu_as_a_single_job_of_the_same_work() -> None:
    queue = [SpeedCurve([1], [900.0]), SpeedCurve([4], [200.0]), SpeedCurve([1], [700.0])]
    single, together, short = prices_in_line(queue, n_gpus=2)
    assert single / 900 < together / 800 < short / 700
