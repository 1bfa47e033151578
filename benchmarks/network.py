# SPDX-License-Identifier: Apache-2.0
"""The network-bound comparison: every policy on traces drawn from Muri's job mix, on racks with narrow uplinks.

    python -m benchmarks.network --data DIR --out DIR [--jobs 160] [--draws 3] [--loads 0.8,0.25] [--policies a,b]

DIR holds muri/traces/trace3.csv (Rivendile/Muri on GitHub, Apache-2.0); $MLHUB_TRACES serves as well. Draws, for each
load and draw, that many of the trace's jobs with replacement and Poisson arrivals, moved together until the jobs' GPU
time is that part of the cluster's; plays them through `python -m scheduler compare`; writes results/network.md.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean

import numpy as np

from scheduler.__main__ import main as scheduler_main
from scheduler.policies import POLICIES

SOURCE = "muri/traces/trace3.csv"
PAGE = Path(__file__).parent / "results" / "network.md"
ABLATION = "mlhub-tight=mlhub"  # the same without priced places
RACKS, NODES, GPUS, NIC_GBIT, OVERSUBSCRIBED = 4, 4, 4, 10, 4
RunFigures = Mapping[tuple[str, str], Mapping[str, str]]  # by policy and trace


def cluster_yaml() -> str:
    """Racks whose uplinks carry 1 / OVERSUBSCRIBED of what their nodes can send."""
    lines = ["racks:"]
    for r in range(RACKS):
        lines += [f"  - name: r{r}", f"    uplink: {NODES * NIC_GBIT / OVERSUBSCRIBED:g}Gbit", "    nodes:"]
        lines += [
            f"      - {{name: r{r}n{i}, slots: {GPUS}, gpu_type: v100, cpus: 64, memory: 256GiB, nic: {NIC_GBIT}Gbit}}"
            for i in range(NODES)
        ]
    return "\n".join(lines) + "\n"


def draw_trace(source: Path, target: Path, *, n_jobs: int, load: float, seed: int) -> None:
    """A trace in the source's format. load: the jobs' GPU time over the cluster's, from first to last arrival."""
    with source.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    dice = np.random.default_rng(seed)
    gaps = dice.exponential(1.0, n_jobs - 1)
    chosen = [rows[k] for k in dice.integers(len(rows), size=n_jobs)]
    gpu_ms = sum(float(row["num_gpu"]) * float(row["duration"]) for row in chosen)
    at_ms = np.concatenate([[0.0], np.cumsum(gaps)]) * (gpu_ms / (RACKS * NODES * GPUS * load * gaps.sum()))
    drawn = [{**row, "job_id": i, "submit_time": int(at_ms[i]), "interval": 0} for i, row in enumerate(chosen)]
    with target.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(drawn)


def page(runs: RunFigures, loads: Sequence[str], *, n_jobs: int, n_draws: int) -> str:
    """runs: what compare wrote of each simulation; traces are named load-draw."""
    policies = list(dict.fromkeys(policy for policy, _ in runs))
    parts = [
        "# Network-bound traces\n",
        "Written by `make bench-network`. Average JCT in seconds, world `network`: "
        f"{RACKS * NODES} nodes of {GPUS} GPUs in",
        f"{RACKS} racks, NICs of {NIC_GBIT} Gb/s, uplinks of {NODES * NIC_GBIT / OVERSUBSCRIBED:g} Gb/s "
        f"({OVERSUBSCRIBED}:1 oversubscribed). {n_jobs} jobs a draw, of Muri's testbed trace",
        "(Rivendile/Muri, Apache-2.0) with its network stages; lengths declared, speeds learned.",
        "Every policy has the same draws. `mlhub-tight` is `mlhub` without priced places. The whole trace is in",
        "[scheduling.md](scheduling.md).\n",
    ]
    for load in loads:
        of = {p: [runs[p, _name(load, draw)] for draw in range(n_draws)] for p in policies}
        jct = {p: fmean(float(run["avg_jct_s"]) for run in found) for p, found in of.items()}
        ranked = sorted(policies, key=jct.__getitem__)
        best = next(p for p in ranked if not p.startswith("mlhub"))
        gain = 1 - jct["mlhub"] / jct[best] if "mlhub" in jct else None
        parts += [
            f"## The jobs' GPU time is {load} of the cluster's\n",
            "| policy | "
            + " | ".join(f"draw {n + 1}" for n in range(n_draws))
            + " | mean | of the GPUs in use | done |",
            "|---|" + "---|" * (n_draws + 3),
            *(_row(p, of[p], jct[p]) for p in ranked),
            "",
        ]
        if gain is not None:
            parts.append(
                f"`mlhub` is {abs(gain):.0%} {'below' if gain >= 0 else 'above'} the best of the others, `{best}`.\n"
            )
    return "\n".join(parts)


def _row(policy: str, found: Sequence[Mapping[str, str]], mean_s: float) -> str:
    used = fmean(float(run["utilisation"]) for run in found)
    done, n_jobs = (sum(int(run[key]) for run in found) for key in ("n_completed", "n_submitted"))
    each = " | ".join(f"{float(run['avg_jct_s']):,.0f}" for run in found)
    return f"| {policy} | {each} | {mean_s:,.0f} | {used:.0%} | {done} of {n_jobs} |"


def _name(load: str, draw: int) -> str:
    return f"load-{load}-draw-{draw + 1}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=os.environ.get("MLHUB_TRACES"))
    parser.add_argument("--out", required=True)
    parser.add_argument("--jobs", type=int, default=160)
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--loads", default="0.8,0.25")
    parser.add_argument("--policies", default=",".join([*sorted(POLICIES), ABLATION]))
    parser.add_argument("--processes", default="1")
    arguments = parser.parse_args()
    source = Path(arguments.data or "", SOURCE)
    if not arguments.data or not source.is_file():
        print(f"no {SOURCE}: give the folder of public traces as --data or $MLHUB_TRACES", file=sys.stderr)
        return 2
    out, loads = Path(arguments.out), arguments.loads.split(",")
    out.mkdir(parents=True, exist_ok=True)
    cluster = out / "racks.yaml"
    cluster.write_text(cluster_yaml(), encoding="utf-8")
    traces = [out / f"{_name(load, draw)}.csv" for load in loads for draw in range(arguments.draws)]
    for n, trace in enumerate(traces):
        load, draw = loads[n // arguments.draws], n % arguments.draws
        draw_trace(source, trace, n_jobs=arguments.jobs, load=float(load), seed=draw)
    ablation = ["--param", "mlhub-tight.prices_places=false"] if ABLATION in arguments.policies else []
    files = ["--trace", *map(str, traces), "--cluster", str(cluster), "--out", str(out / "compared")]
    options = [
        "--environment",
        "network",
        "--policies",
        arguments.policies,
        *ablation,
        "--processes",
        arguments.processes,
    ]
    if status := scheduler_main(["compare", *options, *files]):
        return status
    with (out / "compared" / "runs.csv").open(encoding="utf-8", newline="") as file:
        runs = {(row["policy"], Path(row["trace"]).stem): row for row in csv.DictReader(file)}
    PAGE.write_text(page(runs, loads, n_jobs=arguments.jobs, n_draws=arguments.draws), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
