# SPDX-License-Identifier: Apache-2.0
"""Rows of whole trainings: compared with torchrun and DDP, and with MLHub itself where it measures nothing."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from benchmarks.training_gangs import (
    torchrun,
    watched,
    write_examples,
)
from benchmarks.training_turns import Comparison, compare, spread

N_EXAMPLES = {"1 M": 100_000, "25 M": 20_000}
SILENT = "silent_model"
HEADS = (
    "what",
    "speed",
    "against",
    "speed",
    "ratio of speeds, turn by turn",
    "of the best turns",
    "of processor times",
)


def all_reduce_rows(folder: Path, *, is_quick: bool) -> Iterator[str]:
    """Of HEADS. is_quick: two workers only, and shorter turns."""
    n_turns, turn_s = (6, 1.0) if is_quick else (20, 2.0)
    for size, n_examples in N_EXAMPLES.items():
        data = write_examples(folder / f"{n_examples}.npz", n_examples)
        for n_workers in (2,) if is_quick else (2, 4):
            place = folder / f"{n_examples}-{n_workers}"
            ours = partial(watched, place / "ours", data, size, n_workers=n_workers)
            theirs = partial(torchrun, place / "theirs", data, size, n_workers=n_workers)
            found = compare(ours, theirs, n=n_turns, turn_s=turn_s if size == "1 M" else 3 * turn_s)
            yield _row(f"all-reduce, {size} parameters, {n_workers} workers", found, "torchrun and DDP")
    data = folder / f"{N_EXAMPLES['1 M']}.npz"
    measured = partial(watched, folder / "measured", data, "1 M", n_workers=2)
    silent = partial(watched, folder / "silent", data, "1 M", n_workers=2, entry=SILENT)
    found = compare(measured, silent, n=n_turns, turn_s=turn_s)
    yield _row("all-reduce, 1 M parameters, 2 workers", found, "the same, measuring nothing of itself")


def _row(what: str, found: Comparison, against: str) -> str:
    ours, theirs = (1 / statistics.median(t.step_s for t in side) for side in (found.ours, found.theirs))
    return (
        f"| {what} | {ours:.1f} steps/s | {against} | {theirs:.1f} | {spread(found.speeds)} "
        f"| {found.best_speed:.3f} | {spread(found.efforts)} |"
    )
