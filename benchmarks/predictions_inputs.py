# SPDX-License-Identifier: Apache-2.0
"""On days with large inputs, which nodes fetch into caches: do jobs end when their first prediction said?

    python -m benchmarks.predictions_inputs [--policies fifo mlhub ...] [--n-jobs 850] [--seeds 2] [--first-seed 1]

Jobs of half an hour in the median read one of 24 datasets of 5 to 60 GB, which takes a node 50 to 600 s to fetch; a
node has room for two or three of them. Predictions of the first twelve hours are not judged.
"""

from __future__ import annotations

import argparse
import random
import sys
from dataclasses import replace

from scheduler import POLICIES, NodeSnapshot, RackSnapshot, policy_named
from scheduler.simulator.engine import simulate
from scheduler.simulator.environments.counting import CountingEnvironment
from scheduler.simulator.reports.calibration import Calibration, Calibrator
from scheduler.simulator.traces.clusters import Cluster
from scheduler.simulator.traces.gpu_speeds import GpuSpeeds
from scheduler.simulator.traces.trace import Trace, TraceJob

N_NODES, PER_NODE, N_SETS, HOURS, LEARNS_S = 8, 4, 24, 36.0, 12 * 3600.0
GB = 10**9
SIZES_GB, CACHE_BYTES = (5.0, 60.0), 150 * GB
START_S, STOP_S = 30.0, 5.0


def day_with_inputs(
    seed: int, *, n_jobs: int, most: int | None = None, gpu_speeds: GpuSpeeds | None = None, has_inputs: bool = True
) -> CountingEnvironment:
    """Returns the day of that seed. most: workers of each job, which may have 1; None = each has its own number.

    gpu_speeds: of several GPU types, which nodes have by turns; None = there is one. has_inputs: False = the same jobs,
    which read nothing.
    """
    dice = random.Random(seed)
    sets = [(f"data-{i}", int(dice.uniform(*SIZES_GB) * GB)) for i in range(N_SETS)]
    at_s, jobs = 0.0, []
    for i in range(n_jobs):
        at_s += dice.expovariate(n_jobs / (HOURS * 3600))
        name, size_bytes = dice.choice(sets)
        n_gpus, seconds = dice.choice([1, 1, 1, 2, 4]), dice.lognormvariate(7.3, 1.0)
        job = TraceJob(f"job-{i}", at_s, n_gpus, seconds, model=name)
        job = replace(job, min_gpus=1, max_gpus=most) if most else job
        jobs.append(replace(job, inputs=name, inputs_bytes=size_bytes) if has_inputs else job)
    types = sorted({gpu_type for gpu_type, _ in gpu_speeds.speeds}) if gpu_speeds else ["a100"]
    nodes = tuple(
        NodeSnapshot(f"node-{i}", "rack", types[i % len(types)], PER_NODE, 64, 2**36, 10e9) for i in range(N_NODES)
    )
    cluster = Cluster(nodes, (RackSnapshot("rack", 40e9),))
    trace = Trace("inputs", "mlhub", tuple(jobs))
    return CountingEnvironment(
        trace, cluster, start_s=START_S, stop_s=STOP_S, cache_bytes=CACHE_BYTES, gpu_speeds=gpu_speeds
    )


def judged_ends(policy: str, seed: int, *, n_jobs: int, since_s: float = LEARNS_S) -> Calibration:
    """Returns how well the first predictions of ends held on the day of that seed."""
    calibrator = Calibrator()
    outcome = simulate(
        day_with_inputs(seed, n_jobs=n_jobs), policy=policy_named(policy, {}), on_round=calibrator, seed=seed
    )
    return calibrator.result(outcome, only_first=True, since_s=since_s)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--policies", nargs="+", default=["fifo", "mlhub"], choices=sorted(POLICIES), metavar="POLICY")
    parser.add_argument("--n-jobs", type=int, default=850)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--first-seed", type=int, default=1)
    arguments = parser.parse_args()
    print("| policy | seed | jobs | by P50 | by P90 | median error | P90 / actual | P90 / P50 |")
    print("|---|---|---|---|---|---|---|---|")
    for policy in arguments.policies:
        for seed in range(arguments.first_seed, arguments.first_seed + arguments.seeds):
            found = judged_ends(policy, seed, n_jobs=arguments.n_jobs)
            shares = f"{found.held_p50:.0%} | {found.held_p90:.0%} | {found.median_error:.1%}"
            wide = f"{found.median_p90:.2f} | {found.median_width:.2f}"
            print(f"| {policy} | {seed} | {found.n} | {shares} | {wide} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
