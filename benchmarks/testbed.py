# SPDX-License-Identifier: Apache-2.0
"""Real training jobs through the real control loop on virtual nodes, under several policies, and their simulated twin.

    python -m benchmarks.testbed [--policies fifo,srtf,...] [--seeds 1,2,3] [--jobs 20] [--store DIR] [--out FILE]
        [--most N] [--page-only] [--work DIR]

Virtual nodes are network namespaces of this machine with limited NICs, rack uplinks and CPU quotas; one slot each, in
two speeds. Without the right to make them it reports that and ends with status 0. Policies of fixed sizes get the sizes
that a person might have guessed; elastic ones decide themselves. Each run is stored as it ends, and what is stored is
not run again: --most ends after so many runs, --page-only writes the page from what is there.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rich.console import Console

from benchmarks.testbed_calibration import calibrate, one_of_each, submitted
from benchmarks.testbed_page import write_page
from benchmarks.testbed_platform import PlatformFolder
from benchmarks.testbed_runs import CALIBRATIONS, RunStore, TestbedRun, kept_of
from benchmarks.testbed_trace import COMPARED, NIC_BPS, RACKS, SEEDS, UPLINK_BPS, TestbedJob, jobs_of
from benchmarks.virtual_nodes import virtual_cluster, why_not
from mlhub.wire.priority import apply_to_session
from scheduler import POLICIES
from scheduler.policies.abilities import abilities_of

MOST_S = 1500.0
NICENESS = -10  # others may use the machine as well: the platform's processes come before theirs


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--policies", default=",".join(COMPARED))
    parser.add_argument("--seeds", default=",".join(map(str, SEEDS)))
    parser.add_argument("--jobs", type=int, default=20)
    parser.add_argument("--most", type=int, default=1000, help="end after so many runs")
    parser.add_argument("--page-only", action="store_true", help="run nothing, and write the page")
    parser.add_argument("--store", type=Path, default=Path("benchmarks/recorded/testbed"))
    parser.add_argument("--work", type=Path, help="a folder to keep the prepared platform in; by default a new one")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/testbed.md"))
    arguments = parser.parse_args()
    policies, seeds = arguments.policies.split(","), [int(seed) for seed in arguments.seeds.split(",")]
    if unknown := [name for name in policies if name not in POLICIES]:
        parser.error(f"there is no policy {unknown[0]!r}; known: {', '.join(sorted(POLICIES))}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that all is removed
    store = RunStore(arguments.store)
    missing = [cell for cell in cells(policies, seeds) if not store.has(*cell, n_jobs=arguments.jobs)]
    if missing and not arguments.page_only:
        if reason := why_not():
            print(f"The testbed was not run: {reason}.")
            return 0
        _run(missing[: arguments.most], store, n_jobs=arguments.jobs, work=arguments.work, out=arguments.out)
    write_page(arguments.out, store, n_jobs=arguments.jobs)
    print(f"written to {arguments.out}")
    return 0


def cells(policies: Sequence[str], seeds: Sequence[int]) -> list[tuple[str, int]]:
    """All runs in their order: each seed begins with another policy, so that none is always first."""
    found = []
    for i, seed in enumerate(seeds):
        turn = i * len(policies) // max(1, len(seeds))
        found += [(policy, seed) for policy in (*policies[turn:], *policies[:turn])]
    return found


def _run(missing: Sequence[tuple[str, int]], store: RunStore, *, n_jobs: int, work: Path | None, out: Path) -> None:
    os.setpriority(os.PRIO_PROCESS, 0, NICENESS)
    apply_to_session(os.getpid())
    console = Console(highlight=False)
    with ExitStack() as stack:
        folder = work or Path(stack.enter_context(TemporaryDirectory(prefix="mlhub-testbed-")))
        folder.mkdir(parents=True, exist_ok=True)
        cluster = stack.enter_context(virtual_cluster(racks=RACKS, nic_bps=NIC_BPS, uplink_bps=UPLINK_BPS))
        platforms = PlatformFolder(folder, cluster)
        if not platforms.is_prepared:
            platforms.prepare(one_of_each())
        if store.calibration is None:
            store.keep_calibration(calibrate(platforms))
        for policy, seed in missing:
            trace = jobs_of(seed, n_jobs)
            began = time.monotonic()
            run = play(platforms, trace, policy, seed)
            store.keep(run)
            write_page(out, store, n_jobs=n_jobs)  # what was played is kept, whatever comes
            mean_s = sum(job["jct_s"] for job in run.jobs) / len(run.jobs)
            console.print(f"{policy}, seed {seed}: mean {mean_s:.0f} s, in {time.monotonic() - began:.0f} s")


def play(platforms: PlatformFolder, trace: Sequence[TestbedJob], policy: str, seed: int) -> TestbedRun:
    """Raises RuntimeError if a job did not succeed."""
    is_elastic = abilities_of(POLICIES[policy]).is_elastic
    at = datetime.now(UTC)
    with platforms.run() as platform:
        platform.choose_policy(policy, {})
        jobs: list[Mapping[str, Any]] = []
        submissions = [
            submitted(job.kind, job.name, job.epochs, job.guess, at_s=job.at_s, organisation=job.organisation)
            for job in trace
        ]
        jobs += platform.run(submissions, is_elastic=is_elastic, seconds=MOST_S)
        insight = platform.admin.get("/scheduler/insight")
    if lost := [job["name"] for job in jobs if job["state"] != "succeeded"]:
        raise RuntimeError(f"under {policy} these jobs did not succeed: {', '.join(lost)}")
    calibration = {name: insight[name] for name in CALIBRATIONS}
    when, load = at.isoformat(timespec="seconds"), os.getloadavg()[0]
    return TestbedRun(policy, seed, when, load, tuple(map(kept_of, jobs)), calibration)


if __name__ == "__main__":
    sys.exit(main())
