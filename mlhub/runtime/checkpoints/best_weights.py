# SPDX-License-Identifier: Apache-2.0
"""The weights of the best evaluations of a job, kept until its end: what a selected model is made of.

<checkpoints>/best-attempt-0003-step-0000000420/
    weights.safetensors   the model's state, and tensors that belong to the trained model in addition
    manifest.json         written last: step, attempt, value of the monitored metric, all metrics, files
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from torch import Tensor

from mlhub.runtime.checkpoints.step_folders import MANIFEST, PIN, WEIGHTS, write_tensors

_NAME = re.compile(r"best-attempt-(\d+)-step-(\d+)")


@dataclass(frozen=True)
class BestWeights:
    """value: of the monitored metric. metrics: all metrics of that evaluation."""

    folder: Path
    step: int
    value: float
    size_bytes: int
    metrics: Mapping[str, float] = field(default_factory=dict)


def keep_best(
    root: Path,
    weights: Mapping[str, Tensor],
    *,
    attempt: int,
    step: int,
    value: float,
    metrics: Mapping[str, float],
    is_minimised: bool,
    n_kept: int,
) -> BestWeights | None:
    """Writes the weights of an evaluation where it is among the n_kept best, and removes what no longer is.

    Returns None for an evaluation that is not. Of equal values the earlier one is better. Weights that a person pinned
    stay.
    """  # fmt: skip
    sign = 1.0 if is_minimised else -1.0
    others = [best for best in listed(root) if best.step != step]
    ranked = sorted(others, key=lambda best: (sign * best.value, best.step))
    n_better = sum((sign * best.value, best.step) < (sign * value, step) for best in ranked)
    if n_better >= n_kept:
        return None
    folder = root / f"best-attempt-{attempt:04d}-step-{step:010d}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    write_tensors(folder / WEIGHTS, weights)
    size_bytes = (folder / WEIGHTS).stat().st_size
    files = {WEIGHTS: {"sha256": _sha256(folder / WEIGHTS), "size_bytes": size_bytes}}
    manifest = {"step": step, "attempt": attempt, "value": value, "metrics": dict(metrics), "files": files}
    temporary = folder / f".{MANIFEST}"
    temporary.write_text(json.dumps(manifest, indent=1))
    with temporary.open() as file:
        os.fsync(file.fileno())
    temporary.rename(folder / MANIFEST)
    for old in ranked[n_kept - 1 :]:
        if not (old.folder / PIN).exists():
            shutil.rmtree(old.folder, ignore_errors=True)
    return BestWeights(folder, step, value, size_bytes, metrics)


def best_of(root: Path, *, is_minimised: bool) -> BestWeights | None:
    """The best weights that are whole; None when there are none."""
    sign = 1.0 if is_minimised else -1.0
    return min(listed(root), key=lambda best: (sign * best.value, best.step), default=None)


def listed(root: Path) -> list[BestWeights]:
    """All that are complete, by step."""
    found = []
    for folder in root.iterdir() if root.is_dir() else ():
        if _NAME.fullmatch(folder.name):
            try:
                raw = json.loads((folder / MANIFEST).read_text())
                size_bytes = int(raw["files"][WEIGHTS]["size_bytes"])
                found.append(BestWeights(folder, int(raw["step"]), float(raw["value"]), size_bytes, raw["metrics"]))
            except (OSError, ValueError, KeyError):
                continue  # it was being written when its attempt ended
    return sorted(found, key=lambda best: best.step)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
