# SPDX-License-Identifier: Apache-2.0
"""What the strategies are compared on: real digits and real prose, each with a small network as a row of layers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from pydoc_data import topics
from typing import Any

import numpy as np

from mlhub.demo.material import digits_csv

# widths that 3 divides, and three layers with parameters, so that 3 workers can divide the models, too
DIGITS_MODEL = """
from torch import nn

def build_model(given):
    return nn.Sequential(
        nn.Linear(64, 66), nn.ReLU(), nn.Linear(66, 66), nn.ReLU(), nn.Linear(66, given["n_classes"])
    )
"""
PROSE_MODEL = """
import torch
from torch import nn

class Before(nn.Module):
    "Each position sees itself and the 7 before it."

    def __init__(self, width):
        super().__init__()
        self.mix = nn.Conv1d(width, width, 8)

    def forward(self, x):
        x = nn.functional.pad(x.transpose(1, 2), (7, 0))
        return torch.relu(self.mix(x)).transpose(1, 2)

def build_model(given):
    size = given["vocabulary_size"]
    return nn.Sequential(
        nn.Embedding(size, 48), Before(48), nn.LayerNorm(48),
        nn.Linear(48, 96), nn.ReLU(), nn.Linear(96, 48), nn.Linear(48, size)
    )
"""
STRAGGLERS: Mapping[str, str] = {
    "even": "all workers alike",
    "slow": "the last worker {slow_ms:.0f} ms slower at every batch",
    "stalls": "every worker pauses for {stall_ms:.0f} ms at one batch of {one_of}, at random",
}
SLOW_S, STALL_S, ONE_OF = 0.02, 0.1, 15
SLOW = """
import os, random, time

KIND, RANK = os.environ.get("STRAGGLER"), os.environ.get("RANK", "0")
DICE = random.Random(f"{{os.environ.get('STRAGGLER_SEED')}} {{RANK}}")

def preprocess(inputs):
    if KIND == "slow" and RANK == "{last}":
        time.sleep({slow_s})
    if KIND == "stalls" and DICE.random() < 1 / {one_of}:
        time.sleep({stall_s})
    return inputs
"""
N_CHARACTERS = 120_000


@dataclass(frozen=True)
class Task:
    """n_classes: guessing has a loss of its logarithm."""

    about: str
    n_classes: int
    model: str
    write: Callable[[Path], Path]
    format: str
    epochs: int
    batch_size: int
    options: Mapping[str, Any] = field(default_factory=dict)

    def code(self, *, n_workers: int) -> str:
        """The model's module; the environment declares who is slow."""
        last = n_workers - 1
        return self.model + SLOW.format(last=last, slow_s=SLOW_S, stall_s=STALL_S, one_of=ONE_OF)


def described(kind: str) -> str:
    """Returns a kind of straggler in words."""
    return STRAGGLERS[kind].format(slow_ms=1e3 * SLOW_S, stall_ms=1e3 * STALL_S, one_of=ONE_OF)


def write_digits(folder: Path) -> Path:
    rows = np.loadtxt(digits_csv().decode().splitlines(), delimiter=",", skiprows=1, dtype=np.float32)
    np.savez(folder / "digits.npz", x=rows[:, :-1] / 16, y=rows[:, -1].astype(np.int64))
    return folder / "digits.npz"


def write_prose(folder: Path) -> Path:
    """Python's own reference, which every Python brings along."""
    text = "\n\n".join(topics.topics[name] for name in sorted(topics.topics))
    path = folder / "reference.txt"
    path.write_text(text[:N_CHARACTERS])
    return path


TASKS: Mapping[str, Task] = {
    "digits": Task("1,797 digits of 8 x 8 pixels (UCI)", 10, DIGITS_MODEL, write_digits, "npz", 10, 32),
    "prose": Task(
        f"the first {N_CHARACTERS:,} characters of Python's language reference, the next byte out of the last 8",
        256,
        PROSE_MODEL,
        write_prose,
        "text",
        3,
        16,
        {"tokenizer": "byte", "context_length": 64},
    ),
}
