"""What deciding costs: rounds of a busy cluster by size, with the growth fitted; writes results/scheduling-cost.md.

python -m benchmarks.scheduling_cost [--sizes 64:32,1000:500,...] [--rounds N] [--policy mlhub]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

matplotlib.use("Agg")
from matplotlib import pyplot as plt

RESULTS = Path(__file__).parent / "results"
SIZES = "64:32,1000:500,10000:5000,100000:20000"
GOALS_MS = {32: 10.0, 500: 100.0, 5_000: 1_000.0, 20_000: 10_000.0}  # p99 of a round


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default=SIZES, help="GPUs:jobs, with commas between")
    parser.add_argument("--rounds", type=int, help="as python -m scheduler bench has it, if not given")
    parser.add_argument("--policy", default="mlhub")
    arguments = parser.parse_args()
    sizes = [tuple(int(n) for n in size.split(":")) for size in arguments.sizes.split(",")]
    found = [measure(gpus, jobs, arguments.policy, arguments.rounds) for gpus, jobs in sizes]
    exponent = growth(found)
    draw(found, RESULTS / "scheduling-cost.svg")
    (RESULTS / "scheduling-cost.md").write_text(report(found, exponent, arguments), encoding="utf-8")


def measure(gpus: int, jobs: int, policy: str, rounds: int | None) -> dict[str, Any]:
    """In a process of its own, so that the peak of memory is that size's own."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "bench.json"
        command = [sys.executable, "-m", "scheduler", "bench", "--gpus", str(gpus), "--jobs", str(jobs)]
        command += ["--policy", policy, "--json", str(out), *(["--rounds", str(rounds)] if rounds else [])]
        subprocess.run(command, check=True, stdout=sys.stderr, env={**os.environ, "OMP_NUM_THREADS": "1"})
        figures: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
        return figures


def growth(found: list[dict[str, Any]]) -> float | None:
    """The power of the number of jobs with which the median round's processor time grows; least squares of logs."""
    if len(found) < 2:
        return None
    jobs = np.log([one["jobs"] for one in found])
    return float(np.polyfit(jobs, np.log([one["cpu_ms"]["p50"] for one in found]), 1)[0])


def draw(found: list[dict[str, Any]], path: Path) -> None:
    figure, axes = plt.subplots(figsize=(6, 4))
    jobs = [one["jobs"] for one in found]
    axes.loglog(jobs, [one["cpu_ms"]["p50"] for one in found], "o-", label="processor time, median")
    axes.loglog(jobs, [one["round_ms"]["p99"] for one in found], "s--", label="wall time, p99")
    goals = sorted(GOALS_MS.items())
    axes.loglog([n for n, _ in goals], [ms for _, ms in goals], "k:", label="goal (p99)")
    axes.set_xlabel("live jobs")
    axes.set_ylabel("ms a round")
    axes.legend()
    figure.tight_layout()
    figure.savefig(path)


def report(found: list[dict[str, Any]], exponent: float | None, arguments: argparse.Namespace) -> str:
    rows = [
        "| GPUs | jobs | rounds | wall p50 ms | wall p99 ms | goal p99 ms | CPU p50 ms | CPU p99 ms | cold ms (CPU) "
        "| peak MiB |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for one in found:
        wall, cpu = one["round_ms"], one["cpu_ms"]
        goal = GOALS_MS.get(one["jobs"])
        rows.append(
            f"| {one['gpus']:,} | {one['jobs']:,} | {one['rounds']} | {wall['p50']:,.1f} | {wall['p99']:,.1f} "
            f"| {f'{goal:,.0f}' if goal else '–'} | {cpu['p50']:,.1f} | {cpu['p99']:,.1f} "
            f"| {one['cold_ms']['cpu']:,.1f} | {one['peak_mb']:,.0f} |"
        )
    grows = f"The median's processor time grows with jobs^{exponent:.2f}." if exponent is not None else ""
    rounds = f" --rounds {arguments.rounds}" if arguments.rounds else ""
    load = ", ".join(f"{n:.1f}" for n in os.getloadavg())
    return "\n".join(
        [
            "# What deciding costs",
            "",
            f"`python -m benchmarks.scheduling_cost --sizes {arguments.sizes} --policy {arguments.policy}{rounds}`, "
            f"on {os.cpu_count()} cores with a load average of {load} at the end: wall time contains the waiting for",
            "other programs, processor time only what they do to caches.",
            "",
            *rows,
            "",
            f"{grows} ![Time of a round by jobs](scheduling-cost.svg)",
            "",
            "The rounds are those of `scheduler/simulator/busy.py`: jobs together ask for twice the GPUs that there",
            "are, half of them elastic, a tenth with free batches, a fifth for one type of GPU; families report and",
            "are fitted anew; tenants have quotas; between two rounds a minute passes, jobs advance, end and are",
            "replaced. The cold round, with all jobs still to be placed, and twelve more to warm up are not in the",
            "percentiles. Peak memory is that of the whole process.",
            "",
        ]
    )


if __name__ == "__main__":
    main()
