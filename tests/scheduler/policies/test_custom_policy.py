# SPDX-License-Identifier: Apache-2.0
"""A policy of one's own: the guide's example runs by module:Class, and mistakes in one are reported by its name."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from scheduler.__main__ import main
from scheduler.api.records import snapshot_to_json
from scheduler.policies.loading import load_policy
from tests.scheduler.cases import cluster, job

GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "writing-a-policy.md"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """With the guide's my_policy.py, as if commands ran there."""
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    (source,) = [block for block in blocks if "class Shortest" in block]
    (tmp_path / "my_policy.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    day = ["--nodes", "4", "--gpus", "4", "--n-jobs", "40", "--out", "day.csv", "--cluster-out", "day.yaml"]
    assert main(["trace", *day]) == 0
    return tmp_path


def test_the_example_of_the_guide_completes_all_jobs(folder: Path) -> None:
    replayed = ["--trace", "day.csv", "--cluster", "day.yaml", "--json", "out.json"]
    assert main(["simulate", "--policy", "my_policy:Shortest", "--param", "favour_small=0.5", *replayed]) == 0
    assert json.loads((folder / "out.json").read_text())["n_completed"] == 40


@pytest.mark.slow
def test_it_is_compared_under_its_own_name(folder: Path) -> None:
    arguments = ["--trace", "day.csv", "--cluster", "day.yaml", "--out", "report", "--processes", "1"]
    assert main(["compare", "--policies", "my_policy:Shortest,fifo", *arguments]) == 0
    assert (folder / "report" / "table.csv").read_text().splitlines()[1].startswith("shortest,")


def test_what_its_rounds_cost_is_measured(folder: Path) -> None:
    measured = ["--gpus", "16", "--jobs", "4", "--rounds", "2", "--json", "cost.json"]
    assert main(["bench", "--policy", "my_policy:Shortest", *measured]) == 0
    assert json.loads((folder / "cost.json").read_text())["policy"] == "shortest"


def test_a_round_that_names_it_is_replayed_under_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    seen = cluster(nodes=1, gpus=2).waiting(job("long", gpus=2, steps_total=9000), job("short", gpus=2)).snapshot
    record = {"snapshot": snapshot_to_json(seen), "policy": "my_policy:Shortest", "parameters": {"favour_small": 0.5}}
    (folder / "round.json").write_text(json.dumps(record))
    assert main(["replay", "round.json", "--json", "plans.json"]) == 0
    assert "round 1: 2 jobs, shortest" in capsys.readouterr().out
    assert main(["replay", "round.json", "--policy", "my_policy:Shortest"]) == 0
    assert main(["explain", "round.json", "--job", "short"]) == 0
    assert "short: launch" in capsys.readouterr().out


def test_a_mistake_in_it_ends_the_command_with_one_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = (folder / "my_policy.py").read_text().replace("if budget.reserve(job, n):", "if True:")
    (folder / "careless.py").write_text(source.replace("budget.gpu_type(job)", "'gpu'"))
    arguments = ["--policy", "careless:Shortest", "--trace", "day.csv", "--cluster", "day.yaml", "--json", "-"]
    assert main(["simulate", *arguments]) == 2
    refused = capsys.readouterr().err
    assert "policy 'shortest' grants" in refused
    assert "call budget.reserve() before" in refused


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no_such_module:Shortest", "policy 'no_such_module:Shortest': No module named"),
        ("my_policy:Longest", "module 'my_policy' has no class 'Longest'"),
        ("my_policy:dataclass", "dataclass is no class with a method propose"),
        (":Shortest", "write it as module:Class"),
        ("json.decoder:JSONDecoder", "no class with a method propose"),
        ("scheduler.policies.fifo:Fifo", "a name that no other policy has"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_what_is_wrong_is_reported_with_the_name_of_the_policy(name: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        load_policy(name, {})


@pytest.mark.usefixtures("folder")
def test_parameters_are_checked_as_those_of_registered_policies() -> None:
    with pytest.raises(ValueError, match="policy 'my_policy:Shortest' has no parameter 'speed'"):
        load_policy("my_policy:Shortest", {"speed": 2})
    with pytest.raises(ValueError, match="parameter 'favour_small' of policy 'my_policy:Shortest' must be like"):
        load_policy("my_policy:Shortest", {"favour_small": "much"})
