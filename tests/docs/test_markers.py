# SPDX-License-Identifier: Apache-2.0
"""What one command of CI leaves out is run by another: no test is in none of them, none is in two."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from dataclasses import dataclass
from functools import cache
from itertools import combinations

import pytest
import yaml
from _pytest.mark.expression import Expression

from tests.docs.pages import ROOT

CI = re.findall(r"^make ([\w-]+)", (ROOT / ".ci" / "run").read_text(), re.MULTILINE)
WORKFLOW = ROOT / ".github" / "workflows" / "ci.yml"
MARKERS = ("e2e", "chaos", "slow")
KINDS = [kind for n in range(len(MARKERS) + 1) for kind in combinations(MARKERS, n)]
FOLDERS = sorted({f"tests/{path.relative_to(ROOT / 'tests').parts[0]}" for path in ROOT.glob("tests/**/test_*.py")})


@dataclass(frozen=True)
class Run:
    """One command with pytest."""

    marked: str
    folders: tuple[str, ...]  # none: those of the files with the marker, which the command looks for

    def takes(self, folder: str, kind: tuple[str, ...]) -> bool:
        is_there = folder in (self.folders or FOLDERS)
        return is_there and Expression.compile(self.marked).evaluate(lambda name, **_: name in kind)


def commands_of(*words: str) -> list[list[str]]:
    """The options of each call of pytest that make would make."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}
    printed = subprocess.run(
        ["make", "--dry-run", *words],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    ).stdout.replace("\\\n", " ")
    calls = [shlex.split(line) for line in printed.splitlines() if " -m pytest " in line]
    return [words[words.index("pytest") + 1 :] for words in calls]


def value(options: list[str], name: str) -> str:
    return options[options.index(name) + 1]


@cache
def runs() -> list[Run]:
    """All that CI starts."""
    return [
        Run(value(options, "-m"), tuple(w for w in options if w.startswith("tests/"))) for options in commands_of(*CI)
    ]


@pytest.mark.parametrize("kind", KINDS, ids=" and ".join)
def test_a_test_with_these_markers_is_run_once_by_what_ci_calls(kind: tuple[str, ...]) -> None:
    for folder in FOLDERS:
        if ("e2e" in kind) != (folder == "tests/e2e"):
            continue
        of_it = [run for run in runs() if run.takes(folder, kind)]
        if "chaos" in kind and "e2e" in kind:
            assert of_it  # there is none
        else:
            assert len(of_it) == 1, (kind, folder, of_it)


def test_a_part_is_one_of_slow_tests_and_has_all_tests_of_faults() -> None:
    faults, *slow = commands_of("test-rest", "PART=2/3")
    assert (value(faults, "-m"), "--splits" in faults) == ("chaos", False)
    assert [value(options, "-m") for options in slow] == ["slow and e2e", "slow and not e2e and not chaos"]
    assert {(value(options, "--group"), value(options, "--splits")) for options in slow} == {("2", "3")}


def test_the_workflow_runs_what_ci_runs_and_every_part() -> None:
    (job,) = yaml.safe_load(WORKFLOW.read_text())["jobs"].values()
    called = [line.removeprefix("make ") for line in job["strategy"]["matrix"]["command"]]
    parts = [line.split(" PART=")[1] for line in called if "PART=" in line]
    assert parts == [f"{part}/{len(parts)}" for part in range(1, len(parts) + 1)]
    targets = {line.split()[0] for line in called}
    assert sorted(value(options, "-m") for options in commands_of(*targets)) == sorted(run.marked for run in runs())


def test_every_test_is_in_a_folder_of_its_own_kind() -> None:
    assert not list(ROOT.glob("tests/test_*.py"))
    assert "tests/e2e" in FOLDERS
