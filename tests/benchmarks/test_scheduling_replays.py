# SPDX-License-Identifier: Apache-2.0
"""The report on what simulations cost shows what grew how, and what was not measured."""

from __future__ import annotations

import pytest

from benchmarks.scheduling_replays import Days, Replay, growth, published, report

DAYS = Days("srtf", (1_000, 10_000), 60.0)


def replay(n_jobs: int, cpu_s: float, goal_s: float | None = None) -> Replay:
    return Replay(DAYS.name, n_jobs, n_jobs // 10, 100, cpu_s, 2 * cpu_s, 100.0, goal_s)


def test_growth_is_the_power_of_the_number_of_jobs() -> None:
    assert growth([replay(1_000, 2.0), replay(10_000, 20.0)]) == pytest.approx(1.0)
    assert growth([replay(1_000, 2.0), replay(10_000, 200.0)]) == pytest.approx(2.0)
    assert growth([replay(1_000, 2.0)]) is None


def test_a_goal_is_met_or_missed_and_an_absent_trace_is_reported() -> None:
    assert published(None) is None
    text = "\n".join(report(None, [(DAYS, [replay(1_000, 5.0), replay(100_000, 700.0, goal_s=600.0)])]))
    assert "Muri's trace2 was not replayed" in text
    assert "600: missed" in text
    assert "Under srtf, every 60 s processor time grows with jobs^1.07" in text
