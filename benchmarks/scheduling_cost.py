# SPDX-License-Identifier: Apache-2.0
"""What deciding costs: rounds of a busy cluster by size, with the growth fitted; rounds of tenants that share fairly;
and what whole simulations cost. Writes results/scheduling-cost.md.

python -m benchmarks.scheduling_cost [--sizes 64:32,1000:500,...] [--rounds N] [--policy mlhub] [--data FOLDER]
[--quick]
FOLDER (or $MLHUB_TRACES) holds muri/ (Rivendile/Muri on GitHub). --quick: small sizes only, in some minutes.
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

from benchmarks.scheduling_replays import FULL, QUICK, made_up, published
from benchmarks.scheduling_replays import report as report_replays

RESULTS = Path(__file__).parent / "results"
SIZES = "64:32,1000:500,10000:5000,100000:20000"
FAIR_SIZES = "64:32,1000:500,10000:5000"  # with guarantees, dominant shares and decayed use
QUICK_SIZES, QUICK_FAIR_SIZES = "64:32,1000:500", "64:32"
FEW_ROUNDS = 8  # of sizes at which each takes seconds
MANY_JOBS = 20_000
GOALS_MS = {32: 10.0, 500: 100.0, 5_000: 1_000.0, 20_000: 10_000.0}  # p99 of a round


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", help="GPUs:jobs, with commas between")
    parser.add_argument("--rounds", type=int, help="as python -m scheduler bench has it, if not given")
    parser.add_argument("--policy", default="mlhub")
    parser.add_argument("--data", type=Path, default=os.environ.get("MLHUB_TRACES"), metavar="FOLDER")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", type=Path, default=RESULTS / "scheduling-cost.md")
    arguments = parser.parse_args()
    sizes = _sizes(arguments.sizes or (QUICK_SIZES if arguments.quick else SIZES))
    fair_sizes = _sizes(QUICK_FAIR_SIZES if arguments.quick else FAIR_SIZES)
    plain = [measure(gpus, jobs, arguments.policy, arguments.rounds) for gpus, jobs in sizes]
    fair = [measure(gpus, jobs, arguments.policy, arguments.rounds, fair=True) for gpus, jobs in fair_sizes]
    trace = published(Path(arguments.data) if arguments.data else None)
    days = [(one, made_up(one)) for one in (QUICK if arguments.quick else FULL)]
    draw(plain, fair, arguments.out.with_suffix(".svg"))
    lines = [*report(plain, fair, arguments), *report_replays(trace, days)]
    arguments.out.write_text("\n".join(lines), encoding="utf-8")


def _sizes(text: str) -> list[tuple[int, int]]:
    """GPUs and jobs."""
    pairs = [size.split(":") for size in text.split(",")]
    return [(int(gpus), int(jobs)) for gpus, jobs in pairs]


def measure(gpus: int, jobs: int, policy: str, rounds: int | None, *, fair: bool = False) -> dict[str, Any]:
    """In a process of its own, so that the peak of memory is that size's own."""
    rounds = rounds or (FEW_ROUNDS if jobs >= MANY_JOBS else None)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "bench.json"
        command = [sys.executable, "-m", "scheduler", "bench", "--gpus", str(gpus), "--jobs", str(jobs)]
        command += ["--policy", policy, "--json", str(out), *(["--rounds", str(rounds)] if rounds else [])]
        command += ["--fair"] if fair else []
        subprocess.run(command, check=True, stdout=sys.stderr, env={**os.environ, "OMP_NUM_THREADS": "1"})
        figures: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
        return figures


def growth(found: list[dict[str, Any]]) -> float | None:
    """The power of the number of jobs with which the median round's processor time grows; least squares of logs."""
    if len(found) < 2:
        return None
    jobs = np.log([one["jobs"] for one in found])
    return float(np.polyfit(jobs, np.log([one["cpu_ms"]["p50"] for one in found]), 1)[0])


def draw(plain: list[dict[str, Any]], fair: list[dict[str, Any]], path: Path) -> None:
    figure, axes = plt.subplots(figsize=(6, 4))
    jobs = [one["jobs"] for one in plain]
    axes.loglog(jobs, [one["cpu_ms"]["p50"] for one in plain], "o-", label="processor time, median")
    axes.loglog(jobs, [one["round_ms"]["p99"] for one in plain], "s--", label="wall time, p99")
    shared = [one["cpu_ms"]["p50"] for one in fair]
    axes.loglog([one["jobs"] for one in fair], shared, "^-", label="tenants share fairly, processor time, median")
    goals = sorted(GOALS_MS.items())
    axes.loglog([n for n, _ in goals], [ms for _, ms in goals], "k:", label="goal (p99)")
    axes.set_xlabel("live jobs")
    axes.set_ylabel("ms a round")
    axes.legend()
    figure.tight_layout()
    figure.savefig(path)


def report(plain: list[dict[str, Any]], fair: list[dict[str, Any]], arguments: argparse.Namespace) -> list[str]:
    options = f"{' --quick' if arguments.quick else ''}{f' --rounds {arguments.rounds}' if arguments.rounds else ''}"
    load = ", ".join(f"{n:.1f}" for n in os.getloadavg())
    return [
        "# What deciding costs",
        "",
        f"`python -m benchmarks.scheduling_cost --policy {arguments.policy}{options}`, on {os.cpu_count()} cores with",
        f"a load average of {load} at the end: wall time contains the waiting for other programs, processor time only",
        "what they do to caches.",
        "",
        "## A round",
        "",
        *_rows(plain),
        "",
        f"{_grows(plain)} ![Time of a round by jobs]({arguments.out.with_suffix('.svg').name})",
        "",
        "The rounds are those of `scheduler/simulator/busy_cluster/`: jobs together ask for twice the GPUs that there",
        "are, half of them elastic, a tenth with free batches, a fifth for one type of GPU; families report and",
        "are fitted anew; tenants have quotas; between two rounds a minute passes, jobs advance, end and are",
        "replaced. The cold round, with all jobs still to be placed, and twelve more to warm up are not in the",
        "percentiles, nor is garbage collection, which follows each round. Peak memory is that of the whole process.",
        "",
        "Where each organisation is guaranteed an eighth of the GPUs and all others go by turns, by dominant shares,",
        "weights and decayed use:",
        "",
        *_rows(fair),
        "",
        _grows(fair),
        "",
    ]


def _rows(found: list[dict[str, Any]]) -> list[str]:
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
    return rows


def _grows(found: list[dict[str, Any]]) -> str:
    exponent = growth(found)
    return "" if exponent is None else f"The median's processor time grows with jobs^{exponent:.2f}."


if __name__ == "__main__":
    main()
