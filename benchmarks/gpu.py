# SPDX-License-Identifier: Apache-2.0
"""Steps a second on one GPU: all-reduce and a parameter server of MLHub against plain torch, in turns.

python -m benchmarks.gpu writes benchmarks/results/gpu-speed.md, with the date and the device. It needs an NVIDIA GPU.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import torch

from mlhub.wire.launch import ModelSpec, SyncMode, TrainingSpec
from tests.runtime.gang import Gang

RESULT = Path(__file__).parent / "results" / "gpu-speed.md"
WIDTHS = {"4 M": 1900, "34 M": 5700}  # of two hidden layers: parameters
N_FEATURES, BATCH_SIZE, N_EXAMPLES = 256, 512, 51_200
MODES = {"all-reduce, 1 worker": SyncMode.ALL_REDUCE, "parameter server, 1 worker": SyncMode.PARAMETER_SERVER}
N_STEPS = {None: 5000, SyncMode.ALL_REDUCE: 5000, SyncMode.PARAMETER_SERVER: 200}  # None: plain torch
WANTED = 0.98


def plain(data: Path, width: int) -> float:
    """Steps a second of plain torch."""
    command = [sys.executable, "-m", "benchmarks.peers.plain_gpu", data, N_STEPS[None], width, BATCH_SIZE]
    done = subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True)
    return float(done.stdout)


def ours(folder: Path, data: Path, width: int, mode: SyncMode) -> float:
    """Steps a second of MLHub, between its first report of progress and its last. Raises RuntimeError."""
    training = TrainingSpec(
        epochs=-(-N_STEPS[mode] * 12 // 10 * BATCH_SIZE // N_EXAMPLES),
        batch_size=BATCH_SIZE,
        strategy={"name": "all_reduce" if mode is SyncMode.ALL_REDUCE else "bsp"},
        hyperparameters={"width": width, "optimizer": "sgd", "learning_rate": 0.01, "momentum": 0.0},
        evaluation_fraction=0.001,
        checkpoint_every_s=1e6,
    )
    gang = Gang(folder, data, model=ModelSpec(kind="builtin", entry="mlp"), training=training)
    gang.start(mode, n_workers=1, n_servers=int(mode is SyncMode.PARAMETER_SERVER))
    if set(gang.wait(seconds=500).values()) != {0}:
        raise RuntimeError(gang.logs())
    first, *_, last = gang.reports("progress")
    return float((last["steps_done"] - first["steps_done"]) / (last["at"] - first["at"]))


def rows(folder: Path, n_turns: int) -> list[str]:
    random = np.random.default_rng(0)
    data, found = folder / "data.npz", []
    x = random.normal(size=(N_EXAMPLES, N_FEATURES)).astype(np.float32)
    np.savez(data, x=x, y=random.integers(0, 10, N_EXAMPLES))
    for size, width in WIDTHS.items():
        speeds: dict[str, list[float]] = {name: [] for name in ("plain torch", *MODES)}
        for turn in range(n_turns):
            speeds["plain torch"].append(plain(data, width))
            for number, (name, mode) in enumerate(MODES.items()):
                speeds[name].append(ours(folder / f"{size}-{turn}-{number}", data, width, mode))
            print(f"{size}, turn {turn}:", {name: round(own[-1], 1) for name, own in speeds.items()}, flush=True)
        base = speeds["plain torch"]
        for name, own in speeds.items():
            ratios = [a / b for a, b in zip(own, base, strict=True)]
            found.append(
                f"| {size} | {name} | {statistics.median(own):.1f} | {statistics.median(ratios):.3f} "
                f"({min(ratios):.3f} to {max(ratios):.3f}) |"
            )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__)
    parser.add_argument("--turns", type=int, default=5, metavar="N")
    n_turns = parser.parse_args().turns
    if not torch.cuda.is_available():
        sys.exit("There is no GPU here: run this on a machine with one (NVIDIA's driver and a torch with CUDA).")
    with tempfile.TemporaryDirectory() as folder:
        table = rows(Path(folder), n_turns)
    head = [
        "# Speed on a GPU",
        "",
        f"Written by `make bench-gpu` on {datetime.now(UTC):%Y-%m-%d}, on {torch.cuda.get_device_name()} with torch "
        f"{torch.__version__}. {n_turns} turns of {N_STEPS[None]} steps ({N_STEPS[SyncMode.PARAMETER_SERVER]} with a "
        f"parameter server) of {BATCH_SIZE} examples; ratios are of each turn.",
        f"Wanted: {WANTED} of plain torch's speed.",
        "",
        "| parameters | what | steps/s | of plain torch's (lowest to highest turn) |",
        "|---|---|---|---|",
    ]
    RESULT.write_text("\n".join([*head, *table]) + "\n")
    print(RESULT.read_text())


if __name__ == "__main__":
    main()
