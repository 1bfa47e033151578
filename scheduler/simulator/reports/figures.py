# SPDX-License-Identifier: Apache-2.0
"""Figures of simulations: completion times, Gantt chart, utilisation, fairness; each as PNG and SVG.

Needs matplotlib, which nothing else in scheduler/ does; it is imported when a figure is drawn.
"""

from __future__ import annotations

import importlib.util
import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from scheduler.api.arrays import Floats
from scheduler.api.topology import NodeSnapshot
from scheduler.simulator.outcome import SimulationOutcome
from scheduler.simulator.reports.summary import Curves

MOST_GPUS_DRAWN = 256  # more rows than that are thinner than a pixel
FORMATS = ("png", "svg")


def can_draw() -> bool:
    """Returns whether matplotlib is installed."""
    return importlib.util.find_spec("matplotlib") is not None


def compared(curves: Mapping[str, Curves]) -> dict[str, bytes]:
    """Returns the figures of one or several policies, by file name."""
    files: dict[str, bytes] = {}
    files |= _drawn(
        "jct_cdf", lambda ax: _cumulative(ax, {k: c.jct_s for k, c in curves.items()}, "completion time, s")
    )
    files |= _drawn(
        "utilisation", lambda ax: _over_time(ax, {k: c.utilisation for k, c in curves.items()}, "GPUs held")
    )
    files |= _drawn("jobs", lambda ax: _over_time(ax, {k: c.jobs for k, c in curves.items()}, "jobs in the cluster"))
    if any(c.rho for c in curves.values()):
        files |= _drawn("fairness", lambda ax: _fairness(ax, {k: c.rho for k, c in curves.items()}))
    return files


def gantt(outcome: SimulationOutcome, *, nodes: Sequence[NodeSnapshot], name: str = "gantt") -> dict[str, bytes]:
    """Returns a chart of which job held which GPU when, coloured by tenant, or by job where there is one tenant; empty
    for a huge cluster.
    """
    if sum(node.n_gpus for node in nodes) > MOST_GPUS_DRAWN:
        return {}
    return _drawn(name, lambda ax: _gantt(ax, outcome, nodes), height=5.5)


def averages(rows: Sequence[tuple[str, float, float]]) -> dict[str, bytes]:
    """Returns bars of (policy, mean of the average completion times, their standard deviation)."""
    return _drawn("avg_jct", lambda ax: _bars(ax, rows))


def cumulative(name: str, values: Mapping[str, Sequence[float]], label: str) -> dict[str, bytes]:
    """Returns a chart of the share of jobs up to each value, with a line for every name in values."""
    return _drawn(name, lambda ax: _cumulative(ax, values, label))


def _drawn(name: str, draw: Any, *, height: float = 3.6) -> dict[str, bytes]:
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    files = {}
    with matplotlib.rc_context({"svg.hashsalt": name, "font.size": 9.0}):
        figure = Figure(figsize=(7.0, height), layout="constrained")
        FigureCanvasAgg(figure)
        draw(figure.add_subplot())
        for kind in FORMATS:
            stream = io.BytesIO()
            figure.savefig(stream, format=kind, dpi=110, metadata={"Date": None} if kind == "svg" else None)
            files[f"{name}.{kind}"] = stream.getvalue()
    return files


def _cumulative(ax: Any, values: Mapping[str, Sequence[float]], label: str) -> None:
    for policy, found in values.items():
        ordered = np.sort(np.maximum(found, 1e-3))
        ax.step(ordered, np.arange(1, len(ordered) + 1) / max(1, len(ordered)), where="post", label=policy)
    ax.set(xlabel=label, ylabel="share of jobs", xscale="log", ylim=(0, 1.02))
    ax.grid(alpha=0.3)
    ax.legend(fontsize="small")


def _over_time(ax: Any, curves: Mapping[str, tuple[Floats, Floats]], label: str) -> None:
    for policy, (at_B, value_B) in curves.items():
        ax.plot(at_B / 3600, value_B, label=policy, linewidth=1.0)
    ax.set(xlabel="hours", ylabel=label)
    ax.set_ylim(bottom=0)
    ax.grid(alpha=0.3)
    ax.legend(fontsize="small")


def _fairness(ax: Any, values: Mapping[str, Sequence[float]]) -> None:
    _cumulative(ax, values, "finish-time fairness rho (1 = as on a fair share; above: later)")
    ax.axvline(1.0, color="0.5", linewidth=0.8)


def _bars(ax: Any, rows: Sequence[tuple[str, float, float]]) -> None:
    names, means, deviations = zip(*rows, strict=True)
    ax.barh(names, means, xerr=deviations, height=0.65, color="tab:blue", ecolor="0.3", capsize=2)
    ax.invert_yaxis()
    ax.set(xlabel="average completion time, s (bars: standard deviation)")
    ax.grid(axis="x", alpha=0.3)


def _gantt(ax: Any, outcome: SimulationOutcome, nodes: Sequence[NodeSnapshot]) -> None:
    import matplotlib
    from matplotlib.collections import PolyCollection
    from matplotlib.patches import Patch

    row_of = {key: i for i, key in enumerate((n.name, gpu) for n in nodes for gpu in range(n.n_gpus))}
    tenants = sorted({history.job.tenant for history in outcome.histories.values()})
    palette = [matplotlib.colormaps["tab20"](i) for i in range(20)]
    boxes, colours = [], []
    for number, history in enumerate(outcome.histories.values()):
        colour = palette[(tenants.index(history.job.tenant) if len(tenants) > 1 else number) % len(palette)]
        for since_s, to_s, allocation in history.spans:
            a, b = since_s / 3600, to_s / 3600
            for share in allocation.shares:
                for row in (row_of[share.node, gpu] for gpu in share.gpus if (share.node, gpu) in row_of):
                    boxes.append([(a, row), (b, row), (b, row + 1), (a, row + 1)])
                    colours.append(colour)
    ax.add_collection(PolyCollection(boxes, facecolors=colours, edgecolors="white", linewidths=0.15, alpha=0.85))
    ax.set(xlabel="hours", ylabel="GPU, node after node", ylim=(len(row_of), 0))
    ax.autoscale_view(scaley=False)
    if len(tenants) > 1:
        handles = [Patch(color=palette[i % len(palette)], label=tenant) for i, tenant in enumerate(tenants)]
        ax.legend(handles=handles, fontsize="small", ncols=min(6, len(tenants)), loc="upper center", framealpha=0.9)
