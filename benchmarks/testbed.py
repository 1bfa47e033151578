# SPDX-License-Identifier: Apache-2.0
"""Real training jobs through the real control loop on virtual nodes, under several policies, compared with predictions.

    python -m benchmarks.testbed [--policies fifo,tiresias,optimus,mlhub] [--rounds 1] [--out FILE]

Virtual nodes are network namespaces of this machine with limited NICs, rack uplinks and CPU quotas; one slot each.
Without the right to make them it reports that and ends with status 0. Policies of fixed sizes get the sizes that a
person might have guessed; elastic ones decide themselves.
"""

from __future__ import annotations

import argparse
import signal
import statistics
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.contention import contention
from benchmarks.testbed_figures import draw
from benchmarks.testbed_platform import SubmittedJob, platform_on
from benchmarks.virtual_nodes import VirtualCluster, virtual_cluster, why_not
from scheduler import POLICIES

NIC_BPS, UPLINK_BPS = 200e6, 200e6
CPUS = 0.4  # of this machine, a node: four of them leave some for the platform
MOST_S = 1200.0
ELASTIC = ("optimus", "mlhub", "pollux", "fair")
WIDE = {"width": 512}  # 0.7 M parameters: 21 Mbit a gradient, which a 200 Mbit NIC feels
TRACE = (
    SubmittedJob(0, "cnn-long", "small_cnn", 6, 2),
    SubmittedJob(4, "mlp-wide", "mlp", 4, 4, hyperparameters=WIDE),
    SubmittedJob(8, "cnn-short", "small_cnn", 2, 1),
    SubmittedJob(12, "mlp-long", "mlp", 16, 2),
    SubmittedJob(20, "cnn-large-batch", "small_cnn", 4, 4, batch_size=256),
    SubmittedJob(28, "mlp-short", "mlp", 2, 1),
    SubmittedJob(36, "cnn-medium", "small_cnn", 3, 2),
    SubmittedJob(44, "mlp-wide-short", "mlp", 2, 1, hyperparameters=WIDE),
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--policies", default="fifo,tiresias,optimus,mlhub")
    parser.add_argument("--rounds", type=int, default=1, help="repetitions of the trace under every policy")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/testbed.md"))
    arguments = parser.parse_args()
    policies = arguments.policies.split(",")
    unknown = [name for name in policies if name not in POLICIES]
    if unknown:
        parser.error(f"there is no policy {unknown[0]!r}; known: {', '.join(sorted(POLICIES))}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that all is removed
    if reason := why_not():
        print(f"The testbed was not run: {reason}.")
        return 0
    console = Console(highlight=False)
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    runs: dict[str, list[list[dict[str, Any]]]] = {}
    with virtual_cluster(n_racks=2, nodes_per_rack=2, nic_bps=NIC_BPS, uplink_bps=UPLINK_BPS, cpus=CPUS) as cluster:
        links = contention(cluster, console)
        for policy in policies:
            runs[policy] = [_play(cluster, policy) for _ in range(arguments.rounds)]
            _write(arguments.out, links, runs)  # what was played is kept, whatever comes
            console.print(_row(policy, runs[policy]))
    console.print(f"written to {arguments.out}")
    return 0


def _play(cluster: VirtualCluster, policy: str) -> list[dict[str, Any]]:
    """Raises RuntimeError if a job did not succeed."""
    with platform_on(cluster) as platform:
        platform.choose_policy(policy, {})
        jobs = platform.run(TRACE, is_elastic=policy in ELASTIC, seconds=MOST_S)
    if lost := [job["name"] for job in jobs if job["state"] != "succeeded"]:
        raise RuntimeError(f"under {policy} these jobs did not succeed: {', '.join(lost)}")
    return jobs


def _write(out: Path, links: Sequence[str], runs: Mapping[str, Sequence[list[dict[str, Any]]]]) -> None:
    figures = draw({policy: played[0] for policy, played in runs.items()}, out.parent, stem=out.stem)
    shown = [
        "",
        f"![Who trained when]({figures[0]})",
        "",
        f"![Step times, predicted over measured]({figures[1]})",
    ]
    out.write_text("\n".join([_head(), "", *links, *_comparison(runs), *shown]) + "\n")


def _head() -> str:
    return (
        "# The testbed\n\nBy `python -m benchmarks.testbed`, as root: real jobs (MNIST digits; the built-in models) "
        "through the real control loop, on 4 virtual nodes of 1 slot in 2 racks; NICs and uplinks of "
        f"{NIC_BPS / 1e6:g} Mbit/s by token buckets, {CPUS:g} CPUs a node by quota."
    )


def _comparison(runs: Mapping[str, Sequence[list[dict[str, Any]]]]) -> list[str]:
    return [
        f"## {len(TRACE)} jobs in {max(s.at_s for s in TRACE):g} s, under {len(runs)} policies",
        "",
        "JCT: from submission to the end, seconds, mean over all jobs (and repetitions). Starts: attempts per job. "
        "Step time error: |predicted - measured| / measured of attempts, median (in brackets: of "
        "attempts after a job's first).",
        "",
        "| policy | mean JCT | median | longest | makespan | starts | step time error |",
        "|---|---|---|---|---|---|---|",
        *(_row(policy, played) for policy, played in runs.items()),
    ]


def _row(policy: str, played: Sequence[list[dict[str, Any]]]) -> str:
    jobs = [job for run in played for job in run]
    times = [float(job["jct_s"]) for job in jobs]
    errors = [(number, error) for job in jobs for number, error in _errors(job)]
    later = [error for number, error in errors if number > 1]
    every = f"{statistics.median(e for _, e in errors):.0%}" if errors else "–"
    shown = every + (f" ({statistics.median(later):.0%})" if later else "")
    starts = sum(len(job["attempts"]) for job in jobs) / len(jobs)
    return (
        f"| {policy} | {statistics.mean(times):.0f} | {statistics.median(times):.0f} | {max(times):.0f} | "
        f"{statistics.mean(_makespan_s(run) for run in played):.0f} | {starts:.1f} | {shown} |"
    )


def _errors(job: dict[str, Any]) -> list[tuple[int, float]]:
    found = []
    for attempt in job["attempts"]:
        predicted, measured = attempt["predicted_step_s"], attempt["measured_step_s"]
        if predicted and measured:
            found.append((int(attempt["number"]), abs(predicted - measured) / measured))
    return found


def _makespan_s(jobs: Sequence[dict[str, Any]]) -> float:
    began = min(datetime.fromisoformat(job["submitted_at"]) for job in jobs)
    ended = max(datetime.fromisoformat(job["finished_at"]) for job in jobs)
    return (ended - began).total_seconds()


if __name__ == "__main__":
    sys.exit(main())
