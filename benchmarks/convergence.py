"""python -m benchmarks.convergence: every scheme on real handwritten digits, alone and beside a slow worker.

Writes benchmarks/results/convergence.md. All train the same small network on the same number of examples, with real
processes: three workers, one of which is slow in the second half of the runs, and one parameter server.
"""

from __future__ import annotations

import os
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from mlhub.demo.material import digits_csv
from mlhub.runtime.strategies.schema import parse
from mlhub.wire.launch import Mode, ModelSpec, TrainingSpec
from tests.runtime.gang import Gang

RESULTS = Path(__file__).parent / "results" / "convergence.md"
N_WORKERS, EPOCHS, BATCH_SIZE, SLOW_S = 3, 8, 32, 0.02
HYPERPARAMETERS = {"optimizer": "sgd", "learning_rate": 0.05, "momentum": 0.0}
MODEL = f'''
import os, time
from torch import nn

def build_model(given):
    return nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, given["n_classes"]))

def preprocess(inputs):
    if os.environ.get("SLOW") and os.environ.get("RANK") == "{N_WORKERS - 1}":
        time.sleep({SLOW_S})
    return inputs
'''
STRATEGIES: tuple[Mapping[str, Any], ...] = (
    {"name": "all_reduce"},
    {"name": "bsp"},
    {"name": "asp"},
    {"name": "asp", "staleness_scaling": "zhang"},
    {"name": "asp", "staleness_scaling": "dc"},
    {"name": "ssp", "staleness": 0},
    {"name": "ssp", "staleness": 3},
    {"name": "softsync", "group": 3},
    {"name": "softsync", "group": 3, "block": True},
    {"name": "k_of_n", "k": 2},
    {"name": "downpour", "n_push": 5, "n_fetch": 5},
    {"name": "adag", "window": 5},
    {"name": "dynsgd", "window": 5},
    {"name": "easgd", "window": 5},
    {"name": "averaging", "period": 10},
    {"name": "block_momentum", "period": 10},
    {"name": "gossip"},
)


@dataclass(frozen=True)
class Outcome:
    accuracy: float
    loss: float
    seconds: float  # from the first step to the last evaluation


def digits(path: Path) -> Path:
    rows = np.loadtxt(digits_csv().decode().splitlines(), delimiter=",", skiprows=1, dtype=np.float32)
    np.savez(path, x=rows[:, :-1] / 16, y=rows[:, -1].astype(np.int64))
    return path


def train(folder: Path, data: Path, strategy: Mapping[str, Any], *, n_workers: int, is_slow: bool) -> Outcome:
    """Raises RuntimeError when the gang does not end well."""
    folder.mkdir()
    with zipfile.ZipFile(folder / "code.zip", "w") as archive:
        archive.writestr("digits_model.py", MODEL)
    gang = Gang(
        folder,
        data,
        model=ModelSpec(kind="package", entry="digits_model", package="code"),
        package=folder / "code.zip",
        training=TrainingSpec(EPOCHS, BATCH_SIZE, hyperparameters=HYPERPARAMETERS, strategy=dict(strategy)),
    )
    mode = parse(strategy).mode or Mode.ALL_REDUCE
    os.environ["SLOW"] = "1" if is_slow else ""
    gang.start(mode, n_workers=n_workers, n_servers=int(mode is Mode.PARAMETER_SERVER))
    if any(gang.wait(seconds=300).values()):
        raise RuntimeError(gang.said())
    phases = {report["phase"]: report["at"] for report in gang.reports("phase")}
    metrics = gang.result()["metrics"]
    return Outcome(metrics["eval/accuracy"], metrics["eval/loss"], phases["done"] - phases["training"])


def main() -> None:
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        data = digits(Path(folder) / "digits.npz")
        one = train(Path(folder) / "alone", data, {}, n_workers=1, is_slow=False)
        lines.append(f"| one process | {one.accuracy:.3f} | {one.loss:.3f} | {one.seconds:.1f} | | | |")
        print(lines[-1], flush=True)
        for index, strategy in enumerate(STRATEGIES):
            even, slow = (
                train(Path(folder) / f"{index}-{is_slow}", data, strategy, n_workers=N_WORKERS, is_slow=is_slow)
                for is_slow in (False, True)
            )
            name = ", ".join(str(v) if k == "name" else f"{k} {v}" for k, v in strategy.items())
            found = f"{even.accuracy:.3f} | {even.loss:.3f} | {even.seconds:.1f}"
            found += f" | {slow.accuracy:.3f} | {slow.loss:.3f} | {slow.seconds:.1f}"
            lines.append(f"| {name} | {found} |")
            print(lines[-1], flush=True)
    table = "\n".join(lines)
    RESULTS.write_text(f"""# How well every scheme learns

`make bench-convergence`, {datetime.now(UTC):%Y-%m-%d}: 1,797 digits of 8 x 8 pixels (UCI), a network of one hidden
layer, plain SGD with rate {HYPERPARAMETERS["learning_rate"]} for all, {EPOCHS} epochs, batch {BATCH_SIZE},
{N_WORKERS} workers on {os.cpu_count()} shared CPUs. In the right half one worker is {1e3 * SLOW_S:.0f} ms slower at
every batch. Nothing was tuned for a scheme; times hold evaluations, and vary with the machine's load. On a network this
small no scheme is faster than one process: what is to be seen is what it learns, and what a slow worker costs.

| scheme | accuracy | loss | s | accuracy, one slow | loss | s |
|---|---|---|---|---|---|---|
{table}
""")


if __name__ == "__main__":
    main()
