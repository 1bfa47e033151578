# SPDX-License-Identifier: Apache-2.0
"""The comparison on mixed clusters: its traces are repeatable and have the stated load, its page says who is best."""

from __future__ import annotations

import csv
import io

import pytest

from benchmarks.mixed_gpus import CLUSTERS, draw_trace, page
from scheduler.simulator.traces.gavel_tables import SharingTables

TABLES = SharingTables("made up", {("v100", "net", n, False): float(n) for n in (1, 2, 4, 8)}, {})


def test_a_draw_has_the_stated_load_and_is_the_same_again() -> None:
    text = draw_trace(TABLES, CLUSTERS[0], n_jobs=50, load=0.5, seed=1)
    assert text == draw_trace(TABLES, CLUSTERS[0], n_jobs=50, load=0.5, seed=1)
    rows = list(csv.DictReader(io.StringIO(text)))
    gpu_s = sum(int(row["n_gpus"]) * float(row["duration_s"]) for row in rows)
    assert gpu_s / (float(rows[-1]["submitted_at_s"]) * CLUSTERS[0].n_gpus) == pytest.approx(0.5, rel=0.01)


def test_the_page_compares_with_the_best_rival_on_average() -> None:
    def run(avg_s: float, p99_s: float) -> list[dict[str, str]]:
        return [{"avg_jct_s": str(avg_s), "p99_jct_s": str(p99_s), "n_completed": "5", "n_submitted": "5"}]

    runs = {"thirds": {"mlhub": run(80.0, 330.0), "makespan": run(120.0, 100.0), "min_total_jct": run(100.0, 300.0)}}
    text = page(runs, n_jobs=5, n_draws=1, load=0.5)
    assert "`mlhub` is 20.0% below the best rival, gavel, min_total_jct, on average, and its p99 is 10.0%" in text
    assert "| gavel, makespan | 120 | 120 | 100 | 5 of 5 |" in text
