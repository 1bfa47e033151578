# SPDX-License-Identifier: Apache-2.0
"""How much later jobs end because of those who come later."""

from __future__ import annotations

import json

import numpy as np
import pytest

from scheduler.models.forecast.arrivals import ArrivalEffects


def effects(depth_gpu_s: float, *, work_gpu_s: float, every_s: float = 10.0, n: int = 100) -> ArrivalEffects:
    """One came every so often, and was put there in the order."""
    arrivals = ArrivalEffects({})
    for i in range(n + 1):
        arrivals.record([(depth_gpu_s, work_gpu_s)], now_s=i * every_s)
    return arrivals


def delayed(arrivals: ArrivalEffects, left_s: float, depth_gpu_s: float) -> tuple[float, float]:
    """On 10 GPUs, after 1000 s."""
    half, most = arrivals.delayed(
        np.array([left_s]), np.array([2 * left_s]), np.array([depth_gpu_s]), n_gpus=10, now_s=1000.0
    )
    return float(half[0]), float(most[0])


def test_before_any_arrival_a_job_ends_as_predicted() -> None:
    assert delayed(ArrivalEffects({}), 100.0, 5000.0) == (100.0, 200.0)


def test_who_comes_to_the_end_of_the_line_delays_no_job_before() -> None:
    assert delayed(effects(5000.0, work_gpu_s=50.0), 100.0, 400.0) == (100.0, 200.0)


def test_work_that_is_put_before_a_job_stretches_its_time() -> None:
    """50 GPU-seconds every 10 s are half of what 10 GPUs do: everything takes twice as long."""
    half_s, most_s = delayed(effects(0.0, work_gpu_s=50.0), 100.0, 400.0)
    assert half_s == pytest.approx(200.0)
    assert most_s == pytest.approx(400.0)


def test_only_the_part_of_the_line_that_is_passed_is_stretched() -> None:
    arrivals = effects(300.0, work_gpu_s=50.0)
    half_s, _ = delayed(arrivals, 100.0, 600.0)
    assert half_s == pytest.approx(150.0)


def test_an_overload_is_not_believed_to_last_for_ever() -> None:
    """As long again as it was seen for, 1000 s; nine times in one of ten cases."""
    half_s, most_s = delayed(effects(0.0, work_gpu_s=500.0), 100.0, 400.0)
    assert half_s == pytest.approx(100.0 + 0.98 * 1000.0)
    assert half_s < most_s <= 2 * (100.0 + 0.98 * 9000.0)


def test_it_survives_json_and_forgets_old_arrivals() -> None:
    arrivals = effects(0.0, work_gpu_s=50.0, n=1000)
    memory = json.loads(json.dumps(arrivals.to_json()))
    assert len(memory["newest"]) == 200
    assert delayed(ArrivalEffects(memory), 100.0, 400.0) == delayed(arrivals, 100.0, 400.0)
