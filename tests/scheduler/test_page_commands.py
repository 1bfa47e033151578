# SPDX-License-Identifier: Apache-2.0
"""The commands that README and the simulator's guide show run as they stand there, in order, on small days."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
import yaml

from scheduler.__main__ import main
from scheduler.api.records import plan_to_json, snapshot_to_json
from tests.scheduler.cases import cluster, job

ROOT = Path(__file__).parents[2]
SMALL = {
    "trace": ["--n-jobs", "40", "--load", "0.3"],
    "compare": ["--processes", "1"],
}  # added, so that a page takes seconds
FAILURES = {"lost": [{"node": f"n{i}", "at_s": 12_000, "for_s": 300} for i in range(8)], "slow": []}
ISOLATED = "worker_type,job_type,scale_factor,steps_per_s\nv100,ResNet-18 (batch size 16),1,2.5\n"
PAIRS = "worker_type,job_a,scale_a,job_b,scale_b,norm_a,norm_b\n"
SHARED = "job,submitted_at_s,n_gpus,duration_s,model\na,0,1,300,ResNet-18 (batch size 16)\n"


def commands_of(page: str, *, marked: str = "") -> list[list[str]]:
    """The arguments of each command of the page that contains the text, without comments."""
    lines = re.findall(r"^python -m scheduler (.*?)(?:\s+#.*)?$", (ROOT / page).read_text(), re.MULTILINE)
    return [shlex.split(line) for line in lines if marked in line]


def run(arguments: list[str]) -> int:
    return main([*arguments, *SMALL.get(arguments[0], [])])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    case = cluster(nodes=1, gpus=2).waiting(job("first", gpus=2, at=-60.0), job("J", gpus=2))
    record = {
        "snapshot": snapshot_to_json(case.snapshot),
        "policy": "mlhub",
        "plan": plan_to_json(case.decide("mlhub")),
    }
    (tmp_path / "round.json").write_text(json.dumps(record))
    (tmp_path / "failures.yaml").write_text(yaml.safe_dump(FAILURES))
    return tmp_path


@pytest.mark.slow
def test_the_commands_of_the_simulators_guide_run(folder: Path) -> None:
    shown = commands_of("docs/guides/simulator.md")
    whole = [one for one in shown if "..." not in one and "--data" not in one]
    assert [one[0] for one in whole] == ["trace", "simulate", "compare", "replay", "replay", "explain", "bench"]
    assert [run(one) for one in whole] == [0] * len(whole)
    assert json.loads((folder / "out.json").read_text())["n_completed"] == 40
    for one in [one for one in shown if "..." in one]:
        assert run([*whole[1], *one[one.index("...") + 1 :]]) == 0
        figures = json.loads((folder / "out.json").read_text())
        assert (figures["n_completed"], figures["n_failures"] > 0) == (40, True)


def test_the_command_of_the_sharing_environment_runs_on_measured_tables(folder: Path) -> None:
    (folder / "gavel").mkdir()
    files = {"gavel/isolated.csv": ISOLATED, "gavel/colocated_pairs_v100.csv": PAIRS, "jobs.trace": SHARED}
    files["cluster.yaml"] = "racks: [{name: r, uplink: 40Gbit, nodes: [{name: n, slots: 2, nic: 10Gbit}]}]\n"
    for name, text in files.items():
        (folder / name).write_text(text)
    (command,) = commands_of("docs/guides/simulator.md", marked="--data")
    assert run([*command, "--json", "out.json"]) == 0
    assert json.loads((folder / "out.json").read_text())["n_completed"] == 1


@pytest.mark.slow
def test_the_commands_of_the_readme_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    *runnable, measured = commands_of("README.md")
    assert [one[0] for one in runnable] == ["trace", "compare"]
    assert [run(one) for one in runnable] == [0, 0]
    assert (folder / "report" / "table.md").exists()
    capsys.readouterr()
    measured[measured.index("--cluster") + 1] = str(ROOT / measured[measured.index("--cluster") + 1])
    (folder / "pollux" / "workloads").mkdir(parents=True)
    (folder / "pollux" / "workloads" / "workload-1.csv").write_text(
        "time,name,num_replicas,batch_size,application\n0,a,1,64,bert\n"
    )
    assert run(measured) == 2  # the measured tables are published by their authors, not here
    assert "pollux" in capsys.readouterr().err
