# SPDX-License-Identifier: Apache-2.0
"""Predictions compared with what came of them."""

from __future__ import annotations

import pytest

from scheduler import policy_named
from scheduler.simulator import simulate
from scheduler.simulator.environments.counting import CountingEnvironment
from scheduler.simulator.reports.calibration import Calibrator
from scheduler.simulator.traces.clusters import uniform_cluster
from scheduler.simulator.traces.trace import Trace, TraceJob


def test_known_lengths_on_a_free_cluster_end_as_predicted() -> None:
    jobs = tuple(TraceJob(f"j{i}", submitted_at_s=10.0 * i, n_gpus=1, duration_s=100.0 + i) for i in range(4))
    environment = CountingEnvironment(Trace("t", "mlhub", jobs), uniform_cluster(n_nodes=1, n_gpus=4))
    calibrator = Calibrator()
    outcome = simulate(environment, policy=policy_named("srtf", {}), on_round=calibrator)
    result = calibrator.result(outcome)
    assert result.held_p90 == 1.0
    assert result.median_error < 0.01
    assert 1.0 <= result.median_width < 3.0
    assert calibrator.result(outcome, waiting=True).n == 4  # each launched out of the queue
    with pytest.raises(ValueError, match="no predictions"):
        Calibrator().result(outcome)
