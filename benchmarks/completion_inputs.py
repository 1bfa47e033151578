# SPDX-License-Identifier: Apache-2.0
"""On days with large inputs, which nodes fetch into caches: how long do jobs take, and how often are they restarted?

    python -m benchmarks.completion_inputs [--policies mlhub ...] [--seeds 3] [--first-seed 1] [--without-inputs]

The days of benchmarks.predictions_inputs: as they are; with jobs that train on 1 to 16 GPUs; and these on two types of
GPU, one half as fast. The hash is that of all decisions: equal ones have the same.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from statistics import mean
from typing import Any

import numpy as np

from benchmarks.predictions_inputs import day_with_inputs
from scheduler import POLICIES, ClusterSnapshot, Plan, policy_named
from scheduler.simulator.engine import simulate
from scheduler.simulator.traces.gpu_speeds import GpuSpeeds

MOST = 16
TYPES = GpuSpeeds("two types", {("a100", ""): 1.0, ("v100", ""): 0.5})
DAYS: dict[str, dict[str, Any]] = {
    "fixed sizes": {"n_jobs": 850},
    "1 to 16 GPUs": {"n_jobs": 850, "most": MOST},
    "two GPU types": {"n_jobs": 600, "most": MOST, "gpu_speeds": TYPES},
}


class DecisionHash:
    """Hashes what each round decides of all jobs, without explanations and predictions."""

    def __init__(self) -> None:
        self._found = hashlib.sha256()

    def __call__(self, snapshot: ClusterSnapshot, plan: Plan) -> None:
        for one in plan.decisions:
            decided = snapshot.now_s, type(one).__name__, one.job, getattr(one, "allocation", None)
            self._found.update(repr(decided).encode())

    def __str__(self) -> str:
        return self._found.hexdigest()[:8]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--policies", nargs="+", default=["mlhub"], choices=sorted(POLICIES), metavar="POLICY")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--without-inputs", action="store_true", help="the same jobs, which read nothing")
    asked = parser.parse_args()
    print("| policy | day | seed | mean JCT, s | p99 JCT, s | restarts | decisions |")
    print("|---|---|---|---|---|---|---|")
    for policy in asked.policies:
        for name, day in DAYS.items():
            for seed in range(asked.first_seed, asked.first_seed + asked.seeds):
                decisions = DecisionHash()
                environment = day_with_inputs(seed, **day, has_inputs=not asked.without_inputs)
                outcome = simulate(environment, policy=policy_named(policy, {}), on_round=decisions, seed=seed)
                ended = outcome.histories.values()
                jcts = [history.jct_s for history in ended if history.jct_s is not None]
                n_restarts = sum(history.n_restarts for history in ended)
                times = f"{mean(jcts):,.0f} | {np.quantile(jcts, 0.99):,.0f}"
                print(f"| {policy} | {name} | {seed} | {times} | {n_restarts:,} | {decisions} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
