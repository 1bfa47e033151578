# SPDX-License-Identifier: Apache-2.0
"""benchmarks/results/convergence.png: what every strategy learns, and with stragglers in how long."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot

from benchmarks.convergence_cells import ONE_PROCESS, STRATEGIES, WITH_STRAGGLERS, named
from benchmarks.convergence_page import Page
from benchmarks.convergence_sets import STRAGGLERS, TASKS


def draw(page: Page, path: Path) -> None:
    """Loss by strategy on both sets, one process's as a line; with stragglers, seconds against loss."""
    strategies = (ONE_PROCESS, *STRATEGIES)[::-1]
    names = [named(s) for s in strategies]
    figure = pyplot.figure(figsize=(14, 0.21 * len(names) + 1.2), layout="constrained")
    grid = figure.add_gridspec(len(STRAGGLERS), 3, width_ratios=[1, 1, 1])
    for column, task in enumerate(TASKS):
        axis = figure.add_subplot(grid[:, column])
        kinds = {"even": ("o", "all alike"), "slow": ("x", "one worker slow")}
        for kind, (mark, label) in kinds.items():
            points = [(page.one(task, s, kind), named(s)) for s in strategies]
            there = [(run.loss, name) for run, name in points if run is not None and not run.has_diverged(task)]
            if there:
                axis.plot(*zip(*there, strict=True), mark, markersize=5, label=label)
        alone = page.one(task, ONE_PROCESS)
        if alone is not None:
            axis.axvline(alone.loss, color="grey", linewidth=0.8)
        axis.set_yticks(range(len(names)), names if column == 0 else [""] * len(names))
        axis.set(xlabel=f"{task}: loss on held-out examples", ylim=(-0.7, len(names) - 0.3))
        axis.grid(axis="y", linewidth=0.3)
        axis.legend()
    for row, kind in enumerate(STRAGGLERS):
        axis = figure.add_subplot(grid[row, 2])
        for index, strategy in enumerate(WITH_STRAGGLERS):
            runs = page.seeds("digits", strategy, kind)
            if runs:
                place = fmean(r.seconds for r in runs), fmean(r.loss for r in runs)
                axis.plot(*place, "osD^v<>Pp*"[index % 10], color=f"C{index}", label=named(strategy))
        axis.set_title(f"digits, {kind}", fontsize=8)
        axis.set_ylabel("loss")
        axis.grid(linewidth=0.3)
    axis.set_xlabel("seconds")
    if axis.get_legend_handles_labels()[0]:
        figure.legend(*axis.get_legend_handles_labels(), loc="outside lower right", fontsize=7, ncols=5)
    figure.savefig(path, dpi=90)
    pyplot.close(figure)
