# SPDX-License-Identifier: Apache-2.0
"""How much sooner a training reaches its target when the scheduler chooses its batch, on digits and on prose.

python -m benchmarks.growing_batches writes benchmarks/results/growing-batches.md. Turns alternate between a fixed batch
and the range, so that both see the same machine; ratios are of each pair. Rounds of the scheduler decide on what the
workers report (growing_batches_rounds.py), as on the platform, and the trainers follow.
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
from benchmarks.growing_batches_rounds import Rounds
from mlhub.wire.launch import BatchDecision, ModelSpec, TrainingSpec
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


SCALED = {"standardise": True}
# learning rates are careful ones: with a larger one digits take two epochs, in which nothing can be measured
CASES = (
    GrowthCase("digits", "eval/accuracy", 0.95, 8, 200, {**SCALED, "optimizer": "sgd", "learning_rate": 0.001}),
    GrowthCase("digits", "eval/accuracy", 0.95, 8, 200, {**SCALED, "optimizer": "adamw", "learning_rate": 0.00003}),
    GrowthCase("prose", "eval/loss", 2.2, 4, 12, {"optimizer": "adamw", "learning_rate": 0.001}),
)


@dataclass(frozen=True)
class GrowthRun:
    """seconds: from the first step to the evaluation that reached the target. processor_s: of all workers, their start
    included. largest: batch. metric: at the end."""

    seconds: float
    processor_s: float
    n_steps: int
    n_examples: int
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
        batch=BatchDecision(case.batch_size) if may_grow else None,
    )  # fmt: skip
    gang = Gang(
        folder, data, format=task.format, options=dict(task.options), package=folder / "model.zip",
        model=ModelSpec(kind="package", entry="model", package="code"), training=training,
    )  # fmt: skip
    gang.start(n_workers=N_WORKERS)
    with Rounds(gang, batch_size=case.batch_size, max_batch_size=LARGEST * case.batch_size, n_workers=N_WORKERS):
        codes = gang.wait(seconds=900)
    if set(codes.values()) != {0}:
        raise RuntimeError(gang.logs())
    began = next(r["at"] for r in gang.reports("phase") if r["phase"] == "training")
    evaluations = [r for r in gang.reports("metrics") if case.metric in r["values"]]
    changes = [(0, case.batch_size)] + [
        (r["detail"]["step"], r["detail"]["batch_size"]) for r in gang.reports("phase") if r["phase"] == "batch_changed"
    ]
    last = evaluations[-1]
    found = last["values"][case.metric]
    if found > case.target if case.metric.endswith("loss") else found < case.target:
        raise RuntimeError(f"{case} ends with {found}, short of its target; give it more epochs.")
    return GrowthRun(
        seconds=last["at"] - began,
        processor_s=gang.processor_s(),
        n_steps=optimiser_steps(changes, last["step"], batch_size=case.batch_size),
        n_examples=last["step"] * case.batch_size,
        largest=max(size for _, size in changes),
        metric=found,
    )


def optimiser_steps(changes: list[tuple[int, int]], end: int, *, batch_size: int) -> int:
    """changes: (declared step, batch from there on), ascending. Shorter steps at ends of epochs are not counted."""
    ends = [step for step, _ in changes[1:]] + [end]
    return sum((until - step) * batch_size // size for (step, size), until in zip(changes, ends, strict=True))


def row(folder: Path, case: GrowthCase) -> str:
    data = TASKS[case.task].write(folder)
    fixed: list[GrowthRun] = []
    grown: list[GrowthRun] = []
    for seed in SEEDS:
        for may_grow, found in ((False, fixed), (True, grown)):
            found.append(run(folder / f"{seed}-{may_grow}", data, case, seed=seed, may_grow=may_grow))
    pairs = list(zip(fixed, grown, strict=True))
    ratios = [g.seconds / f.seconds for f, g in pairs]
    processor, steps, examples = (
        statistics.median(getattr(g, name) / getattr(f, name) for f, g in pairs)
        for name in ("processor_s", "n_steps", "n_examples")
    )
    return (
        f"| {case.task}, {case.hyperparameters['optimizer']} at {case.hyperparameters['learning_rate']}, {case.metric} "
        f"{case.target} | {case.batch_size} "
        f"| {max(g.largest for g in grown)} | {statistics.median(f.seconds for f in fixed):.1f} s "
        f"| {statistics.median(g.seconds for g in grown):.1f} s "
        f"| {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}) | {processor:.2f} | {steps:.2f} "
        f"| {examples:.2f} |"
    )


def main() -> None:
    lines = []
    loads = [os.getloadavg()[0]]
    for case in CASES:
        with tempfile.TemporaryDirectory() as folder:
            lines.append(row(Path(folder), case))
            loads.append(os.getloadavg()[0])
            print(lines[-1], flush=True)
    head = [
        "# Batches that grow",
        "",
        f"Written by `python -m benchmarks.growing_batches` on {datetime.now(UTC):%Y-%m-%d}: {N_WORKERS} workers on "
        f"processors (load {min(loads):.0f} to {max(loads):.0f} on {os.cpu_count()} processors: seconds are of a busy "
        f"machine, ratios are of pairs that ran one after the other), {len(SEEDS)} seeds, medians. Rounds of the "
        f"scheduler choose the batch, up to {LARGEST} times the declared one; training ends at the target.",
        "",
        "Ratios are of the range to the fixed batch. Processor time is of the workers, their start included. What "
        "ends before a round has seen two reports is as with the fixed batch. Learning rates are careful "
        "ones: with a larger one digits take two epochs, in which nothing can be measured and nothing gained.",
        "",
        "| training | batch | largest used | fixed: time to target | range: time to target "
        "| ratio of time (least to most) | of processor time | of optimiser steps | of examples |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    RESULT.write_text("\n".join([*head, *lines]) + "\n")


if __name__ == "__main__":
    main()
