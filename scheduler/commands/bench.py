# SPDX-License-Identifier: Apache-2.0
"""bench: how long a round takes on a busy cluster, and how much memory."""

from __future__ import annotations

import argparse
import resource
import sys
import time
from typing import Any

import numpy as np

from scheduler.api.memory import RoundMemory
from scheduler.commands.files import check_can_write, write_json
from scheduler.commands.garbage_collection import collection_between_rounds
from scheduler.commands.options import add_json, add_policy, count, natural, parameters_in
from scheduler.policies.loading import load_policy
from scheduler.policies.toolkit.policy import Policy
from scheduler.round.cache import RoundCache
from scheduler.round.decide import decide
from scheduler.simulator.busy_cluster.cluster import BusyCluster

PERIOD_S = 60.0
MOST = 1_000_000  # GPUs or jobs; more would take hours to make up
WARM_UP = 12  # rounds until as many jobs end as in any later round, and all families have reported


def add(commands: Any) -> None:
    """Adds the parser of the command."""
    parser = commands.add_parser("bench", help="how long a round takes, in steady state, and how much memory")
    parser.add_argument("--gpus", type=count, required=True, metavar="N")
    parser.add_argument("--jobs", type=count, required=True, metavar="M", help="live jobs: running and waiting")
    parser.add_argument("--rounds", type=count, metavar="N", help="rounds to measure (200 for few jobs, 20 for many)")
    parser.add_argument("--seed", type=natural, default=0)
    parser.add_argument(
        "--fair", action="store_true", help="tenants have guarantees, and share the rest fairly, by dominant shares"
    )
    add_policy(parser, default="mlhub")
    add_json(parser)
    parser.set_defaults(command=_bench)


def _bench(arguments: argparse.Namespace) -> int:
    """The first round, cold and with every job still to be placed, is stated separately: cold_ms.

    cpu_ms: processor time of the same rounds, which other programs on the machine disturb less. collection_ms: that of
    garbage collection after each of them, which no round waits for on the live platform either.
    """
    check_can_write(arguments.json)
    policy = load_policy(arguments.policy, parameters_in(arguments.param))
    if max(arguments.gpus, arguments.jobs) > MOST:
        raise ValueError(
            f"--gpus {arguments.gpus} and --jobs {arguments.jobs}: at most {MOST:,} of each can be measured"
        )
    cluster = BusyCluster(
        n_gpus=arguments.gpus, n_jobs=arguments.jobs, seed=arguments.seed, shares_fairly=arguments.fair
    )
    n_rounds = arguments.rounds or max(20, min(200, 100_000 // arguments.jobs))
    figures = {
        "gpus": arguments.gpus,
        "jobs": arguments.jobs,
        "policy": policy.name,
        "fair": arguments.fair,
        "rounds": n_rounds,
        **_measure(cluster, policy, n_rounds),
        "peak_mb": _peak_mb(),
    }
    if arguments.json:
        write_json(arguments.json, figures)
    if arguments.json != "-":
        for key, value in figures.items():
            print(f"{key:18} {_text(value)}")
    return 0


def _measure(cluster: BusyCluster, policy: Policy, n_rounds: int) -> dict[str, dict[str, float]]:
    memory, cache = RoundMemory(), RoundCache()
    wall_ms, cpu_ms, collection_ms = list[float](), list[float](), list[float]()
    kinds = dict.fromkeys(("Launch", "Resize", "Preempt", "Keep", "Wait"), 0)
    with collection_between_rounds() as round_ended:
        for number in range(1 + WARM_UP + n_rounds):
            snapshot = cluster.snapshot()
            wall_s, cpu_s = time.perf_counter(), time.process_time()
            plan = decide(snapshot, policy=policy, memory=memory, cache=cache)
            decided_s = time.process_time()
            wall_ms.append((time.perf_counter() - wall_s) * 1000)
            cpu_ms.append((decided_s - cpu_s) * 1000)
            memory = plan.memory
            round_ended()
            collection_ms.append((time.process_time() - decided_s) * 1000)
            if number > WARM_UP:
                for decision in plan.decisions:
                    kinds[type(decision).__name__] += 1
            cluster.carry_out(plan)
            cluster.advance(PERIOD_S)
    return {
        "round_ms": _percentiles(wall_ms[1 + WARM_UP :]),
        "cpu_ms": _percentiles(cpu_ms[1 + WARM_UP :]),
        "collection_ms": _percentiles(collection_ms[1 + WARM_UP :]),
        "cold_ms": {"wall": wall_ms[0], "cpu": cpu_ms[0]},
        "warm_up_ms": {"max": max(wall_ms[1 : 1 + WARM_UP])},
        "decisions_a_round": {kind: count / n_rounds for kind, count in kinds.items()},
    }


def _percentiles(values: list[float]) -> dict[str, float]:
    return {"p50": float(np.percentile(values, 50)), "p99": float(np.percentile(values, 99)), "max": max(values)}


def _peak_mb() -> float:
    """Of the whole process, interpreter and libraries included."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return "  ".join(f"{key} {number:,.1f}" for key, number in value.items())
    return f"{value:,.1f}" if isinstance(value, float) else str(value)
