# SPDX-License-Identifier: Apache-2.0
"""Whole trainings against others' on the same model and data: torchrun with DDP."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.training_turns import Runner
from mlhub.wire.launch import ModelSpec, SyncMode, TrainingSpec
from tests.runtime.gang import Gang, free_ports

PEERS = Path(__file__).parent / "peers"
MODEL = "watched_model"
ALONE = os.environ | {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
N_FEATURES, BATCH_SIZE = 64, 64
WIDTHS = {"1 M": 970, "25 M": 4960}  # of two hidden layers: parameters
MANY_EPOCHS = 100_000


def write_examples(path: Path, n: int) -> Path:
    random = np.random.default_rng(0)
    np.savez(path, x=random.normal(size=(n, N_FEATURES)).astype(np.float32), y=random.integers(0, 10, n))
    return path


def trained(
    folder: Path, data: Path, size: str, strategy: dict[str, Any], mode: SyncMode, *, n_workers: int,
    n_servers: int = 0, epochs: int = 1,
) -> Gang:  # fmt: skip
    """A gang that has trained to the end. Raises RuntimeError."""
    training = TrainingSpec(
        epochs=epochs,
        batch_size=BATCH_SIZE,
        strategy=strategy,
        hyperparameters={"width": WIDTHS[size], "optimizer": "sgd", "learning_rate": 0.01, "momentum": 0.0},
        evaluation_fraction=0.001,
        checkpoint_every_s=1e6,
    )
    gang = Gang(folder, data, model=ModelSpec(kind="builtin", entry="mlp"), training=training)
    gang.start(mode, n_workers=n_workers, n_servers=n_servers)
    if set(gang.wait(seconds=300).values()) != {0}:
        raise RuntimeError(gang.logs())
    return gang


def watched(
    folder: Path, data: Path, size: str, *, n_workers: int, strategy: dict[str, Any] | None = None, entry: str = MODEL
) -> Runner:
    """Through MLHub's all-reduce, on and on. entry: the model, one of the modules of PEERS."""
    marks = _fresh(folder / "marks")
    with zipfile.ZipFile(folder / "model.zip", "w") as archive:
        for name in {MODEL, entry}:
            archive.write(PEERS / f"{name}.py", f"{name}.py")
    training = TrainingSpec(
        epochs=MANY_EPOCHS,
        batch_size=BATCH_SIZE,
        strategy=strategy or {},
        hyperparameters={"width": WIDTHS[size]},
        evaluation_fraction=0.001,
        checkpoint_every_s=1e6,
    )
    model = ModelSpec(kind="package", entry=entry, package="code")
    gang = Gang(folder, data, model=model, package=folder / "model.zip", training=training)
    with _set("STOPWATCH", str(marks)):
        gang.start(SyncMode.ALL_REDUCE, n_workers=n_workers)

    def end() -> None:
        for process in gang.processes.values():
            process.kill()
            process.wait()

    return Runner(marks, n_ranks=n_workers, end=end, logs=gang.logs)


def torchrun(folder: Path, data: Path, size: str, *, n_workers: int) -> Runner:
    """The same without MLHub (peers/plain_ddp.py), on and on."""
    marks = _fresh(folder / "marks")
    command = [
        sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(n_workers), "--master-addr",
        "127.0.0.1", "--master-port", str(free_ports(1)[0]), str(PEERS / "plain_ddp.py"), str(data),
        str(WIDTHS[size]), str(BATCH_SIZE),
    ]  # fmt: skip
    output = folder / "output.log"
    with output.open("w") as file:
        process = subprocess.Popen(
            command, env=ALONE | {"STOPWATCH": str(marks)}, cwd=folder, stdout=file, stderr=subprocess.STDOUT
        )

    def end() -> None:
        process.terminate()
        process.wait(60)

    return Runner(marks, n_ranks=n_workers, end=end, logs=output.read_text)


def _fresh(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder


@contextmanager
def _set(name: str, value: str) -> Iterator[None]:
    os.environ[name] = value
    try:
        yield
    finally:
        del os.environ[name]
