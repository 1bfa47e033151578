# SPDX-License-Identifier: Apache-2.0
"""How well every strategy learns: on real digits and real prose, alone and with stragglers.

    python -m benchmarks.convergence [--work FOLDER] [--only REGEX] [--again REGEX]

Writes benchmarks/results/convergence.md and .png. All strategies train the same small networks on the same number of
examples, with real processes: three workers, and servers where needed. Each run's figures stay in the working folder:
what was interrupted goes on where it was, and the page is written anew from what there is.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from benchmarks import convergence_cells as cells
from benchmarks.convergence_cells import CellOutcome, ConvergenceCell
from benchmarks.convergence_figure import draw
from benchmarks.convergence_page import Page, text
from benchmarks.convergence_sets import TASKS

RESULTS = Path(__file__).parent / "results" / "convergence.md"


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = Path(tempfile.gettempdir()) / "mlhub-convergence"
    parser.add_argument("--work", type=Path, default=default, metavar="FOLDER", help=f"keeps what was run ({default})")
    parser.add_argument("--only", metavar="REGEX", help="run no others than these, by the name of their file")
    parser.add_argument("--again", metavar="REGEX", help="run these once more")
    parser.add_argument("--out", type=Path, default=RESULTS, metavar="FILE")
    arguments = parser.parse_args(given)
    arguments.work.mkdir(parents=True, exist_ok=True)
    cells.check_complete()
    runs = Runs(arguments.work, only=arguments.only, again=arguments.again)
    rates = {}
    for task in TASKS:
        tried = {cell.rate: runs.run(cell) for cell in cells.rate_cells(task)}
        rates[task] = cells.rate_for(task, {rate: found for rate, found in tried.items() if found is not None})
        print(f"{task}: rate {rates[task]:g}", flush=True)
    wanted = cells.cells(rates)
    for index, cell in enumerate(wanted):
        if runs.run(cell, prefix=f"{index + 1}/{len(wanted)} ") and runs.is_due:
            write(runs, rates, wanted, arguments.out)
    write(runs, rates, wanted, arguments.out)
    for name in runs.failed:
        print(f"failed: {name}", file=sys.stderr)
    return 1 if runs.failed else 0


class Runs:
    """Runs of this call, and those stored by earlier ones."""

    def __init__(self, work: Path, *, only: str | None, again: str | None) -> None:
        self.work, self.only, self.again = work, only, again
        self.failed: list[str] = []
        self.is_due = False  # the page lacks what was run since
        self._n_new = 0
        self.data = {name: task.write(work) for name, task in TASKS.items()}

    def found(self, cell: ConvergenceCell) -> CellOutcome | None:
        return cells.stored(cell, self.work)

    def run(self, cell: ConvergenceCell, *, prefix: str = "") -> CellOutcome | None:
        """Its figures; None when it failed, or was not asked for."""
        before = cells.stored(cell, self.work)
        is_asked = self.only is None or re.search(self.only, cell.key)
        if not is_asked or (before is not None and not (self.again and re.search(self.again, cell.key))):
            return before
        try:
            outcome = cells.train(cell, self.data[cell.task])
        except (RuntimeError, TimeoutError, OSError) as error:
            self.failed.append(cell.key)
            print(f"{prefix}{cell.key}: {error}", file=sys.stderr, flush=True)
            return before
        cells.store(cell, outcome, self.work)
        self._n_new += 1
        self.is_due = self._n_new % 20 == 0
        print(
            f"{prefix}{cell.key}: accuracy {outcome.accuracy:.3f}, loss {outcome.loss:.3f}, {outcome.seconds:.1f} s, "
            f"{outcome.processor_s:.1f} s of processor time",
            flush=True,
        )
        return outcome


def write(runs: Runs, rates: dict[str, float], wanted: Sequence[ConvergenceCell], out: Path) -> None:
    page = Page(runs.found, rates)
    draw(page, out.with_suffix(".png"))
    n_open = sum(runs.found(cell) is None for cell in wanted) - len(runs.failed)
    machine = f"{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} CPUs"
    out.write_text(text(page, wanted, machine=machine, failed=runs.failed, n_open=max(0, n_open)), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
