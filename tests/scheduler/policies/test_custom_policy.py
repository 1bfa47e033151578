# SPDX-License-Identifier: Apache-2.0
"""A policy of one's own: the guide's example runs by module:Class, and mistakes in one are reported by its name."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from scheduler.__main__ import main
from scheduler.policies.loading import load_policy

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


def test_it_is_compared_under_its_own_name(folder: Path) -> None:
    arguments = ["--trace", "day.csv", "--cluster", "day.yaml", "--out", "report", "--processes", "1"]
    assert main(["compare", "--policies", "my_policy:Shortest,fifo", *arguments]) == 0
    assert (folder / "report" / "table.csv").read_text().splitlines()[1].startswith("shortest,")


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
