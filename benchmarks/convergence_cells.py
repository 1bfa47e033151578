# SPDX-License-Identifier: Apache-2.0
"""The runs of benchmarks/results/convergence.md: which there are, and one of them with real processes.

A cell is one training. Its figures stay in the working folder under a name that changes with what it is made of.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.convergence_sets import TASKS
from mlhub.runtime.strategies.catalogue.schema import STRATEGIES as CATALOGUE
from mlhub.runtime.strategies.catalogue.schema import parse
from mlhub.wire.exits import ExitCode
from mlhub.wire.launch import ModelSpec, SyncMode, TrainingSpec
from tests.runtime.gang import Gang

N_WORKERS = 3
SEEDS = (0, 1, 2)  # of the comparison with stragglers
RATES = tuple(2.0**k for k in range(-4, 3))  # tried by one process, smallest first
LATE = math.sin(math.pi / (2 * (2 * (N_WORKERS - 1) + 1)))
"""Descent on a parabola by gradients that are t versions late stays stable up to sin(pi / (4 t + 2)) of the rate that
it bears with fresh ones (Levin and May, 1976); in a gang of n at its own pace t is about n - 1."""
NOT_COMPARED = {"auto", "single", "hybrid", "sparse_rows"}  # hybrid needs four workers, sparse_rows embeddings
ONE_PROCESS: Mapping[str, Any] = {}
STRATEGIES: tuple[Mapping[str, Any], ...] = (
    {"name": "all_reduce"},
    {"name": "all_reduce", "compression": "fp16"},
    {"name": "all_reduce", "compression": "one_bit"},
    {"name": "all_reduce", "compression": "two_bit", "threshold": 0.01},
    {"name": "all_reduce", "compression": "scaled_sign"},
    {"name": "all_reduce", "compression": "dithering", "levels": 7},
    {"name": "all_reduce", "compression": "dithering", "levels": 1, "norm": "l2"},
    {"name": "all_reduce", "compression": "dithering", "levels": 7, "partition": "natural", "feedback": False},
    {"name": "all_reduce", "compression": "top_k", "density": 0.05},
    {"name": "all_reduce", "compression": "power_sgd", "rank": 2},
    {"name": "all_reduce", "reduction": "adasum"},
    {"name": "main_worker"},
    {"name": "sufficient_factor_broadcasting"},
    {"name": "sharded"},
    {"name": "fully_sharded"},
    {"name": "pipeline"},
    {"name": "pipeline", "schedule": "interleaved_zero_bubble", "stages_per_worker": 1},
    {"name": "tensor"},
    {"name": "bsp"},
    {"name": "bsp", "compression": "one_bit"},
    {"name": "bsp", "compression": "random_k", "density": 0.05},
    {"name": "hierarchical"},
    {"name": "asp"},
    {"name": "asp", "warmup_steps": 100},
    {"name": "asp", "staleness_scaling": "zhang"},
    {"name": "asp", "staleness_scaling": "dynsgd"},
    {"name": "asp", "staleness_scaling": "dc"},
    {"name": "bounded_delay"},
    {"name": "ssp", "staleness": 0},
    {"name": "ssp", "staleness": 3},
    {"name": "softsync", "group": 2},
    {"name": "softsync", "group": 3},
    {"name": "softsync", "group": 3, "block": True},
    {"name": "k_of_n", "k": 2},
    {"name": "downpour", "n_push": 5, "n_fetch": 5},
    {"name": "adag", "window": 5},
    {"name": "dynsgd", "window": 5},
    {"name": "easgd", "window": 5},
    {"name": "model_averaging", "period": 10},
    {"name": "block_momentum", "period": 10},
    {"name": "elastic_averaging", "period": 5},
    {"name": "gossip"},
    {"name": "random_gossip"},
    {"name": "push_sum"},
    {"name": "gosgd", "probability": 0.2},
    {"name": "ensemble"},
    {"name": "ensemble", "examples": "parts"},
)
WITH_STRAGGLERS: tuple[Mapping[str, Any], ...] = (
    {"name": "bsp"},
    {"name": "k_of_n", "k": 2},
    {"name": "softsync", "group": 3},
    {"name": "softsync", "group": 2},
    {"name": "ssp", "staleness": 0},
    {"name": "ssp", "staleness": 3},
    {"name": "asp"},
    {"name": "asp", "staleness_scaling": "zhang"},
    {"name": "asp", "staleness_scaling": "dynsgd"},
    {"name": "asp", "staleness_scaling": "dc"},
)
SAME_STEPS = (
    "all_reduce", "main_worker", "sufficient_factor_broadcasting", "sharded", "fully_sharded", "pipeline",
    "pipeline, schedule interleaved_zero_bubble, stages_per_worker 1", "tensor", "bsp",
    "hierarchical", "softsync, group 3, block True",
)  # fmt: skip
"""One process's training in another form: by the names of named()."""


@dataclass(frozen=True)
class ConvergenceCell:
    """kind: of straggler (convergence_sets.STRAGGLERS). rate: the learning rate."""

    task: str
    strategy: Mapping[str, Any]
    rate: float
    kind: str = "even"
    seed: int = 0

    @property
    def key(self) -> str:
        task = TASKS[self.task]
        made_of = {k: str(v) for k, v in asdict(task).items() if k != "write"} | {
            "code": task.code(n_workers=N_WORKERS)
        }
        description = json.dumps([made_of, dict(self.strategy), self.rate], sort_keys=True)
        parts = (self.task, self.kind, named(self.strategy), f"seed {self.seed}", f"rate {self.rate}")
        digest = hashlib.sha256(description.encode()).hexdigest()[:6]
        return re.sub(r"[^a-z0-9.]+", "-", f"{' '.join(parts)} {digest}".lower())


@dataclass(frozen=True)
class CellOutcome:
    """losses: on held-out examples, after each epoch that was evaluated. diverged_at: the step at which the loss was
    not a number. seconds: from the first step to the last evaluation. bytes_a_step: sent by worker 0, as the kernel
    counted."""

    accuracy: float
    losses: tuple[float, ...]
    seconds: float
    processor_s: float
    bytes_a_step: float
    diverged_at: int | None = None
    load: float | None = None  # of the machine when the run ended, over a minute

    @property
    def loss(self) -> float:
        return self.losses[-1] if self.losses else math.nan

    def has_diverged(self, task: str) -> bool:
        """Not a number, or no better than guessing."""
        return self.diverged_at is not None or not self.loss < math.log(TASKS[task].n_classes)


def named(strategy: Mapping[str, Any]) -> str:
    return ", ".join(str(v) if k == "name" else f"{k} {v}" for k, v in strategy.items()) or "one process"


def rate_cells(task: str) -> list[ConvergenceCell]:
    return [ConvergenceCell(task, ONE_PROCESS, rate) for rate in RATES]


def rate_for(task: str, tried: Mapping[float, CellOutcome]) -> float:
    """The part LATE of the rate at which one process ends with the lowest loss: one rule for all strategies.

    Raises ValueError when it learns at none.
    """
    losses = {rate: outcome.loss for rate, outcome in tried.items() if not outcome.has_diverged(task)}
    if not losses:
        raise ValueError(f"{task}: one process learns at none of the rates {', '.join(map(str, tried))}")
    return float(f"{LATE * min(losses, key=lambda rate: losses[rate]):.2g}")


def cells(rates: Mapping[str, float]) -> list[ConvergenceCell]:
    """All but those that find the rates; what a shorter run should have comes first."""
    found = [
        ConvergenceCell(task, strategy, rate) for task, rate in rates.items() for strategy in (ONE_PROCESS, *STRATEGIES)
    ]
    for seed in SEEDS:
        for task, rate in rates.items():
            if seed and task != "digits":
                continue
            for kind in ("even", "slow", "stalls"):
                found += [ConvergenceCell(task, strategy, rate, kind, seed) for strategy in WITH_STRAGGLERS]
    found += [ConvergenceCell("digits", strategy, rates["digits"], "slow") for strategy in STRATEGIES]
    return list({cell.key: cell for cell in found}.values())


def stored(cell: ConvergenceCell, work: Path) -> CellOutcome | None:
    path = work / f"{cell.key}.json"
    if not path.exists():
        return None
    raw = json.loads(path.read_text())
    return CellOutcome(**{**raw, "losses": tuple(raw["losses"])})


def store(cell: ConvergenceCell, outcome: CellOutcome, work: Path) -> None:
    part = work / f"{cell.key}.part"
    part.write_text(json.dumps(asdict(outcome)))
    part.rename(work / f"{cell.key}.json")


def train(cell: ConvergenceCell, data: Path) -> CellOutcome:
    """Raises RuntimeError when the gang ends otherwise than well or with a loss that is not a number."""
    with tempfile.TemporaryDirectory() as folder:
        return _train(cell, data, Path(folder))


def _train(cell: ConvergenceCell, data: Path, folder: Path) -> CellOutcome:
    task = TASKS[cell.task]
    with zipfile.ZipFile(folder / "code.zip", "w") as archive:
        archive.writestr("compared_model.py", task.code(n_workers=N_WORKERS))
    hyperparameters = {"optimizer": "sgd", "learning_rate": cell.rate, "momentum": 0.0}
    gang = Gang(
        folder,
        data,
        format=task.format,
        options=dict(task.options),
        model=ModelSpec(kind="package", entry="compared_model", package="code"),
        package=folder / "code.zip",
        training=TrainingSpec(
            task.epochs,
            task.batch_size,
            seed=cell.seed,
            hyperparameters=hyperparameters,
            strategy=dict(cell.strategy),
        ),
    )
    spec = parse(cell.strategy)
    mode = spec.mode or SyncMode.ALL_REDUCE
    n_servers = int(spec.parameters.get("leaves", 0)) + 1 if mode is SyncMode.PARAMETER_SERVER else 0
    os.environ |= {"STRAGGLER": cell.kind, "STRAGGLER_SEED": str(cell.seed)}
    gang.start(mode, n_workers=N_WORKERS if cell.strategy else 1, n_servers=n_servers)
    codes = gang.wait(seconds=300)
    load = os.getloadavg()[0]
    evaluations = [report["values"] for report in gang.reports("metrics")]
    losses = tuple(values["eval/loss"] for values in evaluations if "eval/loss" in values)
    if ExitCode.NOT_A_NUMBER in codes.values() or any(not math.isfinite(loss) for loss in losses):
        steps = [report["steps_done"] for report in gang.reports("progress")]
        return CellOutcome(math.nan, losses, math.nan, gang.processor_s(), math.nan, max(steps, default=0), load)
    if any(codes.values()):
        raise RuntimeError(gang.logs())
    phases = {report["phase"]: report["at"] for report in gang.reports("phase")}
    metrics = gang.result()["metrics"]
    seconds = phases["done"] - phases["training"]
    sent, processor_s = gang.bytes_sent(), gang.processor_s()
    return CellOutcome(metrics["eval/accuracy"], losses, seconds, processor_s, sent, load=load)


def check_complete() -> None:
    missing = set(CATALOGUE) - {s["name"] for s in STRATEGIES} - NOT_COMPARED
    if missing:
        raise ValueError(f"not compared: {', '.join(sorted(missing))}")
