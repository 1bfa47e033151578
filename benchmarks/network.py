"""The network-bound comparison: every policy on traces drawn from Muri's job mix, on racks with narrow uplinks.

    python -m benchmarks.network --data DIR --out DIR [--jobs 120] [--seeds 3] [--policies a,b]

DIR holds muri/traces/trace3.csv (Rivendile/Muri on GitHub, Apache-2.0); $MLHUB_TRACES serves as well. Draws, for each
seed, that many of the trace's jobs with replacement and Poisson arrivals at the trace's own rate, writes them and the
cluster into the output folder, and plays them through `python -m scheduler compare`.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
from pathlib import Path

import numpy as np

from scheduler.__main__ import main as scheduler_main
from scheduler.policies import POLICIES

SOURCE = "muri/traces/trace3.csv"
ABLATION = "mlhub-tight=mlhub"  # the same without priced places


def cluster_yaml(*, racks: int = 4, nodes: int = 4, gpus: int = 4, nic_gbit: int = 10, oversubscribed: int = 4) -> str:
    """Racks whose uplinks carry 1 / oversubscribed of what their nodes can send."""
    lines = ["racks:"]
    for r in range(racks):
        lines += [f"  - name: r{r}", f"    uplink: {nodes * nic_gbit / oversubscribed:g}Gbit", "    nodes:"]
        lines += [
            f"      - {{name: r{r}n{i}, slots: {gpus}, gpu_type: v100, cpus: 64, memory: 256GiB, nic: {nic_gbit}Gbit}}"
            for i in range(nodes)
        ]
    return "\n".join(lines) + "\n"


def draw_trace(source: Path, target: Path, *, n_jobs: int, seed: int) -> None:
    """A trace in the source's format."""
    with source.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    dice = np.random.default_rng(seed)
    gap_ms = (float(rows[-1]["submit_time"]) - float(rows[0]["submit_time"])) / len(rows)
    at_ms = np.concatenate([[0.0], np.cumsum(dice.exponential(gap_ms, n_jobs - 1))])
    drawn = [
        {**rows[k], "job_id": i, "submit_time": int(at_ms[i]), "interval": 0}
        for i, k in enumerate(dice.integers(len(rows), size=n_jobs))
    ]
    with target.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(drawn)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=os.environ.get("MLHUB_TRACES"))
    parser.add_argument("--out", required=True)
    parser.add_argument("--jobs", type=int, default=120)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--policies", default=",".join([*sorted(POLICIES), ABLATION]))
    parser.add_argument("--processes", default="1")
    arguments = parser.parse_args()
    source = Path(arguments.data or "", SOURCE)
    if not arguments.data or not source.is_file():
        print(f"no {SOURCE}: give the folder of public traces as --data or $MLHUB_TRACES", file=sys.stderr)
        return 2
    out = Path(arguments.out)
    out.mkdir(parents=True, exist_ok=True)
    cluster = out / "racks.yaml"
    cluster.write_text(cluster_yaml(), encoding="utf-8")
    traces = [out / f"drawn-{seed}.csv" for seed in range(arguments.seeds)]
    for seed, trace in enumerate(traces):
        draw_trace(source, trace, n_jobs=arguments.jobs, seed=seed)
    ablation = ["--param", "mlhub-tight.prices_places=false"] if ABLATION in arguments.policies else []
    files = ["--trace", *map(str, traces), "--cluster", str(cluster), "--out", str(out / "compared")]
    options = ["--world", "network", "--policies", arguments.policies, *ablation, "--processes", arguments.processes]
    return scheduler_main(["compare", *options, *files])


if __name__ == "__main__":
    sys.exit(main())
