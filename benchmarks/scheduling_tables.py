# SPDX-License-Identifier: Apache-2.0
"""Turns the figures of the scheduling benchmark's cells into its document: tables, goals met or missed, figures."""

from __future__ import annotations

import csv
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.scheduling_cells import WORKLOADS, SchedulingCell, published_pollux
from scheduler.simulator.reports.figures import can_draw, cumulative
from scheduler.simulator.reports.summary import markdown_of

Figures = Mapping[str, Mapping[str, Any]]
POLLUX_GOALS = {"0.5": 0.85, "1": 0.75, "1.5": 0.68, "2": 0.62}  # of Pollux' average, published
STAGES = {
    "A1": "Counting placement, no costs: to the last digit published",
    "A2": "Tiresias' discretised rule",
    "A3": "Muri's world: restarts charged at every event, iterations 1.5 % longer",
    "A4": "The measured testbed of 64 V100: within 3 %",
    "A5": "Pollux' world: every job to 0.1 %",
}


def document(cells: Sequence[SchedulingCell], figures: Figures, *, data: Path, work: Path, out: Path) -> str:
    commits = sorted({str(one["commit"]) for one in figures.values()})
    parts = [
        "# How well it schedules",
        f"`python -m benchmarks.scheduling --data FOLDER` (`make bench-scheduling`): {len(figures)} of {len(cells)} "
        f"simulations, at {', '.join(commits) or 'no commit'}. All jobs submitted were completed in every one of them, "
        "or it is not counted. Times in seconds. A policy with 0 runs was not played yet; sd is over seeds. "
        "Rounds were timed next to other work on the same machine: compare them with each other only.",
        "## The simulator against published figures",
    ]
    for group, title in STAGES.items():
        of = [cell for cell in cells if cell.group == group]
        if of:
            parts += [f"### {group}. {title}", _reproduced(of, figures, data), _commands(of, figures)]
    parts += ["## The comparison", "### Pollux' world", _pollux(cells, figures, data), NOTES]
    parts += [_commands([cell for cell in cells if cell.group == "pollux"], figures)]
    for group, (title, goal) in CONTESTS.items():
        of = [cell for cell in cells if cell.group == group]
        if of:
            parts += [f"### {title}", *_contest(of, figures, goal, work=work, out=out, group=group)]
            parts += [_commands(of, figures)]
    return "\n\n".join(part.strip() for part in parts if part.strip()) + "\n"


NOTES = """Published averages are over the same shared workloads. Pollux' own search was not played in this simulator
(`--policy pollux`): its published runs stand for it."""

CONTESTS: Mapping[str, tuple[str, float | None]] = {
    "muri-declared": ("Muri's trace3, lengths declared (published: SRTF 193,082, SRSF 185,022, Muri-S 85,503)", 1.0),
    "muri-none": ("Muri's trace3, lengths unknown (published: Tiresias 347,213, AntMan 305,454, Muri-L 88,687)", 1.0),
    "sharing": ("Measured sharing on 64 GPUs of several tenants, jobs of one GPU", 0.9),
    "sharing-mixed": ("Measured sharing on 64 GPUs of several tenants, 30 % jobs of several GPUs, not shared", 0.9),
    "network": ("A network that is the bottleneck: 16 nodes of 4, 10 Gb/s, racks oversubscribed 4:1", 0.75),
    "day": ("A mixed day of several tenants, quotas with borrowing", None),
}


def _reproduced(cells: Sequence[SchedulingCell], figures: Figures, data: Path) -> str:
    rows = []
    for cell in cells:
        one = figures.get(cell.key)
        row: dict[str, Any] = {"trace": cell.row, "policy": cell.label}
        row["average"] = f"{one['avg_jct_s']:,.1f}" if one else "not played"
        row["published"] = f"{cell.published_s:,.1f}" if cell.published_s is not None else ""
        off = one["avg_jct_s"] / cell.published_s - 1 if one and cell.published_s else None
        row["off"] = f"{off:+.3%}" if off is not None else ""
        is_held = off is not None and abs(off) <= cell.tolerance
        if cell.published_jobs:
            row["jobs off by > 0.1 %"] = _jobs_off(cell, one, data) if one else ""
            is_held &= row["jobs off by > 0.1 %"].startswith("0 ")
        row["within"] = f"{cell.tolerance:.2%}: {'yes' if is_held else 'NO'}" if one and cell.tolerance else ""
        rows.append(row)
    return markdown_of(rows)


def _jobs_off(cell: SchedulingCell, one: Mapping[str, Any], data: Path) -> str:
    policy, load, workload = str(cell.published_jobs).split("|")
    published = published_pollux(data, policy, load)["jcts"][workload]
    off = [job for job, jct_s in published.items() if abs(one["jct_s"][job] - jct_s) > 1e-3 * jct_s]
    return f"{len(off)} of {len(published)}"


def _pollux(cells: Sequence[SchedulingCell], figures: Figures, data: Path) -> str:
    """Means over the shared workloads; rivals as published, on the same ones."""
    rows = []
    for load, goal in POLLUX_GOALS.items():
        found = {
            workload: one
            for cell in cells
            for workload in WORKLOADS
            if cell.group == "pollux" and cell.row == f"load {load}, workload {workload}"
            if (one := figures.get(cell.key)) is not None
        }
        row: dict[str, Any] = {"load": load, "workloads": len(found)}
        p99 = {}
        for policy in ("pollux", "tiresias", "optimus"):
            published = published_pollux(data, policy, load)
            names = [f"workload-{w}" for w in found or WORKLOADS]
            row[policy] = float(np.mean([published["avgs"][name] for name in names]))
            p99[policy] = float(np.mean([np.percentile(list(published["jcts"][name].values()), 99) for name in names]))
        if found:
            average = float(np.mean([one["avg_jct_s"] for one in found.values()]))
            own_p99 = float(np.mean([one["p99_jct_s"] for one in found.values()]))
            ratio, tail = average / row["pollux"], own_p99 / p99["pollux"]
            row |= {"mlhub": average, "of pollux": f"{ratio:.3f}", "goal": f"≤ {goal:.2f}"}
            row |= {"p99": own_p99, "of pollux' p99": f"{tail:.2f}"}
            row |= {"met": f"{'yes' if ratio <= goal else 'NO'}, p99 {'yes' if tail <= 1 else 'NO'}"}
        rows.append(row)
    return markdown_of([rows[-1] | dict.fromkeys(rows[-1], "") | row for row in rows])


def _contest(
    cells: Sequence[SchedulingCell], figures: Figures, goal: float | None, *, work: Path, out: Path, group: str
) -> list[str]:
    """A row for every policy, with means over rows and seeds; the goal against the best rival that played as many."""
    by_label: dict[str, list[SchedulingCell]] = {}
    for cell in cells:
        by_label.setdefault(cell.label, [])
        if cell.key in figures:
            by_label[cell.label].append(cell)
    rows: list[dict[str, Any]] = []
    jcts: dict[str, list[float]] = {}
    for label, of in by_label.items():
        if not of:
            rows.append({"policy": label, "runs": 0})
            continue
        ones = [figures[cell.key] for cell in of]
        jcts[label] = [jct_s for one in ones for jct_s in one["jct_s"].values()]
        rows.append({"policy": label, "runs": len(of)} | _means(ones) | _judged(of, work))
    names = {name: "" for row in rows for name in row}
    rows.sort(key=lambda row: float(row.get("average", np.inf)))
    parts = [markdown_of([names | row for row in rows])]
    parts += [_verdict(rows, goal)]
    if can_draw() and jcts:
        name = f"{out.stem}-{group}"
        (out.parent / f"{name}.png").write_bytes(cumulative(name, jcts, "completion time, s")[f"{name}.png"])
        parts += [f"![Completion times]({name}.png)"]
    return parts


def _means(ones: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    averages = [one["avg_jct_s"] for one in ones]
    names = {"median_jct_s": "median", "p95_jct_s": "p95", "p99_jct_s": "p99", "makespan_s": "makespan"}
    row: dict[str, Any] = {
        "average": float(np.mean(averages)),
        "sd": float(np.std(averages, ddof=1)) if len(ones) > 1 else 0.0,
    }
    row |= {label: float(np.mean([one[name] for one in ones])) for name, label in names.items()}
    row["GPUs held"] = f"{np.mean([one['utilisation'] for one in ones]):.0%}"
    return row | {"round, ms": float(np.mean([one["decision_ms"]["mean"] for one in ones]))}


def _judged(cells: Sequence[SchedulingCell], work: Path) -> dict[str, Any]:
    """Finish-time fairness, and broken guarantees where tenants have some; from the cells' reports."""
    rho, broken, has_guarantees = [], 0, False
    for cell in cells:
        if not (work / cell.key / "jobs.csv").exists():
            return {}
        rho += [float(row["rho"]) for row in _rows(work / cell.key / "jobs.csv")]
        if (work / cell.key / "broken.csv").exists():
            has_guarantees = True
            broken += len(_rows(work / cell.key / "broken.csv"))
    row = {"mean rho": float(np.mean(rho)), "p95 rho": float(np.percentile(rho, 95)), "worst rho": float(np.max(rho))}
    return row | ({"guarantees broken": broken} if has_guarantees else {})


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _verdict(rows: Sequence[Mapping[str, Any]], goal: float | None) -> str:
    own = next((row for row in rows if row["policy"] == "mlhub" and row["runs"]), None)
    rivals = [row for row in rows if row["policy"] != "mlhub" and own is not None and row["runs"] == own["runs"]]
    if own is None or not rivals:
        return ""
    best = min(rivals, key=lambda row: row["average"])
    ratio = own["average"] / best["average"]
    verdict = f"mlhub against the best of the others ({best['policy']}): {ratio:.3f}"
    n_open = len(rows) - 1 - len(rivals)
    if n_open:
        broken = f", guarantees broken by mlhub: {own['guarantees broken']}" if "guarantees broken" in own else ""
        return f"**{verdict}{broken}. {n_open} rivals were not played as often: whether the goal is met stays open.**"
    if goal is not None:
        return f"**{verdict}; goal ≤ {goal:.2f}: {'met' if ratio <= goal else 'NOT met'}.**"
    broken = own.get("guarantees broken", 0)
    is_met = ratio < 1 and not broken
    return f"**{verdict}, guarantees broken: {broken}; goal: the lowest with none: {'met' if is_met else 'NOT met'}.**"


def _commands(cells: Sequence[SchedulingCell], figures: Figures) -> str:
    lines = [f"{_command(cell)}  # {figures[cell.key]['avg_jct_s']:,.1f}" for cell in cells if cell.key in figures]
    if not lines:
        return ""
    body = "\n".join(lines)
    head = "<details><summary>The commands ($D: the traces, $W: the working folder)</summary>"
    return f"{head}\n\n```\n{body}\n```\n</details>"


def _command(cell: SchedulingCell) -> str:
    places = {"data": "$D", "here": "benchmarks", "work": "$W"}
    words = [option.format(**places) if "{" in option[:2] else option for option in cell.options()]
    quoted = [word if word.startswith("$") else shlex.quote(word) for word in words]
    return f"python -m scheduler simulate {' '.join(quoted)} --json out.json"
