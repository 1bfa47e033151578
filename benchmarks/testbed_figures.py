# SPDX-License-Identifier: Apache-2.0
"""The testbed's figures: who trained when with how many workers, and step times as predicted and as measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

Jobs = Sequence[Mapping[str, Any]]


def draw(runs: Mapping[str, Jobs], folder: Path, *, stem: str) -> list[str]:
    """Writes <stem>-jobs.svg and <stem>-steps.svg. runs: jobs as the API shows them, by policy. Returns their names."""
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    with matplotlib.rc_context({"svg.hashsalt": stem, "font.size": 9.0, "svg.fonttype": "none"}):
        timeline = Figure(figsize=(9.0, 1.2 + 1.5 * len(runs)), layout="constrained")
        FigureCanvasSVG(timeline)
        rows = timeline.subplots(len(runs), 1, sharex=True, squeeze=False)[:, 0]
        for ax, (policy, jobs) in zip(rows, runs.items(), strict=True):
            _attempts(ax, policy, jobs)
        rows[-1].set_xlabel("seconds from the first submission; figures: workers (+ servers); grey: waiting")
        timeline.savefig(folder / f"{stem}-jobs.svg", metadata={"Date": None})
        steps = Figure(figsize=(4.6, 4.2), layout="constrained")
        FigureCanvasSVG(steps)
        _steps(steps.subplots(), runs)
        steps.savefig(folder / f"{stem}-steps.svg", metadata={"Date": None})
    return [f"{stem}-jobs.svg", f"{stem}-steps.svg"]


def _attempts(ax: Any, policy: str, jobs: Jobs) -> None:
    """A row for every job: grey from its submission on, a bar for every attempt from its first step."""
    began = min(_at(job["submitted_at"]) for job in jobs)
    for row, job in enumerate(jobs):
        ax.barh(
            row, _at(job["finished_at"]) - _at(job["submitted_at"]), left=_at(job["submitted_at"]) - began, color="0.9"
        )
        for attempt in job["attempts"]:
            if attempt["training_at"] is None or attempt["ended_at"] is None:
                continue
            start, end = _at(attempt["training_at"]) - began, _at(attempt["ended_at"]) - began
            ax.barh(row, end - start, left=start, color=f"C{row}", edgecolor="white", linewidth=0.5)
            size = str(attempt["n_workers"]) + (f"+{attempt['n_servers']}" if attempt["n_servers"] else "")
            ax.text((start + end) / 2, row, size, ha="center", va="center", fontsize=6.5)
    ax.set_yticks(range(len(jobs)), [str(job["name"]) for job in jobs], fontsize=6.5)
    ax.invert_yaxis()
    ax.set_title(policy, loc="left", fontsize=9)
    ax.spines[["top", "right"]].set_visible(False)


def _steps(ax: Any, runs: Mapping[str, Jobs]) -> None:
    every = []
    for policy, jobs in runs.items():
        attempts = [attempt for job in jobs for attempt in job["attempts"]]
        points = [
            (1000 * attempt["measured_step_s"], 1000 * attempt["predicted_step_s"])
            for attempt in attempts
            if attempt["measured_step_s"] and attempt["predicted_step_s"]
        ]
        ax.plot([m for m, _ in points], [p for _, p in points], ".", alpha=0.7, label=policy)
        every += [value for point in points for value in point]
    if every:
        ends = [min(every) / 1.2, max(every) * 1.2]
        ax.plot(ends, ends, color="0.6", linewidth=1)
    ax.set(xscale="log", yscale="log", xlabel="measured step, ms", ylabel="predicted step, ms")
    ax.legend(frameon=False)
    ax.grid(alpha=0.3)


def _at(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()
