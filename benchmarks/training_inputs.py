# SPDX-License-Identifier: Apache-2.0
"""How long steps wait for their examples: small models, so that reading has little time to hide in."""

from __future__ import annotations

import io
import statistics
import time
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image

from mlhub.runtime.data import readers
from mlhub.runtime.data.augmentation import augmented
from mlhub.runtime.data.validation_split import ValidationSplit
from mlhub.wire.launch import ModelSpec, SyncMode, TrainingSpec
from tests.runtime.gang import Gang

TRAINS_S = 12.0
N_ALONE = 200
HEADS = ("what", "a step", "waits for examples", "part of the step", "making them alone")
AUGMENT = ["flip", "translate", "rotate", "noise"]


@dataclass(frozen=True)
class Case:
    what: str
    format: str
    write: Callable[[Path], None]
    model: str
    batch_size: int
    hyperparameters: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)


def numbers(path: Path) -> None:
    random = np.random.default_rng(1)
    np.savez(path, x=random.normal(size=(20_000, 64)).astype(np.float32), y=random.integers(0, 10, 20_000))


def pixels(path: Path) -> None:
    """61 MB: so large that they are mapped."""
    random = np.random.default_rng(2)
    np.savez(path, x=random.integers(0, 255, (20_000, 3, 32, 32)).astype(np.uint8), y=random.integers(0, 10, 20_000))


def pictures(path: Path) -> None:
    random = np.random.default_rng(3)
    with zipfile.ZipFile(path, "w") as archive:
        for i in range(2000):
            file = io.BytesIO()
            Image.fromarray(random.integers(0, 255, (32, 32, 3)).astype(np.uint8)).save(file, "PNG")
            archive.writestr(f"{i % 10}/{i}.png", file.getvalue())


def words(path: Path) -> None:
    random = np.random.default_rng(4)
    known = ["".join(chr(97 + c) for c in random.integers(0, 26, random.integers(2, 9))) for _ in range(2000)]
    path.write_text(" ".join(known[i] for i in random.zipf(1.3, 200_000) % len(known)))


CASES = (
    Case("NPZ, 64 numbers, mlp", "npz", numbers, "mlp", 64),
    Case("NPZ, mapped, 3x32x32, small_cnn", "npz", pixels, "small_cnn", 64, {"width": 16}),
    Case("image folder, augmented, small_cnn", "image_folder", pictures, "small_cnn", 64,
         {"width": 16, "augment": AUGMENT}),
    Case("text, byte pairs, tiny_transformer", "text", words, "tiny_transformer", 32, {"width": 64},
         {"tokenizer": "bpe", "vocabulary_size": 512}),
)  # fmt: skip


def input_rows(folder: Path) -> Iterator[str]:
    """One worker each: what its steps take, what they wait for examples, and what making them takes alone."""
    for index, case in enumerate(CASES):
        place = folder / f"input-{index}"
        place.mkdir(parents=True)
        path = place / "examples"
        path = path.with_suffix(".npz") if case.format == "npz" else path
        case.write(path)
        step_s, input_s = _trained(case, place, path)
        yield (
            f"| {case.what}, batches of {case.batch_size} | {1e3 * step_s:.2f} ms | {1e3 * input_s:.3f} ms "
            f"| {100 * input_s / step_s:.1f} % | {1e3 * _alone(case, path):.2f} ms |"
        )


def _trained(case: Case, folder: Path, path: Path) -> tuple[float, float]:
    """Seconds a step, and of these for input: medians of the reports but the first."""
    training = TrainingSpec(
        epochs=10_000, batch_size=case.batch_size, hyperparameters=case.hyperparameters, evaluation_fraction=0.01
    )
    gang = Gang(
        folder, path, format=case.format, options=case.options,
        model=ModelSpec(kind="builtin", entry=case.model), training=training,
    )  # fmt: skip
    gang.start(SyncMode.ALL_REDUCE)
    try:
        gang.wait_for(lambda: len(gang.reports("progress")) > TRAINS_S, seconds=20 * TRAINS_S)
    finally:
        for process in gang.processes.values():
            process.kill()
            process.wait()
    reports = gang.reports("progress")[1:]
    return statistics.median(r["step_s"] for r in reports), statistics.median(r["input_s"] for r in reports)


def _alone(case: Case, path: Path) -> float:
    """Seconds that making a batch takes where nothing else is done."""
    schema = readers.inspect(case.format, path, case.options).schema
    data = readers.open_split(case.format, path, schema, validation=ValidationSplit(0.01))
    random, generator, times = np.random.default_rng(0), torch.Generator().manual_seed(0), []
    wanted = case.hyperparameters.get("augment", [])
    for _ in range(N_ALONE):
        began = time.perf_counter()
        inputs, _ = data.batch(data.train[random.integers(0, len(data.train), case.batch_size)])
        augmented(inputs, wanted, generator)
        times.append(time.perf_counter() - began)
    return statistics.median(times)
