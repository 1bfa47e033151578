# SPDX-License-Identifier: Apache-2.0
"""python -m benchmarks.training: what the training runtime costs, each line a ratio of two things measured in turn.

    python -m benchmarks.training [--quick] [--zeromq PYTHON] [--elephas PYTHON]

Writes benchmarks/results/training.md. Everything runs on this machine over loopback, with one thread a process.
PYTHON: an interpreter of an environment of its own that has pyzmq and numpy, or elephas 7.3 (and a Java on the path);
they are none of this project's requirements, and without them their lines are left out, with a note.
--quick: whole trainings with two workers only, in fewer and shorter turns.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import torch

from benchmarks.training_elephas import elephas_row
from benchmarks.training_inputs import HEADS as INPUT_HEADS
from benchmarks.training_inputs import input_rows
from benchmarks.training_servers import HEADS as EXCHANGE_HEADS
from benchmarks.training_servers import LARGE, bytes_row, exchange_rows, gang_rows
from benchmarks.training_whole import HEADS as WHOLE_HEADS
from benchmarks.training_whole import all_reduce_rows

RESULTS = Path(__file__).parent / "results" / "training.md"


def table(heads: Sequence[str], rows: Sequence[str]) -> str:
    return "\n".join([f"| {' | '.join(heads)} |", "|---" * len(heads) + "|", *rows])


def shown(rows: Iterator[str]) -> list[str]:
    """Prints each row as soon as it is measured, and returns all."""
    found = []
    for row in rows:
        print(row, flush=True)
        found.append(row)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer and shorter trainings")
    parser.add_argument("--zeromq", metavar="PYTHON", help="an interpreter with pyzmq and numpy")
    parser.add_argument("--elephas", metavar="PYTHON", help="an interpreter with elephas 7.3")
    given = parser.parse_args()
    rows = shown(exchange_rows(given.zeromq)) + shown(gang_rows())
    counts = [bytes_row(LARGE, 2), bytes_row(LARGE // 4, 4)]
    absent = [name for name in ("zeromq", "elephas") if getattr(given, name) is None]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        trainings = shown(all_reduce_rows(folder, is_quick=given.quick))
        if given.elephas is not None:
            trainings += shown(iter([elephas_row(given.elephas, folder)]))
        inputs = shown(input_rows(folder))

    n_cpus, load = os.cpu_count(), os.getloadavg()[0]
    where = f"{n_cpus} CPUs shared with other work (load {load:.1f} at the end), torch {torch.__version__}"
    breaks = "\n"
    text = f"""# What training costs

`make bench-training`, {datetime.now(UTC):%Y-%m-%d}: {where},
loopback. Times vary with the machine's load; the ratios compare what ran back to back.
{"Not measured, for want of an interpreter that has them: " + ", ".join(absent) + "." + breaks if absent else ""}
Exchanges with parameter servers. All sides are alive at once and take turns; the ratio is made round by round: its
median, and what half of the rounds lie between.

{table(EXCHANGE_HEADS, rows)}

Whole trainings, with everything that MLHub does besides (reports, agreement on when to stop, totals of the loss). Both
sides are alive at once and take turns, one stopped while the other trains; the same stopwatch, in the model's loss,
counts steps, their time and the processor time of all ranks. The median over turns, and what half of the turns lie
between. Goals: a ratio of speeds of at least 0.98 each.

{table(WHOLE_HEADS, trainings)}

How long a step waits for its examples, which another thread makes ready meanwhile:

{table(INPUT_HEADS, inputs)}

| bytes that a worker sends a step | counted by the kernel | 2X(n-1)/n | ratio |
|---|---|---|---|
{breaks.join(counts)}

Over parameter servers a worker sends X and receives X, whatever the number of workers; each server carries its part of
X for every worker.
"""
    RESULTS.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
