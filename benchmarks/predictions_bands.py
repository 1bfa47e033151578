# SPDX-License-Identifier: Apache-2.0
"""Do the P90 bands that a run learns hold? Every round's prediction of every job's end, held against when it ended."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from scheduler import policy_named
from scheduler.commands.files import data_in, read_cluster, read_text
from scheduler.simulator import simulate
from scheduler.simulator.environments.registry import ENVIRONMENTS, Information, Setting
from scheduler.simulator.reports.calibration import Calibrator
from scheduler.simulator.traces.formats import read_trace

GOAL = (0.85, 0.95)
CLUSTERS = Path(__file__).parent / "clusters"


@dataclass(frozen=True)
class BandsRun:
    policy: str
    world: str
    trace: Path
    cluster: Path
    data: Path
    information: Information | None = None


def band_rows(folder: Path, *, is_quick: bool) -> list[str]:
    rows = [
        "## Ends",
        "",
        "What a run learns of its own predictions (`scheduler/models/forecast/prediction_intervals.py`), judged on",
        "the same run as it goes: nothing is known before. Share of (job, round) pairs that ended by their P90;",
        "goal: 85 to 95 %. Median error:",
        "of the time that was left, by the P50.",
        "",
        "| policy | world | trace | predictions | within P90 | that waited | that ran | within P50 | median error |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    return rows + [_row(run) for run in _runs(folder, is_quick=is_quick)]


def _runs(folder: Path, *, is_quick: bool) -> Iterator[BandsRun]:
    n8g8 = folder / "tiresias" / "n8g8.csv"
    for policy in ("srsf", "srtf"):
        for trace in (folder / "muri" / "traces" / "trace3.csv", folder / "muri" / "testbed" / "cluster_trace.csv"):
            yield BandsRun(policy, "counting", trace, n8g8, folder / "muri")
    for number in (1,) if is_quick else (1, 2):
        workload = folder / "pollux" / "workloads" / f"workload-{number}.csv"
        for policy in ("srsf", "mlhub", *(("pollux",) if number == 1 and not is_quick else ())):
            yield BandsRun(policy, "pollux", workload, CLUSTERS / "pollux.yaml", folder / "pollux")


def _row(run: BandsRun) -> str:
    setting = Setting(
        read_trace(read_text(str(run.trace)), name=str(run.trace)),
        read_cluster(str(run.cluster)),
        run.policy,
        run.information,
        data_in(str(run.data)),
    )
    kind, calibrator = ENVIRONMENTS[run.world], Calibrator()
    policy = policy_named(run.policy, {})
    outcome = simulate(kind.make(setting), policy=policy, period_s=kind.period_s, on_round=calibrator)
    found = calibrator.result(outcome)
    waited, ran = (calibrator.result(outcome, waiting=waits).held_p90 for waits in (True, False))
    held = f"{found.held_p90:.1%} | {waited:.1%} | {ran:.1%} | {found.held_p50:.1%} | {found.median_error:.1%}"
    return f"| {run.policy} | {run.world} | {run.trace.stem} | {found.n:,} | {held} |"
