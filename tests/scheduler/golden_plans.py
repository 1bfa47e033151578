# SPDX-License-Identifier: Apache-2.0
"""Hashes of all plans of small simulations, a policy and an environment each: do changes leave decisions as they were?

The traces are made up here. `python -m tests.scheduler.golden_plans` writes golden_plans.json anew; do so only where
decisions are meant to change, and say so in the commit.
"""

from __future__ import annotations

import hashlib
import io
import json
import tempfile
from collections.abc import Iterable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any
from unittest.mock import patch

from scheduler import (
    POLICIES,
    ClusterSnapshot,
    Decision,
    Keep,
    Launch,
    Plan,
    Preempt,
    Resize,
    RoundMemory,
    Wait,
    decide,
    policy_named,
)
from scheduler.__main__ import main
from scheduler.simulator import engine
from scheduler.simulator.busy_cluster.cluster import BusyCluster

FILE = Path(__file__).with_suffix(".json")
DAY = ["--tenants", "a:3:6", "b:2:4", "c:1:0", "--nodes", "4", "--gpus", "4", "--racks", "2", "--hours", "2"]
SLOW = {"network/dl2"}  # its rounds are many
KINDS = (Launch, Resize, Preempt, Keep, Wait)
BUSY_ROUNDS = 6

CASES = sorted({f"{env}/{policy}" for env in ("busy", "counting", "network") for policy in POLICIES} - SLOW)


def golden_plans(cases: Iterable[str]) -> dict[str, str]:
    """By case: the number of rounds and the hash of their plans."""
    found = {}
    with tempfile.TemporaryDirectory() as folder, redirect_stdout(io.StringIO()):
        trace, cluster = f"{folder}/day.csv", f"{folder}/day.yaml"
        assert main(["trace", *DAY, "--n-jobs", "24", "--out", trace, "--cluster-out", cluster]) == 0
        for case in cases:
            environment, policy = case.split("/")
            rounds = _busy(policy) if environment == "busy" else _simulated(environment, policy, trace, cluster)
            found[case] = f"{len(rounds)} rounds {hashlib.sha256(json.dumps(rounds).encode()).hexdigest()[:16]}"
    return found


def _busy(policy: str) -> list[Any]:
    """Rounds of a cluster that is always busy, whose tenants have guarantees and share fairly."""
    cluster, memory, rounds = BusyCluster(n_gpus=32, n_jobs=14, shares_fairly=True), RoundMemory(), []
    for _ in range(BUSY_ROUNDS):
        snapshot = cluster.snapshot()
        plan = decide(snapshot, policy=policy_named(policy, {}), memory=memory)
        rounds.append(_numbers_of(snapshot, plan))
        memory = plan.memory
        cluster.carry_out(plan)
        cluster.advance(60.0)
    return rounds


def _simulated(environment: str, policy: str, trace: str, cluster: str) -> list[Any]:
    rounds = []

    def recorded(snapshot: ClusterSnapshot, **options: Any) -> Plan:
        plan = decide(snapshot, **options)
        rounds.append(_numbers_of(snapshot, plan))
        return plan

    with patch.object(engine, "decide", recorded):
        chosen = ["--world", environment, "--trace", trace, "--cluster", cluster, "--policy", policy]
        assert main(["simulate", *chosen, "--json", "-"]) == 0
    return rounds


def _numbers_of(snapshot: ClusterSnapshot, plan: Plan) -> list[Any]:
    """The plan without any names: jobs and nodes are their places in the snapshot, kinds are theirs in KINDS."""
    jobs = {job.id: i for i, job in enumerate(snapshot.jobs)}
    nodes = {node.name: i for i, node in enumerate(snapshot.nodes)}
    decisions = [_decision(decision, jobs, nodes) for decision in plan.decisions]
    return [_digits(plan.wake_at_s), [jobs[job_id] for job_id in plan.order if job_id in jobs], decisions]


def _decision(decision: Decision, jobs: dict[str, int], nodes: dict[str, int]) -> list[Any]:
    allocation: list[Any] = []
    if isinstance(decision, Launch | Resize):
        a = decision.allocation
        places = [[nodes[share.node], *share.gpus, -share.n_servers] for share in a.shares]
        allocation = [a.n_workers, a.n_servers, places]
    p = decision.prediction
    prediction = [_digits(value) for value in (p.start_p50_s, p.start_p90_s, p.finish_p50_s, p.finish_p90_s, p.step_s)]
    return [KINDS.index(type(decision)), jobs[decision.job], allocation, prediction, len(decision.explanations)]


def _digits(value: float | None) -> str | None:
    return None if value is None else f"{value:.9g}"


if __name__ == "__main__":
    FILE.write_text(json.dumps(golden_plans(CASES), indent=1) + "\n")
