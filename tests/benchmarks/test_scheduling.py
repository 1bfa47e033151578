# SPDX-License-Identifier: Apache-2.0
"""The scheduling benchmark: its cells are valid commands, and its document distinguishes met from missed."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest

from benchmarks import scheduling
from benchmarks.scheduling_cells import LOADS, WORKLOADS, SchedulingCell, all_cells
from benchmarks.scheduling_tables import document
from scheduler.commands import simulate


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder with made-up published tables of Pollux' artifact: 100 s for everybody."""
    for policy in ("pollux", "tiresias", "optimus"):
        for load in LOADS:
            folder = tmp_path / f"pollux/published/results-jobload/{policy}-{float(load):.1f}"
            folder.mkdir(parents=True)
            names = [f"workload-{w}" for w in WORKLOADS]
            value = {"jcts": {name: {"a": 100.0} for name in names}, "avgs": dict.fromkeys(names, 100.0)}
            (folder / "summary.json").write_text(json.dumps(value))
    return tmp_path


def figures(cell: SchedulingCell, average_s: float) -> dict[str, object]:
    times = {"avg_jct_s", "median_jct_s", "p95_jct_s", "p99_jct_s", "makespan_s"}
    more = {"utilisation": 0.5, "decision_ms": {"mean": 1.0, "p99": 2.0}, "commit": "abc", "options": cell.options()}
    return dict.fromkeys(times, average_s) | {"jct_s": {"a": average_s}} | more


def test_every_cell_is_a_command_that_simulate_understands(data: Path) -> None:
    parser = argparse.ArgumentParser(exit_on_error=False)
    simulate.add(parser.add_subparsers())
    cells = all_cells(data)
    assert len({(cell.group, cell.row, cell.label, cell.seed) for cell in cells}) == len(cells) > 100
    for cell in cells:
        assert parser.parse_args(["simulate", *cell.options()]).policy == cell.policy


def test_cells_of_several_tables_share_a_simulation_only_if_it_is_the_same(data: Path) -> None:
    options = {}
    for cell in all_cells(data):
        assert options.setdefault(cell.key, cell.options()) == cell.options()


def test_the_document_shows_what_is_met_missed_and_not_played(data: Path) -> None:
    cells = [cell for cell in all_cells(data) if cell.group in ("A1", "pollux")]
    first, second, *_ = (cell for cell in cells if cell.group == "A1")
    assert first.published_s is not None
    assert second.published_s is not None
    found = {first.key: figures(first, first.published_s), second.key: figures(second, 1.01 * second.published_s)}
    ours = [cell for cell in cells if cell.group == "pollux"]
    found |= {cell.key: figures(cell, 84.0 if "load 0.5" in cell.row else 120.0) for cell in ours}
    text = document(cells, found, data=data, work=data, out=data / "out.md")
    rows = {line.split(" | ")[1]: line for line in text.splitlines() if line.startswith(f"| {first.row}")}
    assert rows[first.label].endswith("yes |")
    assert rows[second.label].endswith("NO |")
    assert "not played" in text
    loads = [line for line in text.splitlines() if line.startswith(("| 0.5 |", "| 1 |"))]
    assert "| yes, p99 yes |" in loads[0]
    assert "| NO, p99 NO |" in loads[1]


@pytest.mark.slow
def test_a_contest_is_held_against_the_best_rival(data: Path) -> None:
    cells = [cell for cell in all_cells(data) if cell.group == "network" and cell.seed == 0]
    averages = {"srsf": 100.0, "fifo": 300.0, "mlhub": 70.0}
    found = {cell.key: figures(cell, averages[cell.label]) for cell in cells if cell.label in averages}
    text = document(cells, found, data=data, work=data, out=data / "out.md")
    assert "rivals were not played as often: whether the goal is met stays open" in text
    played = [cell for cell in cells if cell.label in averages]
    text = document(played, found, data=data, work=data, out=data / "out.md")
    assert "**mlhub against the best of the others (srsf): 0.700; goal ≤ 0.75: met.**" in text
    assert (data / "out-network.png").read_bytes().startswith(b"\x89PNG")


def test_without_the_traces_it_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch) -> None:
    monkeypatch.delenv("MLHUB_TRACES", raising=False)
    monkeypatch.setattr("sys.argv", ["scheduling", "--work", str(tmp_path / "work")])
    assert scheduling.main() == 2
    assert "--data or $MLHUB_TRACES must name the traces' folder" in capsys.readouterr().out
    assert not (tmp_path / "work").exists()


def test_figures_that_were_kept_are_not_played_again_unless_the_command_changed(data: Path, tmp_path: Path) -> None:
    cell = next(cell for cell in all_cells(data) if not cell.is_judged)
    assert scheduling.found(cell, tmp_path) is None
    (tmp_path / f"{cell.key}.json").write_text(json.dumps(figures(cell, 1.0)))
    assert scheduling.found(cell, tmp_path) is not None
    (tmp_path / f"{cell.key}.json").write_text(json.dumps(figures(cell, 1.0) | {"options": []}))
    assert scheduling.found(cell, tmp_path) is None
