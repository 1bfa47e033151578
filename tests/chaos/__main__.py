# SPDX-License-Identifier: Apache-2.0
"""python -m tests.chaos [--minutes 10]: runs cases of the matrix while time is left, prints them, writes the guide."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.chaos.guide import GUIDE, last_passes, written
from tests.chaos.matrix import CASES, IN_PROCESS, ON_A_PLATFORM, WITH_PROCESSES, Case

ROOT = Path(__file__).parents[2]
PASSED, FAILED, LEFT_OUT = "passed", "FAILED", "no time"
# Each in one process of pytest: starting the servers for every file would take most of the time.
N_OF_PLATFORM = sum(case.test.startswith("tests/chaos/test_platform.py") for case in ON_A_PLATFORM)
GROUPS: tuple[Sequence[Case], ...] = (
    IN_PROCESS,
    ON_A_PLATFORM[:N_OF_PLATFORM],
    WITH_PROCESSES,
    *((case,) for case in ON_A_PLATFORM[N_OF_PLATFORM:]),
)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="no group of cases is begun after that time")
    parser.add_argument("--only", default="", help="only cases whose test's name contains this")
    arguments = parser.parse_args()
    until = time.monotonic() + 60 * arguments.minutes
    outcomes: dict[str, str] = {}
    for group in GROUPS:
        if cases := [case for case in group if arguments.only in case.node_id]:
            outcomes |= _run(cases, until=until)
    _show(outcomes)
    passes = last_passes()
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    passes |= {test: today for test, outcome in outcomes.items() if outcome == PASSED}
    GUIDE.write_text(written(passes))
    return 1 if FAILED in outcomes.values() else 0


def _run(cases: Sequence[Case], *, until: float) -> dict[str, str]:
    """Outcomes by node id. A case passes when at least one test ran for it and none failed or was left out."""
    ids = [case.node_id for case in cases]
    if time.monotonic() > until:
        return dict.fromkeys(ids, LEFT_OUT)
    with tempfile.NamedTemporaryFile(suffix=".xml") as report:
        command = [sys.executable, "-m", "pytest", "-n", "0", "-p", "no:logging", f"--junitxml={report.name}"]
        subprocess.run([*command, *ids], cwd=ROOT, check=False, stdout=sys.stderr)
        found = _tests(Path(report.name))
    return {case.node_id: _outcome(case, found) for case in cases}


def _tests(report: Path) -> dict[str, bool]:
    """Whether each test passed, by its name with parameters. A test that was skipped has not passed."""
    try:
        cases = ET.parse(report).getroot().iter("testcase")
    except ET.ParseError:
        return {}
    return {str(case.get("name")): not [e for e in case if e.tag in ("failure", "error", "skipped")] for case in cases}


def _outcome(case: Case, found: dict[str, bool]) -> str:
    name = case.node_id.partition("::")[2]
    matching = [passed for test, passed in found.items() if test == name or test.startswith(f"{name}[")]
    return PASSED if matching and all(matching) else FAILED


def _show(outcomes: dict[str, str]) -> None:
    table = Table("guarantee", "component", "fault", "phase", "expected", "outcome")
    for case in CASES:
        if outcome := outcomes.get(case.node_id):
            colour = {PASSED: "green", FAILED: "red"}.get(outcome, "yellow")
            row = (case.guarantee, case.component, case.fault, case.phase, case.outcome)
            table.add_row(*row, f"[{colour}]{outcome}[/]")
    console = Console(width=None if sys.stdout.isatty() else 200)
    console.print(table)
    counts = {word: list(outcomes.values()).count(word) for word in (PASSED, FAILED, LEFT_OUT)}
    console.print(", ".join(f"{n} {word}" for word, n in counts.items()))


if __name__ == "__main__":
    sys.exit(main())
