# SPDX-License-Identifier: Apache-2.0
"""Where the suite's time goes: `make unit ARGS="-p tests.costs --costs=.mlhub/costs"` prints it by folder and test.

Processor time counts the test process and the processes below it, servers included, but not those that left it. It is
nearly the same on a loaded machine as on a quiet one; the rest of the wall time is waiting, for a clock or a processor.
"""

from __future__ import annotations

import json
import os
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pytest

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
SHOWN_TESTS = 60
SLOW_S = 0.5  # seconds of processors from which a test is marked slow
PROPERTY = "cost"
MARKED = "slow"


class Cost(NamedTuple):
    """Seconds."""

    wall_s: float = 0.0
    processor_s: float = 0.0

    def __sub__(self, other: Cost) -> Cost:
        return Cost(self.wall_s - other.wall_s, self.processor_s - other.processor_s)


@dataclass(frozen=True)
class _Process:
    parent: int
    ticks: int  # of itself and of the children that it has waited for


def _processes() -> dict[int, _Process]:
    found = {}
    for entry in os.scandir("/proc"):
        if not entry.name.isdigit():
            continue
        try:
            words = Path(entry.path, "stat").read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        found[int(entry.name)] = _Process(int(words[1]), sum(map(int, words[11:15])))
    return found


def _spent() -> Cost:
    """What this process and its descendants have spent until now."""
    processes = _processes()
    children = defaultdict(list)
    for pid, process in processes.items():
        children[process.parent].append(pid)
    ticks, pending = 0, [os.getpid()]
    while pending:
        pid = pending.pop()
        ticks += processes[pid].ticks
        pending += children[pid]
    return Cost(time.monotonic(), ticks / TICKS_PER_S)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--costs", metavar="FOLDER", help="write costs.jsonl there, and print where the time goes")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--costs"):
        config.pluginmanager.register(CostReport(config), "cost-report")


class CostReport:
    """Measures in the process that runs a test; xdist carries the figure to the one that prints."""

    def __init__(self, config: pytest.Config) -> None:
        self.is_worker = hasattr(config, "workerinput")
        self.folder = Path(config.getoption("--costs"))
        self.by_test: dict[str, Cost] = {}
        self.marked: set[str] = set()  # tests with the marker slow or chaos
        self._before = Cost()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self) -> Iterator[None]:
        self._before = _spent()
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
        report: Any = yield
        if call.when == "teardown":
            report.user_properties.append((PROPERTY, tuple(_spent() - self._before)))
            report.user_properties.append((MARKED, any(map(item.get_closest_marker, ("slow", "chaos")))))
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for name, value in report.user_properties:
            if name == PROPERTY:
                self.by_test[report.nodeid] = Cost(*value)
            elif name == MARKED and value:
                self.marked.add(report.nodeid)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.is_worker:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / "costs.jsonl").open("a") as out:
            out.writelines(json.dumps([name, *cost]) + "\n" for name, cost in self.by_test.items())
        terminalreporter.write_sep("=", "costs: seconds of processors, seconds in all")
        for line in summary(self.by_test):
            terminalreporter.write_line(line)
        unmarked = {n: c for n, c in self.by_test.items() if n not in self.marked and c.processor_s > SLOW_S}
        if unmarked:
            terminalreporter.write_sep("=", f"{len(unmarked)} tests of more than {SLOW_S} s without the marker slow")
        for name, cost in sorted(unmarked.items(), key=lambda item: -item[1].processor_s):
            terminalreporter.write_line(_line(cost, name))


def summary(by_test: dict[str, Cost]) -> list[str]:
    """A line for each folder, for the dearest tests, and for all together."""
    folders: dict[str, list[Cost]] = defaultdict(list)
    for name, cost in by_test.items():
        folders[str(Path(name.partition("::")[0]).parent)].append(cost)
    lines = [_line(total(costs), f"{folder} ({len(costs)})") for folder, costs in sorted(folders.items())]
    dearest = sorted(by_test.items(), key=lambda item: -item[1].wall_s)[:SHOWN_TESTS]
    lines += ["", *(_line(cost, name) for name, cost in dearest), ""]
    return [*lines, _line(total(by_test.values()), f"all {len(by_test)} tests")]


def total(costs: Any) -> Cost:
    found = list(costs)
    return Cost(sum(c.wall_s for c in found), sum(c.processor_s for c in found))


def _line(cost: Cost, name: str) -> str:
    return f"{cost.processor_s:8.1f} {cost.wall_s:8.1f}  {name}"
