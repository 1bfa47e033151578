# SPDX-License-Identifier: Apache-2.0
"""Looking ahead: as the noise scale grows, larger batches become worth their while."""

from __future__ import annotations

import numpy as np
import pytest

from scheduler.models.goodput import batch_schedule

SIZE_B = np.array([100.0, 1000.0])
STEP_B = np.array([1.0, 2.0])  # ten times the batch in twice the time


def test_with_a_constant_noise_scale_every_step_takes_as_long() -> None:
    course = batch_schedule([(0.0, 900.0), (50.0, 900.0)], size_B=SIZE_B, step_s_B=STEP_B, batch_size=100)
    each_s = 2.0 / (1000 * 1000 / (100 * 1900))
    assert course.mean_step_s(0.0, 200.0) == pytest.approx(each_s)


def test_a_growing_noise_scale_makes_the_rest_faster_than_the_present() -> None:
    course = batch_schedule([(0.0, 0.0), (100.0, 1e9)], size_B=SIZE_B, step_s_B=STEP_B, batch_size=100)
    assert course.mean_step_s(0.0, 1.0) == pytest.approx(0.6)  # between two points: their mean
    assert course.mean_step_s(100.0, 200.0) == pytest.approx(0.2)
    assert course.mean_step_s(0.0, 100.0) == pytest.approx(0.6)


def test_before_the_first_point_its_noise_scale_holds() -> None:
    course = batch_schedule([(40.0, 1e9)], size_B=SIZE_B, step_s_B=STEP_B, batch_size=100)
    assert course.mean_step_s(0.0, 40.0) == pytest.approx(0.2)
    assert course.mean_step_s(40.0, 40.0) == pytest.approx(0.2)  # done: the next one
