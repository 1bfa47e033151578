# SPDX-License-Identifier: Apache-2.0
"""The scheduler against published figures and against its rivals, with the command that makes each number.

    python -m benchmarks.scheduling --data FOLDER [--work FOLDER] [--quick] [--only REGEX] [--again REGEX]

FOLDER (or $MLHUB_TRACES) holds the public traces: tiresias/ (SymbioticLab/Tiresias), muri/ (Rivendile/Muri), pollux/
(petuum/adaptdl, branch osdi21-artifact), gavel/ (stanford-futuredata/gavel). Every cell is one call of
python -m scheduler simulate, whose figures stay in the working folder: what was interrupted goes on where it was.
Writes benchmarks/results/scheduling.md and its figures.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from benchmarks.scheduling_cells import SchedulingCell, all_cells, made_up_files
from benchmarks.scheduling_tables import document

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "scheduling.md"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("MLHUB_TRACES"), metavar="FOLDER")
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "mlhub-scheduling", metavar="FOLDER")
    parser.add_argument("--out", type=Path, default=RESULTS, metavar="FILE")
    parser.add_argument("--quick", action="store_true", help="a few small cells of every table")
    parser.add_argument("--only", default="", metavar="REGEX", help="play these only; the tables show all there are")
    parser.add_argument("--again", metavar="REGEX", help="play these cells again although their figures are there")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, metavar="N")
    arguments = parser.parse_args()
    data = Path(arguments.data or "")
    if not arguments.data or not (data / "muri").is_dir() or not (data / "pollux").is_dir():
        print(f"{arguments.data or 'no folder'}: --data or $MLHUB_TRACES must name the traces' folder (see --help)")
        return 2
    arguments.work.mkdir(parents=True, exist_ok=True)
    places = {"data": str(data), "here": str(HERE), "work": str(arguments.work)}
    for name, command in made_up_files().items():
        if not (arguments.work / name).exists():
            _run(["-m", "scheduler", *command.format(**places).split()])
    cells = [cell for cell in all_cells(data) if cell.is_quick or not arguments.quick]
    again = arguments.again
    todo = [
        cell
        for cell in cells
        if re.search(arguments.only, name := f"{cell.group} {cell.key}")
        and (found(cell, arguments.work) is None or (again and re.search(again, name)))
    ]
    once = {cell.key: cell for cell in sorted(todo, key=lambda cell: cell.is_judged)}  # tables share simulations
    _play_all([cell for cell in todo if cell is once[cell.key]], places, n_processes=arguments.processes)
    figures = {cell.key: one for cell in cells if (one := found(cell, arguments.work)) is not None}
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    text = document(cells, figures, data=data, work=arguments.work, out=arguments.out)
    arguments.out.write_text(text, encoding="utf-8")
    print(f"{len(figures)} of {len(cells)} cells in {arguments.out}")
    return 0


def found(cell: SchedulingCell, work: Path) -> dict[str, object] | None:
    """What the cell gave, if it was played as it stands now."""
    path = work / f"{cell.key}.json"
    try:
        value: dict[str, object] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, json.JSONDecodeError):
        return None
    is_there = value.get("options") == cell.options() and (
        not cell.is_judged or (work / cell.key / "jobs.csv").exists()
    )
    return value if is_there else None


def _play_all(cells: Sequence[SchedulingCell], places: Mapping[str, str], *, n_processes: int) -> None:
    with ThreadPoolExecutor(max(1, n_processes)) as pool:
        playing = {pool.submit(_play, cell, places): cell for cell in cells}
        for number, future in enumerate(as_completed(playing), start=1):
            print(f"[{number}/{len(cells)}] {playing[future].key}: {future.result()}", flush=True)


def _play(cell: SchedulingCell, places: Mapping[str, str]) -> str:
    """Play it and store its figures; a cell that fails is reported and leaves the others alone."""
    work = Path(places["work"])
    part = work / f"{cell.key}.part"
    report = ["--report", str(work / cell.key), "--no-figures"] if cell.is_judged else []
    began = time.monotonic()
    options = [option.format(**places) for option in cell.options()]
    problem = _run(["-m", "scheduler", "simulate", *options, *report, "--json", str(part)])
    if problem:
        return problem
    seconds = time.monotonic() - began
    value = json.loads(part.read_text(encoding="utf-8"))
    value |= {"options": cell.options(), "played_s": seconds, "commit": _commit()}
    (work / f"{cell.key}.json").write_text(json.dumps(value), encoding="utf-8")
    part.unlink()
    return f"average {value['avg_jct_s']:,.1f} s, played in {seconds:.0f} s"


def _run(arguments: Sequence[str]) -> str:
    """What it complained of; empty if it went well."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=HERE.parent, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode == 0:
        return ""
    return f"failed: {' '.join(done.stderr.split()[-60:])} ({shlex.join(arguments)})"


def _commit() -> str:
    done = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=HERE, capture_output=True, text=True, check=False
    )
    return done.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
