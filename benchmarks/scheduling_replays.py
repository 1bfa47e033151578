# SPDX-License-Identifier: Apache-2.0
"""What the simulator costs: a published trace, and made-up days of ever more jobs, each in a process of its own.

A made-up day: jobs on a tenth as many GPUs, four tenants, 24 hours of submissions at a load of 1.1; its long jobs end
the day after. Decided once a minute, as a large cluster would, or at every event.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

PUBLISHED_GOAL_S = 20.0  # muri's trace2 under srtf
LARGEST_GOAL_S = 600.0  # 100,000 jobs on 10,000 GPUs
PERIOD_S = 60.0
GPUS_A_NODE = 8
TENANTS = ("research:3", "product:3", "students:2", "partners:1")


@dataclass(frozen=True)
class Days:
    """Made-up days that differ in nothing but their size. n_jobs: ascending; period_s: None = at every event."""

    policy: str
    n_jobs: Sequence[int]
    period_s: float | None

    @property
    def name(self) -> str:
        when = "at every event" if self.period_s is None else f"every {self.period_s:g} s"
        return f"{self.policy}, {when}"


FULL = (
    Days("srtf", (1_000, 10_000, 100_000), PERIOD_S),
    Days("srtf", (500, 1_000, 2_000), None),
    Days("mlhub", (500, 1_000, 2_000), PERIOD_S),
)
QUICK = (Days("srtf", (500, 1_000, 2_000), PERIOD_S), Days("srtf", (500, 1_000), None))


@dataclass(frozen=True)
class Replay:
    """goal_s: of processor time, which other programs on the machine disturb less than the clock; None = none."""

    name: str
    n_jobs: int
    n_gpus: int
    rounds: int
    cpu_s: float
    wall_s: float
    peak_mb: float
    goal_s: float | None = None


def published(data: Path | None) -> Replay | None:
    """Muri's trace2, 5,755 jobs on 64 GPUs; None where the folder of traces has none."""
    trace = None if data is None else data / "muri/traces/trace2.csv"
    if data is None or trace is None or not trace.exists():
        return None
    muri = data / "muri"
    options = ["--environment", "muri", "--trace", str(trace), "--cluster", str(muri / "n8g8.csv"), "--data", str(muri)]
    return _simulate("Muri's trace2 under srtf", [*options, "--policy", "srtf", "--information", "declared"], 64)


def made_up(days: Days) -> list[Replay]:
    found = []
    for n_jobs in days.n_jobs:
        n_nodes = -(-n_jobs // (10 * GPUS_A_NODE))
        with tempfile.TemporaryDirectory() as folder:
            trace, cluster = Path(folder) / "day.csv", Path(folder) / "cluster.yaml"
            made = ["--n-jobs", str(n_jobs), "--nodes", str(n_nodes), "--gpus", str(GPUS_A_NODE)]
            made += ["--tenants", *TENANTS, "--out", str(trace), "--cluster-out", str(cluster)]
            _run("trace", made)
            options = [
                "--environment",
                "counting",
                "--trace",
                str(trace),
                "--cluster",
                str(cluster),
                "--policy",
                days.policy,
            ]
            options += [] if days.period_s is None else ["--period", str(days.period_s)]
            found.append(_simulate(days.name, options, n_nodes * GPUS_A_NODE))
    return found


def growth(replays: Sequence[Replay]) -> float | None:
    """The power of the number of jobs with which processor time grows; least squares of logarithms."""
    if len(replays) < 2:
        return None
    jobs, cpu_s = [one.n_jobs for one in replays], [one.cpu_s for one in replays]
    return float(np.polyfit(np.log(jobs), np.log(cpu_s), 1)[0])


def report(trace: Replay | None, by_days: Sequence[tuple[Days, Sequence[Replay]]]) -> list[str]:
    lines = [
        "## The simulator",
        "",
        "| what | jobs | GPUs | rounds | CPU s | wall s | CPU ms a round | peak MiB | goal (CPU s) |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    lines += [_row(one) for one in ([trace] if trace is not None else []) + [r for _, rs in by_days for r in rs]]
    if trace is None:
        lines += ["", "Muri's trace2 was not replayed: no folder of public traces was given (--data, $MLHUB_TRACES)."]
    lines.append("")
    for days, replays in by_days:
        power = growth(replays)
        if power is not None:
            lines.append(f"Under {days.name} processor time grows with jobs^{power:.2f}, GPUs growing alike.")
    return [*lines, ""]


def _row(one: Replay) -> str:
    goal = "–" if one.goal_s is None else f"{one.goal_s:,.0f}: {'met' if one.cpu_s <= one.goal_s else 'missed'}"
    return (
        f"| {one.name} | {one.n_jobs:,} | {one.n_gpus:,} | {one.rounds:,} | {one.cpu_s:,.1f} | {one.wall_s:,.1f} "
        f"| {one.cpu_s / max(1, one.rounds) * 1000:,.1f} | {one.peak_mb:,.0f} | {goal} |"
    )


def _simulate(name: str, options: Sequence[str], n_gpus: int) -> Replay:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.json"
        began_s = time.perf_counter()
        peak_mb, cpu_s = _run("simulate", [*options, "--json", str(out)])
        wall_s = time.perf_counter() - began_s
        figures: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    n_jobs = int(figures["n_completed"])
    goal_s = PUBLISHED_GOAL_S if "trace2" in name else LARGEST_GOAL_S if n_jobs >= 100_000 else None
    return Replay(name, n_jobs, n_gpus, int(figures["rounds"]), cpu_s, wall_s, peak_mb, goal_s)


def _run(command: str, options: Sequence[str]) -> tuple[float, float]:
    """(peak of its memory in MiB, its processor time in seconds). Raises CalledProcessError if it fails."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    arguments = [sys.executable, "-m", "scheduler", command, *options]
    process = subprocess.Popen(arguments, stdout=sys.stderr, env=environment)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, arguments)
    return used.ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10), used.ru_utime + used.ru_stime
