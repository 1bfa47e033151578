# SPDX-License-Identifier: Apache-2.0
"""What each model of the scheduler predicts, drawn: the figures of docs/guides/scheduling.md.

    python -m benchmarks.models --data FOLDER [--out docs/images]

FOLDER (or $MLHUB_TRACES) holds pollux/: step times by placement and curves of training, as published with Pollux (Qiao
et al., OSDI '21; github.com/petuum/adaptdl, branch osdi21-artifact, Apache-2.0).
"""

from __future__ import annotations

import argparse
import csv
import math
import os
import random
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.predictions import N_SEEN, NIC_BPS, Measured, measured_placements, some_of
from scheduler.api.arrays import Floats
from scheduler.api.snapshot import Mode
from scheduler.commands.files import data_in
from scheduler.models.convergence import reaching
from scheduler.models.cost import CostKind, CostModel, CostObservation
from scheduler.models.layout import Layout
from scheduler.models.network.flows import Flow, settle
from scheduler.models.speed.model import SpeedModel
from scheduler.simulator.environments.pollux_adaptive import PARAMETERS_BYTES
from scheduler.simulator.environments.pollux_tables import Application, read_applications

CURVES = (("cifar10", 1024), ("ncf", 8192))  # one that gains by workers for long, and one that soon loses
REACHED = (("cifar10", "validation-512.csv", 0.92), ("deepspeech2", "validation-20.csv", 25.0))  # accuracy; word errors


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("MLHUB_TRACES"), metavar="FOLDER")
    parser.add_argument("--out", type=Path, default=Path("docs/images"), metavar="FOLDER")
    arguments = parser.parse_args()
    folder = Path(arguments.data or ".")
    if not (folder / "pollux").is_dir():
        print(f"{folder} has no pollux/; --data must name the folder of traces (see --help)", file=sys.stderr)
        return 2
    data = data_in(str(folder / "pollux"))
    applications = read_applications(data.matching("traces/*/*.csv"), name=data.name)
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name, draw in (
        ("speed", lambda axes: _speed(axes, applications)),
        ("bandwidth", _bandwidth),
        ("progress", lambda axes: _progress(axes, folder / "pollux/traces")),
        ("cost", _cost),
    ):
        path = arguments.out / f"model-{name}.svg"
        _draw(path, draw)
        print(path)
    return 0


def _draw(path: Path, draw: Any) -> None:
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    with matplotlib.rc_context({"svg.hashsalt": path.stem, "font.size": 9.0, "svg.fonttype": "none"}):
        figure = Figure(figsize=(8.0, 3.0), layout="constrained")
        FigureCanvasSVG(figure)
        axes = figure.subplots(1, 2)
        draw(axes)
        for ax in axes:
            ax.grid(alpha=0.3)
            ax.spines[["top", "right"]].set_visible(False)
            ax.legend(frameon=False, fontsize=8)
        figure.savefig(path, metadata={"Date": None})


def _speed(axes: Any, applications: dict[str, Application]) -> None:
    """Examples a second: over workers, as measured and as predicted from three placements; over servers, the prior."""
    for colour, (name, batch) in zip(("C0", "C1"), CURVES, strict=True):
        app = applications[name]
        places = measured_placements(app, batch)
        seen = some_of(places, random.Random(0))
        model = SpeedModel(
            tuple(one.observation for one in seen),
            example_s=None,
            overhead_s=0.0,
            parameters_bytes=PARAMETERS_BYTES[name],
            nic_bps=NIC_BPS,
        )
        best = _fastest_by_workers(places)
        sizes = sorted(best)
        alone = batch / best[sizes[0]].observation.step_s
        measured = [batch / best[n].observation.step_s / alone for n in sizes]
        predicted = [batch / model.step_s(best[n].layout, Mode.ALL_REDUCE, batch_size=batch) / alone for n in sizes]
        axes[0].plot(sizes, measured, "o", color=colour, markersize=3.5, label=f"{name}, measured")
        axes[0].plot(sizes, predicted, "-", color=colour, linewidth=1.2, label=f"predicted from {N_SEEN} placements")
    axes[0].set(xlabel="workers, at one global batch", ylabel="speed, of the least number's", ylim=(0, None))
    servers = range(1, 13)
    for megabytes in (25, 100, 400):
        model = SpeedModel((), example_s=0.001, overhead_s=0.01, parameters_bytes=megabytes << 20, nic_bps=10e9)
        steps = [model.step_s(_apart(8, n), Mode.PARAMETER_SERVER, batch_size=512) for n in servers]
        axes[1].plot(servers, [512 / step_s for step_s in steps], ".-", label=f"{megabytes} MiB of parameters")
    axes[1].set(xlabel="parameter servers, for 8 workers on 10 Gb/s", ylabel="examples/s", ylim=(0, 7500))


def _fastest_by_workers(places: Sequence[Measured]) -> dict[int, Measured]:
    best: dict[int, Measured] = {}
    for one in places:
        known = best.get(one.observation.n_workers)
        if known is None or one.observation.step_s < known.observation.step_s:
            best[one.observation.n_workers] = one
    return best


def _apart(n_workers: int, n_servers: int) -> Layout:
    """Every worker and every server on a node of its own, in one rack."""
    n = n_workers + n_servers
    workers = (1,) * n_workers + (0,) * n_servers
    servers = (0,) * n_workers + (1,) * n_servers
    return Layout(workers, servers, (10e9,) * n, (0,) * n, (float("inf"),), "")


def _bandwidth(axes: Any) -> None:
    """Like gangs that compute for a second and send over one link: steps where they meet, and how sure that is."""
    wires = np.linspace(0.05, 3.0, 60)
    for n in (2, 3, 4):
        settled = [_settled(n, wire_s) for wire_s in wires]
        axes[0].plot(wires, [s[0] for s in settled], label=f"{n} gangs")
        axes[0].fill_between(wires, [s[1] for s in settled], [s[2] for s in settled], alpha=0.12)
        axes[1].plot(wires, [s[3] for s in settled], label=f"{n} gangs")
    axes[0].set(xlabel="seconds on the link, alone", ylabel="step, s (band: never to always met)", ylim=(0, None))
    axes[1].set(xlabel="seconds on the link, alone", ylabel="relative error of the step", ylim=(0, None))


def _settled(n: int, wire_s: float) -> tuple[float, float, float, float]:
    """Of the first: step, the step if they never met, if always, and its relative error."""

    def stepping(wire_s_F: Floats) -> Floats:
        return 1.0 + wire_s_F

    settled = settle([Flow((0,), (wire_s,))] * n, np.array([1.0]), stepping)
    return (
        float(settled.step_s_F[0]),
        float(settled.low_s_F[0]),
        float(settled.high_s_F[0]),
        float(settled.error_F[0]),
    )


def _progress(axes: Any, traces: Path) -> None:
    """Curves of training that were measured: when their target was expected, as they went."""
    for colour, (name, file, target) in zip(("C0", "C1"), REACHED, strict=True):
        with (traces / name / file).open(encoding="utf-8") as rows:
            points = [(float(row["iteration"]), float(row["metric"])) for row in csv.DictReader(rows)]
        first = points[0][1]
        falls = target < first
        end = next(step for step, value in points if (value <= target if falls else value >= target))
        way = [(value - first) / (target - first) for _, value in points]
        axes[0].plot([step / end for step, _ in points], way, color=colour, label=f"{name}, measured")
        now, predicted, low, high = [], [], [], []
        for i, (step, _) in enumerate(points, start=1):
            expected = reaching(points[:i], target=target, falls=falls)
            if expected is None or step >= end:
                continue
            left = expected.step - step
            now.append(step / end)
            predicted.append(expected.step / end)
            low.append((step + left * math.exp(-expected.error)) / end)
            high.append((step + left * math.exp(expected.error)) / end)
        axes[1].plot(now, predicted, ".-", color=colour, markersize=3, label=name)
        axes[1].fill_between(now, low, high, color=colour, alpha=0.12)
    axes[0].axhline(1.0, color="0.5", linewidth=1)
    axes[0].set(xlabel="steps done, of those to the target", ylabel="way to the target", xlim=(0, 1.2), ylim=(0, 1.2))
    axes[1].axhline(1.0, color="0.5", linewidth=1)
    axes[1].set(xlabel="steps done, of those to the target", ylabel="steps predicted, of the true ones", ylim=(0, 3))


def _cost(axes: Any) -> None:
    """A start of families whose medians are 8 s and 60 s, among others of about 20 s: estimates as they are seen."""
    chance = random.Random(0)
    medians = [20.0 * math.exp(chance.gauss(0, 0.5)) for _ in range(8)]
    others = [
        CostObservation(f"other {k}", CostKind.START, usual_s * math.exp(chance.gauss(0, 0.2)))
        for k, usual_s in enumerate(medians)
        for _ in range(5)
    ]
    counts = range(16)
    for ax, median_s in zip(axes, (8.0, 60.0), strict=True):
        own = [CostObservation("new", CostKind.START, median_s * math.exp(chance.gauss(0, 0.25))) for _ in counts]
        estimates = [CostModel([*reversed(own[:n]), *others]).of("new").start for n in counts]
        ax.plot(counts, [e.seconds for e in estimates], ".-", label="expected of the next one")
        ax.fill_between(counts, [e.low_s for e in estimates], [e.high_s for e in estimates], alpha=0.15)
        ax.plot(range(1, len(own) + 1), [o.seconds for o in own], "x", color="0.4", markersize=4, label="measured")
        ax.axhline(median_s, color="0.5", linewidth=1, linestyle=":")
        ax.set(xlabel="starts of this family seen", ylabel="start, s", ylim=(0, None))


if __name__ == "__main__":
    sys.exit(main())
