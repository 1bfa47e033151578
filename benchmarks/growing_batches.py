# SPDX-License-Identifier: Apache-2.0
"""How much sooner a training reaches its target when its batch may grow, on digits and on prose.

python -m benchmarks.growing_batches writes benchmarks/results/growing-batches.md. Turns alternate between a fixed batch
and the range, so that both see the same machine; ratios are of each pair.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import zipfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.convergence_sets import TASKS, Task
from mlhub.wire.launch import ModelSpec, TrainingSpec
from tests.runtime.gang import Gang

RESULT = Path(__file__).parent / "results" / "growing-batches.md"
SEEDS = (0, 1, 2)
LARGEST = 8  # times the declared batch
N_WORKERS = 2


@dataclass(frozen=True)
class GrowthCase:
    """A task, what it is to reach, and how."""

    task: str
    metric: str
    target: float
    batch_size: int
    epochs: int
    hyperparameters: dict[str, Any]


CASES = (
    GrowthCase("digits", "eval/accuracy", 0.95, 8, 40, {"optimizer": "sgd", "learning_rate": 0.05}),
    GrowthCase("digits", "eval/accuracy", 0.95, 8, 40, {"optimizer": "adamw", "learning_rate": 0.001}),
    GrowthCase("prose", "eval/loss", 2.2, 4, 12, {"optimizer": "adamw", "learning_rate": 0.001}),
)


@dataclass(frozen=True)
class GrowthRun:
    """seconds: from the first step to the evaluation that reached the target. largest: batch. metric: at the end."""

    seconds: float
    declared_steps: int
    largest: int
    metric: float


def run(folder: Path, data: Path, case: GrowthCase, *, seed: int, may_grow: bool) -> GrowthRun:
    """Raises RuntimeError when the training fails or does not reach its target."""
    task: Task = TASKS[case.task]
    folder.mkdir(parents=True)
    with zipfile.ZipFile(folder / "model.zip", "w") as archive:
        archive.writestr("model.py", task.model)
    given = {**case.hyperparameters, "stop_at_target": True}
    if may_grow:
        given["max_batch_size"] = LARGEST * case.batch_size
    training = TrainingSpec(
        epochs=case.epochs, batch_size=case.batch_size, seed=seed, hyperparameters=given, target_metric=case.metric,
        target_value=case.target, strategy={"name": "all_reduce"},
    )  # fmt: skip
    gang = Gang(
        folder, data, format=task.format, options=dict(task.options), package=folder / "model.zip",
        model=ModelSpec(kind="package", entry="model", package="code"), training=training,
    )  # fmt: skip
    gang.start(n_workers=N_WORKERS)
    if set(gang.wait(seconds=900).values()) != {0}:
        raise RuntimeError(gang.logs())
    began = next(r["at"] for r in gang.reports("phase") if r["phase"] == "training")
    evaluations = [r for r in gang.reports("metrics") if case.metric in r["values"]]
    sizes = [r["values"]["train/batch_size"] for r in gang.reports("metrics") if "train/batch_size" in r["values"]]
    last = evaluations[-1]
    return GrowthRun(
        last["at"] - began, last["step"], int(max(sizes, default=case.batch_size)), last["values"][case.metric]
    )


def row(folder: Path, case: GrowthCase) -> str:
    data = TASKS[case.task].write(folder)
    fixed, grown = [], []
    for seed in SEEDS:
        for may_grow, found in ((False, fixed), (True, grown)):
            found.append(run(folder / f"{seed}-{may_grow}", data, case, seed=seed, may_grow=may_grow))
    ratios = [g.seconds / f.seconds for f, g in zip(fixed, grown, strict=True)]
    epochs = statistics.median(g.declared_steps / f.declared_steps for f, g in zip(fixed, grown, strict=True))
    return (
        f"| {case.task}, {case.hyperparameters['optimizer']}, {case.metric} {case.target} | {case.batch_size} "
        f"| {max(g.largest for g in grown)} | {statistics.median(f.seconds for f in fixed):.1f} s "
        f"| {statistics.median(g.seconds for g in grown):.1f} s "
        f"| {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}) | {epochs:.2f} |"
    )


def main() -> None:
    lines = []
    load = os.getloadavg()[0]
    for case in CASES:
        with tempfile.TemporaryDirectory() as folder:
            lines.append(row(Path(folder), case))
            print(lines[-1], flush=True)
    head = [
        "# Batches that grow",
        "",
        f"Written by `python -m benchmarks.growing_batches` on {datetime.now(UTC):%Y-%m-%d}: {N_WORKERS} workers on "
        f"processors (load {load:.0f} on {os.cpu_count()} processors: seconds are of a busy machine, ratios are of "
        f"pairs that ran one after the other), {len(SEEDS)} seeds, medians. The batch may grow to {LARGEST} times the "
        "declared one; training ends at the target.",
        "",
        "| training | batch | largest used | fixed: time to target | grows: time to target | ratio (least to most) "
        "| ratio of examples seen |",
        "|---|---|---|---|---|---|---|",
    ]
    RESULT.write_text("\n".join([*head, *lines]) + "\n")


if __name__ == "__main__":
    main()
