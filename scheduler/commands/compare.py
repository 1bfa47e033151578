# SPDX-License-Identifier: Apache-2.0
"""compare: several policies on the same traces, cluster and seeds; a table, the runs, the jobs, and figures."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, replace
from typing import Any

from scheduler.commands.files import check_can_fill, fill, has_matplotlib
from scheduler.commands.options import add_environment, count, parameters_in, setting_of
from scheduler.commands.progress import Bars
from scheduler.simulator.environments.registry import ENVIRONMENTS, Setting
from scheduler.simulator.reports.comparison import (
    ComparedPolicy,
    PolicyRun,
    alone_times,
    compared_policies,
    play,
    table,
)
from scheduler.simulator.reports.figures import averages, can_draw, compared, gantt
from scheduler.simulator.reports.summary import csv_of, curve_rows, markdown_of


def add(commands: Any) -> None:
    """Adds the parser of the command."""
    parser = commands.add_parser("compare", help="play the same traces under several policies")
    parser.add_argument(
        "--policies", required=True, metavar="A,B", help="names or module:Class; label=name for one of them twice"
    )
    parser.add_argument("--param", action="append", default=[], metavar="LABEL.K=V", help="a parameter of one of them")
    add_environment(parser, several=True)
    parser.add_argument("--out", required=True, metavar="DIR", help="the folder for tables and figures")
    parser.add_argument("--processes", type=count, default=os.cpu_count() or 1, metavar="N", help="processes at once")
    parser.set_defaults(command=_compare)


@dataclass(frozen=True)
class _Cell:
    """One simulation that is to be runs."""

    number: int
    entry: ComparedPolicy
    trace: str
    seed: int
    is_drawn: bool  # its Gantt chart, too

    @property
    def title(self) -> str:
        return f"{self.entry.label} · {os.path.basename(self.trace)} · seed {self.seed}"


def _compare(arguments: argparse.Namespace) -> int:
    check_can_fill(arguments.out)
    entries = compared_policies(arguments.policies, parameters_in(arguments.param))
    if len(set(arguments.trace)) < len(arguments.trace):
        raise ValueError("a trace is named twice after --trace; name each once")
    kind = ENVIRONMENTS[arguments.environment]
    for trace in arguments.trace:  # errors in them are reported before anything runs
        setting = setting_of(arguments, policy="fifo", trace=trace, seed=0)
        for entry in entries:
            kind.make(replace(setting, policy=entry.policy))
    cells = [
        _Cell(number, entry, trace, seed, is_drawn=trace == arguments.trace[0] and seed == 0)
        for number, (trace, seed, entry) in enumerate(
            (t, s, c) for t in arguments.trace for s in range(arguments.seeds) for c in entries
        )
    ]
    files: dict[str, str | bytes] = {}
    runs: list[PolicyRun] = []
    for one, pictures in _run_cells(cells, arguments):
        runs.append(one)
        files |= pictures
    rows = table(runs)
    files |= {"table.csv": csv_of(rows), "table.md": markdown_of(rows), "runs.csv": csv_of(_runs(runs))}
    files |= {"jobs.csv": csv_of([{**_marks(one), **row} for one in runs for row in one.rows])}
    files |= {"curves.csv": csv_of([_marks(one) | row for one in runs for row in curve_rows(one.curves)])}
    if has_matplotlib():
        first = {one.label: one.curves for one in reversed(runs)}
        files |= compared({c.label: first[c.label] for c in entries})
        files |= averages([(row["policy"], row["avg_jct_s"], row["sd_s"]) for row in rows])
    fill(arguments.out, files)
    print(files["table.md"])
    return 0


def _marks(one: PolicyRun) -> dict[str, Any]:
    return {"policy": one.label, "trace": one.trace, "seed": one.seed}


def _runs(runs: Sequence[PolicyRun]) -> list[dict[str, Any]]:
    return [
        _marks(one)
        | {key: value for key, value in one.figures.items() if not isinstance(value, Mapping)}
        | {"decision_ms": one.figures["decision_ms"]["mean"], "decision_p99_ms": one.figures["decision_ms"]["p99"]}
        for one in runs
    ]


# playing, in this process or in several

_Found = tuple[PolicyRun, dict[str, bytes]]


def _run_cells(cells: Sequence[_Cell], arguments: argparse.Namespace) -> Iterator[_Found]:
    """In the order of the cells."""
    n_processes = min(arguments.processes, len(cells))
    progress = multiprocessing.Array("q", 2 * len(cells), lock=False)  # done and all jobs of every cell
    with Bars([cell.title for cell in cells], progress) as bars:
        if n_processes == 1:
            _begin(arguments, progress)
            for cell in cells:
                yield _play(cell, bars.draw)
                bars.draw()
            return
        with ProcessPoolExecutor(n_processes, initializer=_begin, initargs=(arguments, progress)) as pool:
            futures: list[Future[_Found]] = [pool.submit(_play, cell) for cell in cells]
            try:
                while wait(futures, timeout=0.2).not_done:
                    bars.draw()
                    if any(future.done() and future.exception() for future in futures):
                        break
                for future in futures:
                    yield future.result()
            finally:
                pool.shutdown(cancel_futures=True)


class _Process:
    """What a process that plays keeps between its cells."""

    arguments: argparse.Namespace
    progress: Any
    alone: dict[tuple[str, int], dict[str, float]]


def _begin(arguments: argparse.Namespace, progress: Any) -> None:
    _Process.arguments, _Process.progress, _Process.alone = arguments, progress, {}


def _play(cell: _Cell, draw: Any = None) -> _Found:
    arguments, progress = _Process.arguments, _Process.progress
    kind = ENVIRONMENTS[arguments.environment]
    period_s = kind.period_s if arguments.period is None else arguments.period
    setting: Setting = setting_of(arguments, policy=cell.entry.policy, trace=cell.trace, seed=cell.seed)
    key = (cell.trace, cell.seed)
    if key not in _Process.alone:
        _Process.alone[key] = alone_times(kind, setting, period_s=period_s)

    def on_progress(n_done: int, n_jobs: int) -> None:
        progress[2 * cell.number], progress[2 * cell.number + 1] = n_done, n_jobs
        if draw is not None:
            draw()

    one, outcome = play(
        kind,
        setting,
        cell.entry,
        period_s=period_s,
        alone=_Process.alone[key],
        stopwatch=time.perf_counter,
        on_progress=on_progress,
    )
    name = f"gantt_{cell.entry.label}"
    pictures = gantt(outcome, nodes=setting.cluster.nodes, name=name) if cell.is_drawn and can_draw() else {}
    return one, pictures
