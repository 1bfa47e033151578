# SPDX-License-Identifier: Apache-2.0
"""The busy cluster that rounds are measured on: is it as busy as it claims?"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from scheduler import Plan, RoundMemory, decide, policy_named
from scheduler.__main__ import main
from scheduler.simulator.busy_cluster.cluster import BusyCluster


def runs(n_rounds: int, *, seed: int = 0) -> tuple[BusyCluster, list[Plan]]:
    cluster, plans, memory = BusyCluster(n_gpus=64, n_jobs=32, seed=seed), [], RoundMemory()
    for _ in range(n_rounds):
        plan = decide(cluster.snapshot(), policy=policy_named("mlhub", {}), memory=memory)
        memory = plan.memory
        plans.append(plan)
        cluster.carry_out(plan)
        cluster.advance(60.0)
    return cluster, plans


@pytest.mark.slow
def test_a_busy_cluster_keeps_its_number_of_jobs_and_never_comes_to_rest() -> None:
    cluster, plans = runs(40)
    assert {len(plan.decisions) for plan in plans} == {32}
    later = Counter(type(decision).__name__ for plan in plans[10:] for decision in plan.decisions)
    assert set(later) == {"Launch", "Resize", "Preempt", "Keep", "Wait"}
    assert {job.id for job in cluster.snapshot().jobs} != {decision.job for decision in plans[0].decisions}
    assert all(node.n_gpus for node in cluster.nodes)
    assert sum(node.n_gpus for node in cluster.nodes) == 64


def test_its_families_report_what_they_measure_and_share_it() -> None:
    cluster, _ = runs(10)
    measured = [job for job in cluster.snapshot().jobs if job.observations]
    assert len(measured) > 16
    by_family = {(job.family, job.observations) for job in measured}
    assert len(by_family) == len({job.family for job in measured})


def test_the_same_seed_gives_the_same_plans_and_another_one_others() -> None:
    assert runs(5)[1] == runs(5)[1]
    assert runs(5)[1] != runs(5, seed=1)[1]


def test_the_bench_command_writes_percentiles_and_memory(tmp_path: Path) -> None:
    out = tmp_path / "bench.json"
    assert main(["bench", "--gpus", "16", "--jobs", "6", "--rounds", "5", "--policy", "srtf", "--json", str(out)]) == 0
    figures = json.loads(out.read_text())
    assert 0 < figures["round_ms"]["p50"] <= figures["round_ms"]["p99"]
    assert figures["peak_mb"] > 10


def test_a_bench_with_too_few_gpus_is_refused_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--gpus", "7", "--jobs", "6"]) == 2
    assert "needs 8 GPUs and a job at least" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        main(["bench", "--gpus", "0", "--jobs", "6"])
    assert "argument --gpus: '0' is no whole number of at least 1" in capsys.readouterr().err


def test_its_tenants_share_fairly_where_that_is_asked_and_jobs_are_of_teams_only() -> None:
    cluster = BusyCluster(n_gpus=64, n_jobs=32, shares_fairly=True)
    parents = {tenant.parent for tenant in cluster.tenants}
    assert [tenant.id for tenant in cluster.tenants if tenant.shares_fairly] == ["all", "org0", "org1", "org2"]
    assert not {job.tenant for job in cluster.snapshot().jobs} & parents
    plan = decide(cluster.snapshot(), policy=policy_named("mlhub", {}), memory=RoundMemory())
    assert plan.memory.decayed_usage
