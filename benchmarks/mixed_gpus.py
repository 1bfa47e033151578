# SPDX-License-Identifier: Apache-2.0
"""Clusters of several GPU types: mlhub against Sia and every objective of Gavel, on job types measured on them.

    python -m benchmarks.mixed_gpus --data DIR --out DIR [--jobs 200] [--draws 2] [--load 0.9] [--clusters a,b]

DIR holds gavel/isolated.csv and gavel/colocated_pairs_v100.csv (stanford-futuredata/gavel on GitHub, MIT);
$MLHUB_TRACES serves as well. Draws, for each cluster and draw, jobs of the measured types and sizes with log-uniform
lengths and Poisson arrivals, moved together until their GPU time on V100s is that part of the cluster's; plays them
through `python -m scheduler compare`; writes results/mixed-gpus.md.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import numpy as np

from scheduler.__main__ import main as scheduler_main
from scheduler.policies.gavel.linear_programs import OBJECTIVES
from scheduler.simulator.traces.gavel_tables import STANDARD_TYPE, SharingTables, read_sharing

PAGE = Path(__file__).parent / "results" / "mixed-gpus.md"
SIZES, SHARES = (1, 2, 4, 8), (0.7, 0.1, 0.15, 0.05)  # GPUs, and their parts of the jobs
SHORTEST_S, LONGEST_S = 600.0, 60_000.0  # on V100s
POLICIES = ["mlhub", "sia", *(f"{objective}=gavel" for objective in OBJECTIVES)]
MixedFigures = Mapping[str, str]  # of one simulation


@dataclass(frozen=True)
class MixedCluster:
    """A cluster: (GPU type, nodes, GPUs of each)."""

    name: str
    nodes: tuple[tuple[str, int, int], ...]

    @property
    def n_gpus(self) -> int:
        return sum(n_nodes * n_gpus for _, n_nodes, n_gpus in self.nodes)

    @property
    def text(self) -> str:
        """The cluster in words."""
        return ", ".join(f"{n * each} {gpu_type.upper()} ({n} x {each})" for gpu_type, n, each in self.nodes)

    def yaml(self) -> str:
        lines = ["racks:", "  - name: r0", "    uplink: 100Gbit", "    nodes:"]
        lines += [
            f"      - {{name: {t}, count: {n}, gpu_type: {t}, slots: {each}, cpus: 64, memory: 256GiB, nic: 25Gbit}}"
            for t, n, each in self.nodes
        ]
        return "\n".join(lines) + "\n"


CLUSTERS = (
    MixedCluster("thirds", (("v100", 4, 4), ("p100", 4, 4), ("k80", 4, 4))),
    MixedCluster("few-fast", (("v100", 2, 8), ("k80", 8, 4))),
    MixedCluster("two-alike", (("v100", 4, 4), ("p100", 8, 4))),
    MixedCluster("many-slow", (("v100", 2, 4), ("p100", 4, 4), ("k80", 8, 4))),
)


def draw_trace(tables: SharingTables, cluster: MixedCluster, *, n_jobs: int, load: float, seed: int) -> str:
    """A trace in MLHub's format; lengths are those on V100s."""
    dice = np.random.default_rng(seed)
    rows = []
    for _ in range(n_jobs):
        size = int(dice.choice(SIZES, p=SHARES))
        models = [m for m in tables.job_types if size in tables.sizes(m, STANDARD_TYPE)]
        length_s = float(np.exp(dice.uniform(np.log(SHORTEST_S), np.log(LONGEST_S))))
        rows.append((size, models[int(dice.integers(len(models)))], length_s))
    gaps = dice.exponential(1.0, n_jobs - 1)
    wanted_s = sum(size * length_s for size, _, length_s in rows) / (cluster.n_gpus * load)
    at_s = np.concatenate([[0.0], np.cumsum(gaps)]) * wanted_s / gaps.sum()
    lines = ["job,submitted_at_s,n_gpus,duration_s,tenant,model"]
    lines += [f"j{i},{at_s[i]:.1f},{size},{length_s:.1f},all,{model}" for i, (size, model, length_s) in enumerate(rows)]
    return "\n".join(lines) + "\n"


def page(runs: Mapping[str, Mapping[str, Sequence[MixedFigures]]], *, n_jobs: int, n_draws: int, load: float) -> str:
    """runs: by cluster and policy, one for each draw."""
    parts = [
        "# Clusters of several GPU types\n",
        f"Written by `make bench-mixed-gpus`. Environment `sharing`: {n_jobs} jobs a draw ({n_draws} a cluster) of the",
        "job types and sizes that were measured for Gavel (OSDI '20) on V100, P100 and K80. Their GPU time on V100s is",
        f"{load:g} of the cluster's. Lengths are declared; speeds alone on each type are known, speeds of pairs are",
        "not. `sia`, and `gavel` with each of its objectives. Average and 99th percentile of the completion times in",
        "seconds.\n",
    ]
    for cluster in (one for one in CLUSTERS if one.name in runs):
        found = runs[cluster.name]
        jct = {p: fmean(float(run["avg_jct_s"]) for run in each) for p, each in found.items()}
        p99 = {p: fmean(float(run["p99_jct_s"]) for run in each) for p, each in found.items()}
        best = min((p for p in found if p != "mlhub"), key=jct.__getitem__)
        draws = " | ".join(f"draw {n + 1}" for n in range(n_draws))
        parts += [
            f"## {cluster.name}: {cluster.text}\n",
            f"| policy | {draws} | mean | p99 | done |",
            "|---|" + "---|" * (n_draws + 3),
            *(_row(p, found[p], jct[p], p99[p]) for p in sorted(found, key=jct.__getitem__)),
            "",
            f"`mlhub` is {_compared(jct['mlhub'], jct[best])} the best rival, {_named(best)}, on average, "
            f"and its p99 is {_compared(p99['mlhub'], p99[best])} that one's.\n",
        ]
    return "\n".join(parts)


def _row(policy: str, runs: Sequence[MixedFigures], mean_s: float, p99_s: float) -> str:
    done, n_jobs = (sum(int(run[key]) for run in runs) for key in ("n_completed", "n_submitted"))
    each = " | ".join(f"{float(run['avg_jct_s']):,.0f}" for run in runs)
    return f"| {_named(policy)} | {each} | {mean_s:,.0f} | {p99_s:,.0f} | {done} of {n_jobs} |"


def _named(policy: str) -> str:
    return f"gavel, {policy}" if policy in OBJECTIVES else policy


def _compared(own: float, other: float) -> str:
    return f"{abs(1 - own / other):.1%} {'below' if own <= other else 'above'}"


def played(
    cluster: MixedCluster, tables: SharingTables, arguments: argparse.Namespace
) -> dict[str, list[MixedFigures]]:
    """By policy, the figures of each draw."""
    out = Path(arguments.out) / cluster.name
    out.mkdir(parents=True, exist_ok=True)
    (out / "cluster.yaml").write_text(cluster.yaml(), encoding="utf-8")
    traces = []
    for draw in range(arguments.draws):
        text = draw_trace(tables, cluster, n_jobs=arguments.jobs, load=arguments.load, seed=draw)
        traces.append(out / f"draw-{draw + 1}.csv")
        traces[-1].write_text(text, encoding="utf-8")
    files = ["--trace", *map(str, traces), "--cluster", str(out / "cluster.yaml"), "--out", str(out / "compared")]
    objectives = [part for name in OBJECTIVES for part in ("--param", f"{name}.objective={name}")]
    options = ["--environment", "sharing", "--data", str(Path(arguments.data) / "gavel"), "--processes", "1"]
    if scheduler_main(["compare", "--policies", ",".join(POLICIES), *objectives, *options, *files]):
        raise SystemExit(1)
    runs: dict[str, list[MixedFigures]] = {}
    with (out / "compared" / "runs.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            runs.setdefault(row["policy"], []).append(row)
    return runs


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=os.environ.get("MLHUB_TRACES"))
    parser.add_argument("--out", required=True)
    parser.add_argument("--jobs", type=int, default=200)
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--load", type=float, default=0.9)
    parser.add_argument("--clusters", default=",".join(cluster.name for cluster in CLUSTERS))
    arguments = parser.parse_args()
    folder = Path(arguments.data or "", "gavel")
    if not arguments.data or not (folder / "isolated.csv").is_file():
        print("no gavel/isolated.csv: give the folder of public traces as --data or $MLHUB_TRACES", file=sys.stderr)
        return 2
    isolated = ("isolated.csv", (folder / "isolated.csv").read_text(encoding="utf-8"))
    tables = read_sharing(isolated, (), name=str(folder))
    chosen = [cluster for cluster in CLUSTERS if cluster.name in arguments.clusters.split(",")]
    runs = {cluster.name: played(cluster, tables, arguments) for cluster in chosen}
    PAGE.write_text(page(runs, n_jobs=arguments.jobs, n_draws=arguments.draws, load=arguments.load), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
