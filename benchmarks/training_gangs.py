"""Whole trainings against others' on the same model and data: torchrun with DDP, and Elephas."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from mlhub.wire.launch import Mode, ModelSpec, TrainingSpec
from tests.runtime.gang import Gang, free_ports

PEERS = Path(__file__).parent / "peers"
N_FEATURES, BATCH_SIZE = 64, 64
WIDTHS = {"1 M": 970, "25 M": 4960}  # of two hidden layers: parameters
EPOCH_STEPS = {"1 M": 400, "25 M": 30}
N_RUNS = {"1 M": 2, "25 M": 1}


def write_examples(path: Path, n: int) -> Path:
    random = np.random.default_rng(0)
    np.savez(path, x=random.normal(size=(n, N_FEATURES)).astype(np.float32), y=random.integers(0, 10, n))
    return path


def trained(
    folder: Path, data: Path, size: str, strategy: dict[str, Any], mode: Mode, *, n_workers: int, n_servers: int = 0,
    epochs: int = 1,
) -> Gang:  # fmt: skip
    """A gang that has trained to the end. Raises RuntimeError."""
    training = TrainingSpec(
        epochs=epochs,
        batch_size=BATCH_SIZE,
        strategy=strategy,
        hyperparameters={"width": WIDTHS[size], "optimizer": "sgd", "learning_rate": 0.01, "momentum": 0.0},
        checkpoint_every_s=1e6,
    )
    gang = Gang(folder, data, model=ModelSpec(kind="builtin", entry="mlp"), training=training)
    gang.start(mode, n_workers=n_workers, n_servers=n_servers)
    if set(gang.wait(seconds=300).values()) != {0}:
        raise RuntimeError(gang.said())
    return gang


def our_steps_per_s(folder: Path, data: Path, size: str, *, n_workers: int) -> float:
    """Through MLHub's all-reduce: from the first report of progress to the last."""
    gang = trained(folder, data, size, {}, Mode.ALL_REDUCE, n_workers=n_workers)
    first, *_, last = gang.reports("progress")
    return float((last["steps_done"] - first["steps_done"]) / (last["at"] - first["at"]))


def torchrun_steps_per_s(data: Path, size: str, *, n_workers: int) -> float:
    out = _said(
        [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(n_workers), "--master-addr",
         "127.0.0.1", "--master-port", str(free_ports(1)[0]), str(PEERS / "plain_ddp.py"), str(data),
         str(WIDTHS[size]), str(BATCH_SIZE)]
    )  # fmt: skip
    return float(out.split("steps_per_s")[1].split()[0])


def elephas_examples_per_s(python: str, data: Path, size: str, *, epochs: tuple[int, int]) -> float:
    """From what a longer fit takes more than a shorter: the start of Spark and TensorFlow is not counted."""
    found = []
    for n in epochs:
        out = _said([python, str(PEERS / "keras_on_spark.py"), str(data), str(WIDTHS[size]), str(BATCH_SIZE), str(n)])
        words = out.split("fit_s")[1].split()
        found.append((float(words[0]), int(words[2]) * n))
    (short_s, few), (long_s, many) = found
    return (many - few) / (long_s - short_s)


def our_examples_per_s(folder: Path, data: Path, size: str, *, epochs: int) -> float:
    """Asynchronous, two workers, one server, an update a batch; all of the training phase with its evaluations."""
    gang = trained(
        folder, data, size, {"name": "elephas-asynchronous"}, Mode.PARAMETER_SERVER, n_workers=2, n_servers=1,
        epochs=epochs,
    )  # fmt: skip
    began = next(r["at"] for r in gang.reports("phase") if r["phase"] == "training")
    ended = max(r["at"] for r in gang.reports("metrics") if "eval/accuracy" in r["values"])
    return gang.result()["steps"] * BATCH_SIZE / float(ended - began)


def _said(command: list[str]) -> str:
    environment = os.environ | {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
    with tempfile.TemporaryDirectory() as folder:  # where no folder has the name of a package
        done = subprocess.run(
            command, env=environment, cwd=folder, capture_output=True, text=True, timeout=600, check=False
        )
    if done.returncode:
        raise RuntimeError(done.stdout[-2000:] + done.stderr[-2000:])
    return done.stdout
