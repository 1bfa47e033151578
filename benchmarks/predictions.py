# SPDX-License-Identifier: Apache-2.0
"""How well step times and ends are predicted: unseen allocations after three, and what P90 bands hold.

    python -m benchmarks.predictions --data FOLDER [--quick] [--out benchmarks/results/predictions.md]

FOLDER (or $MLHUB_TRACES) holds pollux/: step times by placement and workloads, as published with Pollux (Qiao et al.,
OSDI '21; github.com/petuum/adaptdl, branch osdi21-artifact, Apache-2.0), and muri/traces/trace3.csv (Zhao et al., Muri,
SIGCOMM '22; github.com/Rivendile/Muri).
"""

from __future__ import annotations

import argparse
import os
import random
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.predictions_bands import band_rows
from scheduler.api.snapshot import Mode, SpeedObservation
from scheduler.api.topology import NodeSnapshot, RackSnapshot
from scheduler.commands.files import data_in
from scheduler.models.layout import ClusterTopology, Layout
from scheduler.models.speed.model import SpeedModel
from scheduler.simulator.environments.pollux_adaptive import PARAMETERS_BYTES
from scheduler.simulator.environments.pollux_tables import Application, read_applications

GOAL = 0.10
DRAWS = 20  # for each batch
N_SEEN = 3
NIC_BPS, N_NODES, PER_NODE = 50e9, 16, 4  # of the nodes that it was measured on


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("MLHUB_TRACES"), metavar="FOLDER")
    parser.add_argument("--quick", action="store_true", help="one workload, no pollux")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/predictions.md"))
    arguments = parser.parse_args()
    folder = Path(arguments.data or ".")
    if not (folder / "pollux").is_dir() or not (folder / "muri").is_dir():
        print(f"{folder} has no pollux/ and muri/; --data must name the folder of traces (see --help)", file=sys.stderr)
        return 2
    data = data_in(str(folder / "pollux"))
    applications = read_applications(data.matching("traces/*/*.csv"), name=data.name)
    lines = [
        "# How well step times and ends are predicted",
        "",
        "By `python -m benchmarks.predictions --data FOLDER`.",
        "",
    ]
    lines += [*_step_rows(applications.values(), n_draws=DRAWS), ""]
    lines += band_rows(folder, is_quick=arguments.quick)
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))
    return 0


@dataclass(frozen=True)
class Measured:
    """One allocation at one global batch."""

    layout: Layout
    observation: SpeedObservation


def _step_rows(applications: Iterable[Application], *, n_draws: int) -> list[str]:
    rows = [
        "## Step times of unseen allocations",
        "",
        f"A job at one global batch is measured on {N_SEEN} allocations that differ in workers or nodes, drawn at",
        "random; then its step time on every other measured placement is predicted. Median over placements of the",
        f"relative error; {n_draws} draws for each batch. Goal: a median of at most {GOAL:.0%}. Larger: only those",
        "with more workers than any of the three. Step times are interpolated between the local batches that were",
        "measured, as Pollux' own simulator does.",
        "",
        "| application | batches | placements | median error | nine draws in ten | larger | draws within the goal |",
        "|---|---|---|---|---|---|---|",
    ]
    every: list[float] = []
    for app in applications:
        chance = random.Random(0)
        inside: list[float] = []
        outside: list[float] = []
        sizes, batches = [], _batches(app)
        for batch in batches:
            places = measured_placements(app, batch)
            sizes.append(len(places))
            for _ in range(n_draws if len(places) > 2 * N_SEEN else 0):
                errors, far = _errors(app, batch, places, chance)
                inside.append(float(np.median(errors)))
                outside += [float(np.median(far))] if len(far) else []
        every += inside
        rows.append(_row(app.name, str(len(batches)), f"{min(sizes)}-{max(sizes)}", inside, outside))
    return [*rows, _row("all draws", "", "", every, [])]


def _row(name: str, batches: str, places: str, inside: list[float], outside: list[float]) -> str:
    far = f"{np.median(outside):.1%}" if outside else ""
    within = np.mean([error <= GOAL for error in inside])
    figures = f"{np.median(inside):.1%} | {np.quantile(inside, 0.9):.1%} | {far} | {within:.0%}"
    return f"| {name} | {batches} | {places} | {figures} |"


def _errors(
    app: Application, batch: int, places: Sequence[Measured], chance: random.Random
) -> tuple[list[float], list[float]]:
    """Relative errors on what was not seen: all, and those with more workers than anything seen."""
    seen = some_of(places, chance)
    model = SpeedModel(
        tuple(one.observation for one in seen),
        example_s=None,
        overhead_s=0.0,
        parameters_bytes=PARAMETERS_BYTES[app.name],
        nic_bps=NIC_BPS,
    )
    largest = max(one.observation.n_workers for one in seen)
    errors, far = [], []
    for one in places:
        if one in seen:
            continue
        true_s = one.observation.step_s
        error = abs(model.step_s(one.layout, Mode.ALL_REDUCE, batch_size=batch) - true_s) / true_s
        errors.append(error)
        far += [error] if one.observation.n_workers > largest else []
    return errors, far


def some_of(places: Sequence[Measured], chance: random.Random) -> list[Measured]:
    """Of different shapes."""
    found: dict[tuple[int, int], Measured] = {}
    for one in chance.sample(list(places), len(places)):
        found.setdefault((one.observation.n_workers, one.observation.n_nodes), one)
        if len(found) == N_SEEN:
            break
    return list(found.values())


def _batches(app: Application) -> list[int]:
    """The initial batch, doubled up to the largest that was validated."""
    batches = [app.init_batch]
    while batches[-1] * 2 <= app.max_batch:
        batches.append(batches[-1] * 2)
    return batches


def measured_placements(app: Application, batch: int) -> list[Measured]:
    """Placements that were measured around this batch's share of each worker."""
    topology = ClusterTopology(
        [NodeSnapshot(f"n{i:02}", "r", "t4", PER_NODE, 64.0, 1 << 38, NIC_BPS) for i in range(N_NODES)],
        [RackSnapshot("r", 1e12)],
    )
    found = []
    for placement, rows in sorted(app.placements.items()):
        n = sum(placement)
        local = batch / n
        if not rows[0, 0] <= local <= rows[-1, 0]:
            continue
        step_s, sync_s = app.step_and_sync_s(placement, round(local))
        layout = topology.layout_on({f"n{i:02}": k for i, k in enumerate(placement)})
        shape = (Mode.ALL_REDUCE, n, 0, len(placement), 1, "t4", batch)
        found.append(Measured(layout, SpeedObservation(*shape, step_s, step_s - sync_s, sync_s, n_steps=1000)))
    return found


if __name__ == "__main__":
    sys.exit(main())
