"""What finishing a job costs all: worked examples with closed forms."""

from __future__ import annotations

import pytest

from scheduler.policies.prices import Curve, prices, prices_by_rank


def power_curve(work_s: float, *, n_gpus: int, power: float) -> Curve:
    sizes = range(1, n_gpus + 1)
    return Curve(list(sizes), [work_s / n**power for n in sizes])


def test_a_job_alone_costs_its_own_time_on_all_gpus() -> None:
    assert prices([Curve([1, 2, 4], [100.0, 60.0, 40.0])], n_gpus=4) == pytest.approx([40.0])


def test_jobs_of_one_gpu_on_one_gpu_cost_what_they_make_others_wait() -> None:
    """The last to end costs its own time; the first of three also delays the two behind it."""
    jobs = [Curve([1], [30.0]), Curve([1], [20.0]), Curve([1], [10.0])]
    assert prices(jobs, n_gpus=1) == pytest.approx([30.0, 40.0, 30.0])


def test_with_gpus_for_all_nobody_costs_more_than_its_own_time() -> None:
    assert prices([Curve([1], [30.0]), Curve([1], [20.0])], n_gpus=8) == pytest.approx([30.0, 20.0])


def test_equal_powers_give_hesrpt() -> None:
    """The k-th price in units of speed grows as k to the power: (k^(1/(1-a)) - (k-1)^(1/(1-a)))^(1-a) / C^a."""
    n_gpus, power, works = 256, 0.5, [400.0, 300.0, 200.0, 100.0]
    found = prices([power_curve(work, n_gpus=n_gpus, power=power) for work in works], n_gpus=n_gpus)
    expected = [(k**2 - (k - 1) ** 2) ** 0.5 / n_gpus**power for k in (1, 2, 3, 4)]
    assert [price / work for price, work in zip(found, works, strict=True)] == pytest.approx(expected, rel=0.01)


def test_who_hardly_speeds_up_costs_more_of_its_work() -> None:
    """Its seconds cannot be bought with GPUs, so a second of it on one GPU is worth more of them."""
    slow, fast = power_curve(100.0, n_gpus=16, power=0.3), power_curve(100.0, n_gpus=16, power=0.9)
    assert prices([slow], n_gpus=16)[0] > 4 * prices([fast], n_gpus=16)[0]


def test_many_jobs_are_priced_as_their_sample() -> None:
    few = prices([power_curve(100.0, n_gpus=8, power=0.5) for _ in range(150)], n_gpus=75)
    many = prices([power_curve(100.0, n_gpus=8, power=0.5) for _ in range(600)], n_gpus=300)
    assert many[100::100] == pytest.approx(few[25::25], rel=0.08)
    assert prices([], n_gpus=4) == []


def test_many_jobs_of_one_size_cost_by_their_place_in_the_queue_about_what_exact_prices_say() -> None:
    """A GPU-second costs the more the more jobs are behind, without the staircase."""
    curves = [Curve([1], [float(left_s)]) for left_s in range(4000, 1000, -10)]
    exact, ranked = prices(curves, n_gpus=10), prices_by_rank(curves, n_gpus=10)
    assert ranked[50:] == pytest.approx(exact[50:], rel=0.15)
    each = [price / curve.left_s[0] for price, curve in zip(ranked, curves, strict=True)]
    assert each == sorted(set(each))


def test_a_gang_costs_as_much_a_gpu_as_a_single_job_of_the_same_work() -> None:
    queue = [Curve([1], [900.0]), Curve([4], [200.0]), Curve([1], [700.0])]
    single, together, short = prices_by_rank(queue, n_gpus=2)
    assert single / 900 < together / 800 < short / 700
