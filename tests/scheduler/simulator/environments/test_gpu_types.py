# SPDX-License-Identifier: Apache-2.0
"""Clusters of several GPU types in simulations: their speeds are honoured, or the cluster is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from scheduler import GangAllocation, Mode, NodeAllocation
from scheduler.policies import policy_named
from scheduler.simulator import simulate
from scheduler.simulator.environments.environment import SimulatedGang
from scheduler.simulator.environments.pollux import PolluxEnvironment
from scheduler.simulator.environments.pollux_adaptive import AdaptivePolluxEnvironment
from scheduler.simulator.environments.pollux_tables import Application, Validation
from scheduler.simulator.traces.clusters import Cluster, cluster_from_mapping
from scheduler.simulator.traces.gpu_speeds import GpuSpeeds, read_gpu_speeds
from scheduler.simulator.traces.trace import BadInput, Trace, TraceJob
from tests.scheduler.terminal import lay_out, run

MIXED = """
racks:
  - name: r
    uplink: 40Gbit
    nodes:
      - {name: slow, slots: 2, gpu_type: k80, nic: 10Gbit}
      - {name: fast, slots: 2, gpu_type: v100, nic: 10Gbit}
"""
SPEEDS = "gpu_type,model,speed\nk80,,0.25\nv100,,1\nv100,bert,2\n"
TRACE = "job,submitted_at_s,n_gpus,duration_s,model\na,0,2,1000,vision\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    lay_out(tmp_path, monkeypatch)
    for name, text in (("mixed.yaml", MIXED), ("speeds.csv", SPEEDS), ("one.csv", TRACE)):
        (tmp_path / name).write_text(text)
    return tmp_path


def simulated(options: str) -> int:
    return run(f"simulate --policy mlhub --trace one.csv --cluster mixed.yaml {options}")


def test_a_job_on_the_fast_type_takes_its_duration(folder: Path) -> None:
    assert simulated("--gpu-speeds speeds.csv --json out.json") == 0
    assert json.loads((folder / "out.json").read_text())["avg_jct_s"] == pytest.approx(1000.0)


def test_on_slow_gpus_it_takes_longer_by_their_speed(folder: Path) -> None:
    (folder / "one.csv").write_text(TRACE + "b,0,2,900,vision\n")
    assert simulated("--gpu-speeds speeds.csv --json out.json") == 0
    jct_s = json.loads((folder / "out.json").read_text())["jct_s"]
    assert sorted(jct_s.values())[0] == pytest.approx(900.0)
    assert sorted(jct_s.values())[1] > 1000.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("", "the counting environment has times of one GPU type, but the cluster has k80, v100; give their speeds"),
        ("--environment network", "the network environment has times of one GPU type, but the cluster has k80, v100"),
        ("--gpu-speeds few.csv", "few.csv: it has no speed of 'v100' for 'vision'; add a row, or one for all"),
        ("--gpu-speeds twice.csv", "twice.csv, row 3: 'k80' has two speeds for 'all'; keep one"),
        ("--gpu-speeds zero.csv", "zero.csv, row 2: speed is '0'; it must lie above 0"),
        ("--gpu-speeds none.csv", "none.csv: there are no speeds in it; add a row for each GPU type"),
    ],
)
def test_types_are_never_ignored(folder: Path, capsys: pytest.CaptureFixture[str], options: str, message: str) -> None:
    header = SPEEDS.splitlines(keepends=True)[0]
    bad = {"few": "k80,,0.5\n", "twice": "k80,,0.5\nk80,,0.6\n", "zero": "k80,,0\n", "none": ""}
    for name, rows in bad.items():
        (folder / f"{name}.csv").write_text(header + rows)
    assert simulated(options) == 2
    assert message in capsys.readouterr().err


def test_a_models_own_speed_comes_before_that_of_all() -> None:
    speeds = read_gpu_speeds(SPEEDS, name="speeds.csv")
    assert (speeds.of("v100", "bert"), speeds.of("v100", "ncf"), speeds.of("k80", "bert")) == (2.0, 1.0, 0.25)
    with pytest.raises(BadInput, match="no speed of 'a100' for 'bert'"):
        speeds.of("a100", "bert")


# Pollux' environment, with tables that were made up: a step takes 1 s on one GPU

CLUSTER: Cluster = cluster_from_mapping(
    {
        "racks": [
            {
                "name": "r",
                "uplink": "40Gbit",
                "nodes": [
                    {"name": "slow", "slots": 2, "gpu_type": "k80"},
                    {"name": "fast", "slots": 2, "gpu_type": "v100"},
                ],
            }
        ]
    },
    name="mixed",
)
DOUBLE = GpuSpeeds("speeds", {("k80", ""): 1.0, ("v100", ""): 2.0})


def application() -> Application:
    progress = np.array([100.0, 200.0])
    each = {batch: Validation(progress, progress, np.ones(2), np.ones(2)) for batch in (32, 64)}
    alone = np.array([[16.0, 0.5, 0.0], [64.0, 2.0, 0.0]])
    two = np.array([[16.0, 0.6, 0.1], [64.0, 2.1, 0.1]])
    scalability = np.array([[n, 2 * n, b, b / 32 + 0.2, 0.2] for n in (2, 3) for b in (16.0, 64.0)])
    return Application("cifar10", each, {(1,): alone, (2,): two}, scalability, 2)


def trace(n: int = 1) -> Trace:
    jobs = [TraceJob(f"j{i}", 0.0, 1, 0.0, model="cifar10", extra={"batch_size": 32}) for i in range(n)]
    return Trace("made up", "pollux", tuple(jobs))


def gang(environment: PolluxEnvironment, node: str, *gpus: int) -> SimulatedGang:
    allocation = GangAllocation(Mode.ALL_REDUCE, len(gpus), 0, (NodeAllocation(node, gpus),))
    return SimulatedGang(environment.arrivals[0].job, allocation)


def test_computation_is_faster_by_the_types_speed_and_synchronisation_is_not() -> None:
    environment = PolluxEnvironment(trace(), CLUSTER, {"cifar10": application()}, gpu_speeds=DOUBLE)
    on_slow, on_fast = gang(environment, "slow", 0), gang(environment, "fast", 0)
    assert environment.segment(on_slow, {}).seconds == 2 * environment.segment(on_fast, {}).seconds
    two_slow, two_fast = gang(environment, "slow", 0, 1), gang(environment, "fast", 0, 1)
    slow_s, fast_s = (environment.segment(one, {}).seconds for one in (two_slow, two_fast))
    assert slow_s / fast_s == pytest.approx(0.6 / 0.35, rel=0.05)


def test_what_is_reported_names_the_type_that_it_was_measured_on() -> None:
    environment = AdaptivePolluxEnvironment(trace(), CLUSTER, {"cifar10": application()}, gpu_speeds=DOUBLE)
    steps = {}
    for node in ("slow", "fast"):
        one = gang(environment, node, 0)
        segment = environment.segment(one, {})
        environment.observe(one, segment, now_s=1.0)
        seen = environment.snapshot_of(one.job).observations
        steps |= {o.gpu_type: o.step_s for o in seen}
    assert steps["k80"] == pytest.approx(2 * steps["v100"])


def test_an_elastic_job_of_the_default_policy_trains_on_the_fast_type() -> None:
    environment = AdaptivePolluxEnvironment(trace(2), CLUSTER, {"cifar10": application()}, gpu_speeds=DOUBLE)
    outcome = simulate(environment, policy=policy_named("mlhub", {}), period_s=60.0)
    nodes = {share.node for one in outcome.histories.values() for *_, held in one.spans for share in held.shares}
    assert all(one.jct_s is not None for one in outcome.histories.values())
    assert "fast" in nodes
