# SPDX-License-Identifier: Apache-2.0
"""Runs the scripts of the catalogue on a platform of its own and prints a table: `make test-scripts`.

python -m tests.scripts [NAME ...] [--page benchmarks/results/scripts.md]
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from tests.platform import running
from tests.scripts.catalogue import SCRIPTS, script_named
from tests.scripts.run import Outcome, run_all

PAGE = """# Unchanged scripts

Written by `make test-scripts`: scripts in the style of public ones ([sources](../../tests/scripts/programs)) are
uploaded as folders with the name of their entry point, and run on an embedded platform of its own. A
script passed when its job succeeded, the metrics that it printed or wrote arrived, its files and checkpoints are
listed, and what it trained is the model version that it should be. Changed lines are those that name MLHub.

{when}, on {n_processors} processors, at a load of {load}.

{table}

{summary}
"""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.scripts")
    parser.add_argument("names", nargs="*", help="scripts to run, by default all")
    parser.add_argument("--page", type=Path, help="file to write the results to")
    parser.add_argument("--seconds", type=float, default=1500, help="longest time for a script")
    given = parser.parse_args(arguments)
    scripts = tuple(script_named(name) for name in given.names) or SCRIPTS
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "platform"
        place.mkdir()
        with running(place) as platform:
            person = platform.person("bob", organisation="Scripts")
            outcomes = run_all(platform, person, scripts, folder=Path(folder), seconds=given.seconds)
    print(f"{table(outcomes)}\n\n{summary(outcomes)}")
    if given.page is not None:
        given.page.write_text(page(outcomes))
    return int(any(outcome.faults for outcome in outcomes))


def table(outcomes: list[Outcome]) -> str:
    """A row for each script, as Markdown."""
    lines = ["| script | workers | lines changed | passed |", "|---|---|---|---|"]
    for outcome in outcomes:
        script, passed = outcome.script, "no: " + "; ".join(outcome.faults) if outcome.faults else "yes"
        lines.append(f"| `{script.name}` | {script.n_workers} | {script.n_lines_changed()} | {passed} |")
    return "\n".join(lines)


def summary(outcomes: list[Outcome]) -> str:
    passed = [outcome.script for outcome in outcomes if not outcome.faults]
    unchanged = [script for script in passed if not script.n_lines_changed()]
    return f"{len(passed)} of {len(outcomes)} passed, {len(unchanged)} of them without a changed line."


def page(outcomes: list[Outcome]) -> str:
    return PAGE.format(
        when=f"{datetime.now(UTC):%Y-%m-%d}",
        n_processors=os.cpu_count(),
        load=f"{os.getloadavg()[1]:.0f}",
        table=table(outcomes),
        summary=summary(outcomes),
    )


if __name__ == "__main__":
    sys.exit(main())
